"""Integer weights that fall no faster than e^-rate per step, and exact draws in proportion.

Source   McSherry and Talwar: Mechanism design via differential privacy (FOCS 2007); the idea of
         exact integer weights is Ilvento's (Implementing the exponential mechanism with base-2
         differential privacy, CCS 2020), here for base e with one-sided rounding.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms.exponentials import exp_minus_above
from tacit.randomness import Source

_LARGEST = np.uint64((1 << 64) - 1)
_SHIFT = 128


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
