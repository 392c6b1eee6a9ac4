"""From everybody's rows to the released model: four sums over people, the mode chosen in between.

Source       Gaussian differential privacy: Dong, Roth, Su (2022); the Gram matrix: Dwork, Talwar,
             Thakurta, Zhang (STOC 2014); discrete noise: Canonne, Kamath, Steinke (NeurIPS 2020).
Runs at      the platform.
Sees         everybody's rows, and public item metadata.
Releases     everything in `Released`.
Guarantee    (epsilon, delta) for ONE PERSON'S WHOLE PROFILE, added or removed: `settings.events`
             are declared before the first sum and charged whatever happens.
Assumptions  catalogue, metadata, rating scale and settings are public.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.designs.private.counts import Counts, count
from tacit.designs.private.guarantees import (
    LEAST_POPULAR,
    Usefulness,
    list_gain,
    people_needed,
    people_needed_after,
    popular_above_noise,
)
from tacit.designs.private.items import item_tastes
from tacit.designs.private.people import People
from tacit.designs.private.settings import Settings, noise_multipliers, overall
from tacit.designs.private.tastes import Features, centre, directions, whitening
from tacit.designs.private.top_items import TopItems, head_size, top_items
from tacit.engine.profile_sums_compiled import Centre
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
FEW, MANY = 300.0, 4300.0
"""Effective populations below and (across domains) above which top items serve better."""


@dataclass(frozen=True, eq=False)
class Tastes:
    """centre: what profiles are measured from. directions: (f, k) V. items: (target items, k) B.
    deviation: of the noise in an entry of B before shrinking."""

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
        return isinstance(self.lists, TopItems) or (
            self.lists is not None and self.usefulness.worthwhile
        )


def release(
    people: People, sizes: tuple[int, int], features: Features | None, settings: Settings
) -> Released:
    """sizes: numbers of context and target items. features: None without public metadata."""
    noises = noise_multipliers(settings)
    sigma = overall(noises[:4])
    counts = count(people, *sizes, noises[0], settings)
    effective = counts.people / sigma if sigma else None
    mode = chosen_mode(effective, features is not None, people.joint, settings)
    needed = people_needed(sizes[1], sigma, joint=people.joint)
    useful = Usefulness(counts.people, effective, needed)
    if counts.too_few:
        return Released(counts.means, counts.deviation, None, useful)
    if mode == "top-items" or features is None:
        size = head_size(effective, people.joint)
        lists: Tastes | TopItems = top_items(people, counts, size, noises[1:4])
    else:
        lists = _tastes(people, counts, features, noises, settings)
        useful = judged(useful, counts, lists)
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


def judged(useful: Usefulness, counts: Counts, lists: Tastes) -> Usefulness:
    """The same with what the release itself says about lists by taste."""
    if useful.effective is None:
        return useful
    popular = popular_above_noise(counts.targets, counts.deviation)
    needed = useful.needed
    if popular < LEAST_POPULAR:
        needed = people_needed_after(useful.people, popular, len(counts.targets))
    gain = list_gain(counts.means, lists.items)
    return Usefulness(useful.people, useful.effective, needed, popular, gain)


def _tastes(
    people: People, counts: Counts, features: Features, noises: list[float], settings: Settings
) -> Tastes:
    at = centre(counts, features, settings)
    whitened = whitening(people, at, features, counts.people, noises[1], settings)
    along = directions(people, at, features, counts, whitened, noises[2], settings)
    items, deviation = item_tastes(people, at, features, counts, along, noises[3], settings)
    return Tastes(at, along, items, deviation)
