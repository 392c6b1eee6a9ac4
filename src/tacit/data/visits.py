"""A log of visits: context, what was shown, whether it was clicked, and with which propensity.

Columns     found by their names, or named by the caller. Context columns are all other columns of
            numbers where none is named.
Contexts    are scaled to [0, 1] by public bounds that the caller states; numbers outside are cut.
Order       of the file: the log's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.data.tables.cells import to_numbers
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table
from tacit.errors import ConfigError, DataError

Floats = NDArray[np.float64]

SHOWN_HEADERS = ("shown", "arm", "article", "item", "video", "action", "decision")
CLICK_HEADERS = ("click", "clicked", "reward", "liked")
PROPENSITY_HEADERS = ("propensity", "probability", "pscore", "action_prob")


@dataclass(frozen=True, eq=False, repr=False)
class LoggedVisits:
    """Visits of a log, in order.

    Attributes:
        names: what was ever shown, sorted.
        arms: (n,) what was shown, by its place in `names`.
        clicks: (n,) 0 to 1.
        contexts: (n, d) in [0, 1].
        features: (d,) names of the context columns.
        propensities: (n,) the chance with which the arm was shown; None if not logged.
    """

    names: tuple[str, ...]
    arms: NDArray[np.int64]
    clicks: Floats
    contexts: Floats
    features: tuple[str, ...]
    propensities: Floats | None

    def __len__(self) -> int:
        return len(self.arms)

    def __repr__(self) -> str:
        """Sizes, and no visit."""
        return f"LoggedVisits({len(self):,} visits, {len(self.names)} arms)"


@dataclass(frozen=True, kw_only=True)
class VisitColumns:
    """Columns of a log, by their names in the file; None finds one by the usual names.

    Attributes:
        contexts: context columns; empty: all other columns.
        shown: what was shown.
        click: whether it was clicked, 0 to 1.
        propensity: the chance with which it was shown.
        low: a public lower bound of all context columns.
        high: a public upper bound of them.
    """

    contexts: tuple[str, ...] = ()
    shown: str | None = None
    click: str | None = None
    propensity: str | None = None
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ConfigError(f"Contexts lie from low to high; got {self.low:g} and {self.high:g}.")


def read_visits(path: str | Path, columns: VisitColumns | None = None) -> LoggedVisits:
    """Read a log of visits.

    Args:
        path: a table with a row for each visit and a line of headers.
        columns: which columns it has.

    Raises:
        DataError: A column is missing, or a cell is no number in its range.
    """
    named_columns = columns or VisitColumns()
    known_headers = (*SHOWN_HEADERS, *CLICK_HEADERS)
    table = open_table(Path(path), header=True, asked=known_headers).require_whole()
    shown = _find(table, named_columns.shown, SHOWN_HEADERS, "what was shown")
    click = _find(table, named_columns.click, CLICK_HEADERS, "clicks")
    propensity = _find_optional(table, named_columns.propensity, PROPENSITY_HEADERS)
    features = named_columns.contexts or _other_headers(table, {shown, click, propensity})
    if not features:
        raise DataError("the log has no context column", path=path, expected="one or more")
    clicks = _numbers(table, click, least=0.0, most=1.0)
    scaled: list[Floats] = []
    for name in features:
        _find(table, name, (), "a context")
        numbers = _numbers(table, name)
        scaled.append(
            np.clip(
                (numbers - named_columns.low) / (named_columns.high - named_columns.low), 0.0, 1.0
            )
        )
    chances = None
    if propensity is not None:
        chances = _numbers(table, propensity, least=0.0, most=1.0)
        if not (chances > 0).all():
            raise _cell_error(table, propensity, int((chances <= 0).argmax()), "above 0")
    texts = _texts(table, shown)
    names, arms = np.unique(texts, return_inverse=True)
    return LoggedVisits(
        names=tuple(names.tolist()),
        arms=arms.astype(np.int64).ravel(),
        clicks=clicks,
        contexts=np.stack(scaled, axis=1),
        features=tuple(features),
        propensities=chances,
    )


def _find(table: Table, asked: str | None, usual: Sequence[str], what: str) -> str:
    """Find the header of a column; DataError if there is none."""
    found = _find_optional(table, asked, usual)
    if found is None:
        raise DataError(
            f"no column for {what}",
            path=table.path,
            found=", ".join(table.headers),
            expected=asked or f"one of {', '.join(usual)}",
            fix="Name the columns in the file's first line, or name them to the command.",
        )
    return found


def _find_optional(table: Table, asked: str | None, usual: Sequence[str]) -> str | None:
    """Find the header that is asked for, or the first usual one; None if there is none."""
    if asked is not None:
        return asked if asked in table.headers else None
    for header in table.headers:
        if header.strip().lower() in usual:
            return header
    return None


def _other_headers(table: Table, taken: set[str | None]) -> tuple[str, ...]:
    """Headers of all columns that are not taken."""
    return tuple(header for header in table.headers if header not in taken)


def _numbers(table: Table, header: str, *, least: float = -np.inf, most: float = np.inf) -> Floats:
    """A column of numbers; DataError with the row of the first cell that is none in this range."""
    numbers = to_numbers(table.frame[header]).to_numpy().astype(np.float64)
    is_good = (numbers >= least) & (numbers <= most)  # false for NaN as well
    if not is_good.all():
        expected = "a number" if np.isinf(most) else f"a number from {least:g} to {most:g}"
        raise _cell_error(table, header, int((~is_good).argmax()), expected)
    return numbers


def _texts(table: Table, header: str) -> NDArray[np.str_]:
    """A column of names; DataError with the row of the first empty cell."""
    texts = ["" if cell is None else str(cell).strip() for cell in table.frame[header]]
    if "" in texts:
        raise _cell_error(table, header, texts.index(""), "a name")
    return np.array(texts)


def _cell_error(table: Table, header: str, row: int, expected: str) -> DataError:
    """Make the error of a cell."""
    line = table.line(row)
    return DataError(
        "a cell cannot be read", path=table.path, row=line, column=header, expected=expected
    )
