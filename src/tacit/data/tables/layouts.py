"""Tables with several ratings in a row, which are unfolded to one rating a row.

wide      a person in each row and an item in each column; cells hold stars, 1 and 0, or nothing
baskets   a person in each row, with the items in further cells of the line or as a list in one cell

A table is unfolded if the caller names its layout, or if no other layout is possible. A table that
only seems to have such a layout is refused; the error names the option that unfolds it.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from tacit.data.columns import RatingScale
from tacit.data.tables.cells import MISSING_TEXTS, to_numbers
from tacit.data.tables.column_guess import ColumnGuess, ColumnNames, ColumnSample, guess_columns
from tacit.data.tables.forms import ROW_PERSON, Layout, layout_error
from tacit.data.tables.names import Role, is_compound_of, is_no_candidate
from tacit.data.tables.table import FEWEST_WIDE_COLUMNS, Table, missing_column_error
from tacit.errors import DataError

_FEWEST_BLANK = 0.2
"""Least share of empty cells in a table that is taken for wide although the caller did not say
so."""
_MOST_OFF_SCALE = 0.05
"""Largest share of the numbers of such a wide table that may lie off their scale."""
_CELLS_SEEN = 1000
"""Number of first cells of a column that are tested before the whole column is, to save time."""
_FEW = 50
"""A column of texts with fewer cells is taken for lists only if the caller says so."""
_DISTINCT_LISTS = 0.9
"""Least share of different cells in a column that is refused because it seems to hold lists."""
_MOST_CELLS_OF_SEVERAL_PARTS = 0.45
"""Largest share of cells with several parts in a column whose cells are not taken for lists."""
_SEPARATORS = ("|", ";", ",", "\t", " ")
"""Signs that may separate the items of a list, in the order in which they are tried."""
_ID = r"^[A-Za-z_#-]{0,6}\d+$"
"""The pattern of an id; most words of a title do not fit it."""
_ITEM_AND_CLICK = r"^(.+)-([01])$"
"""The pattern of an item that was shown, and of 1 if it was clicked or 0 if not, as in the MIND
data."""
_ITEM_AND_STARS = r"^(.+):(\d+(?:\.\d+)?)$"
"""The pattern of an item and its stars."""
_LINE = "\0line"
"""Name of a column for the row of the table, from 0; no column of a file has this name."""
_STARS = "\0stars"
"""Name of a column for the stars that were read from lists; no column of a file has this name."""


def guess_rating_columns(
    table: Table, column_names: ColumnNames, *, events: bool = False, layout: Layout | None = None
) -> ColumnGuess:
    """Find the columns of a table; unfold it first if it has several ratings in a row.

    Args:
        table: The table.
        column_names: The roles to find, each with the column that the caller named, or None.
        events: Whether every row is an event, whatever columns there are.
        layout: The layout with several ratings in a row; None: one rating a row, unless only
            another layout is possible.

    Returns:
        The columns of the table, or of the table that it was unfolded to.

    Raises:
        DataError: A column that the caller named is missing, it is not clear what a column is, the
            table seems to have several ratings in a row, no two columns of a wide table can be
            items, or no column of baskets holds people or lists.
    """
    if layout == "wide":
        return _unfold_wide(table, column_names, events=events)
    if layout == "baskets":
        return _unfold_baskets(table, column_names, events=events)
    if _is_clearly_wide(table, column_names):
        return _unfold_wide(table, column_names, events=events)
    may_have_lists = _may_have_lists(table, column_names)
    if may_have_lists and _has_only_lists(table, column_names):
        return _unfold_baskets(table, column_names, events=events)
    columns = guess_columns(table, column_names, events=events)
    _refuse_lists_of_items(columns)
    if may_have_lists:
        return replace(columns, guesses=("lists",))  # the cells decided that there are none
    return columns


def _find_by_name(table: Table, column_names: ColumnNames) -> dict[Role, int]:
    """Find the columns that the caller named or that have known names: role to position."""
    return guess_columns(table, column_names, contents=False).positions


def _find_item_columns(table: Table, used: Sequence[int]) -> list[int]:
    """Find the columns of a wide table that may be items.

    They are empty or hold numbers or answers such as yes and no, and their names have no other
    meaning.

    Args:
        table: The table.
        used: Positions of columns with another role.

    Returns:
        Positions.
    """
    item_positions = []
    for position, header in enumerate(table.headers):
        if position in used or (table.has_header and _is_no_item(header)):
            continue
        column = _filled_cells(table.frame[:, position])
        sample = ColumnSample(column)
        is_empty = column.null_count() == len(column)
        if is_empty or sample.is_numeric or sample.is_answer:
            item_positions.append(position)
    return item_positions


def _is_no_item(header: str) -> bool:
    """Tell whether a header says that the column holds people or something else than ratings."""
    return is_no_candidate(header) or is_compound_of("user", header)


def _read_numbers(table: Table, positions: Sequence[int]) -> pl.DataFrame:
    """Read columns as Float64 numbers, null for an empty cell or a text that is no number.

    Returns:
        The columns, each named by its position.
    """
    columns = []
    for position in positions:
        column = table.frame[:, position]
        is_text = column.dtype == pl.String
        numbers = to_numbers(column) if is_text else column.cast(pl.Float64, strict=False)
        columns.append(numbers.fill_nan(None).alias(str(position)))
    return pl.DataFrame(columns)


def _is_clearly_wide(table: Table, column_names: ColumnNames) -> bool:
    """Tell whether a table can only have a person in each row and an item in each column.

    Such a table has a header and a column of people in which nobody repeats. Each other column has
    a name of known meaning or holds stars, and at least `FEWEST_WIDE_COLUMNS` columns hold stars,
    nearly all of them on one scale. At least the share `_FEWEST_BLANK` of their cells is empty:
    without empty cells, these columns could be attributes of the people.
    """
    if (
        not table.has_header
        or len(table.headers) <= FEWEST_WIDE_COLUMNS
        or column_names.get("item")
        or column_names.get("rating")
    ):
        return False
    positions = _find_by_name(table, column_names)
    if "user" not in positions or {"item", "rating", "plays"} & set(positions):
        return False
    people = table.frame[:, positions["user"]]
    if people.n_unique() < len(people):
        return False
    used = [*positions.values()]
    items = _find_item_columns(table, used)
    columns_of_other_meaning = [
        position for position, header in enumerate(table.headers) if _is_no_item(header)
    ]
    known_columns = {*items, *used, *columns_of_other_meaning}
    has_unknown_column = len(known_columns) < len(table.headers)
    if len(items) < FEWEST_WIDE_COLUMNS or has_unknown_column:
        return False
    numbers = _read_numbers(table, items)
    values = pl.concat(numbers.get_columns()).drop_nulls()
    cells = numbers.width * len(numbers)
    if len(values) == 0 or len(values) > (1 - _FEWEST_BLANK) * cells:
        return False
    _, off_scale = RatingScale.nearest(values.to_numpy())
    is_on_scale = off_scale <= _MOST_OFF_SCALE * len(values)
    return is_on_scale and not ColumnSample(values).has_counts


def _unfold_wide(table: Table, column_names: ColumnNames, *, events: bool) -> ColumnGuess:
    """Unfold a wide table: each filled cell of an item becomes a row with person, item and stars.

    If no cell is empty and all are 1 or 0, or if `events` is True, cells of 0 are left out and the
    others are events.

    Args:
        table: The table.
        column_names: The roles to find, each with the column that the caller named, or None; only
            people and times are looked for. Without a column of people, the first column is taken
            if the table has a header and no cell of this column is empty or repeats; else each row
            is a person.
        events: Whether every filled cell but 0 is an event.

    Raises:
        DataError: A column that the caller named is missing, or no two columns can be items.
    """
    positions = _find_by_name(table, {role: column_names.get(role) for role in ("user", "time")})
    warnings = []
    found_by = "asked" if column_names.get("user") else "name"
    if "user" not in positions:
        found_by = "content"
        if table.has_header and _has_ids_in_first_column(table):
            positions["user"] = 0
    used = [*positions.values()]
    items = _find_item_columns(table, used)
    if "user" not in positions and items and _is_count_of(table, items[0], items[1:]):
        items = items[1:]
    if len(items) < 2:
        raise DataError(
            "no two columns can be items",
            path=table.path,
            expected="a column of numbers for each item",
            fix="Leave --layout wide out.",
        )
    person = table.headers[positions["user"]] if "user" in positions else ROW_PERSON
    if "user" not in positions:
        warnings.append(f"Each of the {len(table.frame):,} rows was taken for a person.")
    warnings.append(f"Each of {len(items):,} columns was taken for an item (--layout wide).")
    left_out = len(table.headers) - len(used) - len(items)
    if left_out:
        warnings.append(
            f"Columns that were not read: {left_out:,}. Their names or cells do not fit items."
        )
    rows = _list_filled_cells(table, positions, items)
    numbers = to_numbers(rows["rating"].cast(pl.String))
    has_empty_cells = len(rows) < len(items) * len(table.frame)
    has_answers_alone = bool(numbers.is_in([0.0, 1.0]).all()) and not has_empty_cells
    if events or has_answers_alone:
        rows = rows.filter(numbers.fill_null(1.0) != 0).drop("rating")
        warnings.append("Cells of 0 are no events.")
    lines = rows["line"].to_numpy()
    rows = rows.drop("line")
    roles: tuple[Role, ...] = ("user", "item", "time", "rating")
    new_positions = {role: rows.columns.index(role) for role in roles if role in rows.columns}
    rows = rows.rename({"user": person if person not in rows.columns else "user"})
    reasons = dict.fromkeys(new_positions, "content")
    reasons["user"] = found_by
    unfolded = _make_unfolded_table(table, rows, lines)
    return ColumnGuess(
        unfolded, new_positions, reasons, events, tuple(warnings), rests_on_names=False
    )


def _list_filled_cells(
    table: Table, positions: Mapping[Role, int], items: Sequence[int]
) -> pl.DataFrame:
    """Make a row of each filled cell of the item columns of a wide table.

    Args:
        table: The table.
        positions: Role to position, of people and times if there are columns of them. Without one
            of people, each row is a person, numbered from 1.
        items: Positions of the item columns.

    Returns:
        Rows in the order of the table, with the columns `line` (the row of the table, from 0),
        `user`, `time` if the table has times, `item` (the header) and `rating` (the cell).
    """
    frame = pl.DataFrame({"line": np.arange(len(table.frame))})
    if "user" in positions:
        people = table.frame[:, positions["user"]]
    else:
        people = (frame["line"] + 1).cast(pl.String if table.is_text else pl.Int64)
    frame = frame.with_columns(people.alias("user"))
    if "time" in positions:
        frame = frame.with_columns(table.frame[:, positions["time"]].alias("time"))
    # In this frame, items get names that differ from "user", "line" and "time".
    item_names = {f"item {position}": table.headers[position] for position in items}
    cells = [
        _filled_cells(table.frame[:, position]).alias(f"item {position}") for position in items
    ]
    rows = frame.with_columns(cells).unpivot(
        on=[*item_names], index=frame.columns, variable_name="item", value_name="rating"
    )
    rows = rows.drop_nulls("rating").sort("line", maintain_order=True)
    return rows.with_columns(pl.col("item").replace_strict(item_names, return_dtype=pl.String))


def _filled_cells(column: pl.Series) -> pl.Series:
    """Return the cells of an item: null for empty ones, and numbers and Booleans as Float64."""
    if column.dtype.is_numeric() or column.dtype == pl.Boolean:
        return column.cast(pl.Float64).fill_nan(None)
    if column.dtype != pl.String:
        return column
    return column.set(column.is_in(MISSING_TEXTS).fill_null(value=False), None)


def _has_ids_in_first_column(table: Table) -> bool:
    """Tell whether the first column has at least two cells, none empty and no two the same."""
    first = table.frame[:, 0]
    return first.null_count() == 0 and first.n_unique() == len(first) and len(first) > 1


def _is_count_of(table: Table, first: int, others: Sequence[int]) -> bool:
    """Tell whether a column holds the number of ratings of its row, as in the Jester data.

    Either only empty cells are no ratings, or empty cells and 99 are none, or empty cells and 0.

    Args:
        table: The table.
        first: Position of that column.
        others: Positions of the columns whose ratings are counted.
    """
    if not others:
        return False
    counts = _read_numbers(table, [first])[:, 0]
    numbers = _read_numbers(table, others)
    for code in (None, 99.0, 0.0):
        is_rated = pl.all().is_not_null() if code is None else (pl.all() != code).fill_null(False)
        rated = numbers.select(is_rated).sum_horizontal()
        if bool((rated.cast(pl.Float64) == counts).fill_null(value=False).all()):
            return True
    return False


def _make_unfolded_table(table: Table, frame: pl.DataFrame, rows: Any) -> Table:
    """Make the table with one rating a row. Its rows can no longer be read one by one.

    Args:
        table: The table as it was read.
        frame: The new rows.
        rows: (new rows,) integers: the row of `table`, from 0, that each new row is made of. The
            new row keeps its line.
    """

    def lines() -> list[int]:
        """Return the line of each new row."""
        old_lines = [*itertools.islice(table.lines(), len(table.frame))]
        return [old_lines[row] for row in rows.tolist()]

    return replace(table, frame=frame, lines=lines, has_header=True, kind=None, form=None)


def _find_list_columns(table: Table, used: Sequence[int]) -> list[int]:
    """Find the columns whose cells are lists, or texts with a separator between several parts.

    Args:
        table: The table.
        used: Positions of columns with another role.

    Returns:
        Positions.
    """
    list_positions = []
    for position in range(len(table.headers)):
        column = table.frame[:, position]
        if position in used:
            continue
        has_text_lists = column.dtype == pl.String and _find_separator(column) is not None
        if has_text_lists or isinstance(column.dtype, pl.List | pl.Array):
            list_positions.append(position)
    return list_positions


def _find_separator(column: pl.Series) -> str | None:
    """Find the separator of lists in text cells.

    Returns:
        The first of `_SEPARATORS` that at least half of the filled cells contain; None if there is
        none.
    """
    cells = _strip_brackets(column.drop_nulls())
    for separator in _SEPARATORS:
        cells_with_it = int(cells.str.contains(separator, literal=True).sum())
        if len(cells) and 2 * cells_with_it >= len(cells):
            return separator
    return None


def _strip_brackets(cells: pl.Series) -> pl.Series:
    """Remove blanks and round, square and curly brackets around texts."""
    return cells.str.strip_chars().str.strip_chars("[](){}").str.strip_chars()


def _has_only_lists(table: Table, column_names: ColumnNames) -> bool:
    """Tell whether the cells of the item column can only be lists of ids.

    If they are texts, all their parts look like ids, and each part occurs at least twice on
    average.

    Args:
        table: A table for which `_may_have_lists` is true.
        column_names: The roles to find, each with the column that the caller named, or None.
    """
    column = table.frame[:, _find_by_name(table, column_names)["item"]]
    if isinstance(column.dtype, pl.List | pl.Array):
        return not column.explode().dtype.is_nested()
    if len(column) < _FEW:
        return False
    separator = _find_separator(column)
    if separator is None:
        return False
    parts = _split_lists(column, separator).explode().drop_nulls()
    return bool(parts.str.contains(_ID).all()) and 2 * parts.n_unique() <= len(parts)


def _may_have_lists(table: Table, column_names: ColumnNames) -> bool:
    """Tell whether the cells of the item column decide whether they are lists of items.

    They do if they are texts or lists, people and items have columns by their names, and there is
    no column of stars or plays. No cell decides on this answer, only names and types of columns.
    """
    positions = _find_by_name(table, column_names)
    if "user" not in positions or "item" not in positions or {"rating", "plays"} & set(positions):
        return False
    kind = table.frame[:, positions["item"]].dtype
    return kind == pl.String or isinstance(kind, pl.List | pl.Array)


def _split_lists(column: pl.Series, separator: str) -> pl.Series:
    """Split text cells into lists of their parts, without blanks and quotes around them.

    A part that is nothing but blanks and quotes is left out.
    """
    lists = _strip_brackets(column).str.split(separator)
    parts = pl.element().str.strip_chars().str.strip_chars("'\"").str.strip_chars()
    return lists.list.eval(parts.filter(parts.str.len_chars() > 0))


def _unfold_baskets(table: Table, column_names: ColumnNames, *, events: bool) -> ColumnGuess:
    """Unfold lists of items: each item of a list becomes a row, with stars if the list has them.

    Lists may also hold objects. Their fields become columns, in place of columns of the table with
    the same names; but the column of people stays.

    Args:
        table: The table.
        column_names: The roles to find, each with the column that the caller named, or None.
        events: Whether every item of a list is an event.

    Raises:
        DataError: A column that the caller named is missing, there is no column of people, it is
            not clear which column holds the lists, or what the fields of objects are.
    """
    roles: tuple[Role, ...] = ("user", "item", "time")
    positions = _find_by_name(table, {role: column_names.get(role) for role in roles})
    warnings = []
    if "user" not in positions and table.headers[0] == ROW_PERSON:
        positions["user"] = 0
        warnings.append(f"Each of the {len(table.frame):,} lines was taken for a person.")
    if "user" not in positions:
        raise missing_column_error("user", table.headers, None, table.path)
    item_header = _find_header_of_lists(
        table, positions, is_item_named=bool(column_names.get("item"))
    )
    frame = _explode_lists(table, item_header)
    has_objects = isinstance(frame[item_header].dtype, pl.Struct)
    if has_objects:
        fields = frame[item_header].struct.unnest()
        frame = frame.drop(item_header)
        person_header = table.headers[positions["user"]]
        if person_header in fields.columns:
            names = [*frame.columns, *fields.columns]
            fields = fields.rename({person_header: _make_unused_name(person_header, names)})
        shared = [name for name in fields.columns if name in frame.columns]
        frame = pl.concat([frame.drop(shared), fields], how="horizontal")
    lines = frame[_LINE].to_numpy()
    frame = frame.drop(_LINE)
    unfolded = _make_unfolded_table(table, frame, lines)
    lists_and_rows = f"{len(table.frame):,} lists of items became {len(frame):,} rows"
    warnings.append(f"{lists_and_rows} (--layout baskets).")
    if has_objects:
        names_in_objects: dict[Role, str | None] = {**column_names, "item": None}
        columns = guess_columns(unfolded, names_in_objects, events=events)
        return replace(columns, warnings=(*warnings, *columns.warnings), rests_on_names=False)
    new_positions: dict[Role, int] = {
        "user": frame.columns.index(table.headers[positions["user"]]),
        "item": frame.columns.index(item_header),
    }
    if "time" in positions:
        new_positions["time"] = frame.columns.index(table.headers[positions["time"]])
    reasons = {role: "asked" if column_names.get(role) else "name" for role in new_positions}
    items_and_stars = None if events else _split_stars(frame[item_header])
    if items_and_stars is not None:
        frame = frame.with_columns(items_and_stars)
        new_positions["rating"] = frame.columns.index(_STARS)
        reasons["rating"] = "content"
        frame = frame.rename({_STARS: _make_unused_name("rating", frame.columns)})
        unfolded = _make_unfolded_table(table, frame, lines)
    unfolded = replace(unfolded, guesses=(*unfolded.guesses, "lists"))
    return ColumnGuess(
        unfolded, new_positions, reasons, events, tuple(warnings), rests_on_names=False
    )


def _find_header_of_lists(
    table: Table, positions: Mapping[Role, int], *, is_item_named: bool
) -> str:
    """Find the header of the column with lists of items.

    It is the item column, or if that holds no lists and the caller did not name it, the only column
    with lists.

    Args:
        table: The table.
        positions: Role to position, of people, and of items and times if they are known.
        is_item_named: Whether the caller named the item column.

    Raises:
        DataError: No column holds lists, several do, or the item column that the caller named holds
            none.
    """
    lists = _find_list_columns(table, [positions["user"], positions.get("time", -1)])
    position = positions.get("item")
    if position not in lists and (len(lists) != 1 or is_item_named):
        what = "several columns hold lists"
        if not lists:
            what = "no column holds lists of items"
        elif is_item_named:
            what = "the column of items holds no lists, but another one does"
        raise DataError(
            what,
            path=table.path,
            column=None if position is None else table.headers[position],
            found=", ".join(table.headers[number] for number in lists) or None,
            fix="Name it with --item, or leave --layout baskets out.",
        )
    return table.headers[position if position in lists else lists[0]]


def _explode_lists(table: Table, item_header: str) -> pl.DataFrame:
    """Make a row of each entry of the lists in one column; empty entries are left out.

    Returns:
        The columns of the table, and `_LINE`: the row of the table, from 0, that a row is made of.
    """
    column = table.frame[item_header]
    if column.dtype == pl.String:
        column = _split_lists(column, _find_separator(column) or " ")
    frame = table.frame.with_columns(column.alias(item_header))
    frame = frame.with_columns(pl.Series(_LINE, np.arange(len(frame))))
    return frame.explode(item_header).drop_nulls(item_header)


def _make_unused_name(name: str, others: Sequence[str]) -> str:
    """Append underscores to a name until it differs from all others."""
    while name in others:
        name += "_"
    return name


def _split_stars(items: pl.Series) -> list[pl.Series] | None:
    """Split cells such as `item:4` into items and stars.

    In place of stars there may be a 1 for clicked and a 0 for not clicked, as in `item-1`.

    Args:
        items: The entries of all lists.

    Returns:
        The column of items, with its old name, and the column `_STARS`, both texts; None if the
        cells are items alone.
    """
    if items.dtype != pl.String:
        return None
    with_clicks = items.str.extract_groups(_ITEM_AND_CLICK).struct.unnest()
    has_clicks = with_clicks[:, 0].null_count() == 0 and with_clicks[:, 1].n_unique() == 2
    with_stars = items.str.extract_groups(_ITEM_AND_STARS).struct.unnest()
    parts = with_clicks if has_clicks else with_stars
    if len(items) == 0 or parts[:, 0].null_count():
        return None
    return [parts[:, 0].alias(items.name), parts[:, 1].alias(_STARS)]


def _refuse_lists_of_items(columns: ColumnGuess) -> None:
    """Raise DataError if the item column seems to hold lists.

    The cells of such a column hardly ever repeat, but many of them consist of several parts with
    one of `_SEPARATORS` between them, and these parts repeat.
    """
    if "item" not in columns.positions:
        return
    cells = columns.table.frame[:, columns.positions["item"]].drop_nulls()
    if cells.dtype != pl.String or len(cells) < _FEW:
        return
    first_cells = cells.head(_CELLS_SEEN)
    if first_cells.n_unique() < _DISTINCT_LISTS * len(first_cells):
        return
    if cells.n_unique() < _DISTINCT_LISTS * len(cells):
        return
    for separator in _SEPARATORS:
        lists = cells.str.split(separator)
        share_of_lists = int((lists.list.len() > 1).sum()) / len(cells)
        parts = lists.explode()
        if share_of_lists > _MOST_CELLS_OF_SEVERAL_PARTS and 2 * parts.n_unique() < len(parts):
            raise layout_error(
                "baskets",
                "a cell of the item column seems to hold a list of several items",
                path=columns.table.path,
                column=columns.table.headers[columns.positions["item"]],
                expected="one item a cell",
            )
