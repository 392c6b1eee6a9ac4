"""Audit of Gaussian noise: a bound from samples; exact loss and best tests of noise on integers.

Source   Dong, Roth, Su: Gaussian differential privacy (JRSS B 2022). Nasr et al.: Tight auditing
         of differentially private machine learning (USENIX Security 2023). Canonne, Kamath,
         Steinke: The discrete Gaussian for differential privacy (NeurIPS 2020). Balle and Wang
         (ICML 2018), for delta as an expectation of the loss.
Samples  A threshold, chosen on one half of the samples, tells the two inputs apart. Clopper-Pearson
         limits of its two error rates, on the other half, bound mu from below, and mu gives epsilon
         at the claimed delta. The bound on epsilon from a single event would be much lower.
Assumes  that the mechanism IS Gaussian. For other mechanisms the bound on mu holds, but not the
         epsilon computed from it. Discrete noise is treated as continuous, which changes mu by a
         share of 1 / (24 sigma^2), with sigma in steps of its grid; so noise of few steps is
         refused. `empirical.audit` with a delta has no such assumption.
Exact    Each noise k has P(k) proportional to exp(-k^2 / (2 sigma^2)). If the centres of several
         noises move by whole numbers d, the privacy loss is  sum of (d^2 - 2 k d) / (2 sigma^2).
         If all d / sigma^2 are multiples of one number, the loss depends on a single integer, and
         delta is computed as a sum over it; there is no closed form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from scipy import optimize, signal, special

from tacit.auditing.empirical import ALPHA, Floats, Ints, Release, assured_bound, upper_limit
from tacit.errors import ConfigError

LEAST_STEPS = 32
"""Smallest sigma, in steps of the grid, of noise that is treated as continuous: mu is then correct
to 5 parts in 100,000."""

_THRESHOLDS = 400
"""Number of thresholds that are compared on the first half of the samples."""
_REACH = 12
"""Sigmas after which a distribution is cut off; the chance beyond is below 1e-32."""
_MAX_DENOMINATOR = 64
"""Largest denominator of the ratio of two squared sigmas, which has to be a simple fraction."""
_MAX_SUM_LENGTH = 1 << 22
"""Most values of a sum of noises."""


@dataclass(frozen=True)
class GaussianEvidence:
    """A lower bound on mu and on epsilon."""

    mu: float
    """Lower bound on sensitivity / sigma."""
    lower_bound: float
    """The epsilon of this mu at the delta of the claim, in nats."""


def audit_gaussian(
    release_a: Release,
    release_b: Release,
    *,
    samples: int,
    delta: float,
    alpha: float = ALPHA,
    sigma_in_steps: float = math.inf,
    known_threshold: float | None = None,
) -> GaussianEvidence:
    """Bound mu from below by samples of two neighbouring inputs. Each sample is one number.

    Args:
        release_a: Makes releases of the first input.
        release_b: Makes releases of the second input.
        samples: Releases of each input.
        delta: The delta of the claim.
        alpha: Largest chance that the bound is above the true mu.
        sigma_in_steps: The claimed sigma in steps of the grid; infinite for continuous noise.
        known_threshold: A threshold that is tested in addition, on all samples: the middle between
            the centres of the two inputs' noise. None: no threshold is added.

    Raises:
        ConfigError: The noise is too coarse to be treated as continuous, there are fewer than 4
            samples, or delta is out of range.
    """
    if not sigma_in_steps >= LEAST_STEPS:
        raise ConfigError(
            f"The Gaussian audit treats noise as continuous, and a sigma of {sigma_in_steps:g} "
            f"steps is too coarse for that. Audit noise with a sigma of {LEAST_STEPS} steps or "
            "more, or use audit() with a delta."
        )
    if samples < 4:
        raise ConfigError(f"An audit takes at least 4 samples of each neighbour; got {samples}.")
    pilot = samples // 2
    count = samples - pilot
    pilot_a = np.sort(release_a(pilot))
    pilot_b = np.sort(release_b(pilot))
    quantiles = np.linspace(0, 1, _THRESHOLDS + 2)[1:-1]
    thresholds = np.quantile(np.concatenate([pilot_a, pilot_b]), quantiles)
    above_a = pilot - np.searchsorted(pilot_a, thresholds)
    above_b = pilot - np.searchsorted(pilot_b, thresholds)
    # alpha is divided among two directions with two error rates, at one threshold or at two.
    level = alpha / 4 if known_threshold is None else alpha / 8
    threshold = thresholds[_bound_mu(above_a, above_b, pilot, level).argmax()]
    second_a = release_a(count).astype(np.float64)
    second_b = release_b(count).astype(np.float64)
    above_a = (second_a >= threshold).sum()
    above_b = (second_b >= threshold).sum()
    mu = float(_bound_mu(above_a, above_b, count, level))
    if known_threshold is not None:
        above_a = (pilot_a >= known_threshold).sum() + (second_a >= known_threshold).sum()
        above_b = (pilot_b >= known_threshold).sum() + (second_b >= known_threshold).sum()
        mu = max(mu, float(_bound_mu(above_a, above_b, samples, level)))
    return GaussianEvidence(mu, epsilon_of_mu(mu, delta))


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest epsilon of mu-Gaussian privacy at `delta` (Balle and Wang, 2018).

    Raises:
        ConfigError: delta is not above 0 and below 1.
    """
    _check_delta(delta)
    if delta_of_mu(mu, 0.0) <= delta:
        return 0.0
    upper = 1.0
    while delta_of_mu(mu, upper) > delta:
        upper *= 2
    return float(optimize.brentq(lambda epsilon: delta_of_mu(mu, epsilon) - delta, 0.0, upper))


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


def _bound_mu(above_a: Any, above_b: Any, trials: int, level: float) -> Floats:
    """Bound mu from below by how often the releases of each input are at or above a threshold.

    Args:
        above_a: Counts of the first input, one for each threshold or a single one.
        above_b: Counts of the second input; same shape.
        trials: Releases of each input.
        level: Largest chance that one error rate is above its limit.

    Returns:
        The larger bound of the two directions, 0 or more; same shape.
    """
    bound_if_a_is_lower = _bound_mu_in_direction(above_a, above_b, trials, level)
    bound_if_b_is_lower = _bound_mu_in_direction(above_b, above_a, trials, level)
    return np.maximum(np.maximum(bound_if_a_is_lower, bound_if_b_is_lower), 0.0)


def _bound_mu_in_direction(above_lower: Any, above_upper: Any, trials: int, level: float) -> Floats:
    """Bound mu from below, if it is known which input's releases are the lower ones.

    A false positive is a release of the lower input at or above the threshold; a false negative is
    one of the upper input below it. The bound, which may be negative, is
    -quantile(false positive rate) - quantile(false negative rate), with upper limits of both rates.
    """
    false_positive_limit = upper_limit(above_lower, trials, level)
    false_negative_limit = upper_limit(trials - above_upper, trials, level)
    return np.asarray(-special.ndtri(false_positive_limit) - special.ndtri(false_negative_limit))


def ideal_gaussian(mu: float, *, samples: int, delta: float, alpha: float = ALPHA) -> float:
    """Return a bound on epsilon that an audit at the best threshold finds with chance 1 - alpha.

    Args:
        mu: The true mu. The best threshold is in the middle between the two centres.
        samples: Releases of each input.
        delta: The delta of the claim.
        alpha: As in `audit_gaussian`, which gives each error rate of this threshold an eighth.
    """

    def gain(times: Ints) -> Floats:
        """Return -quantile(false negative limit) if `times` upper releases are above."""
        return np.asarray(-special.ndtri(upper_limit(samples - times, samples, alpha / 8)))

    def cost(times: Ints) -> Floats:
        """Return quantile(false positive limit) if `times` lower releases are above."""
        return np.asarray(special.ndtri(upper_limit(times, samples, alpha / 8)))

    chances = (float(special.ndtr(mu / 2)), float(special.ndtr(-mu / 2)))
    return epsilon_of_mu(assured_bound(gain, cost, chances, samples, alpha), delta)


def _check_delta(delta: float) -> None:
    """Raise ConfigError unless delta is above 0 and below 1."""
    if not 0 < delta < 1:
        raise ConfigError(f"A Gaussian mechanism has an epsilon at a delta in (0, 1); got {delta}.")


def discrete_epsilon_of(steps: Sequence[int], sigmas: Sequence[float], delta: float) -> float:
    """Return the smallest epsilon at `delta` if the centres of discrete Gaussian noises move.

    Args:
        steps: For each noise, the whole number by which its centre moves.
        sigmas: For each noise, its sigma.
        delta: Above 0 and below 1.

    Raises:
        ConfigError: delta is out of range, or the distribution of the loss cannot be computed
            (`_sum_of_noises`).
    """
    _check_delta(delta)
    chances, unit, shift = _sum_of_noises(steps, sigmas)
    sums = np.arange(len(chances)) - len(chances) // 2
    losses = (shift / 2 - sums) * unit

    def excess(epsilon: float) -> float:
        """Return E[max(0, 1 - e^(epsilon - loss))], the delta at this epsilon, minus `delta`."""
        return float((chances * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum()) - delta

    if excess(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, float(losses.max()), xtol=1e-12))


def gaussian_masses(sigma: float) -> tuple[Ints, Floats]:
    """Return the integers up to about 12 sigmas from 0, and each one's chance under the noise."""
    reach = math.ceil(_REACH * sigma) + 1
    integers = np.arange(-reach, reach + 1)
    chances = np.exp(-(integers.astype(np.float64) ** 2) / (2 * sigma**2))
    return integers, chances / chances.sum()


class TailChances(NamedTuple):
    """The tests that tell two inputs apart best: whether a sum of noises is above a threshold."""

    thresholds: Floats
    """(tests,) thresholds, each halfway between two values of the sum of d / sigma^2 times
    noise."""
    moved: Floats
    """(tests,) chance that the sum is above the threshold, with the centres moved by d."""
    unmoved: Floats
    """(tests,) chance that the sum is above the threshold, with the centres at 0."""


def tails(steps: Sequence[int], sigmas: Sequence[float]) -> TailChances:
    """Compute the chances of the best tests, if the centres of discrete Gaussian noises move.

    Args:
        steps: d for each noise, the whole number by which its centre moves.
        sigmas: Sigma of each noise.

    Raises:
        ConfigError: The distribution of the sum cannot be computed (`_sum_of_noises`).
    """
    chances, unit, shift = _sum_of_noises(steps, sigmas)
    # Entry i is the chance that the sum is at least its value i. With moved centres, the sum is
    # larger by `shift` values: so the chances are the same, `shift` entries later.
    unmoved = np.minimum(np.cumsum(chances[::-1])[::-1], 1.0)
    shift = min(shift, len(unmoved))
    moved = np.concatenate([np.ones(shift), unmoved[: len(unmoved) - shift]])
    thresholds = (np.arange(len(chances), dtype=np.float64) - len(chances) // 2 - 0.5) * unit
    return TailChances(np.asarray(thresholds), moved, unmoved)


class _NoiseSum(NamedTuple):
    """Distribution of the sum of d / sigma^2 times noise, for several noises centred at 0."""

    chances: Floats
    """(values,) chances of the values, which are whole multiples of `unit` around 0."""
    unit: float
    """Distance between two values."""
    shift: int
    """By how many units the sum moves if the centre of each noise moves by d."""


def _sum_of_noises(steps: Sequence[int], sigmas: Sequence[float]) -> _NoiseSum:
    """Compute the distribution of the sum of d / sigma^2 times noise; d are the `steps`.

    With the largest sigma s, each d / sigma^2 is written as a fraction times 1 / s^2, and all as
    whole multiples of one unit. The sum is then a convolution of distributions on whole numbers.

    Raises:
        ConfigError: The ratios of the squared sigmas are no simple fractions, or the sum has too
            many values.
    """
    moving_noises = [(int(d), float(sigma)) for d, sigma in zip(steps, sigmas, strict=True) if d]
    if not moving_noises:
        return _NoiseSum(np.ones(1), 1.0, 0)
    largest = max(sigma for _, sigma in moving_noises)
    weights = []  # d / sigma^2 in units of 1 / largest^2
    for d, sigma in moving_noises:
        ratio = (largest / sigma) ** 2
        simple_ratio = Fraction(ratio).limit_denominator(_MAX_DENOMINATOR)
        if abs(float(simple_ratio) - ratio) > 1e-9 * ratio:
            raise ConfigError(
                "The squared sigmas have no simple ratios, so the loss is not a sum of whole "
                "numbers."
            )
        weights.append(d * simple_ratio)
    denominators = [weight.denominator for weight in weights]
    common_denominator = math.lcm(*denominators)
    whole_weights = [int(weight * common_denominator) for weight in weights]
    common_factor = math.gcd(*whole_weights)
    total = np.ones(1)
    shift = 0
    for whole_weight, (d, sigma) in zip(whole_weights, moving_noises, strict=True):
        _, chances = gaussian_masses(sigma)
        multiple = abs(whole_weight) // common_factor
        length = (len(chances) - 1) * multiple + 1
        if length + len(total) > _MAX_SUM_LENGTH:
            raise ConfigError("The noise spans too many steps to be summed: audit a coarser grid.")
        stretched = np.zeros(length)
        stretched[::multiple] = chances
        total = np.maximum(signal.fftconvolve(total, stretched), 0.0)
        shift += whole_weight * d // common_factor
    return _NoiseSum(total, common_factor / common_denominator / largest**2, shift)
