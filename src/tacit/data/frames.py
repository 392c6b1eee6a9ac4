"""Ratings and histories from Python objects, and data frames for answers.

Objects   Data frames, DuckDB relations, sparse matrices, arrays, lists of rows, dicts of columns,
          dicts of people.
Ids       keep their type.
Rows      In errors, "row" is the number of a record, counted from 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import narwhals as nw
import numpy as np

from tacit.data.columns import LEAST_ON_SCALE
from tacit.data.ratings import Ratings, RatingScale
from tacit.data.tables.cells import OnBad, Rules, clean_rows
from tacit.data.tables.column_guess import guess_columns
from tacit.data.tables.forms import Layout
from tacit.data.tables.layouts import guess_rating_columns
from tacit.data.tables.names import Role
from tacit.data.tables.ratings_tables import make_ratings
from tacit.data.tables.sources import columns_of_profiles, make_frame
from tacit.data.tables.table import Table
from tacit.data.tables.times import Dates
from tacit.data.tables.where import keep_rows
from tacit.errors import ConfigError, DataError

_TOO_MANY_STARS = 100
"""If the maximum of the scale that fits the numbers of a matrix is this or more, they may be plays
or prices."""


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
    where: Sequence[str] = (),
    layout: Layout | None = None,
) -> Ratings:
    """Make ratings from a Python object; if it has no column of ratings, its rows are events.

    `frame` is one of these: a pandas, polars or Arrow frame, or another one that narwhals knows,
    such as a DuckDB relation; a SciPy sparse matrix (people, items), whose ids are numbers from 0;
    a list of tuples (person, item, rating, time), in which time, or rating and time, may be
    missing; an array of such rows of three or four numbers; a structured array; a dict of columns;
    a dict {person: {item: stars}}.

    Columns that the caller does not name are guessed by name and content. Ids keep their type. The
    other arguments are those of `read_ratings`.

    Raises:
        DataError: The object cannot be read as ratings. If one record is to blame, the error has
            its number, counted from 1.
        ConfigError: A scale is given for events or plays.
    """
    table = keep_rows(Table(None, _to_polars(frame)), where)
    column_names: dict[Role, str | None] = {
        "user": user,
        "item": item,
        "rating": rating,
        "plays": plays,
        "time": time,
        "domain": domain,
    }
    rules = Rules(on_bad, scale, least_plays, dates, decimal, guessing=True)
    if not len(table.frame):
        raise DataError("there is no rating", expected="at least one row")
    says_what_numbers_are = events or any(option is not None for option in (scale, rating, plays))
    if hasattr(frame, "tocoo") and not says_what_numbers_are:
        _refuse_numbers_that_are_no_stars(table)
    guess = guess_rating_columns(table, column_names, events=events, layout=layout)
    guess.require_roles(rules)
    return make_ratings([guess], rules).ratings


def _refuse_numbers_that_are_no_stars(table: Table) -> None:
    """Raise DataError for a matrix whose numbers are probably plays or prices, and no stars."""
    numbers = np.asarray(table.frame["rating"], dtype=np.float64)
    scale, off_scale = RatingScale.nearest(numbers)
    if scale.maximum < _TOO_MANY_STARS and off_scale <= (1 - LEAST_ON_SCALE) * len(numbers):
        return  # they are stars, though a few may be off the scale
    raise DataError(
        "the numbers of the matrix are on no usual scale of stars",
        fix="Say what they are: scale=tacit.RatingScale(MIN, MAX, STEP), plays='rating' for "
        "numbers of plays, or events=True if each is an event.",
    )


def history_from(frame: Any) -> dict[Any, float]:
    """Read one person's ratings from a Python object, as in `ratings_from`.

    The columns of items and stars are found by their names alone.

    Returns:
        Item id to stars, or to 1 if there is no column of stars. If several rows are of one item,
        the last row counts.
    """
    table = Table(None, _to_polars(frame))
    column_names: dict[Role, str | None] = {"item": None, "rating": None}
    guessed = guess_columns(table, column_names, contents=False).require_roles(Rules(), ("item",))
    columns = clean_rows(table, guessed.positions, Rules()).columns
    items = np.asarray(columns["item"], dtype=object).tolist()
    stars = columns.get("rating", np.ones(len(items)))
    return dict(zip(items, np.asarray(stars).tolist(), strict=True))


def to_frame(columns: Mapping[str, Any], backend: Literal["pandas", "polars"]) -> Any:
    """Make a data frame of pandas or polars; ConfigError if that is not installed."""
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError:
        raise ConfigError(f"{backend} is not installed: run  pip install {backend}") from None


def _to_polars(frame: Any) -> Any:
    """Convert any object that `ratings_from` accepts into a polars frame.

    Raises:
        DataError: The object is none of those that `ratings_from` lists.
    """
    if type(frame).__module__.startswith("scipy.") and hasattr(frame, "tocoo"):
        cells = frame.tocoo()
        columns = {"user": cells.row, "item": cells.col, "rating": cells.data}
        return make_frame({name: np.asarray(column) for name, column in columns.items()})
    if isinstance(frame, np.ndarray) and frame.dtype.names:  # a structured array
        frame = {name: frame[name] for name in frame.dtype.names}
    if isinstance(frame, np.ndarray) and frame.ndim == 2 and frame.shape[1] in (3, 4):
        frame = frame.tolist()
    if isinstance(frame, list | tuple):
        return make_frame(_columns_of_tuples(frame))
    if isinstance(frame, Mapping) and all(isinstance(row, Mapping) for row in frame.values()):
        return make_frame(columns_of_profiles(frame))
    if isinstance(frame, Mapping):
        _refuse_columns_of_several_lengths(frame)
        return make_frame({str(name): _plain_cells(cells) for name, cells in frame.items()})
    try:
        table = nw.from_native(_with_named_index(frame))
    except TypeError:
        raise DataError(
            "ratings cannot be made of this",
            found=type(frame).__name__,
            expected="a pandas, polars or Arrow frame, a DuckDB relation, a SciPy sparse matrix, "
            "a dict of columns, an array, or a list of tuples (person, item, rating)",
            fix="A file is read by  tacit.read_ratings(PATH).",
        ) from None
    if isinstance(table, nw.LazyFrame):
        table = table.collect("polars")
    has_objects = any(table[name].dtype == nw.Object for name in table.columns)  # such as UUIDs
    if table.implementation.is_polars() and not has_objects:
        return table.to_native()
    nested_types = (nw.List, nw.Struct, nw.Array)
    columns = {}
    for name in table.columns:
        if not isinstance(table[name].dtype, nested_types):
            columns[name] = _values_of_column(table[name])
    return make_frame(columns)


def _refuse_columns_of_several_lengths(columns: Mapping[Any, Any]) -> None:
    """Raise DataError for columns of different lengths."""
    lengths = {len(cells) for cells in columns.values() if hasattr(cells, "__len__")}
    if len(lengths) > 1:
        raise DataError(
            "the columns have different lengths",
            found=", ".join(map(str, sorted(lengths))),
            expected="columns of one length, such as {'user': [...], 'item': [...]}, or "
            "{person: {item: stars}}",
        )


def _with_named_index(frame: Any) -> Any:
    """Turn the index of a pandas frame into columns, if it has a name; return others unchanged."""
    has_index = hasattr(frame, "reset_index")
    return frame.reset_index() if has_index and any(frame.index.names) else frame


def _plain_cells(cells: Any) -> Any:
    """Turn a column into a list; an array that holds no Python objects is returned unchanged."""
    if not isinstance(cells, np.ndarray):
        return list(cells)
    return cells.tolist() if cells.dtype == object else cells


def _columns_of_tuples(rows: Any) -> dict[str, list[Any]]:
    """Turn tuples (person, item, rating, time) into columns.

    Raises:
        DataError: There are no rows, or the rows are no such tuples, or of different lengths.
    """
    names = ("user", "item", "rating", "time")
    if not rows:
        raise DataError("there is no rating", expected="at least one row")
    widths = {len(row) if isinstance(row, list | tuple) else 0 for row in rows}
    if len(widths) != 1 or not widths <= {2, 3, 4}:
        raise DataError(
            "these rows are no ratings",
            found="rows of another form, or of several lengths",
            expected="tuples (person, item, rating, time), all of one length, the last "
            "one or two left out",
        )
    columns: dict[str, list[Any]] = {}
    for position, name in enumerate(names[: widths.pop()]):
        columns[name] = [row[position] for row in rows]
    return columns


def _values_of_column(column: Any) -> Any:
    """Return the values of a narwhals column as an array or a list.

    Date-times become whole seconds since 1970; missing values become None.
    """
    if column.dtype == nw.Datetime:
        milliseconds = column.dt.timestamp("ms").to_list()
        return [None if time is None else time // 1000 for time in milliseconds]
    if column.dtype.is_numeric() and not column.null_count():
        return np.asarray(column.to_numpy())
    return column.to_list()
