"""The exact loss of discrete Gaussian noise at a delta: a sum over integers, no formula for it.

Source   Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy (NeurIPS 2020),
         for the noise; Balle and Wang (ICML 2018) for delta as an expectation of the loss.
Rule     Noises k, each with P(k) proportional to exp(-k^2 / (2 sigma^2)), whose centres move by
         whole numbers d, lose  sum of (d^2 - 2 k d) / (2 sigma^2).  With weights d / sigma^2 that
         are multiples of one number this is a sum over a single integer.
Differs  from the continuous formula where sigma is a few steps: a grid of one step and sigma 1
         has another delta than the Gaussian with the same sigma has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, signal

from tacit.errors import ConfigError

_REACH = 12  # standard deviations; less than 1e-32 lies beyond
_MOST_PARTS = 64  # of the ratio of two squared sigmas: it is a simple fraction, such as 2
_MOST_SUMMED = 1 << 22


def delta_of(steps: Sequence[int], sigmas: Sequence[float], epsilon: float) -> float:
    """The smallest delta at `epsilon` if the centres of these noises move by `steps`."""
    losses, chances = _losses(steps, sigmas)
    return float((chances * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum())


def epsilon_of(steps: Sequence[int], sigmas: Sequence[float], delta: float) -> float:
    """The smallest epsilon at `delta` in (0, 1)."""
    if not 0 < delta < 1:
        raise ConfigError(f"A Gaussian mechanism has an epsilon at a delta in (0, 1); got {delta}.")
    losses, chances = _losses(steps, sigmas)

    def over(epsilon: float) -> float:
        return float((chances * -np.expm1(np.minimum(epsilon - losses, 0.0))).sum()) - delta

    if over(0.0) <= 0:
        return 0.0
    return float(optimize.brentq(over, 0.0, float(losses.max()), xtol=1e-12))


def masses(sigma: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The integers within 12 sigma, and how likely each of them is."""
    reach = math.ceil(_REACH * sigma) + 1
    integers = np.arange(-reach, reach + 1)
    chances = np.exp(-(integers.astype(np.float64) ** 2) / (2 * sigma**2))
    return integers, chances / chances.sum()


def tails(
    steps: Sequence[int], sigmas: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """P(sum of d / sigma^2 times noise >= each of its values), with the centres moved and without.

    These are the tests that tell the two inputs apart best.
    """
    total, _, shift = _summed(steps, sigmas)
    reached = np.minimum(np.cumsum(total[::-1])[::-1], 1.0)
    far = min(shift, len(reached))
    moved = np.concatenate([np.ones(far), reached[: len(reached) - far]])
    return moved, reached


def _losses(
    steps: Sequence[int], sigmas: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Every value of the loss, and how likely it is."""
    total, unit, shift = _summed(steps, sigmas)
    integers = np.arange(len(total)) - len(total) // 2
    return np.asarray((shift / 2 - integers) * unit, dtype=np.float64), total


def _summed(
    steps: Sequence[int], sigmas: Sequence[float]
) -> tuple[NDArray[np.float64], float, int]:
    """The sum of d / sigma^2 times noise, in units: its chances around 0, the unit, its move."""
    moving = [(int(d), float(s)) for d, s in zip(steps, sigmas, strict=True) if d]
    if not moving:
        return np.ones(1), 1.0, 0
    largest = max(sigma for _, sigma in moving)
    weights = [_weight(d, sigma, largest) for d, sigma in moving]
    parts = math.lcm(*(weight.denominator for weight in weights))
    whole = [int(weight * parts) for weight in weights]
    common = math.gcd(*whole)
    total = np.ones(1)
    for weight, (_, sigma) in zip(whole, moving, strict=True):
        total = _added(total, masses(sigma)[1], abs(weight) // common)
    shift = sum(w * d for w, (d, _) in zip(whole, moving, strict=True)) // common
    return total, common / parts / largest**2, shift


def _weight(d: int, sigma: float, largest: float) -> Fraction:
    """d / sigma^2 in units of 1 / largest^2."""
    ratio = (largest / sigma) ** 2
    near = Fraction(ratio).limit_denominator(_MOST_PARTS)
    if abs(float(near) - ratio) > 1e-9 * ratio:
        raise ConfigError("Squared sigmas are in no simple ratio, so the loss is no single sum.")
    return d * near


def _added(
    total: NDArray[np.float64], chances: NDArray[np.float64], times: int
) -> NDArray[np.float64]:
    """The distribution of a sum when `times` one more noise is added to it."""
    length = (len(chances) - 1) * times + 1
    if length + len(total) > _MOST_SUMMED:
        raise ConfigError("The noise spans too many steps to be summed: audit a coarser grid.")
    spread = np.zeros(length)
    spread[::times] = chances
    return np.asarray(np.maximum(signal.fftconvolve(total, spread), 0.0))
