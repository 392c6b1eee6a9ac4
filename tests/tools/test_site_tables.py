"""Tables of sentences: which ones are marked, and what their cells are called."""

from __future__ import annotations

import pytest
from site_tables import label_cells

LONG = "a sentence that is longer than thirty signs"


def table(headings, *rows):
    head = "".join(f'<th class="head"><p>{heading}</p></th>' for heading in headings)
    body = []
    for row in rows:
        cells = "".join(f"<td><p>{cell}</p></td>" for cell in row)
        body.append(f'<tr class="row-odd">{cells}</tr>')
    return (
        f'<table class="docutils"><thead><tr class="row-odd">{head}</tr></thead>'
        f"<tbody>{''.join(body)}</tbody></table>"
    )


def test_cells_of_sentences_have_their_heading():
    """Each cell is called by its own column, and the text stays."""
    page = label_cells(table(("design", "trust &amp; secret", "claim"), ("x", LONG, LONG)))
    assert '<table class="docutils sentences">' in page
    assert '<td data-label="design"><p>x</p></td>' in page
    assert f'<td data-label="trust &amp; secret"><p>{LONG}</p></td>' in page
    assert f'<td data-label="claim"><p>{LONG}</p></td>' in page


@pytest.mark.parametrize(
    "page",
    [
        table(("a", "b"), (LONG, LONG)),
        table(("a", "b", "c"), ("1", "2", LONG)),
        table(("a", "b", "c"), (LONG, LONG)),
        "<p>no table</p>",
    ],
    ids=["two columns", "numbers", "a cell is missing", "no table"],
)
def test_other_tables_stay(page):
    """Of two columns, of numbers, or of another shape."""
    assert label_cells(page) == page


def test_each_table_is_judged_by_itself():
    """A table of numbers beside one of sentences keeps its form."""
    numbers = table(("a", "b", "c"), ("1", "2", "3"))
    page = label_cells(f"{numbers}<p>and</p>{table(('a', 'b', 'c'), ('x', LONG, LONG))}")
    assert page.startswith(f"{numbers}<p>and</p>")
    assert page.count("sentences") == 1
