"""Checks of public parameters and of sensitive values.

The error of a sensitive value never repeats the value.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError, DataError

SMALLEST_EPSILON = 1e-9
"""Smallest epsilon: below it, rounding a chance to a multiple of 2**-53 would not be negligible."""

MOST_STEPS = 1 << 52
"""Largest distance from zero of a grid point, in steps, so that every one is an exact float."""


def check_epsilon(epsilon: float) -> None:
    """Raise ConfigError unless epsilon is at least `SMALLEST_EPSILON`; infinity is allowed."""
    if math.isnan(epsilon) or epsilon < SMALLEST_EPSILON:
        raise ConfigError(
            f"epsilon is a number of at least {SMALLEST_EPSILON:g}, or inf for the non-private "
            f"variant; got {epsilon}."
        )


def check_positive(name: str, value: float) -> None:
    """Raise ConfigError unless the parameter's value is finite and above 0."""
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{name} is a finite number above 0; got {value}.")


def check_scale(scale: float) -> None:
    """Raise ConfigError unless a scale of noise, in steps, is finite; it may have overflowed."""
    if not math.isfinite(scale):
        raise ConfigError(
            "The noise would have no finite scale: take less of it, or a coarser resolution for "
            "this sensitivity."
        )


def check_multiplier(noise_multiplier: float) -> None:
    """Raise ConfigError unless a noise multiplier is finite and at least 0."""
    if not (math.isfinite(noise_multiplier) and noise_multiplier >= 0):
        raise ConfigError(
            "noise_multiplier is a finite number above 0, or 0 for the non-private variant; "
            f"got {noise_multiplier}."
        )


def check_whole(name: str, value: int, *, least: int, most: int | None = None) -> None:
    """Raise ConfigError unless the parameter's value is an integer from `least` to `most`."""
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if not is_integer or value < least or (most is not None and value > most):
        top = "" if most is None else f" and at most {most}"
        raise ConfigError(f"{name} is a whole number, at least {least}{top}; got {value!r}.")


def finite_floats(values: ArrayLike) -> NDArray[np.float64]:
    """Return `values` as floats of the same shape.

    Raises:
        DataError: A value is NaN or infinite, or not a number of at most 64 bits: a longer float
            would be rounded.
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
        DataError: A value is a fraction, NaN or infinite.
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
        shape_error: What the error says if `value` is an array of several numbers or of none.

    Raises:
        DataError: The value is an array, a fraction, NaN or infinite.
    """
    if isinstance(value, int | np.integer):  # the usual case, without the cost of an array
        return max(-MOST_STEPS, min(int(value), MOST_STEPS))
    number = clamped_integers(value)
    if number.shape != ():
        raise DataError(shape_error)
    return int(number)
