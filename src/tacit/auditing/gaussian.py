"""A lower bound for Gaussian mechanisms, whose events alone say little about epsilon.

Source   Dong, Roth, Su: Gaussian differential privacy (JRSS B 2022). Nasr et al.: Tight auditing
         of differentially private machine learning (USENIX Security 2023).
Rule     A threshold, chosen on one half of the samples, is a test of "the first neighbour" against
         "the second". Clopper-Pearson limits of its two error rates bound mu from below, and mu
         gives epsilon at the claimed delta.
Assumes  that the mechanism IS Gaussian: only then does mu say everything. For any other mechanism
         the bound on mu holds, its epsilon does not. Discrete Gaussian noise is no exception: its
         error rates are those of a continuous one but for a share of 1 / (24 sigma^2) of mu, with
         sigma in steps of its grid. So noise that spans few steps is refused; `empirical.audit`
         with a delta assumes nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from tacit.auditing.empirical import ALPHA, Release
from tacit.errors import ConfigError

LEAST_STEPS = 32
"""Of sigma: from here on a grid is fine, and mu is right to 5 parts in 100,000."""

_THRESHOLDS = 400


@dataclass(frozen=True)
class GaussianEvidence:
    """mu: lower bound of sensitivity / sigma. lower_bound: its epsilon at `delta`, in nats."""

    mu: float
    lower_bound: float
    delta: float
    threshold: float
    samples: int
    alpha: float


def audit_gaussian(
    release_a: Release,
    release_b: Release,
    *,
    samples: int,
    delta: float,
    alpha: float = ALPHA,
    sigma_in_steps: float = math.inf,
) -> GaussianEvidence:
    """Bound mu with `samples` releases (one number each) of each of two neighbouring inputs.

    The neighbours are as far apart as the sensitivity allows; which is the larger does not matter.
    sigma_in_steps: the claimed sigma in steps of the grid; infinite for continuous noise.
    """
    if not sigma_in_steps >= LEAST_STEPS:
        raise ConfigError(
            f"The Gaussian audit takes noise for continuous, and a sigma of {sigma_in_steps:g} "
            f"steps is too coarse for that: give it {LEAST_STEPS} or more, or use audit() with "
            "a delta."
        )
    if samples < 4:
        raise ConfigError(f"An audit takes at least 4 samples of each neighbour; got {samples}.")
    pilot, count = samples // 2, samples - samples // 2
    a, b = np.sort(release_a(pilot)), np.sort(release_b(pilot))
    tried = np.quantile(np.concatenate([a, b]), np.linspace(0, 1, _THRESHOLDS + 2)[1:-1])
    above_a = pilot - np.searchsorted(a, tried)
    above_b = pilot - np.searchsorted(b, tried)
    level = alpha / 4  # two directions, two error rates
    guesses = np.maximum(_mu(above_a, above_b, pilot, level), _mu(above_b, above_a, pilot, level))
    threshold = float(tried[int(guesses.argmax())])
    times = [
        int((release(count).astype(np.float64) >= threshold).sum())
        for release in (release_a, release_b)
    ]
    a_above, b_above = (np.array([time]) for time in times)
    guesses = np.maximum(_mu(a_above, b_above, count, level), _mu(b_above, a_above, count, level))
    mu = float(guesses[0])
    return GaussianEvidence(mu, epsilon_of(mu, delta), delta, threshold, samples, alpha)


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon of mu-Gaussian privacy at `delta` in (0, 1) (Balle and Wang, 2018)."""
    if not 0 < delta < 1:
        raise ConfigError(f"A Gaussian mechanism has an epsilon at a delta in (0, 1); got {delta}.")
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    top = 1.0
    while delta_of(mu, top) > delta:
        top *= 2
    return float(optimize.brentq(lambda epsilon: delta_of(mu, epsilon) - delta, 0.0, top))


def delta_of(mu: float, epsilon: float) -> float:
    """The smallest delta of mu-Gaussian privacy at `epsilon`."""
    if mu <= 0:
        return 0.0
    near = special.ndtr(mu / 2 - epsilon / mu)
    return float(near - math.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu)))


def _mu(
    above_null: NDArray[np.int64], above_other: NDArray[np.int64], trials: int, level: float
) -> NDArray[np.float64]:
    """Lower bounds of mu from how often each neighbour was above a threshold; 0 or more."""
    false_alarm = _at_most(above_null, trials, level)
    missed = _at_most(trials - above_other, trials, level)
    mu = -special.ndtri(false_alarm) - special.ndtri(missed)
    return np.asarray(np.maximum(0.0, mu), dtype=np.float64)


def _at_most(times: NDArray[np.int64], trials: int, level: float) -> NDArray[np.float64]:
    """Upper Clopper-Pearson limits, as in `empirical.clopper_pearson`, entry by entry."""
    limits = special.betainccinv(times + 1, np.maximum(trials - times, 1), level)
    return np.where(times < trials, limits, 1.0)


def ideal_gaussian(mu: float, *, samples: int, delta: float, alpha: float = ALPHA) -> float:
    """The epsilon that an auditor with the middle threshold reaches in nearly all audits."""
    count = samples - samples // 2
    false_alarms = np.array([int(stats.binom.isf(alpha / 2, count, special.ndtr(-mu / 2)))])
    found = np.array([int(stats.binom.ppf(alpha / 2, count, special.ndtr(mu / 2)))])
    return epsilon_of(float(_mu(false_alarms, found, count, alpha / 4)[0]), delta)
