"""The release: the order of the sums, top to bottom, and the mode chosen in between.

Source       Gaussian differential privacy: Dong, Roth, Su (2022); discrete noise: Canonne, Kamath,
             Steinke (NeurIPS 2020).
Runs at      the platform.
Sees         everybody's rows, and public item metadata.
Releases     everything in `ReleasedLists`.
Guarantee    (epsilon, delta) for ONE PERSON'S WHOLE PROFILE, added or removed: `events.events` are
             declared before the first sum and charged whatever happens.
Assumptions  catalogue, metadata, rating scale and settings are public.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre
from tacit.errors import ConfigError
from tacit.profile_sums.events import LIST_SUMS, combined_noise, noise_multipliers
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import Counts, profile_centre, release_counts
from tacit.profile_sums.sums.item_tastes import release_item_tastes
from tacit.profile_sums.sums.moment import release_whitening
from tacit.profile_sums.sums.products import release_directions
from tacit.profile_sums.sums.top_items import TopItemsModel, head_size, release_top_items
from tacit.profile_sums.usefulness import (
    Usefulness,
    list_gain,
    people_needed,
    popular_above_noise,
)

Floats = NDArray[np.float64]
PersonalMode = Literal["taste", "top-items"]
ReleasedMode = Literal["taste", "top-items", "popularity"]

FEWEST_FOR_TASTES = 300.0
"""Effective population below which top items serve better than tastes."""
MOST_FOR_TASTES_ACROSS = 4300.0
"""Effective population above which, across domains, top items serve better than tastes."""


@dataclass(frozen=True, eq=False)
class TasteModel:
    """The release of sums 2a, 2b and 3, from which taste lists are scored."""

    features: sparse.csr_array
    """(context items, f) public features."""
    centre: ProfileCentre
    """What profiles are measured from."""
    directions: Floats
    """(f, k) V, from features to tastes."""
    items: Floats
    """(target items, k) B, the tastes of each item's likers."""
    deviation: float
    """Standard deviation of the noise in an entry of B before shrinking."""


@dataclass(frozen=True, eq=False)
class ReleasedLists:
    """All that leaves the platform, but for stars."""

    means: Floats
    """(target items,) released shares of likes: popularity."""
    deviation: float
    """Standard deviation of their noise."""
    personal: TasteModel | TopItemsModel | None
    """What personal lists are scored with; None where only popularity was released."""
    usefulness: Usefulness
    """What the release says about its own lists."""

    @property
    def mode(self) -> ReleasedMode:
        """Mode of the release: popularity, taste or top-items."""
        if self.personal is None:
            return "popularity"
        return "taste" if isinstance(self.personal, TasteModel) else "top-items"

    @property
    def serves_lists(self) -> bool:
        """Whether lists are personal; otherwise everybody gets private popularity.

        Top items are served whatever is expected: they beat the popularity of the same release
        also where exact popularity is out of reach.
        """
        return self.mode == "top-items" or (self.mode == "taste" and self.usefulness.worthwhile)


def release_lists(
    people: People,
    context_items: int,
    target_items: int,
    features: FeatureTables | None,
    settings: Settings,
) -> ReleasedLists:
    """Release the sums of lists, one after the other.

    Args:
        people: Everybody's profile.
        context_items: How many context items there are.
        target_items: How many target items there are.
        features: Public features; None without metadata.
        settings: Choices of the fit.
    """
    noises = noise_multipliers(settings)[:LIST_SUMS]
    sigma = combined_noise(noises)
    counts = release_counts(people, context_items, target_items, noises[0], settings)
    effective = counts.people / sigma if sigma else None
    mode = choose_mode(
        effective,
        has_features=features is not None,
        one_domain=people.one_domain,
        settings=settings,
    )
    needed = people_needed(target_items, sigma, one_domain=people.one_domain)
    usefulness = Usefulness(counts.people, effective, needed)
    if counts.too_few:
        return ReleasedLists(counts.means, counts.deviation, None, usefulness)
    if mode == "top-items" or features is None:
        size = head_size(effective, one_domain=people.one_domain)
        top_items = release_top_items(people, counts, size, noises[1:])
        return ReleasedLists(counts.means, counts.deviation, top_items, usefulness)
    tastes = _release_tastes(people, counts, features, noises, settings)
    if effective is not None:
        popular = popular_above_noise(counts.targets, counts.deviation)
        gain = list_gain(counts.means, tastes.items)
        usefulness = replace(usefulness, popular=popular, gain=gain)
    return ReleasedLists(counts.means, counts.deviation, tastes, usefulness)


def _release_tastes(
    people: People,
    counts: Counts,
    features: FeatureTables,
    noises: list[float],
    settings: Settings,
) -> TasteModel:
    """Release sums 2a, 2b and 3. noises: of all four sums."""
    _, moment_noise, product_noise, item_noise = noises
    centre = profile_centre(counts, features, settings)
    whitening = release_whitening(people, centre, features, counts.people, moment_noise, settings)
    directions = release_directions(
        people, centre, features, counts, whitening, product_noise, settings
    )
    items, deviation = release_item_tastes(
        people, centre, features, counts, directions, item_noise, settings
    )
    return TasteModel(features.context, centre, directions, items, deviation)


def choose_mode(
    effective: float | None, *, has_features: bool, one_domain: bool, settings: Settings
) -> PersonalMode:
    """Choose what the later sums ask, by the noisy number of people alone.

    Every mode has the same noise multipliers.

    Args:
        effective: Effective population; None without noise.
        has_features: Whether there are public features.
        one_domain: Whether context and target items are the same.
        settings: Choices of the fit.

    Raises:
        ConfigError: mode 'taste' without features.
    """
    if settings.mode == "taste" and not has_features:
        raise ConfigError("mode 'taste' needs item metadata of two features or more.")
    if settings.mode != "auto":
        return settings.mode
    if not has_features:
        return "top-items"
    if effective is None:
        return "taste"
    if effective < FEWEST_FOR_TASTES:
        return "top-items"
    if not one_domain and effective > MOST_FOR_TASTES_ACROSS:
        return "top-items"
    return "taste"


def describe_release(released: ReleasedLists) -> str:
    """Say effective population, mode, and whether lists are useful; all of it is released."""
    usefulness = released.usefulness
    if usefulness.effective is None:
        return f"Mode: {released.mode}."
    summary = (
        f"Effective population {usefulness.effective:,.0f} (about {usefulness.people:,.0f} people "
        f"divided by the noise multiplier). Mode: {released.mode}."
    )
    if usefulness.worthwhile and released.serves_lists:
        return f"{summary} Personal lists are expected to beat popularity."
    missing = f" About {usefulness.missing:,} more people are needed." if usefulness.missing else ""
    if released.serves_lists:
        served = "They are served still: they beat the popularity that this release knows."
    else:
        served = "Everybody gets the same list of popular items, made privately."
    return f"{summary} Personal lists are not expected to beat exact popularity.{missing} {served}"
