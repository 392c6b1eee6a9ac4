"""Estimates of how many clicks a policy would get, from the log of another policy.

Weights   w = pi(a | x) / p: the policy's chance of the shown arm a in the context x, divided by the
          chance p with which the log's policy showed it. The click of the visit is r.
IPS       the mean of w r. Unbiased where p is right; Horvitz, Thompson: A generalization of
          sampling without replacement (1952).
SNIPS     sum w r / sum w: less variance, and a bias that falls with the number of visits.
          Swaminathan, Joachims: The self-normalized estimator for counterfactual learning
          (NeurIPS 2015).
DR        the mean of v + w (r - q). A model predicts q, the click on the shown arm, and v, the mean
          click under the policy. Unbiased if either p or the model is right; Dudik,
          Langford, Li: Doubly robust policy evaluation and learning (ICML 2011).
Interval  95 %, of the mean over visits. Visits are assumed to be independent. The difference to
          the log's own clicks is paired, visit by visit.
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
    """How many clicks a policy would get.

    Attributes:
        estimator: ips, snips or dr.
        value: mean clicks per visit, with its interval.
        difference: mean clicks per visit minus the log's own, with its interval.
    """

    estimator: str
    value: Interval
    difference: Interval


def importance_weights(shares: Floats, propensities: Floats) -> Floats:
    """Compute the weight w of each visit: the policy's chance divided by that of the log's policy.

    Args:
        shares: (n,) chance of the shown arm under the policy.
        propensities: (n,) chance of the shown arm under the log's policy, above 0.

    Raises:
        DataError: A propensity is not above 0.
    """
    if not (propensities > 0).all():
        raise DataError("a propensity is not above 0", expected="the chance of what was shown")
    return shares / propensities


def effective_visits(weights: Floats) -> float:
    """Compute (sum w)^2 / sum w^2: the number of equally weighted visits with as much variance."""
    squares = float((weights**2).sum())
    return 0.0 if squares == 0 else float(weights.sum()) ** 2 / squares


def estimate_ips(weights: Floats, clicks: Floats) -> Estimate:
    """Estimate by inverse propensities (IPS), from weights w (n,) and clicks r (n,)."""
    return _average_contributions("ips", weights * clicks, clicks)


def estimate_snips(weights: Floats, clicks: Floats) -> Estimate:
    """Estimate by normalised inverse propensities (SNIPS), from weights (n,) and clicks (n,).

    The interval is that of the ratio V = sum w r / sum w, linearised: the mean of
    V + w (r - V) / mean w.

    Raises:
        DataError: All weights are 0.
    """
    total = float(weights.sum())
    if total == 0:
        raise DataError(
            "the policy shows nothing that the log shows",
            expected="at least one visit in which both show the same",
        )
    value = float((weights * clicks).sum()) / total
    contributions = value + weights * (clicks - value) / weights.mean()
    return _average_contributions("snips", contributions, clicks)


def estimate_doubly_robust(
    weights: Floats, clicks: Floats, *, predicted_shown: Floats, predicted_policy: Floats
) -> Estimate:
    """Estimate with a model of clicks (DR).

    Args:
        weights: (n,) w.
        clicks: (n,) r.
        predicted_shown: (n,) q, the model's chance of a click on the shown arm.
        predicted_policy: (n,) v, the model's mean chance of a click under the policy.
    """
    contributions = predicted_policy + weights * (clicks - predicted_shown)
    return _average_contributions("dr", contributions, clicks)


def _average_contributions(estimator: str, contributions: Floats, clicks: Floats) -> Estimate:
    """Average contributions (n,) over visits, and contributions minus the log's clicks (n,)."""
    value = mean_interval(contributions.tolist())
    difference = mean_interval((contributions - clicks).tolist())
    return Estimate(estimator, value, difference)
