"""Formulas of the paper and of its leaks on whole stars, by which what is deployed is judged."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]


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
