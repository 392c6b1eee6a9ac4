"""The index of `tacit reproduce` as a page of the docs.

`python tools/papers_page.py` writes docs/reproduce.md; a test compares the two.
"""

from __future__ import annotations

from tracked import ROOT

from tacit.cli.demo import index

HEAD = """`tacit reproduce --list` prints this index, `tacit reproduce PAPER ITEM` runs the command,
and `tacit reproduce --all --quick` those that take minutes at most. Figures of both sides are in
[results](results.md). This page is generated: a test compares it with the index.

*exact*: computed without sampling. *bound*: a bound with its constants. *measured*: our figure
beside the paper's, on other data where the paper's are not public. *refuted*: a claim that is
false. FOLDER is where MovieLens lies."""


def page() -> str:
    """Its text."""
    lines = ["# Reproduce the papers", "", HEAD, ""]
    for paper in dict.fromkeys(row["paper"] for row in index()):
        lines += [f"## {paper}", "", "| item | status | command | reason | the paper's figures |"]
        lines += ["|---|---|---|---|---|"]
        for row in index():
            if row["paper"] == paper:
                command = f"`{row['command']}`" if row["command"] else "–"
                cells = (row["item"], row["status"], command, row["reason"], row["printed"] or "–")
                lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    (ROOT / "docs" / "reproduce.md").write_text(page(), encoding="utf-8")
