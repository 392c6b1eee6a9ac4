"""What counts of an event say about its chances, and so about epsilon, with exact binomials.

Source   Clopper and Pearson: The use of confidence or fiducial limits (Biometrika 1934).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

Rising = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""A function of counts that does not fall."""

_TAIL, _HALVINGS = 1e-4, 50


def clopper_pearson(successes: int, trials: int, level: float) -> tuple[float, float]:
    """Two one-sided limits of a chance; each fails with a chance of at most `level`."""
    low = special.betaincinv(successes, trials - successes + 1, level) if successes else 0.0
    high = (
        special.betainccinv(successes + 1, trials - successes, level) if successes < trials else 1.0
    )
    return float(low), float(high)


def bound(likely: int, rare: int, trials: int, level: float, delta: float = 0.0) -> float:
    """ln((p - delta) / q) at the limits, `level / 2` for each of the two chances; 0 or more."""
    p = clopper_pearson(likely, trials, level / 2)[0]
    q = clopper_pearson(rare, trials, level / 2)[1]
    return float(np.log((p - delta) / q)) if p - delta > q else 0.0


def ideal_bound(p: float, q: float, *, samples: int, alpha: float, delta: float = 0.0) -> float:
    """The bound that a known event shows, in all audits but a share of `alpha`; 0 or more.

    p, q: the exact chances of the event under the two neighbours, the likelier one first.
    """

    def likely(times: NDArray[np.int64]) -> NDArray[np.float64]:
        low = special.betaincinv(np.maximum(times, 1), samples - times + 1, alpha / 4)
        low = np.where(times > 0, low, 0.0) - delta
        return np.asarray(np.log(np.where(low > 0, low, 1e-300)))

    def rare(times: NDArray[np.int64]) -> NDArray[np.float64]:
        high = special.betainccinv(times + 1, np.maximum(samples - times, 1), alpha / 4)
        return np.asarray(np.log(np.where(times < samples, high, 1.0)))

    return assured(likely, rare, (p, q), samples, alpha)


def assured(
    gain: Rising, cost: Rising, chances: tuple[float, float], samples: int, alpha: float
) -> float:
    """The largest x with P(gain(K) - cost(J) < x) <= alpha, 0 or more; K and J are independent
    binomials with these chances."""
    (low_k, high_k), (low_j, high_j) = (
        (int(law.ppf(alpha * _TAIL)), int(law.isf(alpha * _TAIL)))
        for law in (stats.binom(samples, chance) for chance in chances)
    )
    gains, costs = gain(np.arange(low_k, high_k + 1)), cost(np.arange(low_j, high_j + 1))
    # Fewer than the least are taken for the least, more than the most for a failure.
    below = stats.binom.cdf(np.arange(low_k - 1, high_k + 1), samples, chances[0])
    below[-1] = 1.0
    upto = stats.binom.cdf(np.arange(low_j, high_j + 1), samples, chances[1])
    often, beyond = np.diff(upto, prepend=0.0), 1 - upto[-1]

    def fails(x: float) -> float:
        return float((often * below[np.searchsorted(gains, x + costs)]).sum() + beyond)

    x, top = 0.0, max(float(gains[-1] - costs[0]), 0.0)
    for _ in range(_HALVINGS):
        middle = (x + top) / 2
        x, top = (middle, top) if fails(middle) <= alpha else (x, middle)
    return x
