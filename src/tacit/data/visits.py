"""A log of visits: the context, the arm that was shown, the chance of showing it, and the click.

Columns     are found by well-known headers or named by the caller. If the caller names no context
            columns, all columns without another role are context columns.
Contexts    are scaled to [0, 1] by public bounds, by default 0 and 1, and clipped to it.
Order       Rows must be in the order of time; this is not checked.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.data.tables.cell_texts import text_of_cell
from tacit.data.tables.cells import to_numbers
from tacit.data.tables.sources import open_table
from tacit.data.tables.table import Table
from tacit.errors import ConfigError, DataError

Floats = NDArray[np.float64]

# Well-known headers of each column, in lower case.
SHOWN_HEADERS = ("shown", "arm", "article", "item", "video", "action", "decision")
CLICK_HEADERS = ("click", "clicked", "reward", "liked")
PROPENSITY_HEADERS = ("propensity", "probability", "pscore", "action_prob")


@dataclass(frozen=True, eq=False, repr=False)
class LoggedVisits:
    """Visits of a log, in order.

    Attributes:
        names: names of all arms that were shown in some visit, sorted. An arm is what can be shown,
            such as a video.
        arms: (n,) the arm that was shown in each visit, as an index into `names`.
        clicks: (n,) 1 for a click, 0 for none, or a number between.
        contexts: (n, d) context of each visit, scaled to [0, 1].
        features: (d,) names of the context columns.
        propensities: (n,) the chance with which each arm was shown; None if not logged.
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
        """Show the sizes, but no visit."""
        return f"LoggedVisits({len(self):,} visits, {len(self.names)} arms)"


@dataclass(frozen=True, kw_only=True)
class VisitColumns:
    """Headers of the columns of a log, and the bounds of contexts.

    A header of None means the first well-known header of the file.

    Attributes:
        contexts: headers of the context columns; empty: all columns without another role.
        shown: header of the column of the arms that were shown.
        click: header of the column of clicks, numbers from 0 to 1.
        propensity: header of the column of the chances with which the arms were shown. Unlike the
            other columns, it may be missing if the caller does not name it.
        low: a public lower bound of all context columns; it is scaled to 0.
        high: a public upper bound of all context columns; it is scaled to 1.

    Raises:
        ConfigError: `low` is not below `high`, or one of them or their difference is infinite.
    """

    contexts: tuple[str, ...] = ()
    shown: str | None = None
    click: str | None = None
    propensity: str | None = None
    low: float = 0.0
    high: float = 1.0

    def __post_init__(self) -> None:
        if not (self.low < self.high and math.isfinite(self.high - self.low)):
            raise ConfigError(
                "Contexts lie from low to high, two finite numbers; got "
                f"{self.low:g} and {self.high:g}."
            )


def read_visits(path: str | Path, columns: VisitColumns | None = None) -> LoggedVisits:
    """Read a log of visits.

    Args:
        path: A table with a row for each visit and a line of headers.
        columns: Headers of its columns; None: well-known ones.

    Raises:
        DataError: A column is missing, a cell is no number in its range, or an arm is missing.
    """
    chosen = columns or VisitColumns()
    known_headers = (*SHOWN_HEADERS, *CLICK_HEADERS)
    table = open_table(Path(path), header=True, column_names=known_headers).require_whole()
    shown = _find_header(table, chosen.shown, SHOWN_HEADERS, "what was shown")
    click = _find_header(table, chosen.click, CLICK_HEADERS, "clicks")
    propensity = _find_usual_header(table, PROPENSITY_HEADERS)
    if chosen.propensity is not None:
        propensity = _find_header(table, chosen.propensity, PROPENSITY_HEADERS, "chances")
    features = chosen.contexts or _other_headers(table, {shown, click, propensity})
    if not features:
        raise DataError("the log has no context column", path=path, expected="one or more")
    clicks = _read_numbers(table, click, least=0.0, most=1.0)
    contexts: list[Floats] = []
    for name in features:
        _find_header(table, name, (), "a context")
        scaled = (_read_numbers(table, name) - chosen.low) / (chosen.high - chosen.low)
        contexts.append(np.clip(scaled, 0.0, 1.0))
    propensities = None
    if propensity is not None:
        propensities = _read_numbers(table, propensity, least=0.0, most=1.0)
        if not (propensities > 0).all():
            raise _cell_error(table, propensity, int((propensities <= 0).argmax()), "above 0")
    texts = _read_texts(table, shown)
    names, arms = np.unique(texts, return_inverse=True)
    return LoggedVisits(
        names=tuple(names.tolist()),
        arms=arms.astype(np.int64).ravel(),
        clicks=clicks,
        contexts=np.stack(contexts, axis=1),
        features=tuple(features),
        propensities=propensities,
    )


def _find_header(table: Table, named: str | None, usual_names: Sequence[str], what: str) -> str:
    """Find the header of a column.

    Args:
        table: The table.
        named: Header that the caller named; None: the first usual one.
        usual_names: Well-known headers, in lower case.
        what: What the column holds, for messages.

    Raises:
        DataError: The table has no such header.
    """
    header = named if named in table.headers else None
    if named is None:
        header = _find_usual_header(table, usual_names)
    if header is None:
        raise DataError(
            f"no column for {what}",
            path=table.path,
            found=", ".join(table.headers),
            expected=named or f"one of {', '.join(usual_names)}",
            fix="Name the columns in the file's first line, or name them to the command.",
        )
    return header


def _find_usual_header(table: Table, usual_names: Sequence[str]) -> str | None:
    """Find the first header that is a usual name in any case; None if there is none."""
    for header in table.headers:
        if header.strip().lower() in usual_names:
            return header
    return None


def _other_headers(table: Table, used: set[str | None]) -> tuple[str, ...]:
    """Return the headers of all columns that are not used."""
    return tuple(header for header in table.headers if header not in used)


def _read_numbers(
    table: Table, header: str, *, least: float = -np.inf, most: float = np.inf
) -> Floats:
    """Read a column of numbers.

    Raises:
        DataError: A cell is no finite number from `least` to `most`; the error names the row of
            the first such cell.
    """
    numbers = to_numbers(table.frame[header]).to_numpy().astype(np.float64)
    in_range = np.isfinite(numbers) & (numbers >= least) & (numbers <= most)
    if not in_range.all():
        expected = "a finite number" if np.isinf(most) else f"a number from {least:g} to {most:g}"
        raise _cell_error(table, header, int((~in_range).argmax()), expected)
    return numbers


def _read_texts(table: Table, header: str) -> NDArray[np.str_]:
    """Read a column of names; DataError with the row of the first empty cell."""
    texts = [text_of_cell(cell) or "" for cell in table.frame[header]]
    if "" in texts:
        raise _cell_error(table, header, texts.index(""), "a name")
    return np.array(texts)


def _cell_error(table: Table, header: str, row: int, expected: str) -> DataError:
    """Make the error for a cell that cannot be read."""
    line = table.line(row)
    return DataError(
        "a cell cannot be read", path=table.path, row=line, column=header, expected=expected
    )
