"""Closed formulas of the standard scheme. Pure: no data, no randomness.

Notation   x0 in {+1, -1} the hidden attribute; v0 = (n,) half the gap between the mean ratings of
           the two groups; p_plus, p_minus = P(item rated | group).
Source     the patent, equations (1) to (7) and Theorem 1; corrections marked *.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr  # the package scipy.stats takes long to import

Floats = NDArray[np.float64]


def keep_probability(p_own: Floats, p_all: Floats) -> Floats:
    """* Equation (7) with min, where the patent prints max: min(1, min_c p_c / p_own).

    p_own: (n,) for the person's own value; p_all: (values, n) for every value. Then
    P(item shown | value) = min_c p_c for every value. The sound variant multiplies it with a cap
    below 1, the same for every value, which changes nothing about that.
    """
    kept: Floats = np.minimum(1.0, p_all.min(axis=0) / p_own)
    return kept


def rounding_distribution(y: float, minimum: float, maximum: float) -> dict[float, float]:
    """* Stars released for an unrounded y: k + 1 with chance y - k, then clipped to the scale.

    The patent prints the two chances swapped, which gives 2k + 1 - y in the mean.
    """
    k = np.floor(y)
    chances: dict[float, float] = {}
    for star, chance in ((k, 1 - (y - k)), (k + 1, y - k)):
        clipped = float(np.clip(star, minimum, maximum))
        if chance > 0:
            chances[clipped] = chances.get(clipped, 0.0) + float(chance)
    return chances


def quantile_coupling(own: Floats, target: Floats) -> Floats:
    """(..., levels, levels) chances P(released | own star) that turn `own` into `target`.

    own, target: (..., levels) distributions over the stars. The monotone coupling: both are laid on
    [0, 1) as intervals, and a star is released as whatever target interval lies over its own. A
    star of chance 0 is released as itself: nobody gives it.
    """
    high_own, high_target = np.cumsum(own, axis=-1), np.cumsum(target, axis=-1)
    low_own, low_target = high_own - own, high_target - target
    overlap = np.minimum(high_own[..., :, None], high_target[..., None, :]) - np.maximum(
        low_own[..., :, None], low_target[..., None, :]
    )
    overlap = np.maximum(overlap, 0.0)
    mass = overlap.sum(axis=-1, keepdims=True)
    itself = np.broadcast_to(np.eye(own.shape[-1]), overlap.shape)
    return np.where(mass > 0, overlap / np.where(mass > 0, mass, 1.0), itself)


def estimation_loss(profiles: Floats, noise_sd: float) -> float:
    """Equation (4): E|p - x|^2 = sigma^2 tr (sum_i v_i v_i')^{-1}.

    profiles: (n, d) of full rank.
    """
    return float(noise_sd**2 * np.trace(np.linalg.inv(profiles.T @ profiles)))


def rating_distribution(mean: float, sd: float, stars: Floats) -> Floats:
    """(n,) chances of the stars when a normal rating is rounded and clipped to them."""
    cuts = np.concatenate([[-np.inf], (stars[:-1] + stars[1:]) / 2, [np.inf]])
    return np.diff(ndtr((cuts - mean) / sd))


def released_distribution(rating: Floats, stars: Floats, offset: float) -> Floats:
    """(n,) chances of the released stars when `offset` is subtracted, rounded and clipped."""
    released = np.zeros(len(stars))
    for chance, star in zip(rating, stars, strict=True):
        moved = rounding_distribution(float(star) - offset, float(stars[0]), float(stars[-1]))
        for value, share in moved.items():
            released[int(np.searchsorted(stars, value))] += chance * share
    return released


def log_ratio(first: Floats, second: Floats) -> float:
    """max |ln first/second|: the exact epsilon between two distributions on the same stars."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.abs(np.log(first) - np.log(second))
    return float(np.max(np.where((first == 0) & (second == 0), 0.0, ratios)))
