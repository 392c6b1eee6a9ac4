"""From a table to `Ratings`, or to attributes and metadata with one row per person or item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.data.domains import DOMAIN
from tacit.data.ratings import Column, Ratings
from tacit.data.tables import Role, Table, find, missing, names_of, squeezed
from tacit.data.tables.cleaning import Rules, clean, ids_of
from tacit.data.tables.guess import Guess, guess
from tacit.data.tables.sources import open_table
from tacit.data.tables.times import ordered
from tacit.errors import ConfigError, DataError

REPEATS = "a person's item appears again: the later row counts"
Asked = Mapping[Role, str | None]


@dataclass(frozen=True)
class Reading:
    """Ratings, and what became of the rows of their tables. columns: role to header."""

    ratings: Ratings
    read: int
    dropped: dict[str, int]
    columns: dict[str, str]


def columns_of(
    table: Table,
    asked: Asked,
    rules: Rules,
    *,
    events: bool = False,
    needed: Sequence[Role] = ("user", "item"),
    contents: bool = False,
) -> Guess:
    """The columns to read; DataError where a needed one cannot be found."""
    if rules.scale is not None:
        if events or asked.get("plays") is not None:
            raise ConfigError("Events and plays have no stars, so a scale has no meaning for them.")
        needed = (*needed, "rating")
    found = guess(table, asked, events=events, contents=contents)
    for role in needed:
        if role not in found.places:
            raise missing(role, table.headers, None, table.path)
    return found


def ratings_of(
    tables: Sequence[tuple[Table, Mapping[Role, int]]],
    rules: Rules,
    *,
    person: int | None = None,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Reading:
    """Ratings of one or several tables of the same kind. person: all rows are this one's."""
    parts = [clean(table, places, rules) for table, places in tables]
    first, places = tables[0]
    columns = _joined([part.columns for part in parts])
    scales = {part.scale for part in parts}
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    if "domain" in columns:
        whole = len(parts) == 1 and not parts[0].dropped  # then a row has its line
        domains = metadata[DOMAIN] = {}
        for row, (item, name) in enumerate(zip(columns["item"], columns["domain"], strict=True)):
            if domains.setdefault(item, name) != name:
                raise DataError(
                    "an item lies in two domains",
                    path=first.path,
                    row=first.line(row) if whole else None,
                    column=first.headers[places["domain"]],
                    found=f"{item} in {domains[item]} and in {name}",
                    expected="one domain per item",
                    fix="If these are two items, make two ids of them: put the domain before each "
                    "id.",
                )
    try:
        made = Ratings.from_arrays(
            columns["user"] if person is None else np.full(len(columns["item"]), person),
            columns["item"],
            columns.get("rating"),
            columns.get("time"),
            scale=scales.pop() if len(scales) == 1 else None,
            user_attributes=user_attributes,
            item_metadata=metadata,
        )
    except DataError as error:
        raise error.placed(path=error.path or first.path) from None
    dropped = dict(sum((Counter(part.dropped) for part in parts), Counter[str]()))
    if repeats := len(columns["item"]) - len(made):
        dropped[REPEATS] = repeats
    dates_given = not any(
        ordered(table.frame[:, where["time"]], rules.dates)
        for table, where in tables
        if "time" in where
    )
    given = rules.scale is not None or "rating" not in places
    return Reading(
        replace(made, scale_given=given, dates_given=dates_given),
        sum(part.read for part in parts),
        dropped,
        {role: first.headers[at] for role, at in places.items()},
    )


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns below each other; times only where all have them."""
    if len(parts) == 1:
        return dict(parts[0])
    if len({"rating" in part for part in parts}) == 2:
        raise DataError("some of the files have ratings and some have none",
                        fix="Import them apart, or all as events with --events.")  # fmt: skip
    joined: dict[str, Any] = {}
    for role in [role for role in parts[0] if all(role in part for part in parts)]:
        columns = [part[role] for part in parts]
        if any(isinstance(column, list) for column in columns):
            joined[role] = [str(cell) for column in columns for cell in column]
        else:
            joined[role] = np.concatenate(columns)
    return joined


def table_of(
    source: Path | Table, role: Role, asked: str | None, *, fewest: int = 2
) -> tuple[list[Any], dict[str, dict[Any, str | None]]]:
    """The ids of a users or items file, and each of its other columns, as id to text.

    The id column is the one asked for, if it is there, else one of a known name, else the first.
    fewest: columns, the id's too.
    """
    table = source if isinstance(source, Table) else open_table(source, asked=(asked,))
    headers = table.whole().headers
    number = None if asked is None else find(role, headers, asked)
    if number is None:
        squeezes = [squeezed(header) for header in headers]
        known = (squeezes.index(name) for name in names_of(role, more=True) if name in squeezes)
        number = next(known, 0)
    if len(headers) < fewest:
        raise DataError("the file has no column beside the id", path=table.path, found=headers[0])
    keys = table.frame[:, number]
    ids = list(ids_of(keys)) if table.text and not keys.null_count() else keys.to_list()
    seen = set()
    for row, key in enumerate(ids):
        if key is None or key in seen:
            raise DataError(
                "the id is missing" if key is None else "the id has appeared before",
                path=table.path,
                row=table.line(row),
                column=headers[number],
                expected="one row per id",
            )
        seen.add(key)
    columns = {}
    for name in headers[:number] + headers[number + 1 :]:
        texts = [None if cell is None else str(cell).strip() or None for cell in table.frame[name]]
        columns[name] = dict(zip(ids, texts, strict=True))
    return ids, columns


def matched(
    source: Path | Table, role: Role, asked: str | None, ratings: Ratings
) -> dict[str, Column]:
    """A users or items file in the order of the ratings' ids, compared as they are written."""
    ids, columns = table_of(source, role, asked)
    written = {str(key): key for key in ids}
    rated = (ratings.user_ids if role == "user" else ratings.item_ids).tolist()
    keys = [written.get(str(key)) for key in rated]
    if all(key is None for key in keys):
        raise DataError(
            f"no {role} of this file has a rating",
            path=source.path if isinstance(source, Table) else source,
            expected=f"{role} ids written as in the ratings",
            fix="Check which column holds the id: a well-known header, else the first column.",
        )
    return {
        name: np.array([column.get(key) for key in keys], dtype=object)
        for name, column in columns.items()
    }
