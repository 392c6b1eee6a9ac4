"""Files that are no table of rows: some are turned into one, others refused by what they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from tacit.errors import DataError

Layout = Literal["wide", "baskets"]
"""Layouts with several ratings in a row: "wide" has an item in each column, "baskets" has a list of
items in each row."""

ROW_PERSON = "row"
"""Name of the column of people of a table in which each row is a person without an id."""
BLOCK = re.compile(rb"^\s*(\d+):\s*$")
"""The pattern of the line above the ratings of one item, as in the Netflix Prize data."""
_DOCUMENTS = {
    b"%PDF": "a PDF document",
    b"{\\rtf": "a text document (RTF)",
    b"\xd0\xcf\x11\xe0": "an Excel file of the old kind (.xls)",
    b"\x93NUMPY": "an array of NumPy",
    b"\x89HDF": "an HDF5 file",
    b"MATLAB": "a MATLAB file",
    b"\x80\x04\x95": "a pickle of Python, which is never opened",
    b"\xff\xff\xff\xff": "an Arrow stream, and no Arrow file",
}
"""First bytes of files that cannot be read as a table, and what these files are."""
_COMMENT_MARKS = ("#", "%")
"""Beginnings of lines that are comments."""


def refuse_what_is_no_table(raw: bytes, path: object) -> None:
    """Raise DataError for a file that its first bytes show to be no table, such as a PDF."""
    start = raw[:512].lstrip().lower()
    if start.startswith(b"version https://git-lfs"):
        raise DataError(
            "this is a pointer of Git LFS in place of the file",
            path=path,
            fix="Fetch the file itself:  git lfs pull",
        )
    for mark, kind in _DOCUMENTS.items():
        if raw.startswith(mark):
            raise DataError(
                f"this is {kind}",
                path=path,
                expected="CSV or other delimited text, JSON lines, Parquet, SQLite or DuckDB",
                fix="Write the table as CSV first.",
            )
    if start.startswith((b"<!doctype html", b"<html", b"<?xml")):
        raise DataError(
            "this is a web page or XML in place of the file",
            path=path,
            expected="CSV or other delimited text, JSON lines, Parquet, SQLite or DuckDB",
            fix="Was an error page saved in place of the download? Fetch it again.",
        )


def layout_error(
    layout: Layout,
    what: str,
    *,
    path: object,
    found: str | None = None,
    column: str | None = None,
    expected: str = "one row a rating: a person, an item, and so on",
) -> DataError:
    """Make the error for a table that seems to hold several ratings in a row.

    Args:
        layout: The layout that the table seems to have.
        what: Message of the error.
        path: The file.
        found: What was found.
        column: Header of the column that shows it.
        expected: What is expected in place of it.
    """
    if layout == "wide":
        shape = "a person in each row and an item in each column"
    else:
        shape = "a person in each row, with a list of items"
    return DataError(
        what,
        path=path,
        found=found,
        column=column,
        expected=expected,
        fix=f"If it has {shape}, read it with  --layout {layout}  (from Python: "
        f'layout="{layout}") and --user for the column of people, where it has one.',
    )


def is_comment(line: str) -> bool:
    """Tell whether a line above the table is a comment, as in KONECT or MatrixMarket files."""
    return line.lstrip().startswith(_COMMENT_MARKS)


def has_blocks(data: bytes) -> bool:
    """Tell whether the first line with text is one such as `7:`, above the rows of item 7.

    Only the first five lines are looked at.
    """
    first = next((line for line in data[:65536].splitlines()[:5] if line.strip()), b"")
    return BLOCK.match(first) is not None


def unfold_blocks(data: bytes) -> tuple[bytes, list[int]]:
    """Turn blocks of rows into a table: each row gets the number of its block's item as first cell.

    Returns:
        The text of the table, and the number of the line that each row has in the file.
    """
    rows = []
    lines = []
    for line, item, row in _rows_of_blocks(data):
        rows.append(item + b"," + row)
        lines.append(line)
    return b"\n".join(rows) + b"\n", lines


def _rows_of_blocks(data: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield each row of each block: the number of its line in the file, its item, and its text."""
    item = b""
    for line_number, line in enumerate(data.splitlines(), 1):
        block = BLOCK.match(line)
        if block is not None:
            item = block[1]
        elif line.strip():
            yield line_number, item, line.strip()
