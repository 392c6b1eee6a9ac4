"""From a table to `Ratings`: columns found, rows checked, ids numbered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.data.assembly import located
from tacit.data.domains import DOMAIN, by_item
from tacit.data.ratings import Duplicates, Ratings
from tacit.data.tables.cleaning import Clean, Rules, clean
from tacit.data.tables.columns import Role, missing
from tacit.data.tables.guess import Guess, guess
from tacit.data.tables.table import Table
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
    if rules.scale is not None and (events or asked.get("plays") is not None):
        raise ConfigError("Events and plays have no stars, so a scale has no meaning for them.")
    found = guess(table, asked, events=events, contents=contents)
    if rules.scale is not None:
        needed = (*needed, "rating")
    for role in needed:
        if role not in found.places:
            raise missing(role, table.headers, None, table.path)
    return found


def ratings_of(
    tables: Sequence[tuple[Table, Mapping[Role, int]]],
    rules: Rules,
    *,
    duplicates: Duplicates = "last",
    person: int | None = None,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Reading:
    """Ratings of one or several tables of the same kind. person: all rows are this one's."""
    parts = [clean(table, places, rules) for table, places in tables]
    path = tables[0][0].path
    columns = _joined([part.columns for part in parts])
    counted = rules.scale is not None or "rating" not in tables[0][1]
    scales = {part.scale for part in parts}
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    if "domain" in columns:
        metadata[DOMAIN] = _domains(
            tables[0], columns, whole=len(parts) == 1 and not parts[0].dropped
        )
    try:
        made = Ratings.from_arrays(
            columns["user"] if person is None else np.full(len(columns["item"]), person),
            columns["item"],
            columns.get("rating"),
            columns.get("time"),
            scale=scales.pop() if len(scales) == 1 else None,
            duplicates=duplicates,
            user_attributes=user_attributes,
            item_metadata=metadata,
        )
    except DataError as error:
        raise located(error, path) from None
    dropped = _added(parts)
    if repeats := len(columns["item"]) - len(made):
        dropped[REPEATS] = repeats
    first, places = tables[0]
    dates_given = not any(
        ordered(table.frame[:, where["time"]], rules.dates)
        for table, where in tables
        if "time" in where
    )
    return Reading(
        replace(made, scale_given=counted, dates_given=dates_given),
        sum(part.read for part in parts),
        dropped,
        {role: first.headers[at] for role, at in places.items()},
    )


def _domains(
    source: tuple[Table, Mapping[Role, int]], columns: Mapping[str, Any], *, whole: bool
) -> dict[Any, str]:
    """Item to domain. whole: every row of the table is there, so that a row has its line."""
    table, places = source
    try:
        return by_item(columns["item"], columns["domain"])
    except DataError as error:
        row = table.line(error.row - 1) if whole and error.row is not None else None
        raise DataError(
            error.what, path=table.path, row=row, column=table.headers[places["domain"]],
            found=error.found, expected=error.expected, fix=error.fix,
        ) from None  # fmt: skip


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
        if role in ("user", "item") and any(isinstance(column, list) for column in columns):
            joined[role] = [str(key) for column in columns for key in column]
        elif role == "domain":
            joined[role] = [name for column in columns for name in column]
        else:
            joined[role] = np.concatenate(columns)
    return joined


def _added(parts: Sequence[Clean]) -> dict[str, int]:
    added: dict[str, int] = {}
    for part in parts:
        for rule, rows in part.dropped.items():
            added[rule] = added.get(rule, 0) + rows
    return added
