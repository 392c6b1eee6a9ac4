"""e to a rational power, as integers whose rounding has a known side.

A privacy proof survives a rounded constant only if the rounding errs towards more noise. Every
number here is computed in decimal arithmetic, whose exponential is correct to half a unit of the
last digit, and then moved by one whole unit of that digit to the side asked for.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

_BITS = 128
_DECIMAL = Context(prec=60)
_WIDE = Context(prec=200)
_BEYOND = 100  # e**-100 is far below every grid used here


def exp_minus_above(exponent: Fraction) -> Fraction:
    """A multiple of 2**-128 that is at least e**-exponent and at most 1; exponent >= 0."""
    # Digits after the 60th are cut off, so the exponent used is never above the one asked for.
    cut = int(min(exponent, Fraction(_BEYOND)) * 10**60)
    power = Decimal(-cut).scaleb(-60, _WIDE).exp(_DECIMAL)
    above = Fraction(_DECIMAL.next_plus(power)) * (1 << _BITS)
    return min(Fraction(math.ceil(above), 1 << _BITS), Fraction(1))


def truth_below(epsilon: float, categories: int, bits: int) -> int:
    """The largest n with n / 2**bits at most e**epsilon / (e**epsilon + categories - 1), or 1 less.

    n is below 2**bits: even at an immense epsilon a lie stays possible.
    """
    lie = (categories - 1) * exp_minus_above(Fraction(epsilon))
    return int((1 << bits) / (1 + lie))
