"""Sum 3: the tastes of the likers of each popular item, and the number of its likers.

Sees       all rows, public features, and the releases of sums 1, 2a and 2b.
Releases   for each target item of the head the sum of its likers' tastes, each computed without
           that like; in a further column the weighted number of its likers; and in a last row the
           sum of everybody's tastes.
Clips      one person's whole table to `ItemQuery.norm`. Before that the tastes alone are scaled to
           `ItemQuery.tastes_norm` at most, so that they leave room for the counts. The arithmetic
           is in engine/profile_kernels: `item_tastes.py` makes and adds the tables, `clip.py` clips
           one person's table.
Makes      more exact shares of likes, and the tastes B of items, which are shrunk the more the
           larger their noise is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre, Profiles
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.features import FeatureTables, kernel_rows
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import Counts
from tacit.profile_sums.sums.heads import choose_head, places_in_head
from tacit.profile_sums.sums.taste_maps import LEAST_REST, taste_map
from tacit.profile_sums.sums.whole_steps import clip_rule, resolution_for

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

LEAST_HEAD = 150
"""Least number of items in the head."""
HEAD_FACTOR = 5.0
"""Number of items in the head, divided by the square root of the effective population."""
_COUNT_FACTOR = 14.0
"""Weight of the count column within its limits, times the root of the effective population."""
_LEAST_COUNT_WEIGHT, _MOST_COUNT_WEIGHT = 0.4, 1.0
"""Limits of the weight of the count column."""
_LEAST_RESCALE = 0.2
"""Least factor g from shares among the head's items to shares among all items."""


@dataclass(frozen=True, eq=False)
class ItemQuery:
    """The question of sum 3: its items and norms. They follow from released values."""

    items: Ints
    """(head,) target items, ascending."""
    count_weight: float
    """kappa: norm of a person's count column; 0: there is no such column, and no noise."""
    tastes_norm: float
    """Largest norm of the tastes in a person's table, including the last row."""
    k: int
    """Number of directions of taste."""

    @property
    def norm(self) -> float:
        """Largest norm of one person's whole table."""
        return math.hypot(self.tastes_norm, self.count_weight)

    @property
    def width(self) -> int:
        """Number of columns of the table: the tastes, and the count column if there is one."""
        return self.k + 1 if self.count_weight else self.k

    def mechanism(self, noise_multiplier: float) -> SumRelease:
        """Return the mechanism of the sum at this noise multiplier."""
        return SumRelease(
            noise_multiplier,
            len(self.items) + 1,
            self.width,
            self.norm,
            resolution_for(self.norm),
        )


@dataclass(frozen=True, eq=False)
class ItemTable:
    """The release of sum 3."""

    query: ItemQuery
    """The question."""
    values: Floats
    """(head + 1, width) noisy sums: a row of tastes and count for each item of the head; the last
    row has everybody's tastes, times `Settings.mean_row`, and no count."""
    deviation: float
    """Standard deviation of the noise in each entry."""


@dataclass(frozen=True, eq=False)
class ItemTastes:
    """Shares of likes and tastes of all target items, made from sums 1 and 3."""

    shares: Floats
    """(target items,) shares of likes (`sums.counts`), some perhaps negative."""
    means: Floats
    """(target items,) shares of likes for serving, at least half the deviation of their noise."""
    tastes: Floats
    """(target items, k) B, shrunk."""
    deviation: float
    """Standard deviation of the noise in an entry of B before shrinking, for items of the head."""


def choose_query(
    counts: Counts, effective_population: float | None, k: int, settings: Settings
) -> ItemQuery:
    """Choose the question of sum 3 from released values.

    With v the effective population and N the number of target items:

        head          the min(N, max(150, floor(5 sqrt(v)))) most liked items
        count weight  min(max(14 / sqrt(v), 0.4), 1)
        tastes norm   settings.item_clip * sqrt(k)

    Args:
        counts: The release of sum 1.
        effective_population: People divided by the noise multiplier of all sums; None: without
            noise, so all items are in the head, and there is no count column.
        k: Number of directions.
        settings: Choices of the fit.
    """
    tastes_norm = settings.item_clip * math.sqrt(k)
    items = len(counts.targets)
    if effective_population is None:
        return ItemQuery(np.arange(items), 0.0, tastes_norm, k)
    root = math.sqrt(effective_population)
    head = choose_head(counts.targets, max(LEAST_HEAD, math.floor(HEAD_FACTOR * root)))
    count_weight = min(max(_COUNT_FACTOR / root, _LEAST_COUNT_WEIGHT), _MOST_COUNT_WEIGHT)
    return ItemQuery(head, count_weight, tastes_norm, k)


def sum_item_tastes(
    people: Profiles,
    centre: ProfileCentre,
    features: FeatureTables,
    directions: Floats,
    query: ItemQuery,
    mechanism: SumRelease,
    settings: Settings,
) -> NDArray[Any]:
    """Sum everybody's clipped table, before noise. Not protected: never release it.

    Args:
        people: Everybody's profile.
        centre: Damping of context items, and the mean features of a profile.
        features: Public features of context and target items.
        directions: (f, k) V of sum 2b.
        query: The question: items and norms.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
        settings: Choices of the fit.
    """
    from tacit.engine.profile_kernels.item_tastes import (
        add_item_tastes,  # numba is only needed here
    )

    total = mechanism.zero_table()
    add_item_tastes(
        people,
        centre,
        kernel_rows(features.context),
        taste_map(directions, centre, features.targets),
        places_in_head(query.items, features.targets.shape[0]),
        query.count_weight,
        query.tastes_norm,
        settings.mean_row,
        LEAST_REST,
        clip_rule(mechanism),
        total,
    )
    return total


def release_item_table(
    people: People,
    centre: ProfileCentre,
    features: FeatureTables,
    directions: Floats,
    query: ItemQuery,
    noise_multiplier: float,
    settings: Settings,
) -> ItemTable:
    """Release sum 3: the total of `sum_item_tastes` plus noise.

    Args:
        people: Everybody's profile.
        centre: Damping of context items, and the mean features of a profile.
        features: Public features of context and target items.
        directions: (f, k) V of sum 2b.
        query: The question: items and norms.
        noise_multiplier: Noise multiplier of the sum; 0: without noise.
        settings: Choices of the fit.
    """
    mechanism = query.mechanism(noise_multiplier)
    add = partial(
        sum_item_tastes,
        centre=centre,
        features=features,
        directions=directions,
        query=query,
        mechanism=mechanism,
        settings=settings,
    )
    return ItemTable(query, mechanism.add_noise(people.total(add)), mechanism.deviation)


def make_item_tastes(
    table: ItemTable, counts: Counts, features: sparse.csr_array, settings: Settings
) -> ItemTastes:
    """Compute shares of likes and the tastes of items from sums 1 and 3: post-processing.

    With n the number of people, S the tastes of an item's row, q its count, s the tastes of the
    last row, m = `settings.mean_row`, kappa the weight of counts, mu the shares of likes by sum 1
    and d_1 the standard deviation of their noise, for the items of the head:

        q'  = q / (kappa n)                        the item's share among the likes in the head
        g   = (sum of mu) / (sum of q'), within 0.2 and 1; 1 if the sum of q' is not above 0
        d   = g * standard deviation of the table's noise / n
        mu  = mean of mu and g q', weighed by 1 / d_1^2 and (kappa / d)^2
        C   = g S / n - mu s / (m n)

    A like has 1 / sqrt(likes in the head) in sum 3, and 1 / sqrt(all likes) in sum 1: the factor g
    corrects for this. Items outside the head keep the shares of sum 1. `shrink_to_features` makes B
    from C; without noise B is C.

    Args:
        table: The release of sum 3.
        counts: The release of sum 1.
        features: (target items, f) public features.
        settings: Choices of the fit.
    """
    query = table.query
    head = table.query.items
    mean_taste = table.values[-1, : query.k] / (settings.mean_row * counts.people)
    tastes = table.values[:-1, : query.k] / counts.people
    if not query.count_weight:
        centred = tastes - counts.targets[:, None] * mean_taste
        return ItemTastes(counts.targets, counts.means, centred, 0.0)
    head_shares = table.values[:-1, query.k] / (query.count_weight * counts.people)
    rescale = _rescale(float(counts.targets[head].sum()), float(head_shares.sum()))
    deviation = rescale * table.deviation / counts.people
    first_precision = counts.deviation**-2
    count_precision = (query.count_weight / deviation) ** 2
    shares = counts.targets.copy()
    weighted = shares[head] * first_precision + rescale * head_shares * count_precision
    shares[head] = weighted / (first_precision + count_precision)
    share_deviations = counts.target_deviations.copy()
    share_deviations[head] = (first_precision + count_precision) ** -0.5
    means = np.maximum(shares, share_deviations / 2)
    centred = rescale * tastes - shares[head, None] * mean_taste
    shrunk = shrink_to_features(centred, head, means, features, deviation)
    return ItemTastes(shares, means, shrunk, deviation)


def _rescale(first_sum: float, head_sum: float) -> float:
    """Return g, the factor from shares among the likes in the head to shares among all likes.

    Args:
        first_sum: Sum of the head's shares by sum 1.
        head_sum: Sum of the head's shares by sum 3.
    """
    if head_sum <= 0:
        return 1.0
    return min(max(first_sum / head_sum, _LEAST_RESCALE), 1.0)


def shrink_to_features(
    noisy: Floats, head: Ints, means: Floats, features: sparse.csr_array, deviation: float
) -> Floats:
    """Shrink items' tastes towards a prediction from their features, the more the larger the noise.

    With D the rows [features, 1], each times the item's entry in `means`, D_H its rows in the head
    H, d the standard deviation of the noise and I the identity:

        G = D (D_H' D_H + 10 d^2 I)^-1 D_H' noisy                          prediction, all items
        a = max((|noisy - G_H|^2 / k - |H| d^2) / sum over H of means^2, 1e-9)
        B = G + (noisy - G) a means^2 / (a means^2 + d^2)  in the head, G outside

    Post-processing of released values.

    Args:
        noisy: (head, k) the tastes C of `make_item_tastes`.
        head: (head,) numbers of its items.
        means: (items,) shares of likes, each at least half the deviation of its noise.
        features: (items, f) public features of the items.
        deviation: Standard deviation of the noise in an entry of `noisy`.

    Returns:
        (items, k) B.
    """
    design = np.hstack([features.toarray(), np.ones((len(means), 1))]) * means[:, None]
    inside = design[head]
    ridge = 10 * deviation**2 * np.eye(design.shape[1])
    shrunk: Floats = design @ np.linalg.solve(inside.T @ inside + ridge, inside.T @ noisy)
    residuals = noisy - shrunk[head]
    beyond_noise = float((residuals**2).sum()) / noisy.shape[1] - len(head) * deviation**2
    squares = means[head] ** 2
    variances = max(beyond_noise / float(squares.sum()), 1e-9) * squares
    shrunk[head] += residuals * (variances / (variances + deviation**2))[:, None]
    return shrunk
