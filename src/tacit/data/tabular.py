"""Ratings from a table, a folder, an installed data set, or from what is in memory.

Tables    CSV, TSV, other text, Parquet, JSON lines and SQLite.
Memory    Data frames, DuckDB relations, sparse matrices, lists of rows.
Ids       As in `tables.cells`, so that '007' in a text file stays '007'.
Rows      A row number is the line in a text file (1 is the header) and the record elsewhere.
People    Ids in a users or items file that have no rating are left out; a file in which no id has
          one is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import narwhals as nw
import numpy as np

from tacit.container import MAGIC
from tacit.data.columns import MOST_ON_SCALE
from tacit.data.domains import DOMAIN, domain_of
from tacit.data.movielens import is_movielens, read_movielens
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.tables.cells import OnBad, Rules, clean_rows
from tacit.data.tables.column_guess import guess
from tacit.data.tables.folder import PathLike, is_folder, read_folder, refuse_private_list
from tacit.data.tables.forms import Layout
from tacit.data.tables.layouts import guess_rows
from tacit.data.tables.names import Role
from tacit.data.tables.ratings_tables import (
    match_columns,
    ratings_of,
    read_columns_by_id,
    read_in_format,
    with_row_texts,
)
from tacit.data.tables.sources import columns_of_people, frame_of, open_table
from tacit.data.tables.table import Table, find_column, missing_column_error, require_column
from tacit.data.tables.times import Dates
from tacit.data.tables.where import keep_rows
from tacit.data.tables.written_format import read_format
from tacit.errors import ConfigError, DataError
from tacit.extensions import DATASETS, find_entry_points

_TOO_MANY_STARS = 100
"""Numbers in a matrix that reach this may as well be plays or prices."""


def read_ratings(
    path: PathLike,
    *,
    user: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    time: str | None = None,
    domain: str | None = None,
    plays: str | None = None,
    least_plays: float = 1,
    events: bool = False,
    delimiter: str | None = None,
    scale: RatingScale | None = None,
    users: PathLike | None = None,
    items: PathLike | None = None,
    on_bad: OnBad = "refuse",
    decimal: str | None = None,
    dates: Dates | None = None,
    table: str | None = None,
    encoding: str | None = None,
    where: Sequence[str] = (),
    written: PathLike | None = None,
    items_from_ratings: bool = False,
    layout: Layout | None = None,
) -> Ratings:
    """Read one file of ratings, or of events: a file without a rating column holds events.

    user, item, rating, time   column names; by default well-known headers in any case, such as
                               user_id, movieId, rating, timestamp or user_id:token
    domain                     name of the column of an item's domain, here or else in `items`; it
                               becomes the item metadata 'domain'
    plays, least_plays         name of a column with numbers of plays; from least_plays on an event
                               is a like, and a row of 0 plays is no event
    events                     every row is an event and so a like, whatever columns there are
    delimiter                  sniffed among comma, tab, semicolon, pipe and `::` unless given
    scale                      ratings off it are refused; without it the scale is detected
    users, items               files of user attributes and item metadata: an id, and other columns
    on_bad                     a bad row is refused with its place, or dropped
    decimal                    "," or ".": the only decimal sign; by default either is one
    dates                      "dayfirst" or "monthfirst": where the column cannot say
    table                      of a database: the table to read
    encoding                   of text, such as "cp1251", also of `users` and `items`; by default
                               UTF-8, or else cp1252 where the letters fit no other better
    where                      conditions on the rows that count, such as "status!=cancelled",
                               "quantity>0" or "event in view|buy"
    written                    a description of how the rows are written, such as an imported
                               folder: each row is then read by itself, a row that does not fit is
                               dropped, and of the options above scale, users and items remain
    items_from_ratings         titles that stand beside the ratings are public: models publish
                               them, and cards name it as a condition
    layout                     "wide": a column for each item; "baskets": lists of items, in one
                               cell or in a line of many cells
    """
    if written is not None:
        columns = (
            user,
            item,
            rating,
            time,
            domain,
            plays,
            delimiter,
            decimal,
            dates,
            table,
            encoding,
            layout,
        )
        if any(value is not None for value in columns) or events or where or least_plays != 1:
            raise ConfigError("A written format names columns, signs and conditions itself.")
        if items_from_ratings:
            raise ConfigError("A written format reads no titles: leave items_from_ratings out.")
        ratings = _read_written_file(path, written, scale)
        return _with_attributes(ratings, users, items, user=None, item=None, domain=None)
    rules = Rules(on_bad, scale, least_plays, dates, decimal, guessing=True)
    asked: dict[Role, str | None] = {
        "user": user,
        "item": item,
        "rating": rating,
        "plays": plays,
        "time": time,
        "domain": domain,
    }
    names = [*asked.values()]
    opened = open_table(
        path, delimiter=delimiter, asked=names, encoding=encoding, table=table, layout=layout
    )
    opened = keep_rows(opened, where)
    if items is not None and find_column("domain", opened.headers, domain) is None:
        asked["domain"] = None  # it is in the file of items
    guessed = guess_rows(opened, asked, events=events, layout=layout).require_roles(rules)
    ratings = with_row_texts(ratings_of([guessed], rules).ratings, [guessed])
    if items_from_ratings:
        ratings = ratings.with_row_texts_public()
    return _with_attributes(
        ratings, users, items, user=user, item=item, domain=domain, encoding=encoding
    )


def _read_written_file(path: PathLike, written: PathLike, scale: RatingScale | None) -> Ratings:
    """Read each row of a file by itself; one that does not fit the written format is dropped."""
    form = read_format(Path(written))
    if scale is not None:
        form = form.with_scale(scale)
    return read_in_format(Path(path), form, "drop").ratings


def _with_attributes(
    ratings: Ratings,
    users: PathLike | None,
    items: PathLike | None,
    *,
    user: str | None,
    item: str | None,
    domain: str | None,
    encoding: str | None = None,
) -> Ratings:
    """Add what files say about people and items."""
    if users is not None:
        ratings = with_users(ratings, users, user=user, encoding=encoding)
    if items is not None:
        ratings = with_items(ratings, items, item=item, domain=domain, encoding=encoding)
    return ratings


def with_users(
    ratings: Ratings,
    path: PathLike | Table,
    *,
    user: str | None = None,
    encoding: str | None = None,
) -> Ratings:
    """Add what a file says about people to what is known of them.

    The format of a text file is guessed from its rows, which are private: the result says so.
    """
    table = path
    if not isinstance(table, Table):
        table = open_table(table, asked=(user,), encoding=encoding)
    people = match_columns(table, "user", user, ratings)
    attributes = {**ratings.user_attributes, **people}
    made = replace(ratings, user_attributes=attributes)
    return made.with_guess("people") if table.guesses else made


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
    """Make ratings of a frame or array; events where no column holds ratings.

    frame      pandas, polars, Arrow or another frame that narwhals knows, such as a DuckDB
               relation; a SciPy sparse matrix, rows people and columns items, numbered from 0; a
               list of tuples (person, item, rating, time), the last one or two left out; an array
               of such rows; a dict of columns
    Columns that are not named are guessed by name and content. Ids keep their type. The other
    options are those of `read_ratings`; a DataError names the record, counted from 1.
    """
    table = keep_rows(Table(None, _frame(frame)), where)
    asked: dict[Role, str | None] = {
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
    settled = events or scale is not None or rating is not None or plays is not None
    if hasattr(frame, "tocoo") and not settled:
        _refuse_numbers_that_are_no_stars(table)
    guessed = guess_rows(table, asked, events=events, layout=layout).require_roles(rules)
    return ratings_of([guessed], rules).ratings


def _refuse_numbers_that_are_no_stars(table: Table) -> None:
    """Raise DataError for a matrix whose numbers lie on no usual scale of stars."""
    numbers = np.asarray(table.frame["rating"], dtype=np.float64)
    scale, off_scale = RatingScale.nearest(numbers)
    if scale.maximum < _TOO_MANY_STARS and off_scale <= (1 - MOST_ON_SCALE) * len(numbers):
        return  # stars, of which a few are off the scale
    raise DataError(
        "the numbers of the matrix are on no usual scale of stars",
        fix="Say what they are: scale=tacit.RatingScale(MIN, MAX, STEP), plays='rating' for "
        "numbers of plays, or events=True if each is an event.",
    )


def history_from(frame: Any) -> dict[Any, float]:
    """Read one person's own ratings from a frame of items and stars, found by their names.

    Returns:
        Item id to stars; of an item rated twice the last row counts. Without stars each is a 1.
    """
    table = Table(None, _frame(frame))
    asked: dict[Role, str | None] = {"item": None, "rating": None}
    guessed = guess(table, asked, contents=False).require_roles(Rules(), ("item",))
    columns = clean_rows(table, guessed.places, Rules()).columns
    items = np.asarray(columns["item"], dtype=object).tolist()
    stars = columns.get("rating", np.ones(len(items)))
    return dict(zip(items, np.asarray(stars).tolist(), strict=True))


def to_frame(columns: Mapping[str, Any], backend: Literal["pandas", "polars"]) -> Any:
    """A data frame of `backend`; ConfigError if it is not installed."""
    try:
        return nw.from_dict(columns, backend=backend).to_native()
    except ModuleNotFoundError:
        raise ConfigError(f"{backend} is not installed: run  pip install {backend}") from None


def _frame(frame: Any) -> Any:
    """Convert the columns to polars."""
    if type(frame).__module__.startswith("scipy.") and hasattr(frame, "tocoo"):
        cells = frame.tocoo()
        columns = {"user": cells.row, "item": cells.col, "rating": cells.data}
        return frame_of({name: np.asarray(column) for name, column in columns.items()})
    if isinstance(frame, np.ndarray) and frame.dtype.names:  # records
        frame = {name: frame[name] for name in frame.dtype.names}
    if isinstance(frame, np.ndarray) and frame.ndim == 2 and frame.shape[1] in (3, 4):
        frame = frame.tolist()
    if isinstance(frame, list | tuple):
        return frame_of(_columns(frame))
    if isinstance(frame, Mapping) and all(isinstance(row, Mapping) for row in frame.values()):
        return frame_of(columns_of_people(frame))
    if isinstance(frame, Mapping):
        _refuse_columns_of_several_lengths(frame)
        return frame_of({str(name): _plain_cells(cells) for name, cells in frame.items()})
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
    nested = (nw.List, nw.Struct, nw.Array)
    flat = [name for name in table.columns if not isinstance(table[name].dtype, nested)]
    return frame_of({name: _values(table[name]) for name in flat})


def _refuse_columns_of_several_lengths(columns: Mapping[Any, Any]) -> None:
    lengths = {len(cells) for cells in columns.values() if hasattr(cells, "__len__")}
    if len(lengths) > 1:
        raise DataError(
            "the columns have different lengths",
            found=", ".join(map(str, sorted(lengths))),
            expected="columns of one length, such as {'user': [...], 'item': [...]}, or "
            "{person: {item: stars}}",
        )


def _with_named_index(frame: Any) -> Any:
    """Make columns of the named index of a pandas frame, such as one of people."""
    has_index = hasattr(frame, "reset_index")
    return frame.reset_index() if has_index and any(frame.index.names) else frame


def _plain_cells(cells: Any) -> Any:
    """Give a column of a dict as an array of numbers or a list."""
    values = cells if isinstance(cells, np.ndarray) else list(cells)
    return values.tolist() if isinstance(values, np.ndarray) and values.dtype == object else values


def _columns(rows: Any) -> dict[str, list[Any]]:
    """Tuples (person, item, rating, time) as columns."""
    names = ("user", "item", "rating", "time")
    if not rows:
        raise DataError("there is no rating", expected="at least one row")
    widths = {len(row) if isinstance(row, list | tuple) else 0 for row in rows}
    if len(widths) != 1 or not widths <= {2, 3, 4}:
        raise DataError(
            "these rows are no ratings",
            found="rows of another form",
            expected="tuples (person, item, rating, time), all of one length, the last "
            "one or two left out",
        )
    columns: dict[str, list[Any]] = {}
    for at, name in enumerate(names[: widths.pop()]):
        columns[name] = [row[at] for row in rows]
    return columns


def _values(column: Any) -> Any:
    if column.dtype == nw.Datetime:
        moments = column.dt.timestamp("ms").to_list()
        return [None if moment is None else moment // 1000 for moment in moments]
    if column.dtype.is_numeric() and not column.null_count():
        return np.asarray(column.to_numpy())
    return column.to_list()


def with_items(
    ratings: Ratings,
    path: PathLike | Table,
    *,
    item: str | None = None,
    domain: str | None = None,
    encoding: str | None = None,
) -> Ratings:
    """Add item metadata from a file; columns that are public already keep their values.

    item, domain: names of columns; the domain is read only if the ratings have come without.
    """
    table = path
    if not isinstance(table, Table):
        table = open_table(table, asked=(item,), encoding=encoding)
    columns = match_columns(table, "item", item, ratings)
    metadata = {**ratings.item_metadata, **columns, **ratings.public_metadata}
    if domain is not None and DOMAIN not in ratings.item_metadata:
        place = require_column("domain", tuple(columns), domain, table.path)
        metadata[DOMAIN] = [*columns.values()][place]
        try:
            domain_of(replace(ratings, item_metadata=metadata))
        except DataError as error:
            raise error.with_place(path=table.path) from None
    row_texts = tuple(name for name in ratings.row_texts if name not in columns)
    return replace(ratings, item_metadata=metadata, row_texts=row_texts)


def read_catalogue(
    path: PathLike, *, item: str | None = None, domain: str | None = None, domains: bool = True
) -> dict[str, dict[Any, str | None]]:
    """A public list of items: 'domain', and every other column, each item id to value.

    path: a file, or an imported folder whose own list is public.
    domain: name of the domain's column; without it, or where the file has no such column, 'domain'.
    domains: whether a file without that column is refused; otherwise every domain is None.
    """
    path = refuse_private_list(Path(path))
    ids, columns = read_columns_by_id(path, "item", item, fewest=1)
    headers = tuple(columns)
    position = find_column("domain", headers, domain)
    if position is None:
        position = find_column("domain", headers, DOMAIN)
    if position is None and domains:
        raise missing_column_error("domain", headers, DOMAIN, path)
    named = dict.fromkeys(ids) if position is None else columns.pop(headers[position])
    columns.pop(DOMAIN, None)  # another column than the one asked for
    return {DOMAIN: named} | columns


def read_history(
    path: PathLike,
    *,
    item: str | None = None,
    rating: str | None = None,
    delimiter: str | None = None,
    item_ids: Column | None = None,
    events: bool = False,
) -> dict[Any, float]:
    """Read one person's own ratings.

    Of an item rated twice the latest counts; of equally late ones, and without times, the one with
    most stars.

    Args:
        path: The file.
        item: Name of the column of ids; None: a well-known header.
        rating: Name of the column of stars; None: a well-known header.
        delimiter: What separates columns; None: found in the file.
        item_ids: (items,) ids that a model knows. An id with the same text is replaced by the
            model's, whatever its type.
        events: Whether items alone are enough, each a 1.

    Returns:
        Item id to stars.
    """
    asked: dict[Role, str | None] = {"item": item, "rating": rating, "time": None}
    columns = _columns_of_history(path, asked, delimiter=delimiter, events=events)
    stars = columns.get("rating", np.ones(len(columns["item"])))
    order = np.lexsort((stars, columns.get("time", np.zeros(len(stars)))))
    items = np.asarray(columns["item"], dtype=object)[order]
    return _by_item(items, stars[order], item_ids)


def read_history_times(
    path: PathLike,
    *,
    item: str | None = None,
    time: str | None = None,
    delimiter: str | None = None,
    item_ids: Column | None = None,
) -> dict[Any, int] | None:
    """Read when one person rated each item.

    Args:
        path: The file of `read_history`.
        item: Name of the column of ids; None: a well-known header.
        time: Name of the column of times; None: a well-known header, if there is one.
        delimiter: What separates columns; None: found in the file.
        item_ids: (items,) a model knows. An id that is written like one of them becomes it.

    Returns:
        Item id to seconds since 1970, the latest for an item rated twice; None without a column of
        times.
    """
    asked: dict[Role, str | None] = {"item": item, "time": time}
    columns = _columns_of_history(path, asked, delimiter=delimiter, events=True)
    if "time" not in columns:
        return None
    order = np.argsort(columns["time"], kind="stable")
    return _by_item(columns["item"][order], columns["time"][order], item_ids)


def _columns_of_history(
    path: PathLike, asked: dict[Role, str | None], *, delimiter: str | None, events: bool
) -> Mapping[str, Column]:
    """Read the columns of one person's own ratings. events: whether items alone are enough."""
    opened = open_table(path, delimiter=delimiter, asked=tuple(asked.values()), history=True)
    needed: tuple[Role, ...] = ("item",) if events else ("item", "rating")
    rules = Rules(guessing=True)
    guessed = guess(opened, asked, events=events, contents=False).require_roles(rules, needed)
    return clean_rows(opened, guessed.places, rules).columns


def _by_item(items: Column, values: Column, item_ids: Column | None) -> dict[Any, Any]:
    """Map each item's id to its last value. item_ids: ids of a model, which replace their text."""
    ids = np.array(items, dtype=object).tolist()
    last = dict(zip(ids, values.tolist(), strict=True))
    known = {} if item_ids is None else {str(key): key for key in item_ids.tolist()}
    return {known.get(str(key), key): last[key] for key in sorted(last)}


def load(path: str | Path, **options: Any) -> Ratings:
    """Read an imported or a MovieLens folder, or a file with options of `read_ratings`.

    An option that is None is not given. Without `items`, the file NAME-items next to the ratings
    has the item metadata, if it is there.

    Raises:
        DataError: The path is none of these, or what it holds is no table of ratings.
    """
    path = Path(path)
    given = {name: value for name, value in options.items() if value is not None}
    if path.is_file() and _is_model(path):
        raise DataError(
            "this is a file of tacit, and no ratings",
            path=path,
            fix=f"A model is opened by  tacit.load_model({str(path)!r}).",
        )
    if path.exists() and not path.is_dir():  # also a pipe
        if path.name in ("u.data", "ratings.dat") and is_movielens(path.parent) and not given:
            fix = f"Name its folder instead: {path.parent}"
            raise DataError("this is one file of a MovieLens folder", path=path, fix=fix)
        items_file = items_beside(path)
        if "items" in given or items_file is None:
            return read_ratings(path, **given)
        return read_ratings(path, **{"items": items_file} | given).with_guess("items")
    datasets = {} if path.exists() else find_entry_points(DATASETS)
    options_of = {"events"}
    if is_folder(path):
        kind = "an imported folder"
        options_of = {
            "events",
            "scale",
            "users",
            "items",
            "domain",
            "items_from_ratings",
        }
    elif is_movielens(path):
        kind = "a MovieLens folder"
    elif path.is_dir():
        what = "this folder holds no ratings that are known"
        expected = "a folder of  tacit data import,  or of MovieLens"
        fix = "Name the file of ratings itself, or import it:  tacit data import FILE -o FOLDER"
        raise DataError(what, path=path, expected=expected, fix=fix)
    elif str(path) in datasets:
        kind = "an installed data set"
    else:
        fix = "Check the path, or see  tacit data --help"
        raise DataError("no such file or folder", path=path, fix=fix)
    if unused_options := given.keys() - options_of:
        fix = "Leave these options out, or name the file of ratings itself."
        found = ", ".join(sorted(unused_options))
        raise DataError(f"{kind} names its own columns", path=path, found=found, fix=fix)
    if kind == "an installed data set":
        ratings = datasets[str(path)].load()()
        if not isinstance(ratings, Ratings):
            what = "this data set gives no ratings"
            found = type(ratings).__name__
            expected, fix = "tacit.Ratings", "Ask its author."
            raise DataError(what, path=path, found=found, expected=expected, fix=fix)
    elif kind == "a MovieLens folder":
        ratings = read_movielens(path)
    else:
        ratings = read_folder(path, scale=given.get("scale"))
    if given.get("items_from_ratings"):
        ratings = ratings.with_row_texts_public()
    if "users" in given:
        ratings = with_users(ratings, given["users"])
    if "items" in given:
        ratings = with_items(ratings, given["items"])
    return ratings.as_events() if given.get("events") else ratings


def _is_model(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(len(MAGIC)) == MAGIC


def items_beside(path: Path) -> Path | None:
    """Find the file of item metadata next to a file of ratings: r.csv has r-items.csv."""
    items_file = path.with_name(f"{path.stem}-items{path.suffix}")
    return items_file if items_file.is_file() else None
