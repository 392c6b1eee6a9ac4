"""One table in memory, and where in its file each row stands."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True, slots=True)
class Torn:
    """A row that has no cells to speak of: its place, and what is wrong with it."""

    line: int
    what: str
    column: str | None
    found: str | None
    expected: str | None

    def complaint(self, path: object) -> DataError:
        return DataError(
            self.what, path=path, row=self.line, column=self.column, found=self.found,
            expected=self.expected,
        )  # fmt: skip


def _from_one() -> Iterable[int]:
    return itertools.count(1)


@dataclass(frozen=True, eq=False)
class Table:
    """path    where it is from, None if from memory
    frame   whole rows; of text all columns are strings, stripped, null where empty
    lines   of each row: the line of a text file, or else the record from 1
    torn    rows that are not in `frame`
    header  whether its columns have names of their own
    """

    path: object
    frame: pl.DataFrame
    lines: Callable[[], Iterable[int]] = _from_one
    torn: tuple[Torn, ...] = ()
    text: bool = False
    header: bool = True

    def line(self, row: int) -> int:
        """Of a row numbered from 0."""
        return next(itertools.islice(self.lines(), row, None))

    @property
    def headers(self) -> list[str]:
        return self.frame.columns
