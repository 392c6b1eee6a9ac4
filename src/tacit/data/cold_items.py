"""A table of items that nobody has rated, with the public facts that a catalogue has of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

from tacit.errors import DataError


def read_cold_items(path: Path, delimiter: str | None = None) -> dict[str, dict[str, str]]:
    """Read a table of items that nobody has rated.

    Args:
        path: A text table with a line of headers: ids in the first column, then columns of the
            catalogue.
        delimiter: Character between two cells, `tab` or `::`, as `check_delimiter` reads it;
            None: a comma.

    Returns:
        Each item's id to its facts, which map the name of a column to the text of the cell. Empty
        cells are left out.

    Raises:
        DataError: The file cannot be read, has no items or no column beside the ids, has lines of
            different lengths, or an id is empty or repeated; or the delimiter cannot be used.
    """
    if delimiter is not None:
        from tacit.data.tables.text import check_delimiter  # it needs polars

        delimiter = check_delimiter(delimiter, path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = _read_rows(file, delimiter or ",")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError("the table cannot be read", path=path, found=str(error)) from None
    if len(rows) < 2 or len(rows[0][1]) < 2:
        raise DataError(
            "the table has no items, or no column beside the ids",
            path=path,
            expected="a line of headers and a line for each item: the id, then columns of the "
            "catalogue",
        )
    (_, headers), *lines = rows
    items: dict[str, dict[str, str]] = {}
    for number, line in lines:
        if len(line) != len(headers):
            raise DataError(
                f"line {number} has {len(line)} columns", path=path, expected=f"{len(headers)}"
            )
        item = line[0].strip()
        if not item:
            raise DataError(f"line {number} has no id", path=path)
        if item in items:
            raise DataError(f"line {number} repeats an id", path=path, found=item)
        cells = zip(headers[1:], line[1:], strict=True)
        items[item] = {name: text for name, text in cells if text.strip()}
    return items


def _read_rows(file: Iterable[str], delimiter: str) -> list[tuple[int, list[str]]]:
    """Read rows of cells, each with the number of its first line: a quoted cell may span several.

    Raises:
        csv.Error: A row cannot be read.
    """
    if delimiter == "::":
        return [(number, line.rstrip("\r\n").split("::")) for number, line in enumerate(file, 1)]
    reader = csv.reader(file, delimiter=delimiter)
    rows = []
    number = 1
    for cells in reader:
        rows.append((number, cells))
        number = reader.line_num + 1
    return rows
