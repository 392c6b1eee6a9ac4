"""What a policy would have earned, from a log that another policy made.

IPS      weights each reward by how much likelier the policy is to choose so: unbiased, and wild.
SNIPS    the same over the sum of the weights: slightly biased, far calmer.
DR       a model's rewards, corrected by IPS of what the model misses: unbiased if chances are
         right, and calm if the model is good.
Replay   the mean reward of rows on which the policy chose what the log has: of a uniform logger.
Source   Horvitz and Thompson (1952); Swaminathan and Joachims: The self-normalized estimator for
         counterfactual learning (NIPS 2015); Dudik, Langford, Li: Doubly robust policy evaluation
         and learning (ICML 2011); Li et al. (WSDM 2011).
Chances  `Choice.chance` of the logging policy. Where it is None or too small nothing can be said:
         a row whose chance is 0 was not drawn by that policy.
Noise    A reward that was noised on its way is noised here: its mean is right, its spread larger.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError, DataError

Floats = NDArray[np.float64]


class Estimate(NamedTuple):
    """Reward per visit, its standard error, and on how many rows it rests in effect."""

    value: float
    error: float
    rows: float


def ips(
    rewards: ArrayLike, logged: ArrayLike, new: ArrayLike, *, cap: float = math.inf
) -> Estimate:
    """rewards, logged, new: (n,) rewards, and the chances of the logged arms then and now.

    cap: of one weight; below infinity the estimate is too low, and calmer.
    """
    given, weights = _weights(rewards, logged, new, cap)
    return _mean(given * weights, _effective(weights))


def snips(
    rewards: ArrayLike, logged: ArrayLike, new: ArrayLike, *, cap: float = math.inf
) -> Estimate:
    """As `ips`. NaN where the policy never chooses what was logged."""
    given, weights = _weights(rewards, logged, new, cap)
    total = float(weights.sum())
    if total == 0:
        return Estimate(math.nan, math.nan, 0.0)
    value = float((weights * given).sum()) / total
    error = math.sqrt(float((weights**2 * (given - value) ** 2).sum())) / total
    return Estimate(value, error, _effective(weights))


def doubly_robust(
    rewards: ArrayLike,
    logged: ArrayLike,
    new: ArrayLike,
    arms: ArrayLike,
    model: ArrayLike,
    *,
    cap: float = math.inf,
) -> Estimate:
    """logged: (n,) chances of the logged arms then. new: (n, arms) all chances now.

    arms: (n,) logged arms. model: (n, arms) rewards that a model expects; it must not have been
    fitted on these very rows.
    """
    every, expected = np.asarray(new, dtype=np.float64), np.asarray(model, dtype=np.float64)
    chosen = np.asarray(arms, dtype=np.int64)
    if every.ndim != 2 or every.shape != expected.shape or len(chosen) != len(every):
        raise DataError("chances and the model's rewards are two tables of one shape")
    if len(every) and not np.allclose(every.sum(axis=1), 1):
        raise DataError("the chances of a row do not sum to 1")
    row = np.arange(len(chosen))
    given, weights = _weights(rewards, logged, every[row, chosen], cap)
    direct = (every * expected).sum(axis=1)
    return _mean(direct + weights * (given - expected[row, chosen]), _effective(weights))


def replay(rewards: ArrayLike, matched: ArrayLike) -> Estimate:
    """matched: (n,) whether the policy chose what the log has. Right if the logger was uniform."""
    given, hit = np.asarray(rewards, dtype=np.float64), np.asarray(matched, dtype=np.bool_)
    if given.shape != hit.shape or given.ndim != 1:
        raise DataError("rewards and matches are not equally many")
    if not hit.any():
        return Estimate(math.nan, math.nan, 0.0)
    return _mean(given[hit], float(hit.sum()))


def _weights(
    rewards: ArrayLike, logged: ArrayLike, new: ArrayLike, cap: float
) -> tuple[Floats, Floats]:
    given, then, now = (np.asarray(one, dtype=np.float64) for one in (rewards, logged, new))
    if not given.shape == then.shape == now.shape or given.ndim != 1 or given.size == 0:
        raise DataError("rewards and chances are one or more, and equally many")
    if not (np.isfinite(given).all() and (then > 0).all() and (then <= 1).all()):
        raise DataError(
            "a logged chance is not above 0 and at most 1, or a reward is not finite",
            fix="Log Choice.chance of a policy that draws, and leave rows without one out.",
        )
    if not ((now >= 0).all() and (now <= 1).all()):
        raise DataError("a chance of the policy is not between 0 and 1")
    if not cap > 0:
        raise ConfigError(f"A cap of weights is above 0; got {cap}.")
    return given, np.minimum(now / then, cap)


def _mean(values: Floats, rows: float) -> Estimate:
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Estimate(float(values.mean()), error, rows)


def _effective(weights: Floats) -> float:
    """(sum w)^2 / sum w^2: n rows of one weight are n rows."""
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0
