"""A table, and the columns of its roles: by their usual names, or by a given name or position."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from tacit.data.tables.names import Role, normalize_header, usual_names
from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl

WIDE = 8  # columns of a table that may have one for each item


def find_column(role: Role, headers: Sequence[str], asked: str | None) -> int | None:
    """Find a role's column: the one asked for, else the first of a usual name.

    Args:
        role: What the column holds.
        headers: Names of the columns.
        asked: Name of the column, or its position counted from 1.

    Returns:
        Its position counted from 0, None if there is none.
    """
    written = [header.strip().lower() for header in headers]
    if asked is None:
        normalized = [normalize_header(header) for header in headers]
        known = (normalized.index(name) for name in usual_names(role) if name in normalized)
        return next(known, None)
    if asked in headers:
        return [*headers].index(asked)
    if asked.strip().lower() in written:
        return written.index(asked.strip().lower())
    if asked.isdecimal() and 1 <= int(asked) <= len(headers):
        return int(asked) - 1
    return None


def require_column(role: Role, headers: Sequence[str], asked: str | None, path: object) -> int:
    """Find a role's column, which must be there."""
    position = find_column(role, headers, asked)
    if position is None:
        raise missing_column_error(role, headers, asked, path)
    return position


def missing_column_error(
    role: Role, headers: Sequence[str], asked: str | None, path: object
) -> DataError:
    """Make the error of a role without a column."""
    option = "domain-column" if role == "domain" else role
    fix = f"Name it with --{option} (from Python: {role}=...)."
    if role in ("user", "item") and asked is None and len(headers) >= WIDE:
        fix += " If each item has a column of its own, read it with  --layout wide ."
    plurals = {name + "s" for name in usual_names("item")} | {"products", "basket", "articles"}
    if role == "item" and asked is None and plurals & set(map(normalize_header, headers)):
        fix += " If a cell holds several items, read them with  --layout baskets ."
    if role == "user" and asked is None:
        fix += " An order, a session or a basket is no person unless you say so."
    found = ", ".join(headers)
    examples = ", ".join(usual_names(role))
    expected = f"a column '{asked}'" if asked else f"a column of a usual name, such as {examples}"
    return DataError(f"no {role} column", path=path, found=found, expected=expected, fix=fix)


_from_one = partial(itertools.count, 1)


@dataclass(frozen=True, slots=True)
class TextForm:
    """How the rows of a text file are written, each in a line of its own."""

    encoding: str
    """Name of the encoding, such as utf-8."""
    delimiter: str
    """Between two cells."""
    quote: str
    """Around a cell."""
    lines_above: int
    """Lines above the first row."""
    packed: bool
    """Whether the file is packed with gzip, zstd, xz, bz2 or zip."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of a file or of memory, before they are cleaned."""

    path: object
    """Where it is from, None if from memory."""
    frame: pl.DataFrame
    """Whole rows; of text all columns are strings, stripped, null where empty."""
    lines: Callable[[], Iterable[int]] = _from_one
    """Gives the line of a text file of each row, or else its record from 1."""
    torn: tuple[DataError, ...] = ()
    """What is wrong with each row that is not in `frame`, without its path."""
    text: bool = False
    """Whether all cells are text."""
    header: bool = True
    """Whether its columns have names of their own."""
    kind: Literal["text", "json lines", "typed columns"] | None = None
    """Kind of file, if a row of it stands for itself."""
    form: TextForm | None = None
    """How text is written, if its kind is text."""
    where: tuple[str, ...] = ()
    """Conditions by which rows were kept."""
    guesses: tuple[str, ...] = ()
    """Names of what was found in the rows in order to open it: they are keys of `PUBLIC_FACTS`."""

    def line(self, row: int) -> int:
        """Give the line or record of a row, numbered from 0."""
        return next(itertools.islice(self.lines(), row, None))

    def require_whole(self) -> Table:
        """Give this table; DataError if a row is torn."""
        for error in self.torn:
            raise error.with_place(path=self.path)
        return self

    @property
    def headers(self) -> list[str]:
        """Names of the columns."""
        return self.frame.columns
