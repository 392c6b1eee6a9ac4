"""Exact integer weights of choices, and draws in exact proportion to them.

Source  Ilvento: Implementing the exponential mechanism with base-2 differential privacy (CCS 2020),
        for integer weights; here for base e with one-sided rounding.
Why     A privacy proof holds for a rounded constant only if it was rounded towards more noise. Each
        power of e is computed in decimal arithmetic, whose exponential is correct to half a unit of
        the last digit, and then increased by one unit of that digit. So weights fall by no more
        than a factor of e^-rate for each step.
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
"""Arithmetic of powers of e, with 60 digits."""
_WIDE = Context(prec=200)
"""Arithmetic with enough digits to represent an exponent exactly."""
_LARGEST_EXPONENT = 100
"""Larger exponents are replaced by this one: e**-100 is far below 2**-128 already."""
_LARGEST_WORD = np.uint64((1 << 64) - 1)
"""The largest word of a source of randomness."""


def bound_exp_of_minus(exponent: Fraction) -> Fraction:
    """Return an upper bound of e**-exponent, for an exponent of at least 0.

    The bound is a multiple of 2**-128, and at most 1.
    """
    # Decimals of the exponent after the 60th are dropped, which can only increase the power.
    digits = int(min(exponent, Fraction(_LARGEST_EXPONENT)) * 10**60)
    power = Decimal(-digits).scaleb(-60, _WIDE).exp(_DECIMAL)
    upper_bound = Fraction(_DECIMAL.next_plus(power)) * (1 << _BITS)
    return min(Fraction(math.ceil(upper_bound), 1 << _BITS), Fraction(1))


def truth_numerator(epsilon: float, categories: int, bits: int) -> int:
    """Return the largest n with n / 2**bits <= e**epsilon / (e**epsilon + k - 1), or 1 less.

    n is always below 2**bits, so that even at a very large epsilon a lie is possible.

    Args:
        epsilon: Loss of one answer, in nats.
        categories: k, the number of possible answers.
        bits: Bits of the chance.
    """
    # e^epsilon / (e^epsilon + k - 1) = 1 / (1 + (k - 1) e^-epsilon)
    odds_of_lie = (categories - 1) * bound_exp_of_minus(Fraction(epsilon))
    return int((1 << bits) / (1 + odds_of_lie))


@lru_cache(maxsize=32)
def falling_weights(rate: Fraction, steps: int, bits: int) -> NDArray[np.int64]:
    """Compute weights w with w[0] = 2**bits and w[d] * e**-rate <= w[d + 1] <= w[d].

    w[d + 1] is w[d] times an upper bound of e**-rate, rounded up. So w[d] is about
    2**bits * e**(-rate * d) until it is as small as max(1, 1 / rate); then rounding up keeps it
    constant. Therefore scores that lie more than about bits * ln 2 + min(0, ln rate) nats below the
    highest possible score have nearly equal weights. No weight is 0, which would be an infinite
    loss.

    Args:
        rate: Nats for each step of a score.
        steps: Number of steps from the highest possible score to the lowest.
        bits: Bits of the largest weight.

    Returns:
        (steps + 1,) weights by the number of steps below the highest possible score; read-only.
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
    """Draw one index for each row, with chances exactly proportional to the row's weights.

    Args:
        weights: (rows, n) weights; each row's sum is from 1 to 2**62.
        source: Randomness of the draws.

    Returns:
        (rows,) indices from 0 to n - 1.
    """
    cumulative = weights.cumsum(axis=1)
    uniforms = _uniform_below(cumulative[:, -1], source)
    is_before = cumulative <= uniforms[:, None]
    return np.asarray(is_before.sum(axis=1), dtype=np.int64)


def _uniform_below(bounds: NDArray[np.int64], source: Source) -> NDArray[np.int64]:
    """Draw a uniform integer in [0, bound) for each bound in [1, 2**62], by rejection."""
    divisors = bounds.astype(np.uint64)
    # The largest (2**64 modulo bound) words are rejected, so that each remainder is equally likely.
    excess = (_LARGEST_WORD % divisors + np.uint64(1)) % divisors
    words = source.words(len(bounds))
    while True:
        rejected = np.flatnonzero(words > _LARGEST_WORD - excess)
        if rejected.size == 0:
            return (words % divisors).astype(np.int64)
        words[rejected] = source.words(rejected.size)
