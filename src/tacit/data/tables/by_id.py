"""Tables with one row per person or item: attributes and metadata, as texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.ratings import Column, Ratings
from tacit.data.tables.cleaning import ids_of
from tacit.data.tables.columns import Role, choose, names_of, squeezed
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table
from tacit.errors import DataError


def table_of(
    source: Path | Table,
    role: Role,
    asked: str | None,
    delimiter: str | None = None,
    *,
    fewest: int = 2,
) -> tuple[list[Any], dict[str, list[str | None]]]:
    """The ids of a users or items file, and its other columns. fewest: columns, the id's too."""
    table = source
    if not isinstance(table, Table):
        table = open_table(table, delimiter=delimiter, asked=(asked,))
    if table.torn:
        raise table.torn[0].complaint(table.path)
    headers = table.headers
    number = id_position(role, headers, asked, table.path)
    if len(headers) < fewest:
        raise DataError("the file has no column beside the id", path=table.path, found=headers[0])
    keys = table.frame[:, number]
    ids = list(ids_of(keys)) if table.text and not keys.null_count() else keys.to_list()
    _refuse_repeats(ids, table, headers[number])
    others = {name: table.frame[name].to_list() for name in headers if name != headers[number]}
    return ids, {name: [_text(value) for value in values] for name, values in others.items()}


def id_position(role: Role, headers: Sequence[str], asked: str | None, path: object) -> int:
    """The column asked for, else one of a known name, else the first."""
    position = choose(role, headers, asked, path=path, required=False)
    if position is None:
        squeezes = [squeezed(header) for header in headers]
        known = (squeezes.index(name) for name in names_of(role, more=True) if name in squeezes)
        position = next(known, 0)
    return position


def _text(value: object) -> str | None:
    return (str(value).strip() or None) if value is not None else None


def _refuse_repeats(ids: Sequence[Any], table: Table, column: str) -> None:
    seen = set()
    for row, key in enumerate(ids):
        if key is None or key in seen:
            raise DataError(
                "the id is missing" if key is None else "the id has appeared before",
                path=table.path,
                row=table.line(row),
                column=column,
                expected="one row per id",
            )
        seen.add(key)


def by_id(
    source: Path | Table, role: Role, asked: str | None, delimiter: str | None = None
) -> dict[str, dict[Any, str | None]]:
    """Column name -> id -> text."""
    ids, columns = table_of(source, role, asked, delimiter)
    return {name: dict(zip(ids, column, strict=True)) for name, column in columns.items()}


def matched(
    source: Path | Table, role: Role, asked: str | None, ratings: Ratings
) -> dict[str, Column]:
    """A users or items file in the order of the ratings' ids, compared as they are written."""
    known = (ratings.user_ids if role == "user" else ratings.item_ids).tolist()
    try:
        ids, columns = table_of(source, role, asked)
    except DataError:
        if asked is None:
            raise
        ids, columns = table_of(source, role, None)  # its id column may have a name of its own
    places = {str(key): number for number, key in enumerate(ids)}
    chosen = [places.get(str(key)) for key in known]
    if all(number is None for number in chosen):
        raise DataError(
            f"no {role} of this file has a rating",
            path=source.path if isinstance(source, Table) else source,
            expected=f"{role} ids written as in the ratings",
            fix="Check which column holds the id: a well-known header, else the first column.",
        )
    aligned = {}
    for name, column in columns.items():
        values = np.empty(len(known), dtype=object)
        values[:] = [None if number is None else column[number] for number in chosen]
        aligned[name] = values
    return aligned
