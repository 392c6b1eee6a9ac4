"""Sums and products of losses that are never below the exact ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

MARGIN = 2.0**-48
"""Relative; far more than a handful of float operations and logarithms can be off."""

_HALVINGS = 120
"""Halvings of an interval: more than a float can tell apart."""


def round_up(computed: float, *, slack: float = 0.0) -> float:
    """Return a positive float above what a few float operations came to.

    Args:
        computed: Their result.
        slack: Size of the terms, where they cancelled.
    """
    return math.nextafter(computed + MARGIN * (abs(computed) + slack), math.inf)


def float_above(exact: Fraction) -> float:
    """Return the smallest float that is not below `exact` (>= 0)."""
    try:
        near = float(exact)
    except OverflowError:
        return math.inf
    return near if near == math.inf or near >= exact else math.nextafter(near, math.inf)


def sum_above(parts: Iterable[float]) -> float:
    """Return the smallest float, or the next, not below the exact sum of `parts` (>= 0)."""
    numbers = list(parts)
    if math.inf in numbers:
        return math.inf
    try:
        total = math.fsum(numbers)  # the nearest float, whatever the order
    except OverflowError:
        return math.inf
    return total if math.fsum([*numbers, -total]) <= 0 else math.nextafter(total, math.inf)


def find_root(rising: Callable[[float], float], most: float) -> float:
    """Find where a rising function crosses zero, in (0, most]; never 0."""
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high
