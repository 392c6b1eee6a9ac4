"""Rows of a table that count: conditions such as `Status!=Storno` or `event in view|buy`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from tacit.data.tables.table import Table
from tacit.errors import ConfigError, DataError

_CONDITION = re.compile(r"^\s*(.+?)\s*(!=|<=|>=|=|<|>|\s+in\s+)\s*(.*?)\s*$")


def keep_rows(table: Table, conditions: Sequence[str], *, may_be_empty: bool = False) -> Table:
    """Keep the rows that fulfil all conditions.

    Args:
        table: Whole rows.
        conditions: COLUMN=VALUE, also with !=, <, >, <=, >=, or `COLUMN in VALUE|VALUE`. Values
            compare as text, and as numbers with < and >. An empty cell fulfils only !=.
        may_be_empty: Whether no row may be left.

    Raises:
        ConfigError: A condition is written in another way.
        DataError: The table has no such column, or no row is left.
    """
    if not conditions:
        return table
    kept = pl.Series([True] * len(table.frame), dtype=pl.Boolean)
    for condition in conditions:
        kept &= _find_rows(table, condition)
    if not (may_be_empty or kept.any()):
        raise DataError(
            "no row fulfils the conditions", path=table.path, found="; ".join(conditions)
        )
    mask = kept.to_list()
    return replace(
        table,
        frame=table.frame.filter(kept),
        lines=lambda: itertools.compress(table.lines(), mask),
        where=(*table.where, *conditions),
    )


def names_in(conditions: Sequence[str]) -> list[str]:
    """List the columns of conditions."""
    return [_parts(condition)[0] for condition in conditions]


def has_columns_of(table: Table, conditions: Sequence[str]) -> bool:
    """Tell whether the table has the columns of all conditions."""
    return all(_parts(condition)[0] in table.headers for condition in conditions)


def _parts(condition: str) -> tuple[str, str, str]:
    match = _CONDITION.match(condition)
    if match is None:
        raise ConfigError(
            f"A condition is COLUMN=VALUE, with =, !=, <, >, <=, >= or in; got {condition!r}."
        )
    return match[1], match[2].strip(), match[3]


def _find_rows(table: Table, condition: str) -> pl.Series:
    name, sign, value = _parts(condition)
    if name not in table.headers:
        raise DataError(
            "no such column",
            path=table.path,
            found=name,
            expected="one of " + ", ".join(table.headers),
        )
    cells = table.frame[name]
    texts = cells.cast(pl.String).str.strip_chars()
    if sign == "=":
        found = texts == value
    elif sign == "!=":
        return (texts != value).fill_null(value=True)
    elif sign == "in":
        found = texts.is_in([each.strip() for each in value.split("|")])
    else:
        found = _compare_numbers(texts.cast(pl.Float64, strict=False), sign, value, condition)
    return found.fill_null(value=False)


def _compare_numbers(numbers: pl.Series, sign: str, value: str, condition: str) -> pl.Series:
    try:
        bound = float(value)
    except ValueError:
        raise ConfigError(f"{sign} compares with a number; got {condition!r}.") from None
    compared = {
        "<": numbers < bound,
        ">": numbers > bound,
        "<=": numbers <= bound,
        ">=": numbers >= bound,
    }
    return compared[sign]
