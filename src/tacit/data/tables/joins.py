"""People and items in two tables: orders with their customers, and the lines of the orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from tacit.data.tables.names import Role, is_compound_of, is_named
from tacit.data.tables.table import Table, find_column
from tacit.data.tables.text import text_table
from tacit.errors import DataError

_TEXTS = (".csv", ".tsv", ".txt", ".dat")
_MOST_FILES = 20  # of a folder that are looked at
_BYTES_OF_START = 2**16  # of a text file, in which its header is


@dataclass(frozen=True)
class JoinedTables:
    """Tables of which two became one."""

    tables: list[Table]
    """The joined table in the place of both, and the others."""
    said: tuple[str, ...]
    """Sentences on what was joined."""


@dataclass(frozen=True)
class TableOfPeople:
    """A file with the people of another file's rows."""

    path: Path
    shared: str
    """Name of the column that both files have."""


def join_people_to_items(
    opened: Sequence[Table], named: Sequence[set[Role]]
) -> JoinedTables | None:
    """Join the table that has the people to the one that has the items of the same rows.

    Args:
        opened: Tables, none of which has people and items.
        named: Roles of the columns of each.

    Returns:
        None if no two tables share a column that could join them.

    Raises:
        DataError: Several columns could join them, or the people are not settled by it.
    """
    people = [table for table, roles in zip(opened, named, strict=True) if "user" in roles]
    items = [table for table, roles in zip(opened, named, strict=True) if "item" in roles]
    for person_table in people:
        for item_table in items:
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
            others = [table for table in opened if table not in (person_table, item_table)]
            said = (
                f"{item_table.path} has the items and {person_table.path} the people: they were "
                f"joined by {shared[0]}."
            )
            return JoinedTables([joined, *others], (said,))
    return None


def _shared_columns(people: Sequence[str], items: Sequence[str]) -> list[str]:
    """Find the columns that may join two tables: those of orders or sessions if there are any."""
    shared = [
        name
        for name in people
        if name in items and not is_named("other", name) and not is_named("time", name)
    ]
    orders = [name for name in shared if is_compound_of("order", name)]
    return orders or shared


def _join(people: Table, items: Table, key: str) -> Table:
    """Give each row of the items what the row of the people with the same key says."""
    for table in (people, items):
        table.require_whole()
    own = people.frame.with_columns(pl.col(key).cast(pl.String).str.strip_chars())
    own = own.drop_nulls(key)
    if own[key].n_unique() < len(own):
        raise DataError(
            "people and items are in two tables, and the rows of one have the same key",
            path=people.path,
            column=key,
            expected=f"one row for each {key}",
            fix=f"Join the two tables first, or leave the double rows of a {key} out.",
        )
    columns = [name for name in own.columns if name == key or name not in items.frame.columns]
    rows = items.frame.with_columns(pl.col(key).cast(pl.String).str.strip_chars())
    joined = rows.join(own.select(columns), on=key, how="left", maintain_order="left")
    return replace(
        items, frame=joined, text=items.text and people.text, kind=None, form=None, where=()
    )


def find_table_of_people(table: Table) -> TableOfPeople | None:
    """Find another file of the folder that has people and shares a column of orders."""
    if table.path is None or not table.header:
        return None
    own_path = Path(str(table.path))
    if not own_path.is_file():
        return None
    neighbours = [
        path
        for path in sorted(own_path.parent.iterdir())
        if path != own_path and _may_be_table(path)
    ]
    for path in neighbours[:_MOST_FILES]:
        headers = _headers_of(path)
        shared = [name for name in headers if name in table.headers]
        orders = [name for name in shared if is_compound_of("order", name)]
        if orders and find_column("user", headers, None) is not None:
            return TableOfPeople(path, orders[0])
    return None


def _may_be_table(path: Path) -> bool:
    return path.is_file() and path.suffix in (*_TEXTS, ".parquet")


def _headers_of(path: Path) -> list[str]:
    """Read the names of the columns of a file; none if it is no table."""
    try:
        if path.suffix == ".parquet":
            return [*pl.read_parquet_schema(path)]
        with path.open("rb") as stream:
            start = stream.read(_BYTES_OF_START).rpartition(b"\n")[0]
        table = text_table(
            path, start, encoding=None, delimiter=None, headers=None, header=None, asked=()
        )
    except (DataError, OSError, pl.exceptions.PolarsError):
        return []
    return table.headers if table.header else []
