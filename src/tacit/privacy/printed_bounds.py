"""Bounds of privacy as short texts that promise no more than the bounds, but for one part in 10^12.

Printed to the nearest digit, half of all upper bounds are below the number that was proved. A text
may be on the wrong side of its bound by the rounding of floats alone; see `_NEGLIGIBLE`.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

_NEGLIGIBLE = Decimal("1e-12")
"""Relative difference that is not shown. Accountants add margins of such a size for the rounding of
floats: a loss of 1.0000000000000033 nats is shown as 1, and not as 1.00001."""
_EXACT_DIGITS = 60
"""More digits than any product of a float's text and a factor has, so that it is not rounded."""


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
    # `exact * factor` would be rounded by the context of the thread, which a caller may have set.
    product = Context(prec=_EXACT_DIGITS).multiply(exact, factor)
    rounded = Context(prec=digits, rounding=rounding).plus(product)
    return f"{float(rounded):.{digits}g}"
