"""Tables with several ratings in a row, unfolded to one row a rating.

wide      a person in each row and an item in each column; cells hold stars, 1 and 0, or nothing
baskets   a person in each row, with the items in further cells of the line or as a list in one cell

A table is unfolded where the caller names its layout, or where nothing else can be meant. Where it
only seems to be one, it is refused with the option that reads it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from tacit.data.columns import RatingScale
from tacit.data.tables.cells import MISSING_TEXTS, to_numbers
from tacit.data.tables.column_guess import Asked, ColumnLook, Guess, guess
from tacit.data.tables.forms import ROW_PERSON, Layout, layout_error
from tacit.data.tables.names import Role, is_compound_of, is_no_candidate
from tacit.data.tables.table import WIDE, Table, missing_column_error
from tacit.errors import DataError

_FEWEST_BLANK = 0.2  # of the cells of a wide table that is unfolded without being asked
_MOST_ODD = 0.05  # of its numbers may be off their scale
_SAMPLE = 1000  # cells that are looked at first
_FEW = 50  # cells that say little about whether they hold lists
_ALL_DIFFERENT = 0.9  # of the cells of a column that holds lists
_SEPARATORS = ("|", ";", ",", "\t", " ")
_ID = r"^[A-Za-z_#-]{0,6}\d+$"
"""An id that is no word of a title."""
_SHOWN = r"^(.+)-([01])$"
"""An item that was shown, and whether it was clicked, as in the MIND data."""
_STARS = r"^(.+):(\d+(?:\.\d+)?)$"
"""An item and its stars."""


def guess_rows(
    table: Table, asked: Asked, *, events: bool = False, layout: Layout | None = None
) -> Guess:
    """Find the columns of a table; one with several ratings in a row is unfolded first.

    Args:
        table: Whole rows.
        asked: The roles that are looked for, and the column of each if the caller names it.
        events: Every row is an event, whatever columns there are.
        layout: Several ratings in a row; None: one, unless the table can be nothing else.

    Raises:
        DataError: A column that was asked for is not there, or the table leaves a doubt.
    """
    if layout == "wide":
        return _unfold_wide(table, asked, events=events)
    if layout == "baskets":
        return _unfold_baskets(table, asked, events=events)
    if _is_clearly_wide(table, asked):
        return _unfold_wide(table, asked, events=events)
    if _has_clear_lists(table, asked):
        return _unfold_baskets(table, asked, events=events)
    found = guess(table, asked, events=events)
    _refuse_lists_of_items(found)
    return found


def _named_places(table: Table, asked: Asked) -> dict[Role, int]:
    """Find the columns that were asked for or have a known name."""
    return guess(table, asked, contents=False).places


def _item_columns(table: Table, taken: Sequence[int]) -> list[int]:
    """Find columns of numbers whose names say nothing else: each may be an item."""
    found = []
    for at, header in enumerate(table.headers):
        if at in taken or (table.header and _is_about_something_else(header)):
            continue
        column = _filled_cells(table.frame[:, at])
        look = ColumnLook(column)
        is_empty = column.null_count() == len(column)
        if is_empty or look.is_numeric or look.is_answer:
            found.append(at)
    return found


def _is_about_something_else(header: str) -> bool:
    return is_no_candidate(header) or is_compound_of("user", header)


def _numbers_in(table: Table, places: Sequence[int]) -> pl.DataFrame:
    """Read columns as numbers, null where nothing is said or no number stands."""
    columns = []
    for at in places:
        column = table.frame[:, at]
        is_text = column.dtype == pl.String
        numbers = to_numbers(column) if is_text else column.cast(pl.Float64, strict=False)
        columns.append(numbers.fill_nan(None).alias(str(at)))
    return pl.DataFrame(columns)


def _is_clearly_wide(table: Table, asked: Asked) -> bool:
    """Tell whether a table can only be a person a row and an item a column.

    It names its people, each has one row, the other columns hold stars of one scale, and many of
    their cells are blank. A table without blanks may as well describe its people.
    """
    if not table.header or len(table.headers) <= WIDE or asked.get("item") or asked.get("rating"):
        return False
    places = _named_places(table, asked)
    if "user" not in places or {"item", "rating", "plays"} & set(places):
        return False
    people = table.frame[:, places["user"]]
    if people.n_unique() < len(people):
        return False
    taken = [*places.values()]
    items = _item_columns(table, taken)
    named = [at for at, header in enumerate(table.headers) if _is_about_something_else(header)]
    if len(items) < WIDE or len({*items, *taken, *named}) < len(table.headers):
        return False
    numbers = _numbers_in(table, items)
    values = pl.concat([numbers[:, at] for at in range(numbers.width)]).drop_nulls()
    cells = numbers.width * len(numbers)
    if len(values) == 0 or len(values) > (1 - _FEWEST_BLANK) * cells:
        return False
    is_on_scale = RatingScale.nearest(values.to_numpy())[1] <= _MOST_ODD * len(values)
    return is_on_scale and not ColumnLook(values).falls_from_the_least


def _unfold_wide(table: Table, asked: Asked, *, events: bool) -> Guess:
    """Make one row of each filled cell of a wide table."""
    places = _named_places(table, {role: asked.get(role) for role in ("user", "time")})
    warnings = []
    if "user" not in places and table.header and _first_are_ids(table):
        places["user"] = 0
    taken = [*places.values()]
    items = _item_columns(table, taken)
    if "user" not in places and items and _counts_the_others(table, items[0], items[1:]):
        items = items[1:]
    if len(items) < 2:
        raise DataError(
            "no two columns can be items",
            path=table.path,
            expected="a column of numbers for each item",
            fix="Leave --layout wide out.",
        )
    person = table.headers[places["user"]] if "user" in places else ROW_PERSON
    if "user" not in places:
        warnings.append(f"Each of the {len(table.frame):,} rows was taken for a person.")
    warnings.append(f"Each of {len(items):,} columns was taken for an item (--layout wide).")
    left_out = len(table.headers) - len(taken) - len(items)
    if left_out:
        warnings.append(f"{left_out:,} columns are no items by their names or cells: not read.")
    frame = pl.DataFrame({"line": np.arange(len(table.frame))})
    if "user" in places:
        people = table.frame[:, places["user"]]
    else:
        people = (frame["line"] + 1).cast(pl.String if table.text else pl.Int64)
    frame = frame.with_columns(people.alias("user"))
    if "time" in places:
        frame = frame.with_columns(table.frame[:, places["time"]].alias("time"))
    names = {f"item {at}": table.headers[at] for at in items}
    cells = [_filled_cells(table.frame[:, at]).alias(f"item {at}") for at in items]
    index = frame.columns
    long = frame.with_columns(cells).unpivot(
        on=[*names], index=index, variable_name="item", value_name="rating"
    )
    long = long.drop_nulls("rating").sort("line", maintain_order=True)
    long = long.with_columns(pl.col("item").replace_strict(names, return_dtype=pl.String))
    numbers = to_numbers(long["rating"].cast(pl.String))
    is_blank = len(long) < len(items) * len(table.frame)
    only_ones = bool(numbers.is_in([0.0, 1.0]).all()) and not is_blank
    if events or only_ones:
        long = long.filter(numbers.fill_null(1.0) != 0).drop("rating")
        warnings.append("Cells of 0 are no events.")
    lines = long["line"].to_numpy()
    found: dict[Role, int] = {"user": 0, "item": 0, "time": 0, "rating": 0}
    long = long.drop("line")
    found = {role: long.columns.index(role) for role in found if role in long.columns}
    long = long.rename({"user": person if person not in long.columns else "user"})
    why = dict.fromkeys(found, "content")
    why["user"] = "asked" if asked.get("user") else "name"
    unfolded = _make_unfolded_table(table, long, lines)
    return Guess(unfolded, found, why, events, tuple(warnings), settled=False)


def _filled_cells(column: pl.Series) -> pl.Series:
    """Give the cells of an item, null where nothing is said; numbers of one kind."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_nan(None)
    if column.dtype != pl.String:
        return column
    return column.set(column.is_in(MISSING_TEXTS).fill_null(value=False), None)


def _first_are_ids(table: Table) -> bool:
    """Tell whether the first column is filled and all different."""
    first = table.frame[:, 0]
    return first.null_count() == 0 and first.n_unique() == len(first) and len(first) > 1


def _counts_the_others(table: Table, first: int, others: Sequence[int]) -> bool:
    """Tell whether a column holds the number of ratings of its row, as in the Jester data."""
    if not others:
        return False
    counts = _numbers_in(table, [first])[:, 0]
    numbers = _numbers_in(table, others)
    for code in (None, 99.0, 0.0):
        is_rated = pl.all().is_not_null() if code is None else (pl.all() != code).fill_null(False)
        rated = numbers.select(is_rated).sum_horizontal()
        if bool((rated.cast(pl.Float64) == counts).fill_null(value=False).all()):
            return True
    return False


def _make_unfolded_table(table: Table, frame: pl.DataFrame, rows: Any) -> Table:
    """Make the table of unfolded rows; each has the line of the row that it is from."""

    def lines() -> list[int]:
        own = [*itertools.islice(table.lines(), len(table.frame))]
        return [own[row] for row in rows.tolist()]

    return replace(table, frame=frame, lines=lines, header=True, kind=None, form=None)


def _list_columns(table: Table, taken: Sequence[int]) -> list[int]:
    """Find columns whose cells hold lists, or text with a sign between several parts."""
    found = []
    for at in range(len(table.headers)):
        column = table.frame[:, at]
        if at in taken:
            continue
        is_text_list = column.dtype == pl.String and _separator(column) is not None
        if is_text_list or isinstance(column.dtype, pl.List | pl.Array):
            found.append(at)
    return found


def _separator(column: pl.Series) -> str | None:
    """Find the sign between the parts of text cells: the first that half of the cells have."""
    cells = _without_brackets(column.drop_nulls())
    for sign in _SEPARATORS:
        if len(cells) and 2 * int(cells.str.contains(sign, literal=True).sum()) >= len(cells):
            return sign
    return None


def _without_brackets(cells: pl.Series) -> pl.Series:
    return cells.str.strip_chars().str.strip_chars("[](){}").str.strip_chars()


def _has_clear_lists(table: Table, asked: Asked) -> bool:
    """Tell whether people are named, and the item column can only hold lists of ids."""
    places = _named_places(table, asked)
    if "user" not in places or "item" not in places or {"rating", "plays"} & set(places):
        return False
    column = table.frame[:, places["item"]]
    if isinstance(column.dtype, pl.List | pl.Array):
        return not column.explode().dtype.is_nested()
    if column.dtype != pl.String or len(column) < _FEW:
        return False
    sign = _separator(column)
    if sign is None:
        return False
    pieces = _pieces(column, sign).explode().drop_nulls()
    return bool(pieces.str.contains(_ID).all()) and 2 * pieces.n_unique() <= len(pieces)


def _pieces(column: pl.Series, sign: str) -> pl.Series:
    """Cut text cells into their parts, without quotes and blanks."""
    parts = _without_brackets(column).str.split(sign)
    return parts.list.eval(
        pl.element()
        .str.strip_chars()
        .str.strip_chars("'\"")
        .filter(pl.element().str.len_chars() > 0)
    )


def _unfold_baskets(table: Table, asked: Asked, *, events: bool) -> Guess:
    """Make one row of each item of a list."""
    roles: tuple[Role, ...] = ("user", "item", "time")
    places = _named_places(table, {role: asked.get(role) for role in roles})
    warnings = []
    if "user" not in places and table.headers[0] == ROW_PERSON:
        places["user"] = 0
        warnings.append(f"Each of the {len(table.frame):,} lines was taken for a person.")
    if "user" not in places:
        raise missing_column_error("user", table.headers, None, table.path)
    lists = _list_columns(table, [places["user"], places.get("time", -1)])
    at = places.get("item")
    if at not in lists and (len(lists) != 1 or asked.get("item")):
        raise DataError(
            "no column holds lists of items" if not lists else "several columns hold lists",
            path=table.path,
            column=None if at is None else table.headers[at],
            found=", ".join(table.headers[each] for each in lists) or None,
            fix="Name it with --item, or leave --layout baskets out.",
        )
    at = at if at in lists else lists[0]
    column = table.frame[:, at]
    if column.dtype == pl.String:
        column = _pieces(column, _separator(column) or " ")
    frame = table.frame.with_columns(column.alias(table.headers[at]))
    frame = frame.with_columns(pl.Series("\0line", np.arange(len(frame))))
    frame = frame.explode(table.headers[at]).drop_nulls(table.headers[at])
    is_objects = isinstance(frame[table.headers[at]].dtype, pl.Struct)
    if is_objects:
        own = frame[table.headers[at]].struct.unnest()
        shared = [name for name in own.columns if name in frame.columns]
        frame = pl.concat([frame.drop(table.headers[at], *shared), own], how="horizontal")
    lines = frame["\0line"].to_numpy()
    frame = frame.drop("\0line")
    unfolded = _make_unfolded_table(table, frame, lines)
    lists_and_rows = f"{len(table.frame):,} lists of items became {len(frame):,} rows"
    warnings.append(f"{lists_and_rows} (--layout baskets).")
    if is_objects:
        without_item: dict[Role, str | None] = {**asked, "item": None}
        found = guess(unfolded, without_item, events=events)
        return replace(found, warnings=(*warnings, *found.warnings), settled=False)
    found_places: dict[Role, int] = {
        "user": frame.columns.index(table.headers[places["user"]]),
        "item": frame.columns.index(table.headers[at]),
    }
    if "time" in places:
        found_places["time"] = frame.columns.index(table.headers[places["time"]])
    why = {role: "asked" if asked.get(role) else "name" for role in found_places}
    with_stars = None if events else _split_stars(frame[table.headers[at]])
    if with_stars is not None:
        frame = frame.with_columns(with_stars)
        found_places["rating"] = frame.columns.index("\0stars")
        why["rating"] = "content"
        frame = frame.rename({"\0stars": _free_name("rating", frame.columns)})
        unfolded = _make_unfolded_table(table, frame, lines)
    unfolded = replace(unfolded, guesses=(*unfolded.guesses, "lists"))
    return Guess(unfolded, found_places, why, events, tuple(warnings), settled=False)


def _free_name(name: str, others: Sequence[str]) -> str:
    while name in others:
        name += "_"
    return name


def _split_stars(items: pl.Series) -> list[pl.Series] | None:
    """Split `item:stars`, or `item-1` for what was clicked; None if the items are plain."""
    if items.dtype != pl.String:
        return None
    shown = items.str.extract_groups(_SHOWN).struct.unnest()
    is_shown = shown[:, 0].null_count() == 0 and shown[:, 1].n_unique() == 2
    parts = shown if is_shown else items.str.extract_groups(_STARS).struct.unnest()
    if len(items) == 0 or parts[:, 0].null_count():
        return None
    return [parts[:, 0].alias(items.name), parts[:, 1].alias("\0stars")]


def _refuse_lists_of_items(columns: Guess) -> None:
    """Raise DataError where an item column holds lists: cells never repeat, their parts do."""
    if "item" not in columns.places:
        return
    cells = columns.table.frame[:, columns.places["item"]].drop_nulls()
    if (
        cells.dtype != pl.String
        or len(cells) < _FEW
        or cells.head(_SAMPLE).n_unique() < _ALL_DIFFERENT * min(_SAMPLE, len(cells))
        or cells.n_unique() < _ALL_DIFFERENT * len(cells)
    ):
        return
    for sign in _SEPARATORS:
        parts = cells.str.split(sign)
        several = int((parts.list.len() > 1).sum()) / len(cells)
        pieces = parts.explode()
        if several > _ALL_DIFFERENT / 2 and 2 * pieces.n_unique() < len(pieces):
            raise layout_error(
                "baskets",
                "a cell of the item column seems to hold a list of several items",
                path=columns.table.path,
                column=columns.table.headers[columns.places["item"]],
                expected="one item a cell",
            )
