"""Integers whose rounding has a known side: e to a rational power, and weights to draw by.

A privacy proof survives a rounded constant only if the rounding errs towards more noise. Every
power is computed in decimal arithmetic, whose exponential is correct to half a unit of the last
digit, and then moved by one whole unit of that digit to the side asked for. Weights fall no faster
than e^-rate per step, and draws are in exact proportion to them.

Source   McSherry and Talwar: Mechanism design via differential privacy (FOCS 2007); the idea of
         exact integer weights is Ilvento's (Implementing the exponential mechanism with base-2
         differential privacy, CCS 2020), here for base e with one-sided rounding.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.randomness import Source

_BITS = 128
_DECIMAL = Context(prec=60)
_WIDE = Context(prec=200)
_BEYOND = 100  # e**-100 is far below every grid used here
_LARGEST = np.uint64((1 << 64) - 1)
_SHIFT = 128


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


@lru_cache(maxsize=32)
def falling_weights(rate: Fraction, steps: int, bits: int) -> NDArray[np.int64]:
    """w[0] = 2**bits, and for 0 <= d < steps: w[d] * e**-rate <= w[d + 1] <= w[d]; read-only.

    Each weight is the one before it times a number not below e**-rate, rounded up. So w[d] is about
    2**bits * e**(-rate * d) until it levels off, at 1 / rate or so: far below any chance that
    can be noticed, and never at 0, which would be an infinite loss.
    """
    factor = int(exp_minus_above(rate) * (1 << _SHIFT))
    weights = np.empty(steps + 1, dtype=np.int64)
    weight = 1 << bits
    for distance in range(steps + 1):
        weights[distance] = weight
        weight = -(-weight * factor >> _SHIFT)  # rounded up
    weights.setflags(write=False)
    return weights


def draw_rows(weights: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
    """One index per row of `weights` (rows, n), drawn in exact proportion to the row's weights.

    Every row's sum lies in [1, 2**62].
    """
    upto = weights.cumsum(axis=1)
    drawn = _below(upto[:, -1], source)
    return np.asarray((upto <= drawn[:, None]).sum(axis=1), dtype=np.int64)


def _below(bounds: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
    """A uniform integer in [0, bound) for each bound in [1, 2**62], by rejection."""
    divisors = bounds.astype(np.uint64)
    rest = (_LARGEST % divisors + np.uint64(1)) % divisors  # 2**64 modulo the bound
    words = source.words(len(bounds))
    while True:
        late = np.flatnonzero(words > _LARGEST - rest)
        if late.size == 0:
            return (words % divisors).astype(np.int64)
        words[late] = source.words(late.size)
