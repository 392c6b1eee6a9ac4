"""People and items in two tables, such as orders and order lines, which are joined into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tacit.data.tables.names import Role, is_compound_of, is_named
from tacit.data.tables.table import Table, find_column
from tacit.data.tables.text import read_text_table
from tacit.data.tables.whole_numbers import to_whole_numbers
from tacit.errors import DataError

_TEXT_ENDINGS = (".csv", ".tsv", ".txt", ".dat")
"""Endings of text files that may be tables."""
_MOST_FILES = 20
"""Largest number of files of a folder whose headers are read."""
_BYTES_READ = 2**16
"""Number of bytes of a text file that are read: enough to hold its header."""


@dataclass(frozen=True)
class JoinedTables:
    """Tables after two of them were joined."""

    tables: list[Table]
    """The joined table first, then the tables that were not joined."""
    notes: tuple[str, ...]
    """Sentences that say what was joined."""


@dataclass(frozen=True)
class TableOfPeople:
    """A file with the people that the rows of another file lack."""

    path: Path
    """The file with the people."""
    key: str
    """Name of the column that both files have, by which they can be joined."""


def join_people_to_items(
    tables: Sequence[Table], roles_of_tables: Sequence[set[Role]]
) -> JoinedTables | None:
    """Join a table of people with a table of items, such as orders with order lines.

    The first two tables that share a column are joined.

    Args:
        tables: Tables, none of which has both people and items.
        roles_of_tables: The roles that the columns of each table have.

    Returns:
        The tables after the join; None if no table of people shares a column with a table of items.

    Raises:
        DataError: Two tables could be joined by several columns, several rows of people have the
            same key, or a row of a table could not be read.
    """
    with_roles = list(zip(tables, roles_of_tables, strict=True))
    person_tables = [table for table, roles in with_roles if "user" in roles]
    item_tables = [table for table, roles in with_roles if "item" in roles]
    for person_table in person_tables:
        for item_table in item_tables:
            shared = _shared_columns(person_table.headers, item_table.headers)
            if not shared:
                continue
            if len(shared) > 1:
                raise DataError(
                    "people and items are in two tables that share several columns",
                    path=item_table.path,
                    found=f"{', '.join(shared)}, also in {person_table.path}",
                    fix="Join them first, into one table with people and items.",
                )
            joined = _join(person_table, item_table, shared[0])
            others = [table for table in tables if table not in (person_table, item_table)]
            note = (
                f"{item_table.path} has the items and {person_table.path} the people: they were "
                f"joined by {shared[0]}."
            )
            return JoinedTables([joined, *others], (note,))
    return None


def _shared_columns(people: Sequence[str], items: Sequence[str]) -> list[str]:
    """Find the columns by which two tables may be joined.

    These are the columns that both tables have, except columns whose name says that they hold times
    or, as the subject `other` in `names.py`, something without a use here. If some of them are
    named as orders or sessions, only those are returned.
    """
    shared = [
        name
        for name in people
        if name in items and not is_named("other", name) and not is_named("time", name)
    ]
    orders = [name for name in shared if is_compound_of("order", name)]
    return orders or shared


def _join(people: Table, items: Table, key: str) -> Table:
    """Join each row of `items`, such as a line of an order, with the row of `people` of its key.

    Raises:
        DataError: A row of a table could not be read, or several rows of people have the same key.
    """
    for table in (people, items):
        table.require_whole()
    people_rows = people.frame.with_columns(_keys_as_text(people, key))
    people_rows = people_rows.drop_nulls(key)
    if people_rows[key].n_unique() < len(people_rows):
        raise DataError(
            "people and items are in two tables, and several rows of people have the same key",
            path=people.path,
            column=key,
            expected=f"one row for each {key}",
            fix=f"Join the two tables first, or keep one row for each {key} there.",
        )
    added = [name for name in people_rows.columns if name not in items.frame.columns]
    people_rows = people_rows.select(key, *added)
    item_keys = _keys_as_text(items, key)
    items = replace(items, frame=items.frame.with_columns(item_keys))
    if people.where:  # rows whose people were filtered out are filtered out, too
        items = items.filter(item_keys.is_in(people_rows[key].implode()).fill_null(value=False))
    joined = items.frame.join(people_rows, on=key, how="left", maintain_order="left")
    return replace(
        items,
        frame=joined,
        is_text=items.is_text and people.is_text,
        kind=None,
        form=None,
        where=(*people.where, *items.where),
        guesses=tuple(dict.fromkeys([*people.guesses, *items.guesses])),
    )


def _keys_as_text(table: Table, key: str) -> pl.Series:
    """Return the keys of a table as texts; whole floats lose their decimals, so 17.0 becomes 17.

    One row without a key makes floats of a column of whole numbers; the others keep their keys.

    Raises:
        DataError: Keys of 2**53 or more are floats, which round them.
    """
    keys = table.frame[key]
    if keys.dtype.is_float():
        keys = keys.fill_nan(None)
    if keys.dtype.is_float() or keys.dtype.is_decimal():
        try:
            whole = to_whole_numbers(keys, "keys")
        except DataError as error:
            raise error.with_place(path=table.path, column=key) from None
        return whole.cast(pl.String).fill_null(keys.cast(pl.String))
    return keys.cast(pl.String).str.strip_chars()


def find_table_of_people(table: Table) -> TableOfPeople | None:
    """Find a file in the table's folder that has people, and shares a column of orders with it.

    Returns:
        None if there is no such file among the first `_MOST_FILES`.
    """
    if table.path is None or not table.has_header:
        return None
    table_path = Path(str(table.path))
    if not table_path.is_file():
        return None
    other_files = [
        path
        for path in sorted(table_path.parent.iterdir())
        if path != table_path and _may_be_table(path)
    ]
    for path in other_files[:_MOST_FILES]:
        headers = _read_headers(path)
        shared = [name for name in headers if name in table.headers]
        orders = [name for name in shared if is_compound_of("order", name)]
        if orders and find_column("user", headers, None) is not None:
            return TableOfPeople(path, orders[0])
    return None


def _may_be_table(path: Path) -> bool:
    """Tell by its name whether a file may be a table."""
    return path.is_file() and path.suffix in (*_TEXT_ENDINGS, ".parquet")


def _read_headers(path: Path) -> list[str]:
    """Read the names of a file's columns; an empty list if it is no table with a header."""
    try:
        if path.suffix == ".parquet":
            return [*pl.read_parquet_schema(path)]
        with path.open("rb") as stream:
            start = stream.read(_BYTES_READ).rpartition(b"\n")[0]
        table = read_text_table(
            path, start, encoding=None, delimiter=None, headers=None, header=None, column_names=()
        )
    except (DataError, OSError, pl.exceptions.PolarsError):
        return []
    return table.headers if table.has_header else []
