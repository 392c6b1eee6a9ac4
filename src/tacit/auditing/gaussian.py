"""Gaussian noise: a lower bound from samples, and the exact loss of noise on integers.

Source   Dong, Roth, Su: Gaussian differential privacy (JRSS B 2022). Nasr et al.: Tight auditing
         of differentially private machine learning (USENIX Security 2023). Canonne, Kamath,
         Steinke: The discrete Gaussian for differential privacy (NeurIPS 2020). Balle and Wang
         (ICML 2018), for delta as an expectation of the loss.
Samples  A threshold, chosen on one half of the samples, tells the neighbours apart. Clopper-Pearson
         limits of its two error rates bound mu from below, and mu gives epsilon at the claimed
         delta: events alone say little about it.
Assumes  that the mechanism IS Gaussian. For any other one the bound on mu holds, but not the
         epsilon computed from it. Discrete noise is treated as continuous: this changes mu by a
         share of 1 / (24 sigma^2), with sigma in steps of its grid, so noise of few steps is
         refused. `empirical.audit` with a delta assumes nothing.
Exact    Noises k have P(k) proportional to exp(-k^2 / (2 sigma^2)). If their centres move by whole
         numbers d, the privacy loss is  sum of (d^2 - 2 k d) / (2 sigma^2).  If all d / sigma^2 are
         multiples of one number, delta is a sum over a single integer, which is computed; it has no
         closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import optimize, signal, special

from tacit.auditing.empirical import ALPHA, Floats, Ints, Release, assured_bound, clopper_pearson
from tacit.errors import ConfigError

LEAST_STEPS = 32
"""Of sigma: from here on a grid is fine, and mu is right to 5 parts in 100,000."""

_THRESHOLDS = 400
_REACH = 12  # standard deviations; less than 1e-32 lies beyond
_MOST_PARTS = 64  # of the ratio of two squared sigmas: it is a simple fraction, such as 2
_MOST_SUMMED = 1 << 22


@dataclass(frozen=True)
class GaussianEvidence:
    """A lower bound on mu and on epsilon."""

    mu: float
    """Lower bound of sensitivity / sigma."""
    lower_bound: float
    """Its epsilon at the delta, in nats."""


def audit_gaussian(
    release_a: Release,
    release_b: Release,
    *,
    samples: int,
    delta: float,
    alpha: float = ALPHA,
    sigma_in_steps: float = math.inf,
    known: float | None = None,
) -> GaussianEvidence:
    """Bound mu with `samples` releases (one number each) of each of two neighbouring inputs.

    The neighbours are as far apart as the sensitivity allows; which is the larger does not matter.
    sigma_in_steps: the claimed sigma in steps of the grid; infinite for continuous noise. known: a
    threshold that is asked besides, of all samples: the middle of the two centres.
    """
    if not sigma_in_steps >= LEAST_STEPS:
        raise ConfigError(
            f"The Gaussian audit takes noise for continuous, and a sigma of {sigma_in_steps:g} "
            f"steps is too coarse for that: give it {LEAST_STEPS} or more, or use audit() with "
            "a delta."
        )
    if samples < 4:
        raise ConfigError(f"An audit takes at least 4 samples of each neighbour; got {samples}.")
    pilot = samples // 2
    count = samples - samples // 2
    a, b = np.sort(release_a(pilot)), np.sort(release_b(pilot))
    tried = np.quantile(np.concatenate([a, b]), np.linspace(0, 1, _THRESHOLDS + 2)[1:-1])
    above_a = pilot - np.searchsorted(a, tried)
    above_b = pilot - np.searchsorted(b, tried)
    # Two directions and two error rates, at one threshold or at two.
    level = alpha / 4 / (1 if known is None else 2)
    threshold = tried[_mu([above_a, above_b], pilot, level).argmax()]
    second = [release(count).astype(np.float64) for release in (release_a, release_b)]
    mu = float(_mu([(part >= threshold).sum() for part in second], count, level))
    if known is not None:
        pooled = [np.concatenate(parts) for parts in zip((a, b), second, strict=True)]
        mu = max(mu, float(_mu([(part >= known).sum() for part in pooled], samples, level)))
    return GaussianEvidence(mu, epsilon_of_mu(mu, delta))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest epsilon of mu-Gaussian privacy at `delta` (Balle and Wang, 2018).

    Raises:
        ConfigError: delta is not above 0 and below 1.
    """
    _check_delta(delta)
    if delta_of_mu(mu, 0.0) <= delta:
        return 0.0
    top = 1.0
    while delta_of_mu(mu, top) > delta:
        top *= 2
    return float(optimize.brentq(lambda epsilon: delta_of_mu(mu, epsilon) - delta, 0.0, top))


def delta_of_mu(mu: float, epsilon: float) -> float:
    """Return the smallest delta of mu-Gaussian privacy at `epsilon`.

    It is Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu), where Phi is the
    normal distribution function.
    """
    if mu <= 0:
        return 0.0
    chance = special.ndtr(mu / 2 - epsilon / mu)
    neighbour_chance = math.exp(epsilon + special.log_ndtr(-mu / 2 - epsilon / mu))
    return float(chance - neighbour_chance)


def _mu(above: Sequence[Any], trials: int, level: float) -> Floats:
    """Bound mu from below by how often each neighbour was above a threshold; 0 or more.

    The better of the two directions counts.
    """
    directions = [
        -special.ndtri(clopper_pearson(one, trials, level)[1])
        - special.ndtri(clopper_pearson(trials - other, trials, level)[1])
        for one, other in (above, above[::-1])
    ]
    return np.asarray(np.max([*directions, np.zeros_like(directions[0])], axis=0))


def ideal_gaussian(mu: float, *, samples: int, delta: float, alpha: float = ALPHA) -> float:
    """Return the epsilon that the middle threshold shows, in all audits but a share of `alpha`."""

    def hits(times: Ints) -> Floats:
        return np.asarray(-special.ndtri(clopper_pearson(samples - times, samples, alpha / 8)[1]))

    def alarms(times: Ints) -> Floats:
        return np.asarray(special.ndtri(clopper_pearson(times, samples, alpha / 8)[1]))

    chances = (float(special.ndtr(mu / 2)), float(special.ndtr(-mu / 2)))
    return epsilon_of_mu(assured_bound(hits, alarms, chances, samples, alpha), delta)


def _check_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise ConfigError(f"A Gaussian mechanism has an epsilon at a delta in (0, 1); got {delta}.")


def discrete_epsilon_of(steps: Sequence[int], sigmas: Sequence[float], delta: float) -> float:
    """Return the smallest epsilon at `delta` if the centres of these noises move by `steps`."""
    _check_delta(delta)
    chances, unit, shift = _sum_of_noises(steps, sigmas)
    losses = (shift / 2 - (np.arange(len(chances)) - len(chances) // 2)) * unit

    def excess(epsilon: float) -> float:
        return float((chances * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum()) - delta

    if excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, float(losses.max()), xtol=1e-12))


def gaussian_masses(sigma: float) -> tuple[Ints, Floats]:
    """Return the integers within 12 sigma, and how likely each of them is."""
    reach = math.ceil(_REACH * sigma) + 1
    integers = np.arange(-reach, reach + 1)
    chances = np.exp(-(integers.astype(np.float64) ** 2) / (2 * sigma**2))
    return integers, chances / chances.sum()


def tails(steps: Sequence[int], sigmas: Sequence[float]) -> tuple[Floats, Floats, Floats]:
    """Return the tests that tell the two inputs apart best, with the chances of each.

    A test asks whether the sum of d / sigma^2 times noise is above a number halfway between two of
    its values. Its chances are with the centres moved, and without.

    Returns:
        (tests,) numbers; (tests,) chances with the centres moved; (tests,) chances without.
    """
    total, unit, shift = _sum_of_noises(steps, sigmas)
    reached = np.minimum(np.cumsum(total[::-1])[::-1], 1.0)
    shifted_places = min(shift, len(reached))
    moved = np.concatenate([np.ones(shifted_places), reached[: len(reached) - shifted_places]])
    halfway = (np.arange(len(total), dtype=np.float64) - len(total) // 2 - 0.5) * unit
    return np.asarray(halfway), moved, reached


def _sum_of_noises(steps: Sequence[int], sigmas: Sequence[float]) -> tuple[Floats, float, int]:
    """Return chances of the sum of d / sigma^2 times noise around 0, its unit, and its move."""
    moving = [(int(d), float(s)) for d, s in zip(steps, sigmas, strict=True) if d]
    if not moving:
        return np.ones(1), 1.0, 0
    largest = max(sigma for _, sigma in moving)
    weights = []  # d / sigma^2 in units of 1 / largest^2
    for d, sigma in moving:
        ratio = (largest / sigma) ** 2
        simple_ratio = Fraction(ratio).limit_denominator(_MOST_PARTS)
        if abs(float(simple_ratio) - ratio) > 1e-9 * ratio:
            raise ConfigError("Squared sigmas are in no simple ratio, so the loss is no one sum.")
        weights.append(d * simple_ratio)
    denominators = [weight.denominator for weight in weights]
    parts = math.lcm(*denominators)
    whole = [int(weight * parts) for weight in weights]
    common = math.gcd(*whole)
    total = np.ones(1)
    for weight, (_, sigma) in zip(whole, moving, strict=True):
        chances = gaussian_masses(sigma)[1]
        times = abs(weight) // common
        length = (len(chances) - 1) * times + 1
        if length + len(total) > _MOST_SUMMED:
            raise ConfigError("The noise spans too many steps to be summed: audit a coarser grid.")
        spread = np.zeros(length)
        spread[::times] = chances
        total = np.maximum(signal.fftconvolve(total, spread), 0.0)
    shift = sum(w * d for w, (d, _) in zip(whole, moving, strict=True)) // common
    return total, common / parts / largest**2, shift
