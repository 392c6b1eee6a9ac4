"""Bounds of privacy as short texts that promise no more than the bounds.

Printed to the nearest digit, half of all upper bounds are below the number that was proved.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_NEGLIGIBLE = Decimal("1e-12")
"""Relative difference that is not shown. Accountants add margins of such a size for the rounding of
floats: a loss of 1.0000000000000033 nats is shown as 1, and not as 1.00001."""


def format_upper_bound(number: float, *, digits: int = 6) -> str:
    """Format an upper bound, such as an epsilon or a delta, rounded up.

    Args:
        number: The bound, 0 or more.
        digits: Most significant digits of the text; zeros at its end are left out.
    """
    return _format(number, digits, ROUND_CEILING, 1 - _NEGLIGIBLE)


def format_lower_bound(number: float, *, digits: int = 6) -> str:
    """Format a lower bound, rounded down; the arguments are those of `format_upper_bound`."""
    return _format(number, digits, ROUND_FLOOR, 1 + _NEGLIGIBLE)


def _format(number: float, digits: int, rounding: str, factor: Decimal) -> str:
    """Format a number times a factor, rounded in one direction to significant digits."""
    if not math.isfinite(number):
        return f"{number:g}"
    exact = Decimal(repr(float(number)))
    rounded = Context(prec=digits, rounding=rounding).plus(exact * factor)
    return f"{float(rounded):.{digits}g}"
