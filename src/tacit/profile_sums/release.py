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
    """The release of sums 2a, 2b and 3, from which taste lists are scored."""

    features: sparse.csr_array
    """(context items, f) public features."""
    centre: ProfileCentre
    """What profiles are measured from."""
    directions: Floats
    """(f, k) V, from features to tastes."""
    items: Floats
    """(target items, k) B, the tastes of each item's likers; numbers of 32 bits, as files hold."""
    deviation: float
    """Standard deviation of the noise in an entry of B before shrinking."""
    own_likes: OwnLikesMap | None
    """What likes add to a person's taste; None across domains, and where there are `pairs`."""
    head: int
    """Number of items that sum 3 asked about."""
    count_weight: float
    """Norm of one person's counts in sum 3; 0 without noise."""
    pairs: PairVectors | None = None
    """What likes add by pairs of likes, in place of `own_likes`; None where none were released, or
    none stood out from the noise."""
    released_pairs: bool = False
    """Whether half of sum 3's event went to pairs of likes, also where none stood out."""


@dataclass(frozen=True, eq=False)
class TasteSums:
    """The releases of sums 2a, 2b and 3, and the map that they are measured with."""

    centre: ProfileCentre
    """What profiles are measured from, by sum 1."""
    directions: Floats
    """(f, k) V, by sums 2a and 2b."""
    table: ItemTable
    """Sum 3."""
    pairs: PairTable | None = None
    """Pairs of likes; None where sum 3 has all of its event."""


@dataclass(frozen=True, eq=False)
class ReleasedSums:
    """The sums of lists as they were released; all else is made from them."""

    count_table: CountTable
    """Sum 1 as it was drawn."""
    counts: Counts
    """Sum 1 over the number of people: shares of likes, as `sums.counts` defines them."""
    later: TasteSums | PopularTable | TopItemsModel | None
    """What the later sums asked; None for too few people: then nothing."""
    usefulness: Usefulness
    """What sum 1 says about lists."""

    @property
    def one_domain(self) -> bool:
        """Whether context and target items are the same."""
        return self.count_table.context_items == 0


@dataclass(frozen=True, eq=False)
class ReleasedLists:
    """All that leaves the platform, but for stars."""

    means: Floats
    """(target items,) released shares of likes (`sums.counts`): popularity."""
    deviation: float
    """Standard deviation of the noise in the shares of sum 1."""
    personal: TasteModel | TopItemsModel | None
    """What personal lists are scored with; None where only popularity was released."""
    usefulness: Usefulness
    """What the release says about its own lists."""
    consented: sparse.csr_array | None = None
    """(items, items) what a like of one item adds to another, by people who agreed not to be
    protected; of tastes in one domain alone."""

    @property
    def mode(self) -> ReleasedMode:
        """Mode of the release: popularity, taste or top-items."""
        if self.personal is None:
            return "popularity"
        return "taste" if isinstance(self.personal, TasteModel) else "top-items"

    @property
    def has_pairs(self) -> bool:
        """Whether pairs of likes were released, also where none stood out from the noise."""
        return isinstance(self.personal, TasteModel) and self.personal.released_pairs

    @property
    def serves_pairs(self) -> bool:
        """Whether lists are made with pairs of likes."""
        return isinstance(self.personal, TasteModel) and self.personal.pairs is not None

    @property
    def serves_lists(self) -> bool:
        """Whether lists are personal; otherwise everybody gets private popularity."""
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
    """Release the sums of lists, one after the other, and make lists from them.

    Args:
        people: Everybody's profile.
        context_items: How many context items there are.
        target_items: How many target items there are.
        features: Public features; None without metadata.
        settings: Choices of the fit.
        sums_for_many: Whether very many people may lead to other sums: top items across domains,
            pairs of likes in one.
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
    """Release the sums of lists as `release_lists`.

    Args:
        people: As for `release_lists`, like the next four.
        context_items: See there.
        target_items: See there.
        features: See there.
        settings: See there.
        noises: Multipliers of all four sums.
        sums_for_many: See there.
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
    """Release sums 2a, 2b and 3. noises: of all four sums."""
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

    With z the multiplier of that event and p the share of pairs, sum 3 has z / sqrt(1 - p) and
    pairs have z / sqrt(p). Both questions follow from sums 1 to 2b. So the two tables are one
    vector: over the noise of its entries, what a person adds is at most 1 / z long. The margin of
    each mechanism covers that the two multipliers are rounded.
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
    """Make everything that lists are scored with from the released sums: post-processing."""
    counts, later = sums.counts, sums.later
    means: Floats = counts.means
    personal: TasteModel | TopItemsModel | None = None
    if isinstance(later, PopularTable):
        means = merge_popular_counts(counts, later)
    if isinstance(later, TopItemsModel):
        personal = later
    if isinstance(later, TasteSums):
        assert features is not None  # sums of tastes were asked with them
        means, personal = _make_tastes(
            counts, later, features, settings, one_domain=sums.one_domain
        )
    return ReleasedLists(means, counts.deviation, personal, sums.usefulness)


def keep_items(released: ReleasedLists, context: Ints, targets: Ints) -> ReleasedLists:
    """Keep some of the items, in a release of tastes or popularity.

    Args:
        released: The release.
        context: (kept context items,) their numbers.
        targets: (kept target items,) likewise.
    """
    model = released.personal
    assert not isinstance(model, TopItemsModel)  # no plan has them
    if model is not None:
        assert model.pairs is None  # their places are those of all items; no plan has them
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
    """Make (target items,) mean likes for serving, and what personal lists are scored with."""
    query = sums.table.query
    items = make_item_tastes(sums.table, counts, features.targets, settings)
    # Files hold half as many bytes, and a saved model gives the same lists as this one.
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
    """Choose what the later sums ask, by the release of sum 1 alone.

    Every mode has the same noise multipliers. Where popular items do not stand above the noise,
    tastes would not either, and the later sums ask for counts again.

    Args:
        effective_population: Effective population; None without noise.
        popular: How far popular items stand above the noise; None without noise.
        has_features: Whether there are public features.
        one_domain: Whether context and target items are the same.
        settings: Choices of the fit.

    Raises:
        ConfigError: mode 'taste' without features.
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
    """Whether a release of tastes asks for pairs of likes, too, by the release of sum 1 alone.

    Args:
        effective_population: Effective population; None without noise: as many as one likes.
        items: Number of target items.
        one_domain: Whether context and target items are the same.
        settings: Choices of the fit: mode 'taste' stays with tastes.
    """
    if settings.mode != "auto" or not one_domain or items < 2:
        return False
    return effective_population is None or effective_population > MOST_WITHOUT_PAIRS


def describe_release(released: ReleasedLists) -> str:
    """Say effective population, mode, and whether lists are useful; all of it is released."""
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
    if usefulness.worthwhile and released.serves_lists:
        return f"{summary} Personal lists are expected to beat popularity."
    missing = ""
    if usefulness.people_missing:
        missing = f" About {usefulness.people_missing:,} more people are needed."
    return (
        f"{summary} Personal lists are not expected to beat popularity.{missing} Everybody gets "
        "the same list of popular items, made privately."
    )
