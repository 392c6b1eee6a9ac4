"""Tables with one row per person or item: attributes and metadata, as texts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data import delimited
from tacit.data.columns import Role, choose
from tacit.data.parquet import is_parquet, read_parquet
from tacit.data.ratings import Column, Ratings
from tacit.data.text_ratings import ids_of
from tacit.errors import DataError


def table_of(
    path: Path, role: Role, asked: str | None, delimiter: str | None, *, fewest: int = 2
) -> tuple[list[Any], dict[str, list[str | None]]]:
    """The ids of a users or items file, and its other columns. fewest: columns, the id's too."""
    if is_parquet(path):
        frame = read_parquet(path)
        headers: Sequence[str] = frame.columns
        texts = [[_text(value) for value in frame[name].to_list()] for name in headers]
        number = _id_position(role, headers, asked, path)
        ids: list[Any] = frame[headers[number]].to_list()
        lines: Sequence[int] = range(1, len(ids) + 1)
    else:
        dialect = delimited.sniff(path, delimiter, (asked,))
        headers = dialect.headers
        read = list(delimited.rows(path, dialect))
        texts = [[row[at] or None for _, row in read] for at in range(len(headers))]
        number = _id_position(role, headers, asked, path)
        ids, lines = list(texts[number]), [line for line, _ in read]
    if len(headers) < fewest:
        raise DataError("the file has no column beside the id", path=path, found=headers[0])
    if not ids:
        raise DataError("the file has a header but no rows", path=path)
    _refuse_repeats(ids, lines, path, headers[number])
    if not is_parquet(path):
        ids = list(np.asarray(ids_of(ids), dtype=object))
    return ids, {name: texts[at] for at, name in enumerate(headers) if at != number}


def _id_position(role: Role, headers: Sequence[str], asked: str | None, path: Path) -> int:
    position = choose(role, headers, asked, path=path, required=False)
    return position or 0


def _text(value: object) -> str | None:
    return (str(value).strip() or None) if value is not None else None


def _refuse_repeats(ids: Sequence[Any], lines: Sequence[int], path: Path, column: str) -> None:
    seen = set()
    for key, line in zip(ids, lines, strict=True):
        if key is None or key in seen:
            raise DataError(
                "the id is missing" if key is None else "the id has appeared before",
                path=path,
                row=line,
                column=column,
                expected="one row per id",
            )
        seen.add(key)


def by_id(
    path: Path, role: Role, asked: str | None, delimiter: str | None
) -> dict[str, dict[Any, str | None]]:
    ids, columns = table_of(path, role, asked, delimiter)
    return {name: dict(zip(ids, column, strict=True)) for name, column in columns.items()}


def matched(path: Path, role: Role, asked: str | None, ratings: Ratings) -> dict[str, Column]:
    """A users or items file in the order of the ratings' ids, compared as they are written."""
    known = (ratings.user_ids if role == "user" else ratings.item_ids).tolist()
    try:
        ids, columns = table_of(path, role, asked, None)
    except DataError:
        if asked is None:
            raise
        ids, columns = table_of(path, role, None, None)  # its id column may have a name of its own
    places = {str(key): number for number, key in enumerate(ids)}
    chosen = [places.get(str(key)) for key in known]
    if all(number is None for number in chosen):
        raise DataError(
            f"no {role} of this file has a rating",
            path=path,
            expected=f"{role} ids written as in the ratings",
            fix="Check which column holds the id: a well-known header, else the first column.",
        )
    aligned = {}
    for name, column in columns.items():
        values = np.empty(len(known), dtype=object)
        values[:] = [None if number is None else column[number] for number in chosen]
        aligned[name] = values
    return aligned
