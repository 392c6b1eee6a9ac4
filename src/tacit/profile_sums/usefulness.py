"""Whether lists are worth making: from released numbers, or before any data.

Computing it takes no further epsilon.

Source   rules of thumb, fitted on MovieLens and generated people; docs/private.md has their errors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.profile_sums.sums.like_pairs import MOST_WITHOUT_PAIRS

Floats = NDArray[np.float64]

_PEOPLE_FACTOR_ONE_DOMAIN = 70.0
_PEOPLE_FACTOR_ACROSS = 88.0
"""Between domains, where it was fitted before sum 3 asked about a head alone."""
_POPULAR_ITEMS = 20
LEAST_SHARE = -1.0
"""Least expected share of EASE's gain: as far below popularity as EASE is above."""
_MOST_SHARE, _LOST_SHARE, _SHARE_POWER = 0.9, 0.7, 0.45
"""Fitted on MovieLens 100K and two kinds of generated people; docs/results.md has the errors."""
_SHARE_WITH_PAIRS = 0.92
"""Least share that was measured where pairs of likes are asked for, on four kinds of worlds."""
LEAST_POPULAR = 1.0
"""Height of popular items above the noise below which sums of tastes are not asked for."""


@dataclass(frozen=True)
class Usefulness:
    """Figures of a release about its own lists."""

    people: float
    """Noisy number of people."""
    effective_population: float | None
    """people / sigma, the noise multiplier of all sums of lists; None without noise. Sums of stars
    are not among them: where they are asked for, sigma is larger."""
    needed: int
    """Number of people from which lists are expected to beat popularity."""
    popular: float | None
    """How far the most popular items stand above the largest noise; None without noise."""
    worthwhile: bool
    """Whether lists are personal, and so expected to beat popularity."""

    @property
    def people_missing(self) -> int:
        """Number of further people until lists are expected to beat popularity."""
        return 0 if self.worthwhile else max(0, math.ceil(self.needed - self.people))


def people_needed(items: int, sigma: float, *, one_domain: bool = True) -> int:
    """Estimate the number of people from which lists beat exact, non-private popularity.

    Args:
        items: Number of target items.
        sigma: Noise multiplier of all sums of lists.
        one_domain: Whether lists are made of the items that profiles are read for.
    """
    factor = _PEOPLE_FACTOR_ONE_DOMAIN if one_domain else _PEOPLE_FACTOR_ACROSS
    return math.ceil(factor * largest_standard_noise(items) * sigma)


def expected_share(items: int, people: float, sigma: float, *, in_plan: bool = False) -> float:
    """Estimate the share of EASE's gain in NDCG@10 over popularity that lists have, in one domain.

    With r the people over those that `people_needed` asks for: 0.9 - 0.7 / r^0.45, at least -1.
    Below 0 lists are worse than popularity. Where a single release asks for pairs of likes, it is
    0.92 at least. It was fitted, not derived, and presumes that people choose by taste.

    Args:
        items: Number of items.
        people: Number of people.
        sigma: Noise multiplier of all sums of lists.
        in_plan: Whether the release is a fit of a plan, which asks for no pairs of likes.
    """
    ratio = people / people_needed(items, sigma)
    loss = _LOST_SHARE / math.pow(ratio, _SHARE_POWER)
    share = max(_MOST_SHARE - loss, LEAST_SHARE)
    if people / sigma > MOST_WITHOUT_PAIRS and not in_plan:
        return max(share, _SHARE_WITH_PAIRS)
    return share


def popular_above_noise(shares: Floats, deviation: float) -> float:
    """P: mean of the largest released shares of likes, over the largest noise among them."""
    largest = np.sort(shares)[-min(_POPULAR_ITEMS, len(shares)) :]
    return float(largest.mean()) / deviation / largest_standard_noise(len(shares))


def largest_standard_noise(numbers: int) -> float:
    """Estimate the largest of so many standard normal numbers."""
    return math.sqrt(2 * math.log(max(numbers, 2)))
