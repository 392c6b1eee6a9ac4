"""Sums and costs that are never below the exact ones: privacy costs are rounded up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

MARGIN = 2.0**-48
"""Relative; far more than a handful of float operations and logarithms can be off."""


def above(computed: float, *, slack: float = 0.0) -> float:
    """A positive float above what a few float operations came to.

    slack: how large the terms were, where they cancelled.
    """
    return math.nextafter(computed + MARGIN * (abs(computed) + slack), math.inf)


def float_above(exact: Fraction) -> float:
    """The smallest float that is not below `exact` (>= 0)."""
    try:
        near = float(exact)
    except OverflowError:
        return math.inf
    return near if near == math.inf or near >= exact else math.nextafter(near, math.inf)


def sum_above(parts: Iterable[float]) -> float:
    """The smallest float, or the next, that is not below the exact sum of `parts` (>= 0)."""
    numbers = list(parts)
    if math.inf in numbers:
        return math.inf
    try:
        total = math.fsum(numbers)  # the nearest float, whatever the order
    except OverflowError:
        return math.inf
    return total if math.fsum([*numbers, -total]) <= 0 else math.nextafter(total, math.inf)
