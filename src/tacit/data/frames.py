"""Ratings from what is in memory: data frames, DuckDB relations, sparse matrices, lists of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import narwhals as nw
import numpy as np

from tacit.data.ratings import Ratings, RatingScale
from tacit.data.tables import Role, Table
from tacit.data.tables.cleaning import OnBad, Rules
from tacit.data.tables.reading import columns_of, ratings_of
from tacit.data.tables.sources import frame_of
from tacit.data.tables.times import Dates
from tacit.errors import ConfigError, DataError


def ratings_from(
    frame: Any,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    domain: str | None = None,
    plays: str | None = None,
    least_plays: float = 1,
    events: bool = False,
    scale: RatingScale | None = None,
    on_bad: OnBad = "refuse",
    decimal: str | None = None,
    dates: Dates | None = None,
) -> Ratings:
    """Ratings, or events where no column holds ratings.

    frame      pandas, polars, Arrow or another frame that narwhals knows, such as a DuckDB
               relation; a SciPy sparse matrix, rows people and columns items, numbered from 0; a
               list of tuples (person, item, rating, time), the last one or two left out
    Columns are guessed by name and content unless they are named, ids keep the type they have.
    on_bad="drop" leaves bad rows out. The other options are those of `read_ratings`; a DataError
    names the record, counted from 1.
    """
    table = Table(None, _frame(frame))
    asked: dict[Role, str | None] = {
        "user": user, "item": item, "rating": rating, "plays": plays, "time": time,
    }  # fmt: skip
    if domain is not None:
        asked["domain"] = domain
    rules = Rules(on_bad, scale, least_plays, dates, decimal, guessing=True)
    if not len(table.frame):
        raise DataError("there is no rating", expected="at least one row")
    found = columns_of(table, asked, rules, events=events, contents=True)
    return ratings_of([(table, found.places)], rules).ratings


def to_frame(columns: Mapping[str, Any], backend: Literal["pandas", "polars"]) -> Any:
    """A data frame of `backend`; ConfigError if it is not installed."""
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError:
        raise ConfigError(f"{backend} is not installed: run  pip install {backend}") from None


def _frame(frame: Any) -> Any:
    """The same columns in polars."""
    if type(frame).__module__.startswith("scipy.") and hasattr(frame, "tocoo"):
        cells = frame.tocoo()
        return frame_of({"user": np.asarray(cells.row), "item": np.asarray(cells.col),
                         "rating": np.asarray(cells.data)})  # fmt: skip
    if isinstance(frame, list | tuple):
        return frame_of(_columns(frame))
    try:
        table = nw.from_native(frame)
    except TypeError:
        raise DataError(
            "ratings cannot be made of this",
            found=type(frame).__name__,
            expected="a pandas, polars or Arrow frame, a DuckDB relation, a SciPy sparse matrix, "
            "or a list of tuples (person, item, rating)",
            fix="A file is read by  tacit.read_ratings(PATH).",
        ) from None
    if isinstance(table, nw.LazyFrame):
        table = table.collect("polars")
    if table.implementation.is_polars():
        return table.to_native()
    nested = (nw.List, nw.Struct, nw.Array)
    return frame_of({name: _values(table[name]) for name in table.columns
                     if not isinstance(table[name].dtype, nested)})  # fmt: skip


def _columns(rows: Any) -> dict[str, list[Any]]:
    """Tuples (person, item, rating, time) as columns."""
    names = ("user", "item", "rating", "time")
    widths = {len(row) if isinstance(row, list | tuple) else 0 for row in rows}
    if len(widths) != 1 or not widths <= {2, 3, 4}:
        raise DataError("these rows are no ratings", found="rows of another form",
                        expected="tuples (person, item, rating, time), all of one length, the last "
                        "one or two left out")  # fmt: skip
    return {name: [row[at] for row in rows] for at, name in enumerate(names[: widths.pop()])}


def _values(column: Any) -> Any:
    if column.dtype == nw.Datetime:
        moments = column.dt.timestamp("ms").to_list()
        return [None if moment is None else moment // 1000 for moment in moments]
    if column.dtype.is_numeric() and not column.null_count():
        return np.asarray(column.to_numpy())
    return column.to_list()
