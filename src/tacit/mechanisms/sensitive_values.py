"""Checks and conversions of sensitive values, whose errors never repeat the value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import DataError

MOST_STEPS = 1 << 52
"""Largest distance from zero of a grid point, in steps, so that every one is an exact float."""


def finite_floats(values: ArrayLike) -> NDArray[np.float64]:
    """Return `values` as floats of the same shape.

    Raises:
        DataError: A value is NaN or infinite, or the values are not numbers of at most 64 bits;
            longer floats are refused because they would be rounded.
    """
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise DataError(
            "the values to release are not numbers of at most 64 bits", fix="Nothing was released."
        )
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(
            "the values to release hold NaN or infinity",
            expected="finite numbers",
            fix="Nothing was released.",
        )
    return numbers


def clamped_integers(values: ArrayLike) -> NDArray[np.int64]:
    """Return `values` as integers of the same shape, clamped to 2**52 on either side of zero.

    Raises:
        DataError: A value is a fraction, NaN, infinite or not a number.
    """
    numbers = finite_floats(values)
    if (numbers != np.floor(numbers)).any():
        raise DataError(
            "the values to release are not whole", expected="integers", fix="Nothing was released."
        )
    return np.clip(numbers, -MOST_STEPS, MOST_STEPS).astype(np.int64)


def clamped_integer(value: ArrayLike, *, shape_error: str) -> int:
    """Return one number as an integer, clamped to 2**52 on either side of zero.

    Args:
        value: The number.
        shape_error: Message of the error for an array of one or more axes.

    Raises:
        DataError: The value is an array, a fraction, NaN, infinite or not a number.
    """
    if isinstance(value, int | np.integer):  # the usual case, without the cost of an array
        return max(-MOST_STEPS, min(int(value), MOST_STEPS))
    number = clamped_integers(value)
    if number.shape != ():
        raise DataError(shape_error)
    return int(number)
