"""A table before it is cleaned, and how the column of a role is found by its name or position."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal

from tacit.data.tables.names import Role, normalize_header, usual_names
from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl

FEWEST_WIDE_COLUMNS = 8
"""Fewest columns of a table that may have a column for each item."""


def find_column(role: Role, headers: Sequence[str], name: str | None) -> int | None:
    """Find a role's column.

    Args:
        role: What the column holds.
        headers: Names of the columns.
        name: Name of the column. If no header is written exactly like this, upper and lower case
            count as equal. If there is no such header either, a number is the position of the
            column, counted from 1. None: the column with the first usual name of the role.

    Returns:
        The position of the column, counted from 0; None if there is no such column.
    """
    if name is None:
        normalized = [normalize_header(header) for header in headers]
        usual_positions = [
            normalized.index(usual) for usual in usual_names(role) if usual in normalized
        ]
        return usual_positions[0] if usual_positions else None
    if name in headers:
        return [*headers].index(name)
    lowered = [header.strip().lower() for header in headers]
    if name.strip().lower() in lowered:
        return lowered.index(name.strip().lower())
    if name.isdecimal() and 1 <= int(name) <= len(headers):
        return int(name) - 1
    return None


def require_column(role: Role, headers: Sequence[str], name: str | None, path: object) -> int:
    """Find a role's column as `find_column` does; DataError if there is none."""
    position = find_column(role, headers, name)
    if position is None:
        raise missing_column_error(role, headers, name, path)
    return position


def missing_column_error(
    role: Role, headers: Sequence[str], name: str | None, path: object
) -> DataError:
    """Make the error for a role without a column; arguments are as in `find_column`."""
    option = "domain-column" if role == "domain" else role
    fix = f"Name it with --{option} (from Python: {role}=...)."
    if role in ("user", "item") and name is None and len(headers) >= FEWEST_WIDE_COLUMNS:
        fix += " If each item has a column of its own, read it with  --layout wide ."
    plurals = {usual + "s" for usual in usual_names("item")} | {"products", "basket", "articles"}
    if role == "item" and name is None and plurals & set(map(normalize_header, headers)):
        fix += " If a cell holds several items, read them with  --layout baskets ."
    if role == "user" and name is None:
        fix += " An order, a session or a basket is no person unless you say so."
    found = ", ".join(headers)
    examples = ", ".join(usual_names(role))
    expected = f"a column '{name}'" if name else f"a column of a usual name, such as {examples}"
    return DataError(f"no {role} column", path=path, found=found, expected=expected, fix=fix)


_count_from_one = partial(itertools.count, 1)
"""Returns the numbers 1, 2, ... of rows that follow one another."""


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the rows of a text file are written, with one row in each line."""

    encoding: str
    """Name of the encoding, such as utf-8."""
    delimiter: str
    """Text between two cells."""
    quote: str
    """Character around a cell that holds a delimiter."""
    lines_above: int
    """Number of lines above the first row."""
    packed: bool
    """Whether the file is packed with gzip, zstd, xz, bz2 or zip."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file or of memory, before they are cleaned."""

    path: object
    """The file; None for data that was in memory."""
    frame: pl.DataFrame
    """The rows that could be read. If `is_text`, cells are stripped strings, null where empty."""
    lines: Callable[[], Iterable[int]] = _count_from_one
    """Returns the number of each row, from 1: its line in a text file, else its record."""
    row_errors: tuple[DataError, ...] = ()
    """An error, without the path, for each row that could not be read."""
    is_text: bool = False
    """Whether cells were read without types, as from CSV, so that numbers are strings too."""
    has_header: bool = True
    """Whether the file names its columns; if not, their names are their numbers from 1."""
    kind: Literal["text", "json lines", "typed columns"] | None = None
    """Kind of the file if each row can be read without the others; None if a row cannot."""
    form: TextForm | None = None
    """How the lines are written if `kind` is text."""
    where: tuple[str, ...] = ()
    """Conditions that the rows were filtered by."""
    guesses: tuple[str, ...] = ()
    """What was found in the rows in order to open the file: keys of `PUBLIC_FACTS` in
    `tacit.recommenders.public_facts`."""

    def line(self, row: int) -> int:
        """Return the number, as in `lines`, of a row that is counted from 0."""
        return next(itertools.islice(self.lines(), row, None))

    def filter(self, is_kept: pl.Series) -> Table:
        """Return this table with those rows only for which the (rows,) booleans are true."""
        mask = is_kept.to_list()
        return replace(
            self,
            frame=self.frame.filter(is_kept),
            lines=lambda: itertools.compress(self.lines(), mask),
        )

    def require_whole(self) -> Table:
        """Return this table; DataError for the first row that could not be read."""
        for error in self.row_errors:
            raise error.with_place(path=self.path)
        return self

    @property
    def headers(self) -> list[str]:
        """The names of the columns."""
        return self.frame.columns
