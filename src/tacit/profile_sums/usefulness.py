"""Whether lists are worth making: from released numbers, or before any data. It is free.

Source   rules of thumb, fitted on MovieLens and generated people; docs/private.md has their errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_PEOPLE_FACTOR_ONE_DOMAIN = 115.0
"""In one domain, where popularity is harder to beat."""
_PEOPLE_FACTOR_ACROSS = 88.0
_POPULAR_ITEMS = 20
_LIST_LENGTH = 10
_DRAWS = 2000
_DRAW_BLOCKS = 20
LEAST_POPULAR = 0.9
"""Least height of popular items above the noise with which lists beat popularity."""
LEAST_GAIN = 0.02
"""Least gain by the released numbers with which lists beat popularity."""


@dataclass(frozen=True)
class Usefulness:
    """Figures of a release about its own lists."""

    people: float
    """Noisy number of people."""
    effective: float | None
    """people / sigma, the noise multiplier of the whole release; None without noise."""
    needed: int
    """Number of people from which lists are expected to beat popularity."""
    popular: float | None = None
    """How far the most popular items stand above the largest noise; of taste lists alone."""
    gain: float | None = None
    """Gain of lists over popularity by the released numbers; of taste lists alone."""

    @property
    def missing(self) -> int:
        """Number of further people until lists are expected to beat popularity."""
        return 0 if self.worthwhile else max(0, math.ceil(self.needed - self.people))

    @property
    def worthwhile(self) -> bool:
        """Whether lists are expected to beat popularity."""
        if self.effective is None:
            return True
        if self.popular is None or self.gain is None:
            return self.people >= self.needed
        return self.popular >= LEAST_POPULAR and self.gain >= LEAST_GAIN


def people_needed(items: int, sigma: float, *, one_domain: bool = True) -> int:
    """Number of people from which lists beat exact, non-private popularity.

    Args:
        items: Number of target items.
        sigma: Noise multiplier of the whole release.
        one_domain: Whether lists are made of the items that profiles are read for.
    """
    factor = _PEOPLE_FACTOR_ONE_DOMAIN if one_domain else _PEOPLE_FACTOR_ACROSS
    return math.ceil(factor * largest_standard_noise(items) * sigma)


def popular_above_noise(shares: Floats, deviation: float) -> float:
    """P: mean of the largest released shares of likes, over the largest noise among them."""
    largest = np.sort(shares)[-min(_POPULAR_ITEMS, len(shares)) :]
    return float(largest.mean()) / deviation / largest_standard_noise(len(shares))


def largest_standard_noise(numbers: int) -> float:
    """Estimate the largest of so many standard normal numbers."""
    return math.sqrt(2 * math.log(max(numbers, 2)))


def list_gain(means: Floats, item_tastes: Floats) -> float | None:
    """L: what personal lists of ten add to popularity, for tastes as the release has them.

    Args:
        means: (items,) shares of likes.
        item_tastes: (items, k)

    Returns:
        The relative gain; None for fewer items than a list has.
    """
    if len(means) < _LIST_LENGTH:
        return None
    draws = np.random.default_rng(0).standard_normal((_DRAWS, item_tastes.shape[1]))
    popular_list = float(np.sort(means)[-_LIST_LENGTH:].sum())
    values = []
    for tastes in np.array_split(draws, _DRAW_BLOCKS):
        scores = means + tastes @ item_tastes.T
        best = np.partition(scores, -_LIST_LENGTH, axis=1)[:, -_LIST_LENGTH:]
        values.append(best.sum(axis=1))
    return float(np.concatenate(values).mean()) / popular_list - 1
