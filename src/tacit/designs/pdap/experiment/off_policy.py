"""Estimates of how often a policy would be clicked, from the log of another policy.

Weights   w = pi(a | x) / p: the policy's chance of what was shown, over that of the log.
IPS       the mean of w r. Unbiased where p is right; Horvitz, Thompson: A generalization of
          sampling without replacement (1952).
SNIPS     sum w r / sum w: less spread, and a bias that falls with the visits. Swaminathan,
          Joachims: The self-normalized estimator for counterfactual learning (NeurIPS 2015).
DR        the mean of v + w (r - q): q is what a model says of the arm that was shown, v of the
          policy's arms. Unbiased if either p or the model is right; Dudik, Langford, Li: Doubly
          robust policy evaluation and learning (ICML 2011).
Interval  95 %, of the mean over visits: visits are taken to be independent. The difference to the
          log's own clicks is paired, visit by visit.
Privacy   none: an estimate is computed from the visits of the log as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError
from tacit.evaluation import Interval, mean_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Estimate:
    """The clicks that a policy would get.

    Attributes:
        estimator: ips, snips or dr.
        value: mean clicks of a visit, with its interval.
        difference: the same less the log's own clicks.
    """

    estimator: str
    value: Interval
    difference: Interval


def importance_weights(shares: Floats, propensities: Floats) -> Floats:
    """Compute the weight of each visit: the policy's chance over the log's.

    Args:
        shares: (n,) the policy's chance of what was shown.
        propensities: (n,) the log's chance of it, above 0.
    """
    if not (propensities > 0).all():
        raise DataError("a propensity is not above 0", expected="the chance of what was shown")
    return shares / propensities


def effective_visits(weights: Floats) -> float:
    """(sum w)^2 / sum w^2: as many visits with equal weights would know as much."""
    squares = float((weights**2).sum())
    return 0.0 if squares == 0 else float(weights.sum()) ** 2 / squares


def estimate_ips(weights: Floats, clicks: Floats) -> Estimate:
    """Estimate by inverse propensities; arrays (n,)."""
    return _estimate("ips", weights * clicks, clicks)


def estimate_snips(weights: Floats, clicks: Floats) -> Estimate:
    """Estimate by inverse propensities that are normalised; arrays (n,).

    The interval is that of the linearised ratio: V + w (r - V) / mean w.
    """
    total = float(weights.sum())
    if total == 0:
        raise DataError("the policy shows nothing that the log shows", expected="some visit alike")
    value = float((weights * clicks).sum()) / total
    return _estimate("snips", value + weights * (clicks - value) / weights.mean(), clicks)


def estimate_doubly_robust(
    weights: Floats, clicks: Floats, *, shown: Floats, expected: Floats
) -> Estimate:
    """Estimate with a model of clicks.

    Args:
        weights: (n,) w.
        clicks: (n,) r.
        shown: (n,) q, what the model says of what was shown.
        expected: (n,) v, what it says of what the policy would show.
    """
    return _estimate("dr", expected + weights * (clicks - shown), clicks)


def _estimate(name: str, contributions: Floats, clicks: Floats) -> Estimate:
    """Estimate the mean contribution of a visit, and the mean of contribution minus click."""
    value = mean_interval(contributions.tolist())
    difference = mean_interval((contributions - clicks).tolist())
    return Estimate(name, value, difference)
