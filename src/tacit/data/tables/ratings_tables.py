"""Tables turned into `Ratings`, or into attributes of people and metadata of items."""

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
from tacit.data.tables.cell_texts import text_of_cell
from tacit.data.tables.cells import (
    IdKind,
    OnBad,
    Rules,
    clean_rows,
    find_joined_people,
    find_thousands_sign,
    to_ids,
    to_ids_of_kind,
)
from tacit.data.tables.column_guess import ColumnGuess
from tacit.data.tables.names import Role, known_names, normalize_header
from tacit.data.tables.rows import open_written
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table, find_column
from tacit.data.tables.times import (
    find_order_of_dates,
    find_time_form,
    is_text_type,
)
from tacit.data.tables.written_format import WrittenFormat
from tacit.errors import ConfigError, DataError

REPEATS = "a person's item appears again: the latest counts, then the most stars"
"""The rule by which repeated rows of stars or events are dropped, as reports name it."""
SUMMED = "a person's item appears again: its plays are added up"
"""The rule by which repeated rows of plays become one row, as reports name it."""
_KINDS_OF_FEEDBACK = ("rating", "plays")
"""Roles that say how much a person liked an item. A table has one of them, or none."""


@dataclass(frozen=True)
class TableReading:
    """Ratings read from tables, with counts of rows that were read and dropped."""

    ratings: Ratings
    """The ratings."""
    read: int
    """Number of rows that were read."""
    dropped: dict[str, int]
    """Number of dropped rows, by rule."""
    columns: dict[str, str]
    """Role to the header of its column in the first table."""
    written: WrittenFormat | None = None
    """The written format of all tables; None if their rows cannot be read one by one, or if the
    tables have different formats."""


def make_ratings(
    tables: Sequence[ColumnGuess],
    rules: Rules,
    *,
    user_attributes: Mapping[str, Mapping[Any, Any]] | None = None,
    item_metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> TableReading:
    """Make ratings of one or several tables.

    Args:
        tables: The tables, at least one, and what their columns are. All have stars, or all have
            plays, or none has either.
        rules: How cells are read.
        user_attributes: Attributes by name, each of which maps user ids to values; None: no
            attributes.
        item_metadata: Metadata by name, each of which maps item ids to values; None: no metadata.

    Raises:
        DataError: A row is bad and the rules refuse it, no row is left, it is not clear how a
            column is to be read, an item lies in two domains, or the tables do not fit together.
    """
    parts = [clean_rows(guessed.table, guessed.positions, rules) for guessed in tables]
    first = tables[0].table
    positions = tables[0].positions
    rows = _join_parts([part.columns for part in parts])
    scales = {part.scale for part in parts}
    metadata: dict[str, Mapping[Any, Any]] = dict(item_metadata or {})
    guesses: list[str] = []
    for guessed in tables:
        guesses += _list_guesses(guessed, rules)
    if "domain" in rows:
        guesses.append("domains")
        has_lines = len(parts) == 1 and not parts[0].dropped
        metadata[DOMAIN] = _domain_of_items(rows, tables[0], has_lines=has_lines)
    columns = _sum_plays(rows, rules)
    dropped: Counter[str] = Counter()
    for part in parts:
        dropped.update(part.dropped)
    read = sum(part.read for part in parts)
    kept = sum(len(part.columns["item"]) for part in parts)
    joined_people = find_joined_people(parts)
    # To save memory, `from_arrays` frees each column once it is turned into numbers. So neither
    # `parts` nor `rows` nor `columns` may hold it.
    del parts, rows
    try:
        ratings = Ratings.from_arrays(
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
    repeats = kept - len(ratings)
    if repeats:
        dropped[SUMMED if "plays" in positions else REPEATS] = repeats
    path = None if first.path is None else str(first.path)
    headers = {str(role): first.headers[position] for role, position in positions.items()}
    reasons = {str(role): reason for role, reason in tables[0].reasons.items()}
    ratings = replace(
        ratings,
        scale_given=rules.scale is not None or "rating" not in positions,
        guesses=tuple(dict.fromkeys(guesses)),
        source=TableSource(path, headers, reasons),
        joined_people=joined_people,
    )
    formats = [_describe_format(guessed, rules, ratings) for guessed in tables]
    have_one_format = all(written == formats[0] for written in formats)
    return TableReading(
        ratings,
        read,
        dict(dropped),
        headers,
        formats[0] if have_one_format else None,
    )


def _domain_of_items(
    columns: Mapping[str, Any], guessed: ColumnGuess, *, has_lines: bool
) -> dict[Any, str]:
    """Map each item to its domain; DataError if an item has two.

    Args:
        columns: The columns "item" and "domain" of the rows that are kept.
        guessed: The table that an error names.
        has_lines: Whether these are all rows of that table, so that an error can name the line.
    """
    domains: dict[Any, str] = {}
    for row, (item, name) in enumerate(zip(columns["item"], columns["domain"], strict=True)):
        if domains.setdefault(item, name) != name:
            raise DataError(
                "an item lies in two domains",
                path=guessed.table.path,
                row=guessed.table.line(row) if has_lines else None,
                column=guessed.table.headers[guessed.positions["domain"]],
                found=f"{item} in {domains[item]} and in {name}",
                expected="one domain per item",
                fix="If these are two items, make two ids of them: put the domain before each id.",
            )
    return domains


def with_row_texts(ratings: Ratings, tables: Sequence[ColumnGuess]) -> Ratings:
    """Add the titles of items from columns beside the ratings, as metadata `title`.

    A column in which an item has several texts is left out: these are no titles. People may have
    written the texts, so no model uses them: see `Ratings.row_texts`. If the ratings have titles
    already, nothing is added.

    Args:
        ratings: Ratings made of the tables.
        tables: The tables, and what their columns are.
    """
    titles: dict[str, str] = {}
    for guessed in tables:
        position = _find_title_column(guessed)
        if position is None:
            continue
        frame = guessed.table.frame
        items = _ids_as_text(frame[:, guessed.positions["item"]])
        pairs = pl.DataFrame({"item": items, "title": frame[:, position]})
        pairs = pairs.drop_nulls().unique(maintain_order=True)
        if pairs["item"].n_unique() < len(pairs):
            continue  # an item has several texts: they are reviews or names, not titles
        for item, title in pairs.iter_rows():
            titles.setdefault(item, str(title))
    if not titles or "title" in ratings.item_metadata:
        return ratings
    items = _ids_as_text(pl.Series([str(key) for key in ratings.item_ids.tolist()]))
    column = np.array([titles.get(item) for item in items], dtype=object)
    metadata = {**ratings.item_metadata, "title": column}
    return replace(ratings, item_metadata=metadata, row_texts=("title",))


def _find_title_column(guessed: ColumnGuess) -> int | None:
    """Find the position of the column with the first known name of titles.

    Returns:
        None if there is no such column, or if it has a role.
    """
    headers = [normalize_header(header) for header in guessed.table.headers]
    positions = [headers.index(name) for name in known_names("title") if name in headers]
    if not positions or positions[0] in guessed.positions.values():
        return None
    return positions[0]


def _ids_as_text(column: pl.Series) -> pl.Series:
    """Turn ids into texts that can be compared with those of ratings: 17850.0 becomes 17850."""
    texts = column.cast(pl.String).str.strip_chars().str.normalize("NFC")
    whole = to_ids_of_kind(texts, "integer").cast(pl.String)
    return whole.fill_null(texts)


def read_in_format(path: Path, written: WrittenFormat, on_bad: OnBad) -> TableReading:
    """Read a file in a written format, without guesses; no row decides how another is read.

    Args:
        path: The file.
        written: The format.
        on_bad: What to do about a row that does not fit it.

    Raises:
        DataError: The file cannot be opened in this format, a row does not fit it and is to be
            refused, no row is left, or an item lies in two domains.
        ConfigError: The format has a value that is not allowed.
    """
    table = open_written(path, written)
    positions = {role: table.headers.index(name) for role, name in written.columns.items()}
    reading = make_ratings([ColumnGuess(table, positions)], written.rules(on_bad))
    return replace(reading, written=written)


def _list_guesses(guessed: ColumnGuess, rules: Rules) -> list[str]:
    """List what was found in the rows of a table in order to read them.

    The names are keys of `PUBLIC_FACTS` in `tacit.recommenders.public_facts`. One row may have
    decided how others were read, so guarantee cards state each as a condition. Only the options
    and the form of the table (its kind, and the names and types of its columns) decide what is
    listed: if a cell did, one row would decide what the card says.
    """
    table = guessed.table
    names = list(table.guesses)
    if not guessed.rests_on_names:
        names.append("columns")
    if table.is_text and len(rules.ids) < 2:
        names.append("ids")
    if _depends_on_signs(guessed, rules):
        names.append("decimal")
    if "time" in guessed.positions:
        kind = table.frame[:, guessed.positions["time"]].dtype
        if rules.dates is None and is_text_type(kind):
            names.append("dates")
        has_dates = kind in (pl.Date, pl.Datetime)
        if rules.guessing and rules.times is None and not has_dates:
            names.append("times")
    return [*names, *guessed.guesses]


def _depends_on_signs(guessed: ColumnGuess, rules: Rules) -> bool:
    """Tell whether a cell may decide what commas and points in other cells mean.

    In a column of plays, all cells together show the sign between thousands unless the rules name a
    sign. Where the decimal sign is a comma, one cell that is a text makes texts of a column of
    numbers, in which a point then has no meaning.
    """
    finds_thousands = rules.thousands is None and rules.decimal is None
    if "plays" in guessed.positions and finds_thousands:
        return True
    has_numbers = not {"plays", "rating"}.isdisjoint(guessed.positions)
    return has_numbers and rules.decimal == "," and not guessed.table.is_text and rules.guessing


def _describe_format(guessed: ColumnGuess, rules: Rules, ratings: Ratings) -> WrittenFormat | None:
    """Describe the format by which a later import reads each row of a table as this one did.

    Args:
        guessed: The table, and what its columns are.
        rules: How its cells were read.
        ratings: The ratings made of it, perhaps together with other tables.

    Returns:
        The format; None if the rows cannot be read one by one.
    """
    table = guessed.table
    if table.kind is None:
        return None
    columns = {role: table.headers[position] for role, position in guessed.positions.items()}
    values = {role: table.frame[:, position] for role, position in guessed.positions.items()}
    thousands = rules.thousands
    if thousands is None and rules.decimal is None and "plays" in values:
        thousands = find_thousands_sign(values["plays"])
    times = rules.times
    dates = rules.dates
    if "time" in values:
        times = times or find_time_form(values["time"], guessing=rules.guessing)
        dates = dates or find_order_of_dates(values["time"])
    ids: dict[Role, IdKind] = {
        "user": rules.ids.get("user") or kind_of_ids(ratings.user_ids),
        "item": rules.ids.get("item") or kind_of_ids(ratings.item_ids),
    }
    try:
        return WrittenFormat(
            kind=table.kind,
            columns=columns,
            ids=ids,
            text=table.form,
            headers=tuple(table.headers) if table.form else (),
            scale=str(ratings.scale) if "rating" in columns else None,
            decimal=rules.decimal,
            thousands=thousands or "",
            times=times or "usual",
            dates=dates or "dayfirst",
            least_plays=rules.least_plays,
            where=table.where,
        )
    except ConfigError:
        return None  # such as UTF-16, whose lines cannot be decoded one by one


def kind_of_ids(ids: Column) -> IdKind:
    """Tell whether (n,) ids of ratings, int64 or objects of str, are integers or text."""
    return "text" if ids.dtype == object else "integer"


def _sum_plays(columns: dict[str, Any], rules: Rules) -> dict[str, Any]:
    """Replace numbers of plays by ratings of 1 for a like and 0 for no like.

    The plays of an item by a person are added up over their rows. A sum of `rules.least_plays` or
    more is a like. Other columns keep the cell of the latest of these rows, or without times, of
    the last.

    Args:
        columns: Role to its column; all columns have the same length.
        rules: How cells are read.

    Returns:
        The columns with one row for each pair of person and item, and with `rating` in place of
        `plays`; without a column of plays, the columns as they are.
    """
    if "plays" not in columns:
        return columns
    frame = pl.DataFrame({role: pl.Series(column) for role, column in columns.items()})
    if "time" in columns:
        frame = frame.sort("time", maintain_order=True)
    other_roles = [role for role in columns if role not in ("user", "item", "plays")]
    totals = [pl.col("plays").sum()]
    totals += [pl.col(role).last() for role in other_roles]
    summed = frame.group_by("user", "item", maintain_order=True).agg(totals)
    likes: dict[str, Any] = {}
    for role in columns:
        if role != "plays":
            column = summed[role]
            likes[role] = column.to_list() if column.dtype == pl.String else column.to_numpy()
    likes["rating"] = (summed["plays"].to_numpy() >= rules.least_plays).astype(np.float64)
    return likes


def _join_parts(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Concatenate the columns of several tables; times or domains that one lacks are left out.

    Args:
        parts: For each table, role to its column. If ids are integers in one table and texts in
            another, all become texts.

    Raises:
        DataError: Some tables have stars or plays and others have neither, or some have stars and
            others have plays.
    """
    if len(parts) == 1:
        return dict(parts[0])
    kinds: set[tuple[str, ...]] = set()
    for part in parts:
        kinds.add(tuple(role for role in _KINDS_OF_FEEDBACK if role in part))
    if len(kinds) > 1:
        what = "some of the files have stars and some have numbers of plays"
        if () in kinds:
            what = "some of the files have ratings and some have none"
        raise DataError(what, fix="Import them apart, or all as events with --events.")
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
    """Read a table of users or items: its ids, and its other columns by id.

    Args:
        source: The file, or its table.
        role: "user" if the ids are those of people, "item" if they are those of items.
        id_header: Header of the id column. If it is None or the file does not have it, the column
            with the first well-known header is used, else the first column.
        fewest: Smallest number of columns that the file may have, including the ids.

    Returns:
        The ids in the order of the rows; and each other column by its header, which maps an id to
        the text of the cell, or to None for an empty one.

    Raises:
        DataError: The file cannot be read, a row of it cannot be read, it has too few columns, or
            an id is missing or repeated.
    """
    table = source if isinstance(source, Table) else open_table(source, column_names=(id_header,))
    headers = table.require_whole().headers
    position = None if id_header is None else find_column(role, headers, id_header)
    if position is None:
        normalized = [normalize_header(header) for header in headers]
        known_positions = [
            normalized.index(name) for name in known_names(role) if name in normalized
        ]
        position = known_positions[0] if known_positions else 0
    if len(headers) < fewest:
        raise DataError("the file has no column beside the id", path=table.path, found=headers[0])
    keys = table.frame[:, position]
    ids = list(to_ids(keys)) if table.is_text and not keys.null_count() else keys.to_list()
    seen = set()
    for row, key in enumerate(ids):
        if key is None or key in seen:
            raise DataError(
                "the id is missing" if key is None else "the id has appeared before",
                path=table.path,
                row=table.line(row),
                column=headers[position],
                expected="one row per id",
            )
        seen.add(key)
    columns = {}
    for name in headers[:position] + headers[position + 1 :]:
        texts = [text_of_cell(cell) for cell in table.frame[name]]
        columns[name] = dict(zip(ids, texts, strict=True))
    return ids, columns


def match_columns(
    source: str | Path | Table, role: Role, id_header: str | None, ratings: Ratings
) -> dict[str, Column]:
    """Read the columns of a users or items file, in the order of the ratings' ids.

    Ids are compared by their text.

    Args:
        source: The file, or its table.
        role: "user" if the ids are those of people, "item" if they are those of items.
        id_header: Header of the id column, as in `read_columns_by_id`.
        ratings: Ratings whose people or items decide the order.

    Returns:
        Each column by its header: (n_users,) or (n_items,) texts, with None for an empty cell and
        for an id that the file does not have.

    Raises:
        DataError: No id of the file is an id of the ratings, or as in `read_columns_by_id`.
    """
    ids, columns = read_columns_by_id(source, role, id_header)
    ids_by_text = {str(key): key for key in ids}
    rated_ids = ratings.user_ids if role == "user" else ratings.item_ids
    keys = [ids_by_text.get(str(key)) for key in rated_ids.tolist()]
    if all(key is None for key in keys):
        raise DataError(
            f"no {role} of this file has a rating",
            path=source.path if isinstance(source, Table) else source,
            expected=f"{role} ids written as in the ratings",
            fix="The id is the column that you name, else the first with a well-known header, else "
            "the first. Check it.",
        )
    aligned: dict[str, Column] = {}
    for name, column in columns.items():
        cells = [column.get(key) for key in keys]
        aligned[name] = np.array(cells, dtype=object)
    return aligned
