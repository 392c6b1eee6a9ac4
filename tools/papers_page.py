"""The index of `tacit reproduce` as a page of the docs.

`python tools/papers_page.py` writes docs/reproduce.md, and the table of its numbers of rows into
README.md. Tests compare both with the index.
"""

from __future__ import annotations

import re
from collections import Counter

from tracked import ROOT

from tacit.cli.reproduce import index_row, paper_results
from tacit.design import STATUSES

HEAD = """\
`tacit reproduce --list` prints this index, `tacit reproduce PAPER ITEM` runs the command, where
ITEM is a name of the index or a part of it, and `tacit reproduce --all --quick` those that take
minutes at most. The column *quantity* says where our figure is in the JSON that the command
prints: a test runs every command at small size and looks for it. Figures in [results](results.md)
are of the commands named there. This page is generated: a test compares it with the index.

*exact*: computed without sampling. *bound*: a bound with its constants. *measured*: our figure
beside the paper's, on other data where the paper's are not public. *refuted*: a claim that is
false. *not reproduced*: the reason says why. *no figure*: there is nothing to make. FOLDER is where
MovieLens lies."""
_TABLE = re.compile(r"^\| paper \| exact .*\n(?:\|.*\n)+", re.MULTILINE)


def page() -> str:
    """Return the page's text."""
    rows = [index_row(paper, result) for paper, result in paper_results()]
    papers = list(dict.fromkeys(row["paper"] for row in rows))
    lines = ["# Reproduce the papers", "", HEAD, "", *_table_of_statuses(papers, rows), ""]
    for paper in papers:
        lines += [f"## {paper}", "", *_table_of_results(paper, rows), ""]
    return "\n".join(lines)


def readme_with_numbers(readme: str) -> str:
    """Return README.md with the numbers of rows of each paper, linked to its part of the page.

    Raises:
        ValueError: README.md has no such table.
    """
    rows = [index_row(paper, result) for paper, result in paper_results()]
    papers = list(dict.fromkeys(row["paper"] for row in rows))
    table = "\n".join(_table_of_statuses(papers, rows, page="docs/reproduce.md")) + "\n"
    written, count = _TABLE.subn(lambda _: table, readme)
    if count != 1:
        raise ValueError(f"README.md has {count} tables of the papers' rows.")
    return written


def _table_of_statuses(papers: list[str], rows: list[dict[str, str]], page: str = "") -> list[str]:
    """Count the rows of each paper by status, with links to the parts of a page."""
    counts = Counter((row["paper"], row["status"]) for row in rows)
    lines = [f"| paper | {' | '.join(STATUSES)} | all |", f"|---{'|---' * len(STATUSES)}|---|"]
    for paper in papers:
        numbers = [counts[paper, status] for status in STATUSES]
        cells = [str(number) for number in (*numbers, sum(numbers))]
        lines.append(f"| [{paper}]({page}#{paper}) | {' | '.join(cells)} |")
    totals = [sum(counts[paper, status] for paper in papers) for status in STATUSES]
    lines.append(f"| all | {' | '.join(map(str, (*totals, sum(totals))))} |")
    return lines


def _table_of_results(paper: str, rows: list[dict[str, str]]) -> list[str]:
    """Write the table of all rows of one paper, as lines of Markdown."""
    lines = ["| item | status | command | quantity | reason | the paper's figures |"]
    lines.append("|---|---|---|---|---|---|")
    for row in rows:
        if row["paper"] != paper:
            continue
        command = f"`{row['command']}`" if row["command"] else "–"
        shows = ", ".join(f"`{path}`" for path in row["shows"]) or "–"
        cells = (row["item"], row["status"], command, shows, row["reason"], row["printed"] or "–")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


if __name__ == "__main__":
    (ROOT / "docs" / "reproduce.md").write_text(page(), encoding="utf-8")
    README = ROOT / "README.md"
    README.write_text(readme_with_numbers(README.read_text(encoding="utf-8")), encoding="utf-8")
