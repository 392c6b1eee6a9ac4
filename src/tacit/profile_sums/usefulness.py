"""Estimates of whether private lists beat popularity, from released numbers or planned sizes.

They cost no epsilon, since they read no ratings.

Source   rules of thumb, fitted on MovieLens and generated people; docs/private.md has their errors.
         EASE: Steck, Embarrassingly shallow autoencoders (WWW 2019).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.profile_sums.sums.like_pairs import MOST_WITHOUT_PAIRS

Floats = NDArray[np.float64]

_PEOPLE_FACTOR_ONE_DOMAIN = 70.0
"""Factor of `people_needed` in one domain."""
_PEOPLE_FACTOR_ACROSS = 88.0
"""Factor of `people_needed` across domains. It is fitted with all items in sum 3, not a head."""
_POPULAR_ITEMS = 20
"""Number of items whose shares of likes are compared with the noise."""
LEAST_SHARE = -1.0
"""Least expected share of EASE's gain: then lists are as far below popularity as EASE is above."""
_MOST_SHARE, _LOST_SHARE, _SHARE_POWER = 0.9, 0.7, 0.45
"""Numbers of the formula of `expected_share`, fitted on MovieLens 100K and two kinds of generated
people; docs/results.md has the errors."""
_SHARE_WITH_PAIRS = 0.92
"""Least share that was measured with pairs of likes, on four kinds of generated people."""
LEAST_POPULAR = 1.0
"""Least `popular_above_noise` at which mode 'auto' releases sums of tastes or top items."""


@dataclass(frozen=True)
class Usefulness:
    """Estimates of how useful the lists of a release are, made from sum 1."""

    people: float
    """Noisy number of people."""
    effective_population: float | None
    """v = people / sigma, with sigma the noise multiplier of all sums of lists together; None
    without noise. Sums of stars leave lists a smaller part of the budget, so sigma is larger."""
    needed: int
    """Least number of people at which lists are expected to beat popularity."""
    popular: float | None
    """`popular_above_noise` of the released shares of likes; None without noise."""
    worthwhile: bool
    """Whether a mode with personal lists was chosen, by mode 'auto' or by the caller."""

    @property
    def is_above_noise(self) -> bool:
        """Whether lists are expected to beat popularity, by sum 1; mode 'auto' decides by this."""
        return self.popular is None or self.popular >= LEAST_POPULAR

    @property
    def people_missing(self) -> int:
        """Number of further people up to `needed`; 0 if lists are expected to beat popularity."""
        if self.is_above_noise:
            return 0
        return max(0, math.ceil(self.needed - self.people))


def people_needed(items: int, sigma: float, *, one_domain: bool = True) -> int:
    """Estimate the least number of people at which lists beat exact, non-private popularity.

    Args:
        items: Number of target items.
        sigma: Noise multiplier of all sums of lists together.
        one_domain: Whether context and target items are the same.
    """
    factor = _PEOPLE_FACTOR_ONE_DOMAIN if one_domain else _PEOPLE_FACTOR_ACROSS
    return math.ceil(factor * largest_standard_noise(items) * sigma)


def expected_share(items: int, people: float, sigma: float, *, in_plan: bool = False) -> float:
    """Estimate the gain of lists over popularity (NDCG@10, one domain), as a share of EASE's gain.

    With r = people / `people_needed`, the share is 0.9 - 0.7 / r^0.45, and at least -1; below 0
    lists are worse than popularity. With pairs of likes it is 0.92. The formula is fitted,
    not derived, and assumes that people choose by taste.

    Args:
        items: Number of items.
        people: Number of people.
        sigma: Noise multiplier of all sums of lists together.
        in_plan: Whether the release is a fit of a plan, which has no pairs of likes.
    """
    ratio = people / people_needed(items, sigma)
    loss = _LOST_SHARE / math.pow(ratio, _SHARE_POWER)
    share = max(_MOST_SHARE - loss, LEAST_SHARE)
    if people / sigma > MOST_WITHOUT_PAIRS and not in_plan:
        return max(share, _SHARE_WITH_PAIRS)
    return share


def popular_above_noise(shares: Floats, deviation: float) -> float:
    """Return the mean of the 20 largest released shares, divided by the largest noise expected.

    Args:
        shares: (items,) released shares of likes.
        deviation: Standard deviation of the noise in each share, above 0.
    """
    largest = np.sort(shares)[-min(_POPULAR_ITEMS, len(shares)) :]
    return float(largest.mean()) / deviation / largest_standard_noise(len(shares))


def largest_standard_noise(numbers: int) -> float:
    """Estimate the largest of n = `numbers` independent standard normal numbers: sqrt(2 log n)."""
    return math.sqrt(2 * math.log(max(numbers, 2)))
