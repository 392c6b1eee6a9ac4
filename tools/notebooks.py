"""The notebooks of the documentation as files that Jupyter opens: `.ipynb`, for download.

    python tools/notebooks.py FOLDER    write each page of docs/notebooks into FOLDER

`make docs` writes them beside the built pages. A notebook has the page's text and its `python`
blocks, without outputs: running it makes them.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from executed import cells
from tracked import ROOT

PAGES = ROOT / "docs" / "notebooks"
_HEADER = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\[(?P<words>[^\]]+)\]\((?!https?:)[^)]+\)")
"""A link to another page of the documentation."""


def as_notebook(page: str) -> str:
    """Write a page of Markdown as a notebook of format 4.5, in JSON.

    Links to other pages of the documentation become their words: a downloaded file has no
    pages beside it.
    """
    text = _HEADER.sub("", page)
    notebook_cells: list[dict[str, Any]] = []
    end_of_last = 0
    for cell in cells(text):
        if cell.language != "python":
            continue
        fence = text.rindex("```python", 0, cell.end)
        _add_text(notebook_cells, text[end_of_last:fence])
        _add_cell(notebook_cells, "code", cell.code.strip("\n"))
        end_of_last = cell.end
    _add_text(notebook_cells, text[end_of_last:])
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    notebook = {
        "cells": notebook_cells,
        "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _add_text(notebook_cells: list[dict[str, Any]], text: str) -> None:
    """Add a cell of Markdown without links to other pages, unless the text is empty."""
    markdown = _LINK.sub(r"\g<words>", text).strip("\n")
    if markdown.strip():
        _add_cell(notebook_cells, "markdown", markdown)


def _add_cell(notebook_cells: list[dict[str, Any]], kind: str, text: str) -> None:
    """Add a cell of Jupyter's kind "code" or "markdown"."""
    number = len(notebook_cells)
    cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}}
    if kind == "code":
        cell |= {"execution_count": None, "outputs": []}
    notebook_cells.append(cell | {"source": text.splitlines(keepends=True)})


def write_notebooks(folder: Path) -> list[Path]:
    """Write every page of docs/notebooks into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for page in sorted(PAGES.glob("*.md")):
        notebook = folder / f"{page.stem}.ipynb"
        notebook.write_text(as_notebook(page.read_text(encoding="utf-8")), encoding="utf-8")
        written.append(notebook)
    return written


if __name__ == "__main__":
    for path in write_notebooks(Path(sys.argv[1])):
        print(path)
