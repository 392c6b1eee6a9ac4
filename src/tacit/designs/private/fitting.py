"""From everybody's rows to the released model: four sums over people, the mode chosen in between.

Source       Gaussian differential privacy: Dong, Roth, Su (2022); the Gram matrix: Dwork, Talwar,
             Thakurta, Zhang (STOC 2014); discrete noise: Canonne, Kamath, Steinke (NeurIPS 2020).
Runs at      the platform.
Sees         everybody's rows, and public item metadata.
Releases     everything in `Released`.
Guarantee    (epsilon, delta) for ONE PERSON'S WHOLE PROFILE, added or removed: `settings.events`
             are declared before the first sum and charged whatever happens.
Assumptions  catalogue, metadata, rating scale and settings are public.

Sum 1, and sums over popular items: popular.py.

2a, 2b, in the space of public features
Sees       all rows, public features, and what was released before.
Releases   the second moment of tastes (features x features), and the sum of liked features times
           whitened tastes without the like itself.
Clips      one person's row of tastes in 2a; one person's whole matrix in 2b.

3, what each item's likers have in common, and what is made of it for lists
Sees       all rows, public features, and what was released before.
Releases   for each target item the sum of its likers' tastes, each without the like itself, and one
           row for the mean taste.
Clips      one person's whole table, the last row included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.designs.private import guarantees
from tacit.designs.private.guarantees import Usefulness
from tacit.designs.private.people import People, Sides, blocks, compiled, features
from tacit.designs.private.popular import Counts, TopItems, clip_of, count, head_size, top_items
from tacit.designs.private.settings import Mode, Settings, noise_multipliers, overall, step
from tacit.engine import profile_sums_compiled as kernels
from tacit.engine.profile_sums_compiled import Centre, Map, Profiles
from tacit.errors import ConfigError
from tacit.mechanisms.gram import GramRelease
from tacit.mechanisms.sums import SumRelease

Floats = NDArray[np.float64]
FEW, MANY = 300.0, 4300.0
"""Effective populations below and (across domains) above which top items serve better."""
LEAST_REST = 1e-9
"""A like is left out where its own weight is all there is, up to this."""
_RIDGE = 1e-6  # of the moment where there is no noise


@dataclass(frozen=True, eq=False)
class Features:
    """(context items, f) and (target items, f) public features, the same f columns."""

    context: sparse.csr_array
    targets: sparse.csr_array

    @property
    def width(self) -> int:
        return int(self.context.shape[1])


Prepared = tuple[Sides, tuple[str, ...], Features | None]
"""Sides, names of all features, and features: None where fewer than two are in use on a side."""


def prepared(ratings: Ratings, sides: Sides, wanted: Sequence[str] | None, mode: Mode) -> Prepared:
    """What can be refused is refused here, before the first sum. wanted: names of metadata."""
    names, table = features(ratings, wanted)
    both = Features(table[sides.context], table[sides.targets])
    usable = all(len(np.unique(side.indices)) >= 2 for side in (both.context, both.targets))
    chosen_mode(None, usable, sides.joint, Settings(mode=mode))
    return sides, names, both if usable else None


def centre(counts: Counts, features: Features, settings: Settings) -> Centre:
    """Damping of the context items, and what an average profile is made of."""
    floored = counts.floored
    mean = float(floored.mean())
    if mean > 0:
        usual = np.maximum(floored, max(float(np.median(floored)), 1e-3 * mean)) / mean
        damping = usual**-settings.damping
    else:
        damping = np.ones(len(floored))
    weights = counts.context * damping
    return Centre(damping, features.context.T @ (weights / max(float(weights.sum()), 1e-6)))


def tastes(
    people: Profiles, at: Centre, features: sparse.csr_array, *, everybody: bool = False
) -> Floats:
    """(people, f) the same for all, compiled. everybody: for serving, also people without likes."""
    rows = np.empty((len(people.offsets) - 1, features.shape[1]))
    kernels.tastes(people, at, compiled(features), everybody, rows)
    return rows


def moment_total(
    people: Profiles, at: Centre, features: sparse.csr_array, mechanism: GramRelease
) -> NDArray[Any]:
    """The exact sum over people, before noise: PRIVATE."""
    return mechanism.total(tastes(block, at, features) for block in blocks(people))


def whitening(
    people: People, at: Centre, features: Features, count: float, noise: float, settings: Settings
) -> Floats:
    """(f, f) A from sum 2a: A' z has a second moment near 1 where the moment exceeds the noise."""
    clip = settings.moment_clip
    mechanism = GramRelease(noise, features.width, clip, step(clip))
    add = partial(moment_total, at=at, features=features.context, mechanism=mechanism)
    released = mechanism.add_noise(people.total(add))
    deviation = mechanism.sigma * mechanism.resolution**2 / count
    values, vectors = np.linalg.eigh(released / count)
    ridge = deviation * math.sqrt(features.width) if noise else _RIDGE
    whitened: Floats = _signed(vectors) * (np.maximum(values, 0) + ridge) ** -0.5
    return whitened


def map_of(matrix: Floats, at: Centre, targets: sparse.csr_array) -> Map:
    """A released map with what it makes of the mean and of each target item."""
    return Map(matrix, applied(at.mean, matrix), np.ascontiguousarray(targets @ matrix))


def applied(vector: Floats, matrix: Floats) -> Floats:
    """matrix' vector, added up one feature after the other: the same bit for bit everywhere."""
    image = np.zeros(matrix.shape[1])
    for share, row in zip(vector, matrix, strict=True):
        if share != 0:
            image += share * row
    return image


def product_release(width: int, noise: float, settings: Settings) -> SumRelease:
    norm = settings.feature_clip * math.sqrt(width)
    return SumRelease(noise, width, width, norm, step(norm))


def product_total(
    people: Profiles, at: Centre, features: Features, matrix: Floats, usual: Floats,
    mechanism: SumRelease,
) -> NDArray[Any]:  # fmt: skip
    """The exact sum over people, before noise: PRIVATE. matrix: (f, f) whitening."""
    total, onto = mechanism.zero_table(), map_of(matrix, at, features.targets)
    kernels.products(
        people, at, compiled(features.context), compiled(features.targets), onto, usual,
        LEAST_REST, clip_of(mechanism), total,
    )  # fmt: skip
    return total


def directions(
    people: People, at: Centre, features: Features, counts: Counts, whitened: Floats,
    noise: float, settings: Settings,
) -> Floats:  # fmt: skip
    """(f, k) V from sum 2b: the directions of tastes that tell which features are liked."""
    width = features.width
    mechanism = product_release(width, noise, settings)
    add = partial(
        product_total, at=at, features=features, matrix=whitened,
        usual=features.targets.T @ counts.targets, mechanism=mechanism,
    )  # fmt: skip
    released = mechanism.add_noise(people.total(add))
    left, sizes, _ = np.linalg.svd(released.T)
    edge = 2 * math.sqrt(width) * mechanism.deviation
    significant = max(int((sizes > settings.edge * edge).sum()), 2)
    k = min(significant, settings.directions, width)
    return np.ascontiguousarray(whitened @ _signed(left)[:, :k])


def _signed(vectors: Floats) -> Floats:
    """The same columns, the largest entry of each positive."""
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(vectors.shape[1])]
    return vectors * np.where(largest < 0, -1.0, 1.0)


def item_release(items: int, k: int, noise: float, settings: Settings) -> SumRelease:
    norm = settings.item_clip * math.sqrt(k)
    return SumRelease(noise, items + 1, k, norm, step(norm))


def item_total(
    people: Profiles, at: Centre, features: Features, matrix: Floats, mechanism: SumRelease,
    settings: Settings,
) -> NDArray[Any]:  # fmt: skip
    """The exact sum over people, before noise: PRIVATE. matrix: (f, k) directions."""
    summed, onto = mechanism.zero_table(), map_of(matrix, at, features.targets)
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
    mechanism = item_release(len(counts.targets), directions.shape[1], noise, settings)
    add = partial(
        item_total,
        at=at,
        features=features,
        matrix=directions,
        mechanism=mechanism,
        settings=settings,
    )
    noisy = mechanism.add_noise(people.total(add))
    mean = noisy[-1] / settings.mean_row
    centred = (noisy[:-1] - counts.targets[:, None] * mean) / counts.people
    deviation = mechanism.deviation / counts.people
    if not noise:
        return centred, 0.0
    return _shrunk(centred, counts.means, features.targets, deviation), deviation


def _shrunk(noisy: Floats, means: Floats, features: sparse.csr_array, deviation: float) -> Floats:
    """(items, k) towards what an item's features say, by how far the noise reaches.
    Post-processing. means: (items,) at least half the noise of counts."""
    design = np.hstack([features.toarray(), np.ones((len(means), 1))]) * means[:, None]
    ridge = 10 * deviation**2 * np.eye(design.shape[1])
    guess = design @ np.linalg.solve(design.T @ design + ridge, design.T @ noisy)
    apart = float(((noisy - guess) ** 2).sum()) / noisy.shape[1] - len(means) * deviation**2
    spread = max(apart / float((means**2).sum()), 1e-9) * means**2
    shrunk: Floats = guess + (noisy - guess) * (spread / (spread + deviation**2))[:, None]
    return shrunk


@dataclass(frozen=True, eq=False)
class Tastes:
    """features: (context items, f). centre: what profiles are measured from. directions: (f, k) V.
    items: (target items, k) B. deviation: of the noise in an entry of B before shrinking."""

    features: sparse.csr_array
    centre: Centre
    directions: Floats
    items: Floats
    deviation: float


@dataclass(frozen=True, eq=False)
class Released:
    """All that leaves the platform. means: (target items,) released shares of likes. deviation: of
    their noise. lists: None where only popularity was released."""

    means: Floats
    deviation: float
    lists: Tastes | TopItems | None
    usefulness: Usefulness

    @property
    def mode(self) -> Literal["taste", "top-items", "popularity"]:
        if self.lists is None:
            return "popularity"
        return "taste" if isinstance(self.lists, Tastes) else "top-items"

    @property
    def serves_lists(self) -> bool:
        """Whether lists are personal; otherwise everybody gets private popularity.

        Top items are served whatever is expected: they beat the popularity of the same release
        also where exact popularity is out of reach.
        """
        return self.mode == "top-items" or (self.mode == "taste" and self.usefulness.worthwhile)


def release(
    people: People, sizes: tuple[int, int], features: Features | None, settings: Settings
) -> Released:
    """sizes: numbers of context and target items. features: None without public metadata."""
    noises = noise_multipliers(settings)
    sigma = overall(noises[:4])
    counts = count(people, *sizes, noises[0], settings)
    effective = counts.people / sigma if sigma else None
    mode = chosen_mode(effective, features is not None, people.joint, settings)
    needed = guarantees.people_needed(sizes[1], sigma, joint=people.joint)
    useful = Usefulness(counts.people, effective, needed)
    if counts.too_few:
        lists: Tastes | TopItems | None = None
    elif mode == "top-items" or features is None:
        lists = top_items(people, counts, head_size(effective, people.joint), noises[1:4])
    else:
        at = centre(counts, features, settings)
        whitened = whitening(people, at, features, counts.people, noises[1], settings)
        along = directions(people, at, features, counts, whitened, noises[2], settings)
        items, deviation = item_tastes(people, at, features, counts, along, noises[3], settings)
        lists = Tastes(features.context, at, along, items, deviation)
        if effective is not None:  # what the release itself says about such lists
            popular = guarantees.popular_above_noise(counts.targets, counts.deviation)
            useful = replace(
                useful, popular=popular, gain=guarantees.list_gain(counts.means, items)
            )
    return Released(counts.means, counts.deviation, lists, useful)


def chosen_mode(
    effective: float | None, metadata: bool, joint: bool, settings: Settings
) -> Literal["taste", "top-items"]:
    """By the noisy number of people alone: every mode has the same noise multipliers."""
    if settings.mode == "taste" and not metadata:
        raise ConfigError("mode 'taste' needs item metadata of two features or more.")
    if settings.mode != "auto":
        return settings.mode
    if effective is not None and (effective < FEW or (not joint and effective > MANY)):
        return "top-items"
    return "taste" if metadata else "top-items"


def in_words(released: Released) -> str:
    """Effective population, mode, and whether lists are worth it; all of it released."""
    useful = released.usefulness
    if useful.effective is None:
        return f"Mode: {released.mode}."
    summary = (
        f"Effective population {useful.effective:,.0f} (about {useful.people:,.0f} people divided "
        f"by the noise multiplier). Mode: {released.mode}."
    )
    if useful.worthwhile:
        return f"{summary} Personal lists are expected to beat popularity."
    lacking = f" About {useful.missing:,} more people are needed." if useful.missing else ""
    served = (
        "They are served still: they beat the popularity that this release knows."
        if released.serves_lists
        else "Everybody gets the same list of popular items, made privately."
    )
    return f"{summary} Personal lists are not expected to beat exact popularity.{lacking} {served}"
