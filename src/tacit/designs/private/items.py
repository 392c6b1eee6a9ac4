"""Sum 3: what each item's likers have in common, and what is made of it for lists.

Sees       all rows, public features, and what was released before.
Releases   for each target item the sum of its likers' tastes, each without the like itself, and one
           row for the mean taste.
Clips      one person's whole table, the last row included.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.private.counts import Counts, clip_of
from tacit.designs.private.people import People, compiled
from tacit.designs.private.settings import Settings, step
from tacit.designs.private.tastes import LEAST_REST, Features, map_of
from tacit.engine import profile_sums_compiled as kernels
from tacit.engine.profile_sums_compiled import Centre, Profiles
from tacit.mechanisms.sums import SumRelease

Floats = NDArray[np.float64]


def release(items: int, k: int, noise: float, settings: Settings) -> SumRelease:
    """The mechanism of sum 3."""
    norm = settings.item_clip * math.sqrt(k)
    return SumRelease(noise, items + 1, k, norm, step(norm))


def total(
    people: Profiles, at: Centre, features: Features, matrix: Floats, mechanism: SumRelease,
    settings: Settings,
) -> NDArray[Any]:  # fmt: skip
    """The exact sum over people, before noise: PRIVATE. matrix: (f, k) directions."""
    summed, onto = mechanism.empty(), map_of(matrix, at, features.targets)
    kernels.items(
        people, at, compiled(features.context), onto, settings.mean_row, LEAST_REST,
        clip_of(mechanism), summed,
    )  # fmt: skip
    return summed


def item_tastes(
    people: People, at: Centre, features: Features, counts: Counts, directions: Floats,
    noise: float, settings: Settings,
) -> tuple[Floats, float]:  # fmt: skip
    """(target items, k) B, shrunk, and the deviation of the noise in an entry before that."""
    mechanism = release(len(counts.targets), directions.shape[1], noise, settings)
    add = partial(
        total, at=at, features=features, matrix=directions, mechanism=mechanism, settings=settings
    )
    noisy = mechanism.noisy(people.total(add))
    mean = noisy[-1] / settings.mean_row
    centred = (noisy[:-1] - counts.targets[:, None] * mean) / counts.people
    deviation = mechanism.deviation / counts.people
    if not noise:
        return centred, 0.0
    return shrunk(centred, counts.means, features.targets, deviation), deviation


def shrunk(found: Floats, means: Floats, features: sparse.csr_array, deviation: float) -> Floats:
    """Towards what an item's features say, by how far the noise reaches. Post-processing.

    found: (items, k); means: (items,) at least half the noise of counts.
    """
    design = np.hstack([features.toarray(), np.ones((len(means), 1))]) * means[:, None]
    ridge = 10 * deviation**2 * np.eye(design.shape[1])
    guess = design @ np.linalg.solve(design.T @ design + ridge, design.T @ found)
    apart = float(((found - guess) ** 2).sum()) / found.shape[1] - len(means) * deviation**2
    spread = max(apart / float((means**2).sum()), 1e-9) * means**2
    kept: Floats = guess + (found - guess) * (spread / (spread + deviation**2))[:, None]
    return kept
