"""Filters of rows by conditions such as `Status!=Storno` or `event in view|buy`.

Text files    Cells are compared as they are written: 3 and 3.0 differ.
Other tables  Cells are compared by what they mean, since one cell such as 1.5 turns the numbers of
              a whole column from 3 into 3.0, and one text turns them into texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from tacit.data.tables.table import Table
from tacit.data.tables.whole_numbers import EXACT_TYPES, LARGEST_EXACT_FLOAT, READ_EXACTLY
from tacit.errors import ConfigError, DataError

_CONDITION = re.compile(r"^\s*(.+?)\s*(!=|<=|>=|=|<|>|\s+in\s+)\s*(.*?)\s*$")
"""The pattern of a condition; its groups are the column, the operator and the value."""
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
"""The pattern of a value that is a number."""
_WITH_LEADING_ZERO = r"^[+-]?0\d"
"""The pattern of a text such as 007, which is no number."""
_ANSWERS = ("true", "false")
"""The values, in lower case, that are compared in lower case."""


def keep_rows(
    table: Table,
    conditions: Sequence[str],
    *,
    may_be_empty: bool = False,
    has_types: bool | None = None,
) -> Table:
    """Keep the rows that fulfil all conditions.

    Args:
        table: The table.
        conditions: COLUMN=VALUE, also with !=, <, >, <=, >=, or `COLUMN in VALUE|VALUE`. With =, !=
            and in, cells of a text file are compared as text, and others as `_check_equal` says;
            with <, >, <= and >=, as numbers. A cell without a value fulfils !=, and no other
            condition; one that is no number fulfils none of <, >, <= and >=.
        may_be_empty: Whether the result may have no row; if not, that is an error.
        has_types: Whether the cells had types where they came from, as in Parquet and JSON; None:
            unless the table is that of a text file.

    Raises:
        ConfigError: A condition is not written like this.
        DataError: The table lacks a column of a condition, no row is left, or a column of floats is
            compared with a whole number of 2**53 or more.
    """
    if not conditions:
        return table
    if has_types is None:
        has_types = not table.is_text
    fulfils_all = pl.Series([True] * len(table.frame), dtype=pl.Boolean)
    for condition in conditions:
        fulfils_all &= _check_rows(table, condition, has_types=has_types)
    if not (may_be_empty or fulfils_all.any()):
        raise DataError(
            "no row fulfils the conditions", path=table.path, found="; ".join(conditions)
        )
    return replace(table.filter(fulfils_all), where=(*table.where, *conditions))


def names_in(conditions: Sequence[str]) -> list[str]:
    """List the header of the column of each condition."""
    return [_parse_condition(condition)[0] for condition in conditions]


def has_columns_of(table: Table, conditions: Sequence[str]) -> bool:
    """Tell whether the table has the columns of all conditions."""
    return all(name in table.headers for name in names_in(conditions))


def _parse_condition(condition: str) -> tuple[str, str, str]:
    """Split a condition into column, operator and value; ConfigError if it is no condition."""
    match = _CONDITION.match(condition)
    if match is None:
        raise ConfigError(
            f"A condition is COLUMN=VALUE, with =, !=, <, >, <=, >= or in; got {condition!r}."
        )
    return match[1], match[2].strip(), match[3]


def _check_rows(table: Table, condition: str, *, has_types: bool) -> pl.Series:
    """Tell for each row whether it fulfils a condition.

    Raises:
        ConfigError: A condition is not written as one.
        DataError: There is no such column, or its floats cannot be compared with the value.
    """
    name, operator, value = _parse_condition(condition)
    if name not in table.headers:
        raise DataError(
            "no such column",
            path=table.path,
            found=name,
            expected="one of " + ", ".join(table.headers),
        )
    column = table.frame[name]
    texts = column.cast(pl.String).str.strip_chars()
    if operator in ("=", "!=", "in"):
        values = [part.strip() for part in value.split("|")] if operator == "in" else [value]
        if has_types:
            if column.dtype.is_float():
                _refuse_rounded(values, table, name)
            fulfils = _check_equal(texts, values)
        else:
            fulfils = texts.is_in(values)
        fulfils = fulfils.fill_null(value=False)
        return ~fulfils if operator == "!=" else fulfils
    numbers = texts.cast(pl.Float64, strict=False)
    return _compare_numbers(numbers, operator, value, condition).fill_null(value=False)


def _check_equal(texts: pl.Series, values: Sequence[str]) -> pl.Series:
    """Tell for each cell whether it equals one of the values, whatever the type of its column.

    A value that is a number equals each cell that is this number, such as 3 and 3.0. True and False
    are the same in upper and lower case. Else the texts are compared. A text with a leading zero,
    such as 007, is no number.

    Args:
        texts: Cells as texts; null for a missing one, which stays null.
        values: Values of a condition.
    """
    is_equal = texts.is_in(values)
    cells_of_numbers = texts.set(
        texts.str.contains(_WITH_LEADING_ZERO).fill_null(value=False), None
    )
    numbers = cells_of_numbers.cast(pl.Float64, strict=False)
    for value in values:
        if value.lower() in _ANSWERS:
            is_equal |= texts.str.to_lowercase() == value.lower()
        elif _is_number(value) and abs(float(value)) < LARGEST_EXACT_FLOAT:
            is_equal |= (numbers == float(value)).fill_null(value=False)
    return is_equal


def _is_number(value: str) -> bool:
    """Tell whether a value of a condition is a number; 007 is none."""
    return bool(_NUMBER.fullmatch(value)) and not re.match(_WITH_LEADING_ZERO, value)


def _refuse_rounded(values: Sequence[str], table: Table, name: str) -> None:
    """Raise DataError if a column of floats is compared with a number that floats cannot hold.

    The type and the condition decide, and no cell.
    """
    if any(_is_number(value) and abs(float(value)) >= LARGEST_EXACT_FLOAT for value in values):
        raise DataError(
            "a condition names a number of 2^53 or more, and the column holds floats, which round "
            "such numbers",
            path=table.path,
            column=name,
            expected=EXACT_TYPES,
            fix=READ_EXACTLY,
        )


def _compare_numbers(numbers: pl.Series, operator: str, value: str, condition: str) -> pl.Series:
    """Compare numbers with a value, such as `numbers < value`; null stays null.

    Args:
        numbers: Float64 numbers of the cells.
        operator: <, >, <= or >=.
        value: A number, as it is written in the condition.
        condition: The whole condition, for messages.

    Raises:
        ConfigError: The value is no number.
    """
    try:
        bound = float(value)
    except ValueError:
        raise ConfigError(f"{operator} compares with a number; got {condition!r}.") from None
    results = {
        "<": numbers < bound,
        ">": numbers > bound,
        "<=": numbers <= bound,
        ">=": numbers >= bound,
    }
    return results[operator]
