"""Filters of rows by conditions such as `Status!=Storno` or `event in view|buy`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from tacit.data.tables.table import Table
from tacit.errors import ConfigError, DataError

_CONDITION = re.compile(r"^\s*(.+?)\s*(!=|<=|>=|=|<|>|\s+in\s+)\s*(.*?)\s*$")
"""The pattern of a condition; its groups are the column, the operator and the value."""


def keep_rows(table: Table, conditions: Sequence[str], *, may_be_empty: bool = False) -> Table:
    """Keep the rows that fulfil all conditions.

    Args:
        table: The table.
        conditions: COLUMN=VALUE, also with !=, <, >, <=, >=, or `COLUMN in VALUE|VALUE`. With =, !=
            and in, cells are compared as text; with <, >, <= and >=, as numbers. A cell without a
            value fulfils !=, and no other condition; one that is no number fulfils none of <, >, <=
            and >=.
        may_be_empty: Whether the result may have no row; if not, that is an error.

    Raises:
        ConfigError: A condition is not written like this.
        DataError: The table lacks a column of a condition, or no row is left.
    """
    if not conditions:
        return table
    fulfils_all = pl.Series([True] * len(table.frame), dtype=pl.Boolean)
    for condition in conditions:
        fulfils_all &= _check_rows(table, condition)
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


def _check_rows(table: Table, condition: str) -> pl.Series:
    """Tell for each row whether it fulfils a condition; DataError if there is no such column."""
    name, operator, value = _parse_condition(condition)
    if name not in table.headers:
        raise DataError(
            "no such column",
            path=table.path,
            found=name,
            expected="one of " + ", ".join(table.headers),
        )
    cells = table.frame[name]
    texts = cells.cast(pl.String).str.strip_chars()
    if operator == "!=":
        return (texts != value).fill_null(value=True)
    if operator == "=":
        fulfils = texts == value
    elif operator == "in":
        fulfils = texts.is_in([part.strip() for part in value.split("|")])
    else:
        numbers = texts.cast(pl.Float64, strict=False)
        fulfils = _compare_numbers(numbers, operator, value, condition)
    return fulfils.fill_null(value=False)


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
