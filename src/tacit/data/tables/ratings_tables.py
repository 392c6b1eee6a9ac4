"""Tables become `Ratings`, or attributes of people and metadata of items."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tacit.data.domains import DOMAIN
from tacit.data.ratings import Column, Ratings, TableSource
from tacit.data.tables.cells import (
    IdKind,
    OnBad,
    Rules,
    clean_rows,
    ids_of,
    ids_of_kind,
    thousands_sign,
)
from tacit.data.tables.column_guess import Guess
from tacit.data.tables.names import Role, known_names, normalize_header
from tacit.data.tables.rows import open_written
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table, find_column
from tacit.data.tables.times import depends_on_order, order_of_dates, time_form
from tacit.data.tables.written_format import WrittenFormat
from tacit.errors import ConfigError, DataError

REPEATS = "a person's item appears again: the latest counts, then the most stars"
SUMMED = "a person's item appears again: its plays are added up"


@dataclass(frozen=True)
class TableReading:
    """Ratings, and what became of the rows of their tables."""

    ratings: Ratings
    read: int
    """Number of rows that were read."""
    dropped: dict[str, int]
    """Rule to number of rows."""
    columns: dict[str, str]
    """Role to header."""
    written: WrittenFormat | None = None
    """How the rows are written; None if they cannot be read one by one."""


def ratings_of(
    tables: Sequence[Guess],
    rules: Rules,
    *,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> TableReading:
    """Make ratings of one or several tables of the same kind."""
    parts = [clean_rows(each.table, each.places, rules) for each in tables]
    first = tables[0].table
    places = tables[0].places
    columns = _likes_of_plays(_join_parts([part.columns for part in parts]), rules)
    scales = {part.scale for part in parts}
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    guesses: list[str] = []
    for each in tables:
        guesses += _guesses_about(each, rules)
    if "domain" in columns:
        guesses.append("domains")
        has_lines = len(parts) == 1 and not parts[0].dropped  # the row of a rating is known
        metadata[DOMAIN] = _domain_of_items(columns, tables[0], has_lines=has_lines)
    dropped = dict(sum((Counter(part.dropped) for part in parts), Counter[str]()))
    read = sum(part.read for part in parts)
    kept = sum(len(part.columns["item"]) for part in parts)
    del parts  # with `columns.pop`: no column is in memory beside the numbers made of it
    try:
        made = Ratings.from_arrays(
            columns.pop("user"),
            columns.pop("item"),
            columns.pop("rating", None),
            columns.pop("time", None),
            scale=scales.pop() if len(scales) == 1 else None,
            user_attributes=user_attributes,
            item_metadata=metadata,
        )
    except DataError as error:
        raise error.with_place(path=error.path or first.path) from None
    repeats = kept - len(made)
    if repeats:
        dropped[SUMMED if "plays" in places else REPEATS] = repeats
    given = rules.scale is not None or "rating" not in places
    path = None if first.path is None else str(first.path)
    headers = {str(role): first.headers[at] for role, at in places.items()}
    reasons = {str(role): reason for role, reason in tables[0].why.items()}
    source = TableSource(path, headers, reasons)
    made = replace(made, scale_given=given, guesses=tuple(dict.fromkeys(guesses)), source=source)
    described = [_describe_format(each, rules, made) for each in tables]
    formats = {str(written): written for written in described}
    return TableReading(
        made,
        read,
        dropped,
        {role: first.headers[at] for role, at in places.items()},
        formats.popitem()[1] if len(formats) == 1 else None,
    )


def _domain_of_items(
    columns: Mapping[str, Any], table: Guess, *, has_lines: bool
) -> dict[Any, str]:
    """Find the domain of each item; DataError if an item has two.

    Args:
        columns: Items and domains of the ratings, by role.
        table: The table that an error names.
        has_lines: Whether the ratings are the table's rows, so that an error can name the line.
    """
    domains: dict[Any, str] = {}
    for row, (item, name) in enumerate(zip(columns["item"], columns["domain"], strict=True)):
        if domains.setdefault(item, name) != name:
            raise DataError(
                "an item lies in two domains",
                path=table.table.path,
                row=table.table.line(row) if has_lines else None,
                column=table.table.headers[table.places["domain"]],
                found=f"{item} in {domains[item]} and in {name}",
                expected="one domain per item",
                fix="If these are two items, make two ids of them: put the domain before each id.",
            )
    return domains


def with_row_texts(ratings: Ratings, tables: Sequence[Guess]) -> Ratings:
    """Keep titles that stand beside the ratings, where each item has one text.

    They are words of people, so they stay out of every model: see `Ratings.row_texts`.
    """
    titles: dict[str, str] = {}
    for each in tables:
        place = _title_place(each)
        if place is None:
            continue
        items = each.table.frame[:, each.places["item"]]
        pairs = pl.DataFrame({"item": _written_ids(items), "title": each.table.frame[:, place]})
        pairs = pairs.drop_nulls().unique(maintain_order=True)
        if pairs["item"].n_unique() < len(pairs):
            continue  # an item has several texts: reviews or names, and no titles
        for key, title in pairs.iter_rows():
            titles.setdefault(key, str(title))
    if not titles or "title" in ratings.item_metadata:
        return ratings
    keys = _written_ids(pl.Series([str(key) for key in ratings.item_ids.tolist()]))
    column = np.array([titles.get(key) for key in keys], dtype=object)
    metadata = {**ratings.item_metadata, "title": column}
    return replace(ratings, item_metadata=metadata, row_texts=("title",))


def _title_place(each: Guess) -> int | None:
    """Find the column of titles beside the ratings; None if there is none."""
    headers = [normalize_header(header) for header in each.table.headers]
    places = (headers.index(name) for name in known_names("title") if name in headers)
    place = next(places, None)
    return None if place in each.places.values() else place


def _written_ids(column: pl.Series) -> pl.Series:
    """Write ids as text, as the ids of ratings are written: 17850.0 is 17850."""
    texts = column.cast(pl.String).str.strip_chars().str.normalize("NFC")
    whole = ids_of_kind(texts, "integer").cast(pl.String)
    return whole.fill_null(texts)


def read_in_format(path: Path, written: WrittenFormat, on_bad: OnBad) -> TableReading:
    """Read a file in a format that is stated: each row by itself, and nothing is guessed."""
    table = open_written(path, written)
    places = {role: table.headers.index(name) for role, name in written.columns.items()}
    reading = ratings_of([Guess(table, places)], written.rules(on_bad))
    return replace(reading, written=written)


def _guesses_about(each: Guess, rules: Rules) -> list[str]:
    """Name what was found in the rows of a table in order to read them."""
    names = list(each.table.guesses)
    if not each.settled:
        names.append("columns")
    if each.table.text and len(rules.ids) < 2:
        names.append("ids")
    plays = "plays" in each.places and each.table.text
    if plays and rules.thousands is None and rules.decimal is None:
        names.append("decimal")
    if "time" in each.places:
        column = each.table.frame[:, each.places["time"]]
        if depends_on_order(column, rules.dates):
            names.append("dates")
        if rules.guessing and rules.times is None and column.dtype != pl.Datetime:
            names.append("times")
    return names


def _describe_format(each: Guess, rules: Rules, made: Ratings) -> WrittenFormat | None:
    """Describe how a table is written, as it was read; None if a row does not stand alone."""
    table = each.table
    if table.kind is None:
        return None
    columns = {role: table.headers[at] for role, at in each.places.items()}
    values = {role: table.frame[:, at] for role, at in each.places.items()}
    thousands = rules.thousands
    if thousands is None and "plays" in values and table.text:
        thousands = thousands_sign(values["plays"])
    times = rules.times
    dates = rules.dates
    if "time" in values:
        times = times or time_form(values["time"], guessing=rules.guessing)
        dates = dates or order_of_dates(values["time"])
    ids: dict[Role, IdKind] = {
        "user": rules.ids.get("user") or _kind_of(made.user_ids),
        "item": rules.ids.get("item") or _kind_of(made.item_ids),
    }
    try:
        return WrittenFormat(
            kind=table.kind,
            columns=columns,
            ids=ids,
            text=table.form,
            headers=tuple(table.headers) if table.form else (),
            scale=str(made.scale) if "rating" in columns else None,
            decimal=rules.decimal,
            thousands=thousands or "",
            times=times or "usual",
            dates=dates or "dayfirst",
            least_plays=rules.least_plays,
            where=table.where,
        )
    except ConfigError:
        return None  # such as UTF-16, whose lines cannot be decoded one by one


def _kind_of(ids: Column) -> IdKind:
    return "text" if ids.dtype == object else "integer"


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


def _join_parts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Put the columns of the parts below each other; times only where all parts have them."""
    if len(parts) == 1:
        return dict(parts[0])
    if len({"rating" in part or "plays" in part for part in parts}) == 2:
        raise DataError(
            "some of the files have ratings and some have none",
            fix="Import them apart, or all as events with --events.",
        )
    joined: dict[str, Any] = {}
    for role in parts[0]:
        columns = [part[role] for part in parts if role in part]
        if len(columns) < len(parts):
            continue
        if any(isinstance(column, list) for column in columns):
            joined[role] = list(map(str, itertools.chain.from_iterable(columns)))
        else:
            joined[role] = np.concatenate(columns)
    return joined


def read_columns_by_id(
    source: str | Path | Table, role: Role, id_header: str | None, *, fewest: int = 2
) -> tuple[list[Any], dict[str, dict[Any, str | None]]]:
    """Read the ids of a file about users or items, and each of its other columns by id.

    Args:
        source: The file, or its table.
        role: Whether its ids are of users or of items.
        id_header: Header of the id column; None, or one that the file does not have: a well-known
            header, else the first column.
        fewest: Least number of columns, the id's too.

    Returns:
        Ids in their order; for each other column, by its header, id to text.
    """
    table = source if isinstance(source, Table) else open_table(source, asked=(id_header,))
    headers = table.require_whole().headers
    number = None if id_header is None else find_column(role, headers, id_header)
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
            line = table.line(row)
            column = headers[number]
            expected = "one row per id"
            raise DataError(what, path=table.path, row=line, column=column, expected=expected)
        seen.add(key)
    columns = {}
    for name in headers[:number] + headers[number + 1 :]:
        texts = [None if cell is None else str(cell).strip() or None for cell in table.frame[name]]
        columns[name] = dict(zip(ids, texts, strict=True))
    return ids, columns


def match_columns(
    source: str | Path | Table, role: Role, id_header: str | None, ratings: Ratings
) -> dict[str, Column]:
    """Read the columns of a users or items file, in the order of the ratings' ids.

    Ids are compared as text, as they are written in the files.

    Args:
        source: The file, or its table.
        role: Whether its ids are of users or of items.
        id_header: Header of the id column; None: a well-known header, else the first column.
        ratings: Ratings whose ids decide the order.

    Returns:
        Each column by its header; None for ids that the file does not have.

    Raises:
        DataError: No id of the file is an id of the ratings.
    """
    ids, columns = read_columns_by_id(source, role, id_header)
    written = {str(key): key for key in ids}
    rated = (ratings.user_ids if role == "user" else ratings.item_ids).tolist()
    keys = [written.get(str(key)) for key in rated]
    if all(key is None for key in keys):
        raise DataError(
            f"no {role} of this file has a rating",
            path=source.path if isinstance(source, Table) else source,
            expected=f"{role} ids written as in the ratings",
            fix="The id is the column with a well-known header, else the first. Check it.",
        )
    aligned: dict[str, Column] = {}
    for name, column in columns.items():
        cells = [column.get(key) for key in keys]
        aligned[name] = np.array(cells, dtype=object)
    return aligned
