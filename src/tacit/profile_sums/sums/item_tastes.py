"""Sum 3: what the likers of each popular item have in common, and how many they are.

Sees       all rows, public features, and the releases of sums 1, 2a and 2b.
Releases   for each target item of the head the sum of its likers' tastes, each without the like
           itself; beside it, in a column, the number of its likers; and one row for the mean taste.
Clips      one person's whole table, the column and the last row included, to `ItemQuery.norm`.
           Before that the tastes alone are scaled to `ItemQuery.tastes_norm`, so that they leave
           room for the counts. The arithmetic is in engine/profile_kernels: `item_tastes.py` adds
           the people up, `clip.py` scales one person's table.
Makes      more exact shares of likes, and the tastes B of items, which lists are scored with,
           shrunk by how large the noise in them is.
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
"""Items in the head at least."""
HEAD_FACTOR = 5.0
"""Items in the head, over the root of the effective population."""
_COUNT_FACTOR = 14.0
"""Weight of the count column, times the root of the effective population."""
_LEAST_COUNT_WEIGHT, _MOST_COUNT_WEIGHT = 0.4, 1.0
_LEAST_RESCALE = 0.2
"""Least factor that makes the counts of sum 3 as large as those of sum 1."""


@dataclass(frozen=True, eq=False)
class ItemQuery:
    """The question of sum 3: of which items, and with which norms. All of it is released."""

    items: Ints
    """(head,) target items, ascending."""
    count_weight: float
    """kappa: norm of a person's count column; 0 where there is none, without noise."""
    tastes_norm: float
    """Largest norm of a person's tastes, the last row included."""
    k: int
    """Number of directions of taste."""

    @property
    def norm(self) -> float:
        """Largest norm of one person's whole table."""
        return math.hypot(self.tastes_norm, self.count_weight)

    @property
    def width(self) -> int:
        """Columns of the table: tastes, and the count where there is one."""
        return self.k + 1 if self.count_weight else self.k

    def mechanism(self, noise_multiplier: float) -> SumRelease:
        """Return the mechanism of the sum, at this noise multiplier."""
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
    values: Floats
    """(head + 1, width) noisy sums: an item's tastes and count; the last row is the mean taste."""
    deviation: float
    """Standard deviation of the noise in each entry."""


@dataclass(frozen=True, eq=False)
class ItemTastes:
    """Everything that sum 3 makes, for all target items."""

    shares: Floats
    """(target items,) shares of likes (`sums.counts`) by sums 1 and 3 together, some negative."""
    means: Floats
    """(target items,) the same for serving: at least half the noise."""
    tastes: Floats
    """(target items, k) B, shrunk."""
    deviation: float
    """Standard deviation of the noise in an entry of B in the head before shrinking."""


def choose_query(
    counts: Counts, effective_population: float | None, k: int, settings: Settings
) -> ItemQuery:
    """Choose what sum 3 asks, from released values.

    With v the effective population and N the target items:

        head          min(N, max(150, floor(5 sqrt(v)))) most liked items
        count weight  14 / sqrt(v), within 0.4 and 1
        tastes norm   settings.item_clip * sqrt(k)

    Args:
        counts: The release of sum 1.
        effective_population: People over noise; None without noise: then all items, and no count
            column.
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
        people: Their profiles.
        centre: From which profiles are measured.
        features: Public features of both sides.
        directions: (f, k) V of sum 2b.
        query: Which items are asked about, with which norms.
        mechanism: Says how tables are clipped.
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
    """Release sum 3, as `sum_item_tastes` adds it up; a noise multiplier of 0 adds no noise."""
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
    """Make shares of likes and the tastes of items from sums 1 and 3: post-processing.

    With n the number of people, S the tastes of a released row, q its count, s the last row, m its
    weight, kappa that of counts, mu the shares of sum 1 and d_1 their deviation, in the head:

        g     = sum of mu / sum of q / (kappa n), within 0.2 and 1; 1 if the divisor is not above 0
        d     = g * deviation of the table / n
        mu   := mean of mu and g q / (kappa n), weighed by 1 / d_1^2 and (kappa / d)^2
        C     = g S / n - mu s / (m n)

    g undoes that counts among the items of a head are larger than those among all items. Outside
    the head mu stays. B is C, shrunk by `shrink_to_features`; without noise it is C.
    """
    query = table.query
    head = table.query.items
    mean_taste = table.values[-1, : query.k] / (settings.mean_row * counts.people)
    tastes = table.values[:-1, : query.k] / counts.people
    if not query.count_weight:
        centred = tastes - counts.targets[:, None] * mean_taste
        return ItemTastes(counts.targets, counts.means, centred, 0.0)
    counted = table.values[:-1, query.k] / (query.count_weight * counts.people)
    rescale = _rescale(float(counts.targets[head].sum()), float(counted.sum()))
    deviation = rescale * table.deviation / counts.people
    first_precision = counts.deviation**-2
    count_precision = (query.count_weight / deviation) ** 2
    shares = counts.targets.copy()
    weighted = shares[head] * first_precision + rescale * counted * count_precision
    shares[head] = weighted / (first_precision + count_precision)
    share_deviations = counts.target_deviations.copy()
    share_deviations[head] = (first_precision + count_precision) ** -0.5
    means = np.maximum(shares, share_deviations / 2)
    centred = rescale * tastes - shares[head, None] * mean_taste
    shrunk = shrink_to_features(centred, head, means, features, deviation)
    return ItemTastes(shares, means, shrunk, deviation)


def _rescale(first: float, counted: float) -> float:
    """Factor from shares counted among the head's items to those counted among all."""
    if counted <= 0:
        return 1.0
    return min(max(first / counted, _LEAST_RESCALE), 1.0)


def shrink_to_features(
    noisy: Floats, head: Ints, means: Floats, features: sparse.csr_array, deviation: float
) -> Floats:
    """Shrink items' tastes towards what their features say, the more the larger their noise.

    With D the rows [features, 1] scaled by `means`, H the head, d the deviation and I the identity:

        G = D (D_H' D_H + 10 d^2 I)^-1 D_H' noisy
        a = max((|noisy - G_H|^2 / k - |H| d^2) / sum over H of means^2, 1e-9)
        B = G + (noisy - G) a means^2 / (a means^2 + d^2) in the head, G outside

    Post-processing of released values.

    Args:
        noisy: (head, k) the tastes C that `make_item_tastes` finds in the released table.
        head: (head,) numbers of its items.
        means: (items,) shares of likes, each at least half the noise of counts.
        features: (items, f) public features of the items.
        deviation: Standard deviation of the noise in an entry of `noisy`.

    Returns:
        (items, k) B.
    """
    design = np.hstack([features.toarray(), np.ones((len(means), 1))]) * means[:, None]
    inside = design[head]
    ridge = 10 * deviation**2 * np.eye(design.shape[1])
    shrunk: Floats = design @ np.linalg.solve(inside.T @ inside + ridge, inside.T @ noisy)
    apart = noisy - shrunk[head]
    beyond_noise = float((apart**2).sum()) / noisy.shape[1] - len(head) * deviation**2
    squares = means[head] ** 2
    spread = max(beyond_noise / float(squares.sum()), 1e-9) * squares
    shrunk[head] += apart * (spread / (spread + deviation**2))[:, None]
    return shrunk
