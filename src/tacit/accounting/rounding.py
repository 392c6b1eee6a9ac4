"""Arithmetic on losses, rounded so that no result is below the exact one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

MARGIN = 2.0**-48
"""Relative error that is added to results. It is far larger than the error of a few float
operations and logarithms."""

_HALVINGS = 120
"""Largest number of steps of a bisection."""


def round_up(computed: float, *, slack: float = 0.0) -> float:
    """Return a float above the exact result of a few float operations.

    Args:
        computed: The result of these operations in floats.
        slack: Size of terms that cancelled in the computation, and whose rounding errors may
            therefore be large beside the result; 0 if none did.
    """
    return math.nextafter(computed + MARGIN * (abs(computed) + slack), math.inf)


def float_above(exact: Fraction) -> float:
    """Return the smallest float that is not below `exact` (>= 0)."""
    try:
        nearest = float(exact)
    except OverflowError:
        return math.inf
    is_below = nearest != math.inf and nearest < exact
    return math.nextafter(nearest, math.inf) if is_below else nearest


def sum_above(parts: Iterable[float]) -> float:
    """Return a float that is not below the exact sum of `parts`, each of which is at least 0.

    It is the smallest such float or the next one, and does not depend on the order of the parts.
    """
    numbers = list(parts)
    if math.inf in numbers:
        return math.inf
    try:
        total = math.fsum(numbers)  # the nearest float to the exact sum
    except OverflowError:
        return math.inf
    shortfall = math.fsum([*numbers, -total])  # exact sum - total
    return total if shortfall <= 0 else math.nextafter(total, math.inf)


def find_root(increasing: Callable[[float], float], upper: float) -> float:
    """Find by bisection where an increasing function crosses zero, in (0, upper].

    Returns:
        The upper end of the last interval: never below the root, and never 0.
    """
    low, high = 0.0, upper
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:  # no float lies between them
            break
        if increasing(middle) < 0:
            low = middle
        else:
            high = middle
    return high
