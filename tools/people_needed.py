"""Write how many people each design needs into the tables of README.md and docs/how-to-choose.md.

    python tools/people_needed.py           write the columns from the package's data file
    python tools/people_needed.py --check   say which page differs, with exit code 1

The file is src/tacit/design/people_needed.toml. A row belongs to a design if its first cell has the
design's name in backticks.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from tracked import ROOT

from tacit.design import names
from tacit.design.people_needed import people_needed

PAGES: Mapping[Path, Mapping[str, str]] = {
    ROOT / "README.md": {"people needed": "overview"},
    ROOT / "docs" / "how-to-choose.md": {"people needed": "choice", "with fewer": "fewer"},
}
"""Pages, and their columns with the field that fills each."""


def fill_columns(text: str, columns: Mapping[str, str]) -> str:
    """Return a page whose table of designs has these columns filled from the data file.

    Args:
        text: The page, in Markdown.
        columns: Headings of columns, each with a field of `PeopleNeeded`.

    Raises:
        ValueError: No table has these columns, or a design has no row in it.
    """
    lines = text.split("\n")
    starts = [number for number, line in enumerate(lines) if set(columns) <= set(_cells(line))]
    if len(starts) != 1:
        raise ValueError(f"{len(starts)} tables have the columns {', '.join(columns)}.")
    headings = _cells(lines[starts[0]])
    missing = set(names())
    number = starts[0] + 2
    while lines[number].startswith("|"):
        cells = _cells(lines[number])
        named = re.search(r"`([a-z-]+)`", cells[0])
        if named and named[1] in missing:
            missing.remove(named[1])
            needed = people_needed(named[1])
            sentences = {
                "overview": needed.overview,
                "choice": needed.choice,
                "fewer": needed.fewer,
            }
            for heading, field in columns.items():
                cells[headings.index(heading)] = sentences[field]
            lines[number] = f"| {' | '.join(cells)} |"
        number += 1
    if missing:
        raise ValueError(f"No row of {', '.join(sorted(missing))}.")
    return "\n".join(lines)


def _cells(line: str) -> list[str]:
    """Return the texts of the cells of one row of a table in Markdown."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def main(arguments: list[str]) -> int:
    """Write or check the pages."""
    different = []
    for page, columns in PAGES.items():
        text = page.read_text(encoding="utf-8")
        filled = fill_columns(text, columns)
        if filled != text:
            different.append(page.relative_to(ROOT))
            if "--check" not in arguments:
                page.write_text(filled, encoding="utf-8")
    if different and "--check" in arguments:
        pages = ", ".join(map(str, different))
        print(f"{pages}: run  python tools/people_needed.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
