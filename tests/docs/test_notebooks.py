"""The notebooks of the documentation as files for Jupyter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import executed
import notebooks
import pytest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_notebook_has_the_text_and_the_code_of_its_page(page):
    """Every `python` block is a cell of code, and every heading stands in a cell of text."""
    text = page.read_text(encoding="utf-8")
    notebook = json.loads(notebooks.as_notebook(text))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    code = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    blocks = [cell.code for cell in executed.cells(text) if cell.language == "python"]
    assert len(blocks) > 2
    assert code == [block.strip("\n") for block in blocks]
    words = "".join("".join(c["source"]) for c in notebook["cells"] if c["cell_type"] == "markdown")
    for heading in re.findall(r"^#+ .+$", text, re.MULTILINE):
        assert heading in words
    assert "jupytext:" not in words
    assert ".md" not in words


def test_cells_have_names_of_their_own():
    """Jupyter refuses two cells with one id."""
    notebook = json.loads(notebooks.as_notebook(PAGES[0].read_text(encoding="utf-8")))
    names = [cell["id"] for cell in notebook["cells"]]
    assert len(names) == len(set(names)) > 5


def test_all_pages_are_written(tmp_path):
    """One file for each page, in a folder that is made."""
    written = notebooks.write_notebooks(tmp_path / "new")
    assert [path.stem for path in written] == [page.stem for page in PAGES]
    assert all(json.loads(path.read_text(encoding="utf-8"))["cells"] for path in written)
