"""Whole numbers in columns of floats or decimals, as ids and keys are.

One missing cell turns a typed column of whole numbers into floats. Ids must not change by that, and
floats round whole numbers of 2**53 or more. Decimals are exact, whatever their size.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.errors import DataError

if TYPE_CHECKING:
    import polars as pl

LARGEST_EXACT_FLOAT = 2.0**53
"""Bound below which every whole number is exact as a float."""
EXACT_TYPES = "a column of whole numbers or of texts"
"""What messages expect in place of floats that round."""
READ_EXACTLY = "Write or read this column with such a type (pandas: dtype 'Int64' or str)."
"""Advice of these messages."""


def to_whole_numbers(column: pl.Series, what: str) -> pl.Series:
    """Turn floats or decimals into whole numbers.

    Args:
        column: Floats or decimals.
        what: What they are, for messages, such as "ids".

    Returns:
        Int64; or String if a decimal does not fit into 64 bits. Null for a missing cell and for one
        that is no whole number.

    Raises:
        DataError: A finite float is 2**53 or more, or -2**53 or less.
    """
    import polars as pl  # imported here: a service writes numbers, and should not import it

    if column.dtype.is_decimal():
        texts = column.cast(pl.String).str.replace(r"\.0+$", "")
        has_decimals = texts.str.contains(".", literal=True).fill_null(value=False)
        texts = texts.set(has_decimals, None)
        numbers = texts.cast(pl.Int64, strict=False)
        return texts if numbers.null_count() > texts.null_count() else numbers
    floats = column.cast(pl.Float64).fill_nan(None)
    is_finite = floats.is_finite()
    if ((floats.abs() >= LARGEST_EXACT_FLOAT) & is_finite).any():
        # Also where bad rows are dropped: one missing id makes floats of all, so that else one row
        # would decide whether the others are read.
        raise DataError(
            f"{what} of 2^53 or more are stored as floats, which round them",
            found=f"a column of {column.dtype}",
            expected=EXACT_TYPES,
            fix=READ_EXACTLY,
        )
    is_whole = (floats == floats.round()) & is_finite
    return floats.set(~is_whole.fill_null(value=False), None).cast(pl.Int64)


def write_number(value: Any) -> str:
    """Write a value as text; a float that is a whole number is written as an integer.

    So 1.0 becomes "1". Floats of 2**53 or more stay as Python writes them.
    """
    is_whole = isinstance(value, float | np.floating) and float(value).is_integer()
    if is_whole and abs(value) < LARGEST_EXACT_FLOAT:
        return str(int(value))
    return str(value)
