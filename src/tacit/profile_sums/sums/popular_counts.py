"""Popularity mode: likes of the most popular items, three times, in place of sums 2a, 2b and 3.

For releases in which sum 1 has too little signal for tastes: then more counts make better lists.

Sees       all rows, and the release of sum 1.
Releases   three times the sum of everybody's likes in the head, each with noise of its own.
Clips      one person's unit vector, at norm 1.
Makes      shares of likes that are more exact in the head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.profile_kernels.types import Profiles
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import Counts
from tacit.profile_sums.sums.heads import choose_head, places_in_head
from tacit.profile_sums.sums.whole_steps import clip_rule, resolution_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_POPULAR_HEAD = 150
"""Items in the head at least."""
PART_IN_POPULAR_HEAD = 8
"""One of so many items is in the head."""
_WEIGHT_OF_FIRST_COUNTS = 0.25
"""Weight of sum 1 in the shares of the head; the later counts have the rest."""


def popular_head(shares: Floats) -> Ints:
    """Choose the head of popularity mode from released shares of likes."""
    return choose_head(shares, max(LEAST_POPULAR_HEAD, len(shares) // PART_IN_POPULAR_HEAD))


def popular_counts_mechanism(head: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of a count of the head, at norm 1."""
    return SumRelease(noise_multiplier, head, norm=1.0, resolution=resolution_for(1.0))


def sum_popular_counts(
    people: Profiles, head: Ints, target_items: int, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum everybody's clipped vector, before noise. Not protected: never release it."""
    from tacit.engine.profile_kernels.popular_counts import (
        add_popular_counts,  # numba is only needed here
    )

    total = mechanism.zero_table()
    places = places_in_head(head, target_items)
    add_popular_counts(people, places, clip_rule(mechanism), total[:, 0])
    return total


@dataclass(frozen=True, eq=False)
class PopularTable:
    """The release of popularity mode: later counts of the head."""

    head: Ints
    """(head,) target items, ascending."""
    values: Floats
    """(head,) noisy sums; of several draws their mean by precision."""


def release_popular_counts(
    people: People, counts: Counts, noises: Sequence[float], settings: Settings
) -> PopularTable:
    """Release counts of popular items: one exact sum, drawn once with each noise multiplier.

    Args:
        people: Everybody's profile.
        counts: The release of sum 1.
        noises: Noise multipliers of the three sums after the counts.
        settings: Choices of the fit; counts are weighed by the shares of sums 2a, 2b and 3.
    """
    head = popular_head(counts.targets)
    values = draw_popular_counts(people, head, len(counts.targets), noises, settings.shares[1:])
    return PopularTable(head, values)


def draw_popular_counts(
    people: People,
    head: Ints,
    target_items: int,
    noises: Sequence[float],
    weights: Sequence[float],
) -> Floats:
    """Draw everybody's sum once for each multiplier; return the weighted mean (head,)."""
    mechanisms = [popular_counts_mechanism(len(head), noise) for noise in noises]
    add = partial(sum_popular_counts, head=head, target_items=target_items, mechanism=mechanisms[0])
    total = people.total(add)
    weighted = np.zeros(len(head))
    for weight, mechanism in zip(weights, mechanisms, strict=True):
        weighted += weight * mechanism.add_noise(total)[:, 0]
    return weighted / sum(weights)


def merge_popular_counts(counts: Counts, table: PopularTable) -> Floats:
    """Make (target items,) shares for serving from sum 1 and the later counts of the head.

    With c the later shares, m those of sum 1 and d their deviation:

        in the head:  m / 4 + 3 c / 4
        outside:      m + min(0, least in the head - largest m outside - d)

    so that items outside follow all of the head. Post-processing of released values.
    """
    first = _WEIGHT_OF_FIRST_COUNTS
    head = table.head
    means = counts.targets.copy()
    outside = np.ones(len(means), dtype=bool)
    outside[head] = False
    means[head] = first * means[head] + (1 - first) * table.values / counts.people
    if outside.any():
        gap = means[head].min() - means[outside].max() - counts.deviation
        means[outside] += min(0.0, float(gap))
    return means
