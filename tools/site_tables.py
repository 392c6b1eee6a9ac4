"""Mark the tables of the site that hold sentences: a phone shows each row of them as a list.

`docs/conf.py` calls `label_cells` on each page; `docs/static/site.css` has the rest.
"""

from __future__ import annotations

import html
import re

LEAST_COLUMNS = 3
"""Fewest columns of a table that is marked."""
LEAST_COLUMNS_OF_SENTENCES = 2
"""Fewest columns with sentences of a table that is marked."""
SENTENCE = 30
"""A column holds sentences if its texts have this many characters on average, or more."""
_TABLE = re.compile(r'<table class="([^"]*)"([^>]*)>(.*?)</table>', re.DOTALL)
_HEADING = re.compile(r"<th\b[^>]*>(.*?)</th>", re.DOTALL)
_ROW = re.compile(r"<tr\b[^>]*>(.*?)</tr>", re.DOTALL)
_CELL = re.compile(r"<td\b([^>]*)>(.*?)</td>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


def label_cells(page: str) -> str:
    """Mark the tables of sentences of a page, and give each cell its column's heading.

    Args:
        page: HTML as Sphinx writes it.

    Returns:
        The page; tables of sentences have the class `sentences`, and their cells `data-label`.
    """
    return _TABLE.sub(_label_table, page)


def holds_sentences(rows: list[list[str]]) -> bool:
    """Say whether a table has three columns or more, two of which hold sentences.

    Args:
        rows: Texts of the cells, row by row.
    """
    columns = list(zip(*rows, strict=False))
    if len(columns) < LEAST_COLUMNS:
        return False
    lengths = [sum(map(len, column)) / len(column) for column in columns]
    return sum(length >= SENTENCE for length in lengths) >= LEAST_COLUMNS_OF_SENTENCES


def _label_table(table: re.Match[str]) -> str:
    """Return a table with marks if it holds sentences, otherwise unchanged."""
    classes, attributes, content = table.groups()
    headings = [_text(heading) for heading in _HEADING.findall(content)]
    rows = []
    for row in _ROW.findall(content):
        cells = [_text(cell) for _, cell in _CELL.findall(row)]
        if cells:
            rows.append(cells)
    is_plain = bool(rows) and all(len(row) == len(headings) for row in rows)
    if not is_plain or not holds_sentences(rows):
        return table[0]
    labelled = _ROW.sub(lambda row: _label_row(row[0], headings), content)
    return f'<table class="{classes} sentences"{attributes}>{labelled}</table>'


def _label_row(row: str, headings: list[str]) -> str:
    """Give each cell of a row the heading of its column."""
    remaining = iter(headings)

    def label(cell: re.Match[str]) -> str:
        heading = html.escape(next(remaining))
        return f'<td{cell[1]} data-label="{heading}">{cell[2]}</td>'

    return _CELL.sub(label, row)


def _text(cell: str) -> str:
    """Return the text of a cell, without tags."""
    return html.unescape(_TAG.sub("", cell)).strip()
