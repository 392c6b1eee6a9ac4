"""Exact integer weights of choices, and draws in exact proportion to them.

Source  Ilvento: Implementing the exponential mechanism with base-2 differential privacy (CCS 2020),
        for integer weights; here for base e with one-sided rounding.
Why     A privacy proof survives a rounded constant only if the rounding errs towards more noise.
        Every power is computed in decimal arithmetic, whose exponential is correct to half a unit
        of the last digit, and then moved by one whole unit of that digit to the side asked for.
        Weights fall no faster than e^-rate per step.
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
"""Bits after the binary point of a power of e."""
_DECIMAL = Context(prec=60)
_WIDE = Context(prec=200)
_LARGEST_EXPONENT = 100
"""e**-100 is far below every grid used here."""
_LARGEST_WORD = np.uint64((1 << 64) - 1)


def bound_exp_of_minus(exponent: Fraction) -> Fraction:
    """Bound e**-exponent from above by a multiple of 2**-128 of at most 1; exponent >= 0."""
    # Digits after the 60th are cut off, so the exponent used is never above the one asked for.
    cut = int(min(exponent, Fraction(_LARGEST_EXPONENT)) * 10**60)
    power = Decimal(-cut).scaleb(-60, _WIDE).exp(_DECIMAL)
    above = Fraction(_DECIMAL.next_plus(power)) * (1 << _BITS)
    return min(Fraction(math.ceil(above), 1 << _BITS), Fraction(1))


def truth_below(epsilon: float, categories: int, bits: int) -> int:
    """Return the largest n, or 1 less, with n / 2**bits <= e**epsilon / (e**epsilon + k - 1).

    n is below 2**bits: even at an immense epsilon a lie stays possible.

    Args:
        epsilon: Loss of one answer, in nats.
        categories: k, the number of possible answers.
        bits: Bits of the chance.
    """
    lie = (categories - 1) * bound_exp_of_minus(Fraction(epsilon))
    return int((1 << bits) / (1 + lie))


@lru_cache(maxsize=32)
def falling_weights(rate: Fraction, steps: int, bits: int) -> NDArray[np.int64]:
    """Return w (steps + 1,) with w[0] = 2**bits and w[d] * e**-rate <= w[d + 1] <= w[d]; read-only.

    Each weight is the one before it times a number not below e**-rate, rounded up. So w[d] is about
    2**bits * e**(-rate * d) until it levels off, at 1 / rate or so: scores more than some 40
    nats below the highest possible one are all alike. It is never 0: an infinite loss.

    Args:
        rate: Nats for each step of a score.
        steps: Number of steps from the best score to the worst.
        bits: Bits of the largest weight.
    """
    factor = int(bound_exp_of_minus(rate) * (1 << _BITS))
    weights = np.empty(steps + 1, dtype=np.int64)
    weight = 1 << bits
    for distance in range(steps + 1):
        weights[distance] = weight
        weight = -(-weight * factor >> _BITS)  # rounded up
    weights.setflags(write=False)
    return weights


def draw_rows(weights: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
    """Draw one index per row of `weights` (rows, n), in exact proportion to the row's weights.

    Every row's sum lies in [1, 2**62].
    """
    upto = weights.cumsum(axis=1)
    drawn = _uniform_below(upto[:, -1], source)
    return np.asarray((upto <= drawn[:, None]).sum(axis=1), dtype=np.int64)


def _uniform_below(bounds: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
    """Draw a uniform integer in [0, bound) for each bound in [1, 2**62], by rejection."""
    divisors = bounds.astype(np.uint64)
    rest = (_LARGEST_WORD % divisors + np.uint64(1)) % divisors  # 2**64 modulo the bound
    words = source.words(len(bounds))
    while True:
        rejected = np.flatnonzero(words > _LARGEST_WORD - rest)
        if rejected.size == 0:
            return (words % divisors).astype(np.int64)
        words[rejected] = source.words(rejected.size)
