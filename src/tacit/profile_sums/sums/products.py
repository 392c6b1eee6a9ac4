"""Sum 2b: features of a person's likes times their tastes, each computed without that like.

Sees       all rows, public features, and the releases of sums 1 and 2a.
Releases   the sum over people of an (f, f) table; its rows are features of likes, its columns
           whitened tastes.
Clips      one person's whole table.
Makes      the directions V (f, k) of taste that best predict the features of likes.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.profile_kernels.types import ProfileCentre, Profiles
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.features import FeatureTables, kernel_rows
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import Counts
from tacit.profile_sums.sums.taste_maps import LEAST_REST, orient_columns, taste_map
from tacit.profile_sums.sums.whole_steps import clip_rule, resolution_for

Floats = NDArray[np.float64]


def products_mechanism(width: int, noise_multiplier: float, settings: Settings) -> SumRelease:
    """Return the mechanism of the sum of tables. width: number of features."""
    norm = settings.feature_clip * math.sqrt(width)
    return SumRelease(noise_multiplier, width, width, norm, resolution_for(norm))


def sum_feature_products(
    people: Profiles,
    centre: ProfileCentre,
    features: FeatureTables,
    whitening: Floats,
    mean_likes: Floats,
    mechanism: SumRelease,
) -> NDArray[Any]:
    """Sum everybody's clipped table, before noise. Not protected: never release it.

    Args:
        people: Everybody's profile.
        centre: Damping of context items, and the mean features of a profile.
        features: Public features of context and target items.
        whitening: (f, f) A of sum 2a.
        mean_likes: (f,) sum of the target items' features, each times its released share of likes.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
    """
    from tacit.engine.profile_kernels.products import (
        add_feature_products,  # numba is only needed here
    )

    total = mechanism.zero_table()
    add_feature_products(
        people,
        centre,
        kernel_rows(features.context),
        kernel_rows(features.targets),
        taste_map(whitening, centre, features.targets),
        mean_likes,
        LEAST_REST,
        clip_rule(mechanism),
        total,
    )
    return total


def release_directions(
    people: People,
    centre: ProfileCentre,
    features: FeatureTables,
    counts: Counts,
    whitening: Floats,
    noise_multiplier: float,
    settings: Settings,
) -> Floats:
    """Release sum 2b and compute the directions V = A U_k (f, k) from it.

    U_k (f, k) are the left singular vectors of the transposed sum whose singular values exceed
    `settings.edge` times the largest singular value of noise alone. That is about 2 sqrt(f) times
    the standard deviation of the noise. k is at least 2, unless f or `settings.directions`, which
    it never exceeds, is 1.

    Args:
        people: Everybody's profile.
        centre: Damping of context items, and the mean features of a profile.
        features: Public features of context and target items.
        counts: The release of sum 1.
        whitening: (f, f) A of sum 2a.
        noise_multiplier: Noise multiplier of the sum; 0: without noise.
        settings: Choices of the fit.
    """
    width = features.width
    mechanism = products_mechanism(width, noise_multiplier, settings)
    add = partial(
        sum_feature_products,
        centre=centre,
        features=features,
        whitening=whitening,
        mean_likes=features.targets.T @ counts.targets,
        mechanism=mechanism,
    )
    released = mechanism.add_noise(people.total(add))
    vectors, values, _ = np.linalg.svd(released.T)
    largest_noise = 2 * math.sqrt(width) * mechanism.deviation
    significant = max(int((values > settings.edge * largest_noise).sum()), 2)
    k = min(significant, settings.directions, width)
    return np.ascontiguousarray(whitening @ orient_columns(vectors)[:, :k])
