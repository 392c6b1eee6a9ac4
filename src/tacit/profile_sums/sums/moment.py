"""Sum 2a: the second moment of people's tastes, in the space of public features.

Source     the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014).
Sees       all rows, public features, and the release of sum 1.
Releases   the sum over people of z z' (f, f), where z (f,) are a person's tastes.
Clips      one person's row z.
Makes      the whitening A (f, f): the tastes A' z have a second moment near the identity.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre, Profiles
from tacit.mechanisms.gram import GramRelease
from tacit.profile_sums.features import FeatureTables, kernel_rows
from tacit.profile_sums.people import People, blocks_of_people
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.taste_maps import orient_columns
from tacit.profile_sums.sums.whole_steps import resolution_for

Floats = NDArray[np.float64]

_RIDGE_WITHOUT_NOISE = 1e-6
"""Ridge without noise, so that no eigenvalue of 0 is inverted."""


def people_tastes(
    people: Profiles, centre: ProfileCentre, features: sparse.csr_array, *, everybody: bool = False
) -> Floats:
    """Compute tastes z (people, f): the mean features of a profile less those of the average one.

    A person without context items has zeros.

    Args:
        people: Their profiles.
        centre: Damping of context items, and the mean features of a profile.
        features: (context items, f) public features of the context items.
        everybody: Across domains, whether people without a like among target items have tastes,
            too. They have tastes in lists; to sums they contribute zeros.
    """
    from tacit.engine.profile_kernels.tastes import fill_tastes  # numba is only needed here

    rows = np.empty((len(people.offsets) - 1, features.shape[1]))
    fill_tastes(people, centre, kernel_rows(features), everybody, rows)
    return rows


def sum_moments(
    people: Profiles, centre: ProfileCentre, features: sparse.csr_array, mechanism: GramRelease
) -> NDArray[Any]:
    """Sum z z' of everybody's clipped tastes, before noise. Not protected: never release it.

    Args:
        people: Everybody's profile.
        centre: Damping of context items, and the mean features of a profile.
        features: (context items, f) public features.
        mechanism: Determines at which norm vectors are clipped, and the steps to which their
            entries are rounded (`whole_steps`).
    """
    tastes = (people_tastes(block, centre, features) for block in blocks_of_people(people))
    return mechanism.total(tastes)


def release_whitening(
    people: People,
    centre: ProfileCentre,
    features: FeatureTables,
    n_people: float,
    noise_multiplier: float,
    settings: Settings,
) -> Floats:
    """Release sum 2a and compute the whitening A (f, f) from it.

    With M = sum / n_people and its eigenvalue decomposition M = U diag(s) U':

        A = U diag(max(s, 0) + ridge)^(-1/2)

    The ridge is sqrt(f) times the standard deviation of the noise in a diagonal entry of M, about
    0.7 times the largest eigenvalue of the noise in M; without noise it is 1e-6. So the second
    moment of A' z is near 1 in the directions in which M exceeds the noise.

    Args:
        people: Everybody's profile.
        centre: Damping of context items, and the mean features of a profile.
        features: Public features of context and target items.
        n_people: Released number of people.
        noise_multiplier: Noise multiplier of the sum; 0: without noise.
        settings: Choices of the fit.
    """
    mechanism = GramRelease(
        noise_multiplier, features.width, settings.moment_clip, resolution_for(settings.moment_clip)
    )
    add = partial(sum_moments, centre=centre, features=features.context, mechanism=mechanism)
    released = mechanism.add_noise(people.total(add))
    deviation = mechanism.sigma * mechanism.resolution**2 / n_people
    values, vectors = np.linalg.eigh(released / n_people)
    ridge = deviation * math.sqrt(features.width) if noise_multiplier else _RIDGE_WITHOUT_NOISE
    whitening: Floats = orient_columns(vectors) * (np.maximum(values, 0) + ridge) ** -0.5
    return whitening
