"""From tables to `Ratings`, or to attributes of people and metadata of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit.data.domains import DOMAIN
from tacit.data.ratings import Column, Ratings
from tacit.data.tables import Table, find
from tacit.data.tables.cleaning import Rules, clean, ids_of
from tacit.data.tables.guessing import Guess
from tacit.data.tables.names import Role, known_names, normalize_header
from tacit.data.tables.sources import open_table
from tacit.data.tables.times import ordered
from tacit.errors import DataError

REPEATS = "a person's item appears again: the latest counts, then the most stars"
SUMMED = "a person's item appears again: its plays are added up"


@dataclass(frozen=True)
class Reading:
    """Ratings, and what became of the rows of their tables. columns: role to header."""

    ratings: Ratings
    read: int
    dropped: dict[str, int]
    columns: dict[str, str]


def ratings_of(
    tables: Sequence[Guess],
    rules: Rules,
    *,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Reading:
    """Ratings of one or several tables of the same kind."""
    parts = [clean(each.table, each.places, rules) for each in tables]
    first, places = tables[0].table, tables[0].places
    columns = _likes_of_plays(_joined([part.columns for part in parts]), rules)
    scales = {part.scale for part in parts}
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    if "domain" in columns:
        whole = len(parts) == 1 and not parts[0].dropped  # then a row has its line
        domains = metadata[DOMAIN] = {}
        for row, (item, name) in enumerate(zip(columns["item"], columns["domain"], strict=True)):
            if domains.setdefault(item, name) != name:
                line, column = first.line(row) if whole else None, first.headers[places["domain"]]
                found = f"{item} in {domains[item]} and in {name}"
                raise DataError(
                    "an item lies in two domains",
                    path=first.path,
                    row=line,
                    column=column,
                    found=found,
                    expected="one domain per item",
                    fix="If these are two items, make two ids of them: put the domain before each "
                    "id.",
                )
    try:
        made = Ratings.from_arrays(
            columns["user"],
            columns["item"],
            columns.get("rating"),
            columns.get("time"),
            scale=scales.pop() if len(scales) == 1 else None,
            user_attributes=user_attributes,
            item_metadata=metadata,
        )
    except DataError as error:
        raise error.with_place(path=error.path or first.path) from None
    dropped = dict(sum((Counter(part.dropped) for part in parts), Counter[str]()))
    kept = sum(len(part.columns["item"]) for part in parts)
    if repeats := kept - len(made):
        dropped[SUMMED if "plays" in places else REPEATS] = repeats
    timed = [each.table.frame[:, each.places["time"]] for each in tables if "time" in each.places]
    dates_given = not any(ordered(column, rules.dates) for column in timed)
    given = rules.scale is not None or "rating" not in places
    return Reading(
        replace(made, scale_given=given, dates_given=dates_given),
        sum(part.read for part in parts),
        dropped,
        {role: first.headers[at] for role, at in places.items()},
    )


def _likes_of_plays(columns: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """Add up the plays of a person's item over its rows; from the fewest on it is a like."""
    if "plays" not in columns:
        return columns
    frame = pl.DataFrame({role: pl.Series(column) for role, column in columns.items()})
    latest = [pl.col(role).last() for role in columns if role not in ("user", "item", "plays")]
    if "time" in columns:
        frame = frame.sort("time", maintain_order=True)
    summed = frame.group_by("user", "item", maintain_order=True).agg(pl.col("plays").sum(), *latest)
    added: dict[str, Any] = {}
    for role in [role for role in columns if role != "plays"]:
        column = summed[role]
        added[role] = column.to_list() if column.dtype == pl.String else column.to_numpy()
    added["rating"] = (summed["plays"].to_numpy() >= rules.least_plays).astype(np.float64)
    return added


def _joined(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The columns below each other; times only where all have them."""
    if len(parts) == 1:
        return dict(parts[0])
    if len({"rating" in part or "plays" in part for part in parts}) == 2:
        raise DataError(
            "some of the files have ratings and some have none",
            fix="Import them apart, or all as events with --events.",
        )
    joined: dict[str, Any] = {}
    for role in [role for role in parts[0] if all(role in part for part in parts)]:
        columns = [part[role] for part in parts]
        if any(isinstance(column, list) for column in columns):
            joined[role] = [str(cell) for column in columns for cell in column]
        else:
            joined[role] = np.concatenate(columns)
    return joined


def table_of(
    source: str | Path | Table, role: Role, asked: str | None, *, fewest: int = 2
) -> tuple[list[Any], dict[str, dict[Any, str | None]]]:
    """The ids of a users or items file, and each of its other columns, as id to text. The id column
    is the one asked for, if it is there, else one of a known name, else the first. fewest: columns,
    the id's too."""
    table = source if isinstance(source, Table) else open_table(source, asked=(asked,))
    headers = table.whole().headers
    number = None if asked is None else find(role, headers, asked)
    if number is None:
        squeezes = [normalize_header(header) for header in headers]
        known = (squeezes.index(name) for name in known_names(role) if name in squeezes)
        number = next(known, 0)
    if len(headers) < fewest:
        raise DataError("the file has no column beside the id", path=table.path, found=headers[0])
    keys = table.frame[:, number]
    ids = list(ids_of(keys)) if table.text and not keys.null_count() else keys.to_list()
    seen = set()
    for row, key in enumerate(ids):
        if key is None or key in seen:
            what = "the id is missing" if key is None else "the id has appeared before"
            line, column = table.line(row), headers[number]
            expected = "one row per id"
            raise DataError(what, path=table.path, row=line, column=column, expected=expected)
        seen.add(key)
    columns = {}
    for name in headers[:number] + headers[number + 1 :]:
        texts = [None if cell is None else str(cell).strip() or None for cell in table.frame[name]]
        columns[name] = dict(zip(ids, texts, strict=True))
    return ids, columns


def matched(
    source: str | Path | Table, role: Role, asked: str | None, ratings: Ratings
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
