"""The release of lists: the order of the sums, and the choice of the mode between sum 1 and 2a.

Sums         1: counts of items; 2a: the second moment of tastes; 2b: products of features and
             tastes, which give the directions of taste; 3: the tastes of items. Each is in a file
             of `sums`; so are pairs of likes, which share the event of sum 3.
Source       Gaussian differential privacy: Dong, Roth, Su (2022); discrete noise: Canonne, Kamath,
             Steinke (NeurIPS 2020).
Runs at      the platform.
Sees         everybody's rows, and public item metadata.
Releases     everything in `ReleasedLists` but `consented`, which is not protected.
Guarantee    (epsilon, delta) for ONE PERSON'S WHOLE PROFILE, added or removed. `events.events` are
             declared before the first sum and charged even if the fit fails.
Assumptions  catalogue, metadata, rating scale and settings are public.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import ProfileCentre
from tacit.errors import ConfigError
from tacit.profile_sums.events import LIST_SUMS, combined_noise, noise_multipliers
from tacit.profile_sums.features import FeatureTables
from tacit.profile_sums.own_likes import OwnLikesMap, fit_own_likes
from tacit.profile_sums.people import People
from tacit.profile_sums.settings import Settings
from tacit.profile_sums.sums.counts import (
    Counts,
    CountTable,
    make_counts,
    profile_centre,
    release_count_table,
)
from tacit.profile_sums.sums.item_tastes import (
    ItemTable,
    choose_query,
    make_item_tastes,
    release_item_table,
)
from tacit.profile_sums.sums.like_pairs import (
    MOST_WITHOUT_PAIRS,
    PAIRS_SHARE,
    PairTable,
    PairVectors,
    choose_pair_head,
    make_pair_vectors,
    release_like_pairs,
)
from tacit.profile_sums.sums.moment import release_whitening
from tacit.profile_sums.sums.popular_counts import (
    PopularTable,
    merge_popular_counts,
    release_popular_counts,
)
from tacit.profile_sums.sums.products import release_directions
from tacit.profile_sums.sums.top_items import TopItemsModel, head_size, release_top_items
from tacit.profile_sums.usefulness import (
    LEAST_POPULAR,
    Usefulness,
    people_needed,
    popular_above_noise,
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
ReleasedMode = Literal["taste", "top-items", "popularity"]

MOST_FOR_TASTES_ACROSS = 4300.0
"""Effective population above which, across domains, top items serve better than tastes."""


@dataclass(frozen=True, eq=False)
class TasteModel:
    """Everything that lists by tastes are scored with, computed from sums 1 to 3."""

    features: sparse.csr_array
    """(context items, f) public features."""
    centre: ProfileCentre
    """Damping of context items, and the mean features that are subtracted from a profile's."""
    directions: Floats
    """(f, k) V, the map from features to tastes."""
    items: Floats
    """(target items, k) B, the tastes of each item's likers, rounded to 32 bits as in files."""
    deviation: float
    """Standard deviation of the noise in an entry of B before shrinking."""
    own_likes: OwnLikesMap | None
    """Addition to a person's taste by their likes; None across domains, and if there are `pairs`.
    """
    head: int
    """Number of items in the table of sum 3."""
    count_weight: float
    """Norm of one person's counts in sum 3; 0 without noise."""
    pairs: PairVectors | None = None
    """Additions to scores by pairs of likes, in place of `own_likes`; None if pairs were not
    released, or none stood out from the noise."""
    released_pairs: bool = False
    """Whether half of sum 3's event paid for pairs of likes, also if none stood out."""


@dataclass(frozen=True, eq=False)
class TasteSums:
    """The releases of sums 2a, 2b and 3 in mode 'taste'."""

    centre: ProfileCentre
    """Damping of context items, and the mean features of a profile; made from sum 1."""
    directions: Floats
    """(f, k) V, the map from features to tastes; made from sums 2a and 2b."""
    table: ItemTable
    """The release of sum 3."""
    pairs: PairTable | None = None
    """The release of pairs of likes; None if sum 3 has its whole event to itself."""


@dataclass(frozen=True, eq=False)
class ReleasedSums:
    """The sums of lists as they were released."""

    count_table: CountTable
    """The release of sum 1."""
    counts: Counts
    """Shares of likes, made from sum 1 as `sums.counts` defines them."""
    later: TasteSums | PopularTable | TopItemsModel | None
    """The releases after sum 1, by mode; None if there are too few people for further sums."""
    usefulness: Usefulness
    """Estimate from sum 1 of how useful the lists are."""

    @property
    def one_domain(self) -> bool:
        """Whether context and target items are the same."""
        return self.count_table.context_items == 0


@dataclass(frozen=True, eq=False)
class ReleasedLists:
    """Everything that lists are made from: released values, and weights from consenting people."""

    means: Floats
    """(target items,) released shares of likes (`sums.counts`): popularity."""
    deviation: float
    """Standard deviation of the noise in the shares of sum 1."""
    personal: TasteModel | TopItemsModel | None
    """Model of personal scores; None if only popularity was released."""
    usefulness: Usefulness
    """Estimate from sum 1 of how useful the lists are."""
    consented: sparse.csr_array | None = None
    """(items, items) weights from a liked item (row) to a scored item (column), learned from people
    who agreed not to be protected; None without such people, and outside mode 'taste'."""

    @property
    def mode(self) -> ReleasedMode:
        """Mode of the release: popularity, taste or top-items."""
        if self.personal is None:
            return "popularity"
        return "taste" if isinstance(self.personal, TasteModel) else "top-items"

    @property
    def has_pairs(self) -> bool:
        """Whether pairs of likes were released, also if none stood out from the noise."""
        return isinstance(self.personal, TasteModel) and self.personal.released_pairs

    @property
    def serves_pairs(self) -> bool:
        """Whether lists are made with pairs of likes."""
        return isinstance(self.personal, TasteModel) and self.personal.pairs is not None

    @property
    def serves_personal_lists(self) -> bool:
        """Whether lists are personal; otherwise everybody gets the list of popular items."""
        return self.personal is not None


def release_lists(
    people: People,
    context_items: int,
    target_items: int,
    features: FeatureTables | None,
    settings: Settings,
    *,
    sums_for_many: bool = True,
) -> ReleasedLists:
    """Release the sums of lists of one fit, and compute from them everything that lists need.

    Args:
        people: Everybody's profile.
        context_items: Number of context items.
        target_items: Number of target items.
        features: Public features; None if there are too few.
        settings: Choices of the fit.
        sums_for_many: Whether the sums for very many people may be chosen: top items across
            domains, and pairs of likes within one.
    """
    noises = noise_multipliers(settings)[:LIST_SUMS]
    sums = release_sums(
        people,
        context_items,
        target_items,
        features,
        settings,
        noises,
        sums_for_many=sums_for_many,
    )
    return make_lists(sums, features, settings)


def release_sums(
    people: People,
    context_items: int,
    target_items: int,
    features: FeatureTables | None,
    settings: Settings,
    noises: Sequence[float],
    *,
    sums_for_many: bool = True,
) -> ReleasedSums:
    """Release the sums of lists: sum 1, then those of the mode that is chosen by its release.

    Args:
        people: Everybody's profile.
        context_items: Number of context items.
        target_items: Number of target items.
        features: Public features; None if there are too few.
        settings: Choices of the fit.
        noises: Noise multipliers of sums 1, 2a, 2b and 3; zeros without noise.
        sums_for_many: Whether the sums for very many people may be chosen.

    Raises:
        ConfigError: The mode is 'taste' and there are no features.
    """
    sigma = combined_noise(noises)
    count_table = release_count_table(people, context_items, target_items, noises[0], settings)
    counts = make_counts(count_table, settings)
    effective_population, popular = None, None
    if sigma:
        effective_population = counts.people / sigma
        popular = popular_above_noise(counts.targets, counts.deviation)
    mode: ReleasedMode = "popularity"
    if not counts.too_few:
        mode = choose_mode(
            effective_population if sums_for_many else None,
            popular,
            has_features=features is not None,
            one_domain=people.one_domain,
            settings=settings,
        )
    later: TasteSums | PopularTable | TopItemsModel | None
    if counts.too_few:
        later = None
    elif mode == "popularity":
        later = release_popular_counts(people, counts, noises[1:], settings)
    elif mode == "top-items" or features is None:
        size = head_size(effective_population, one_domain=people.one_domain)
        later = release_top_items(people, counts, size, noises[1:])
    else:
        has_pairs = sums_for_many and asks_for_pairs(
            effective_population, target_items, one_domain=people.one_domain, settings=settings
        )
        release_tastes = _release_tastes_and_pairs if has_pairs else _release_tastes
        later = release_tastes(people, counts, effective_population, features, noises, settings)
    usefulness = Usefulness(
        people=counts.people,
        effective_population=effective_population,
        needed=people_needed(target_items, sigma, one_domain=people.one_domain),
        popular=popular,
        worthwhile=mode != "popularity",
    )
    return ReleasedSums(count_table, counts, later, usefulness)


def _release_tastes(
    people: People,
    counts: Counts,
    effective_population: float | None,
    features: FeatureTables,
    noises: Sequence[float],
    settings: Settings,
) -> TasteSums:
    """Release sums 2a, 2b and 3.

    Args:
        people: Everybody's profile.
        counts: Shares of likes of sum 1.
        effective_population: People divided by the noise multiplier of all sums; None without
            noise.
        features: Public features.
        noises: Noise multipliers of sums 1, 2a, 2b and 3.
        settings: Choices of the fit.
    """
    _, moment_noise, product_noise, item_noise = noises
    centre = profile_centre(counts, features, settings)
    whitening = release_whitening(people, centre, features, counts.people, moment_noise, settings)
    directions = release_directions(
        people, centre, features, counts, whitening, product_noise, settings
    )
    query = choose_query(counts, effective_population, directions.shape[1], settings)
    table = release_item_table(people, centre, features, directions, query, item_noise, settings)
    return TasteSums(centre, directions, table)


def _release_tastes_and_pairs(
    people: People,
    counts: Counts,
    effective_population: float | None,
    features: FeatureTables,
    noises: Sequence[float],
    settings: Settings,
) -> TasteSums:
    """Release sums 2a, 2b and 3, and pairs of likes within the event of sum 3.

    With z the noise multiplier of that event and p the share of pairs, sum 3 has the multiplier
    z / sqrt(1 - p) and pairs have z / sqrt(p). Both questions depend on sums 1 to 2b alone, so the
    two tables are one vector with one charge: a person's entries, each divided by the standard
    deviation of its noise, have the norm sqrt((1 - p) / z^2 + p / z^2) = 1 / z at most. The margin
    of each mechanism covers the rounding of the two multipliers.

    The arguments are those of `_release_tastes`; the last of `noises` is z.
    """
    *first_noises, event_noise = noises
    item_noise = event_noise / math.sqrt(1 - PAIRS_SHARE)
    pair_noise = event_noise / math.sqrt(PAIRS_SHARE)
    head = choose_pair_head(counts.targets, effective_population)
    tastes = _release_tastes(
        people, counts, effective_population, features, [*first_noises, item_noise], settings
    )
    pairs = release_like_pairs(people, head, len(counts.targets), pair_noise)
    return replace(tastes, pairs=pairs)


def make_lists(
    sums: ReleasedSums, features: FeatureTables | None, settings: Settings
) -> ReleasedLists:
    """Compute everything that lists are scored with from the released sums: post-processing."""
    counts, later = sums.counts, sums.later
    means: Floats = counts.means
    personal: TasteModel | TopItemsModel | None = None
    if isinstance(later, PopularTable):
        means = merge_popular_counts(counts, later)
    if isinstance(later, TopItemsModel):
        personal = later
    if isinstance(later, TasteSums):
        assert features is not None  # sums of tastes need features
        means, personal = _make_tastes(
            counts, later, features, settings, one_domain=sums.one_domain
        )
    return ReleasedLists(means, counts.deviation, personal, sums.usefulness)


def keep_items(released: ReleasedLists, context: Ints, targets: Ints) -> ReleasedLists:
    """Keep some of the items in a release of a plan, which is of tastes or popularity.

    Args:
        released: The release.
        context: (kept context items,) places among the context items of the release.
        targets: (kept target items,) places among its target items.
    """
    model = released.personal
    assert not isinstance(model, TopItemsModel)  # no plan releases top items
    if model is not None:
        assert model.pairs is None  # no plan releases pairs, whose places would change here
        centre = model.centre._replace(damping=model.centre.damping[context])
        features = sparse.csr_array(model.features[context])
        model = replace(model, features=features, centre=centre, items=model.items[targets])
    return replace(released, means=released.means[targets], personal=model)


def _make_tastes(
    counts: Counts,
    sums: TasteSums,
    features: FeatureTables,
    settings: Settings,
    *,
    one_domain: bool,
) -> tuple[Floats, TasteModel]:
    """Compute shares of likes (target items,) for serving, and the model of personal scores.

    Args:
        counts: Shares of likes of sum 1.
        sums: The releases of sums 2a, 2b and 3.
        features: Public features.
        settings: Choices of the fit.
        one_domain: Whether context and target items are the same.
    """
    query = sums.table.query
    items = make_item_tastes(sums.table, counts, features.targets, settings)
    # Files store 32 bits: rounded here, a model gives the same lists before and after saving.
    tastes: Floats = items.tastes.astype(np.float32).astype(np.float64)
    pairs, own_likes = None, None
    if sums.pairs is not None:
        pairs = make_pair_vectors(sums.pairs, items.shares, counts.people)
    if one_domain and pairs is None:
        own_likes = fit_own_likes(items.shares, tastes)
    model = TasteModel(
        features=features.context,
        centre=sums.centre,
        directions=sums.directions,
        items=tastes,
        deviation=items.deviation,
        own_likes=own_likes,
        head=len(query.items),
        count_weight=query.count_weight,
        pairs=pairs,
        released_pairs=sums.pairs is not None,
    )
    return items.means, model


def check_mode(settings: Settings, *, has_features: bool) -> None:
    """Raise ConfigError for mode 'taste' without features."""
    if settings.mode == "taste" and not has_features:
        raise ConfigError("mode 'taste' needs item metadata of two features or more.")


def choose_mode(
    effective_population: float | None,
    popular: float | None,
    *,
    has_features: bool,
    one_domain: bool,
    settings: Settings,
) -> ReleasedMode:
    """Choose the mode, that is which sums follow sum 1, by the release of sum 1 alone.

    The noise multipliers are the same in every mode. If not even the shares of popular items exceed
    the noise, sums of tastes would be noise alone, so mode 'popularity' counts likes again.

    Args:
        effective_population: People divided by the noise multiplier of all sums; None: without
            noise, or no mode is to be chosen for very many people.
        popular: `popular_above_noise` of the shares of likes; None without noise.
        has_features: Whether there are public features.
        one_domain: Whether context and target items are the same.
        settings: Choices of the fit; a mode other than 'auto' is returned unchanged.

    Raises:
        ConfigError: The mode is 'taste' and there are no features.
    """
    check_mode(settings, has_features=has_features)
    if settings.mode != "auto":
        return settings.mode
    if popular is not None and popular < LEAST_POPULAR:
        return "popularity"
    if not has_features:
        return "top-items"
    if (
        effective_population is not None
        and not one_domain
        and effective_population > MOST_FOR_TASTES_ACROSS
    ):
        return "top-items"
    return "taste"


def asks_for_pairs(
    effective_population: float | None, items: int, *, one_domain: bool, settings: Settings
) -> bool:
    """Tell whether a release of tastes also releases pairs of likes, by the release of sum 1 alone.

    It does in mode 'auto', in one domain of two items or more, above a large effective population.

    Args:
        effective_population: People divided by the noise multiplier of all sums; None without
            noise, which counts as infinitely many people.
        items: Number of target items.
        one_domain: Whether context and target items are the same.
        settings: Choices of the fit.
    """
    if settings.mode != "auto" or not one_domain or items < 2:
        return False
    return effective_population is None or effective_population > MOST_WITHOUT_PAIRS


def describe_release(released: ReleasedLists) -> str:
    """Describe a release: effective population, mode, and whether lists are useful.

    Without noise only the mode is described. All numbers in the sentences are released values.
    """
    usefulness = released.usefulness
    mode: str = released.mode
    if released.has_pairs:
        mode += ", with pairs of likes"
    if released.has_pairs and not released.serves_pairs:
        mode += ", of which none stood out from the noise"
    if usefulness.effective_population is None:
        return f"Mode: {mode}."
    summary = (
        f"Effective population {usefulness.effective_population:,.0f} "
        f"(about {usefulness.people:,.0f} people divided by the noise multiplier). "
        f"Mode: {mode}."
    )
    if usefulness.is_above_noise and released.serves_personal_lists:
        return f"{summary} Personal lists are expected to beat popularity."
    served = "Everybody gets the same list of popular items, made privately."
    if released.serves_personal_lists:
        served = (
            "Personal lists are served because the mode was asked for, or an earlier fit chose it."
        )
    if usefulness.is_above_noise:  # an earlier fit of a plan chose popularity for all its fits
        return f"{summary} {served}"
    missing = ""
    if usefulness.people_missing:
        missing = f" About {usefulness.people_missing:,} more people are needed."
    return f"{summary} Personal lists are not expected to beat popularity.{missing} {served}"
