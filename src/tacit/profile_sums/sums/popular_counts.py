"""Mode 'popularity': likes of the most popular items, three times, in place of sums 2a, 2b and 3.

Mode 'auto' chooses it if sum 1 shows too little signal for tastes: then more counts make better
lists. A later fit of a plan draws these counts once.

Sees       all rows, and the release of sum 1.
Releases   the sum of everybody's likes in the head, each draw with independent noise.
Clips      one person's vector of likes in the head, scaled to norm 1, at norm 1.
Makes      more exact shares of likes for the items of the head.
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
"""Least number of items in the head."""
TARGETS_PER_HEAD_ITEM = 8
"""Number of target items for each item of the head."""
_WEIGHT_OF_FIRST_COUNTS = 0.25
"""Weight of sum 1 in the shares of the head; the head's own counts have 0.75."""


def popular_head(shares: Floats) -> Ints:
    """Choose the head of mode 'popularity' from released shares of likes (target items,).

    It has an eighth of the items, but at least 150.
    """
    return choose_head(shares, max(LEAST_POPULAR_HEAD, len(shares) // TARGETS_PER_HEAD_ITEM))


def popular_counts_mechanism(head: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of one draw of the head's counts, at norm 1. head: number of items."""
    return SumRelease(noise_multiplier, head, norm=1.0, resolution=resolution_for(1.0))


def sum_popular_counts(
    people: Profiles, head: Ints, target_items: int, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum everybody's clipped vector, before noise. Not protected: never release it.

    Args:
        people: Everybody's profile.
        head: (head,) target items, ascending.
        target_items: Number of target items.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
    """
    from tacit.engine.profile_kernels.popular_counts import (
        add_popular_counts,  # numba is only needed here
    )

    total = mechanism.zero_table()
    places = places_in_head(head, target_items)
    add_popular_counts(people, places, clip_rule(mechanism), total[:, 0])
    return total


@dataclass(frozen=True, eq=False)
class PopularTable:
    """The release of mode 'popularity' after sum 1: counts of the head."""

    head: Ints
    """(head,) target items, ascending."""
    values: Floats
    """(head,) noisy sums, the mean of all draws weighed by precision."""


def release_popular_counts(
    people: People, counts: Counts, noises: Sequence[float], settings: Settings
) -> PopularTable:
    """Release the counts of the head: draw the same sum once with each noise multiplier.

    Args:
        people: Everybody's profile.
        counts: The release of sum 1, which decides on the head.
        noises: Noise multipliers of sums 2a, 2b and 3.
        settings: Choices of the fit. The draws are weighed by the shares of sums 2a, 2b and 3, to
            which their precisions are proportional.
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
    """Draw the sum over all people once for each multiplier; return the weighted mean (head,).

    Args:
        people: Everybody's profile.
        head: (head,) target items, ascending.
        target_items: Number of target items.
        noises: Noise multipliers, all above 0 or all 0.
        weights: Weight of each draw in the mean.
    """
    mechanisms = [popular_counts_mechanism(len(head), noise) for noise in noises]
    add = partial(sum_popular_counts, head=head, target_items=target_items, mechanism=mechanisms[0])
    total = people.total(add)
    weighted = np.zeros(len(head))
    for weight, mechanism in zip(weights, mechanisms, strict=True):
        weighted += weight * mechanism.add_noise(total)[:, 0]
    return weighted / sum(weights)


def merge_popular_counts(counts: Counts, table: PopularTable) -> Floats:
    """Compute the shares of likes (target items,) for serving: post-processing.

    With c the shares of the head by its own counts, m the shares of sum 1 and d the standard
    deviation of the noise in m:

        in the head:  share = m / 4 + 3 c / 4
        outside:      share = m + min(0, least share in the head - largest m outside - d)

    An item outside the head thus never ranks above an item of the head.
    """
    first_weight = _WEIGHT_OF_FIRST_COUNTS
    head = table.head
    shares = counts.targets.copy()
    is_outside = np.ones(len(shares), dtype=bool)
    is_outside[head] = False
    own_counts = (1 - first_weight) * table.values
    shares[head] = first_weight * shares[head] + own_counts / counts.people
    if is_outside.any():
        gap = shares[head].min() - shares[is_outside].max() - counts.deviation
        shares[is_outside] += min(0.0, float(gap))
    return shares
