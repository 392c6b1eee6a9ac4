"""Sum 3: what the likers of each item have in common.

Sees       all rows, public features, and the releases of sums 1, 2a and 2b.
Releases   for each target item the sum of its likers' tastes, each without the like itself, and one
           row for the mean taste.
Clips      one person's whole table, the last row included.
Makes      the tastes B of items, which lists are scored with, shrunk by how far the noise reaches.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.item_tastes import add_item_tastes
from tacit.engine.profile_kernels.types import ProfileCentre, Profiles
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.features import FeatureTables, kernel_rows
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.clipping import clip_rule, resolution_for
from tacit.profile_sums.sums.counts import Counts
from tacit.profile_sums.sums.taste_maps import LEAST_REST, taste_map

Floats = NDArray[np.float64]


def item_tastes_mechanism(items: int, k: int, noise: float, settings: Settings) -> SumRelease:
    """Return the mechanism of the sum of tastes by item."""
    norm = settings.item_clip * math.sqrt(k)
    return SumRelease(noise, items + 1, k, norm, resolution_for(norm))


def sum_item_tastes(
    people: Profiles,
    centre: ProfileCentre,
    features: FeatureTables,
    directions: Floats,
    mechanism: SumRelease,
    settings: Settings,
) -> NDArray[Any]:
    """Sum everybody's clipped table, before noise: PRIVATE.

    Args:
        people: Their profiles.
        centre: From which profiles are measured.
        features: Public features of both sides.
        directions: (f, k) V of sum 2b.
        mechanism: Says how tables are clipped.
        settings: Choices of the fit.
    """
    total = mechanism.zero_table()
    add_item_tastes(
        people,
        centre,
        kernel_rows(features.context),
        taste_map(directions, centre, features.targets),
        settings.mean_row,
        LEAST_REST,
        clip_rule(mechanism),
        total,
    )
    return total


def release_item_tastes(
    people: People,
    centre: ProfileCentre,
    features: FeatureTables,
    counts: Counts,
    directions: Floats,
    noise: float,
    settings: Settings,
) -> tuple[Floats, float]:
    """Release sum 3 and make the items' tastes from it.

    With S the rows of items and m the last one divided by its weight, an item's row is
    (S_t - share of likes_t * m) / people.

    Returns:
        (target items, k) B, shrunk; and the deviation of the noise in an entry before that.
    """
    mechanism = item_tastes_mechanism(len(counts.targets), directions.shape[1], noise, settings)
    add = partial(
        sum_item_tastes,
        centre=centre,
        features=features,
        directions=directions,
        mechanism=mechanism,
        settings=settings,
    )
    released = mechanism.add_noise(people.total(add))
    mean = released[-1] / settings.mean_row
    centred = (released[:-1] - counts.targets[:, None] * mean) / counts.people
    if not noise:
        return centred, 0.0
    deviation = mechanism.deviation / counts.people
    return shrink_to_features(centred, counts.means, features.targets, deviation), deviation


def shrink_to_features(
    noisy: Floats, means: Floats, features: sparse.csr_array, deviation: float
) -> Floats:
    """Shrink items' tastes towards what their features say, by how far the noise reaches.

    With D the rows [features, 1] scaled by `means`, d the deviation and I the identity:

        G = D (D'D + 10 d^2 I)^-1 D' noisy
        a = max((|noisy - G|^2 / k - items d^2) / sum means^2, 1e-9)
        B = G + (noisy - G) a means^2 / (a means^2 + d^2)

    Post-processing of released values.

    Args:
        noisy: (items, k)
        means: (items,) shares of likes, each at least half the noise of counts.
        features: (items, f)
        deviation: Standard deviation of the noise in an entry of `noisy`.
    """
    design = np.hstack([features.toarray(), np.ones((len(means), 1))]) * means[:, None]
    ridge = 10 * deviation**2 * np.eye(design.shape[1])
    guess = design @ np.linalg.solve(design.T @ design + ridge, design.T @ noisy)
    distance = float(((noisy - guess) ** 2).sum()) / noisy.shape[1]
    beyond_noise = distance - len(means) * deviation**2
    spread = max(beyond_noise / float((means**2).sum()), 1e-9) * means**2
    shrunk: Floats = guess + (noisy - guess) * (spread / (spread + deviation**2))[:, None]
    return shrunk
