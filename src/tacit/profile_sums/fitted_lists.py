"""One fit, alone or of a plan: from checked inputs to the frozen result."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource
from tacit.engine.profile_kernels.types import Profiles
from tacit.errors import ConfigError
from tacit.profile_sums.catalogue import (
    CatalogueChoices,
    ItemSides,
    checked_catalogue,
    like_threshold,
    split_items,
)
from tacit.profile_sums.consent import (
    LEAST_PEOPLE,
    consented_features,
    consented_lists,
    likes_of_consenting,
    list_consenting,
)
from tacit.profile_sums.dense_features import join_features, vector_features
from tacit.profile_sums.events import LIST_SUMS, noise_multipliers
from tacit.profile_sums.features import (
    FeatureTables,
    feature_columns,
    feature_tables,
    rows_in_columns,
)
from tacit.profile_sums.fit_plan import FIRST_EDGE, FitPlan
from tacit.profile_sums.fits import Fit, list_assumed_public
from tacit.profile_sums.people import (
    People,
    profile_of_history,
    read_people,
    renumber_items,
)
from tacit.profile_sums.plan_state import (
    PlanState,
    TasteState,
    begin_state,
    grow_state,
    release_next,
    sums_of_state,
)
from tacit.profile_sums.release import (
    ReleasedLists,
    check_mode,
    keep_items,
    make_lists,
    release_lists,
    release_sums,
)
from tacit.profile_sums.release_stars import StarModel, release_stars
from tacit.profile_sums.settings import Settings
from tacit.recommenders.base import History
from tacit.recommenders.headers import Titles, titles_of
from tacit.recommenders.inputs import as_ratings_source
from tacit.recommenders.item_details import Details, read_details
from tacit.recommenders.public_facts import facts_read_off


@dataclass(frozen=True, eq=False)
class PreparedFit:
    """The checked inputs of a fit. No noise is drawn yet."""

    ratings: RatingsSource = field(repr=False)
    """All ratings, in memory or stored."""
    catalogue: Ratings = field(repr=False)
    """Items, metadata and scale of the ratings."""
    settings: Settings
    """Choices of the fit."""
    choices: CatalogueChoices
    """Choices of items and metadata."""
    sides: ItemSides
    """Context and target items."""
    feature_names: tuple[str, ...]
    """(f,) names of the features' columns."""
    features: FeatureTables | None
    """Public features; None if fewer than two of them occur on a side."""
    people: People = field(repr=False)
    """Everybody's profile."""
    assumed_public: tuple[str, ...]
    """Names in `public_facts.CONDITIONS` of the facts that the fit assumes to be public."""
    dense_columns: int = 0
    """Number of dense features, which come last; their names mean nothing to people."""
    consented_likes: sparse.csr_array | None = field(default=None, repr=False)
    """(consenting people with likes, items) 1 for a like; None: nobody agreed."""
    consented: tuple[str, ...] = field(default=(), repr=False)
    """Ids of all people who agreed, as texts, sorted."""

    def count_consenting(self) -> int:
        """Count the consenting people with likes; 0 if they are too few to learn from."""
        people = 0 if self.consented_likes is None else self.consented_likes.shape[0]
        return people if people >= LEAST_PEOPLE else 0

    def add_consented(self, released: ReleasedLists) -> ReleasedLists:
        """Add weights from consenting people to a release of tastes, if there are enough of them.

        A release of another mode is returned unchanged.
        """
        if self.consented_likes is None or released.mode != "taste":
            return released
        weights = consented_lists(self.consented_likes, released.usefulness.effective_population)
        return replace(released, consented=weights)


@dataclass(frozen=True, eq=False)
class FittedLists:
    """The result of a fit: released and public values, and what consenting people gave.

    It has no row of a protected person.
    """

    settings: Settings
    """Choices of the fit."""
    choices: CatalogueChoices
    """Choices of items and metadata."""
    fits: tuple[Fit, ...]
    """All fits of these people; this one is the last."""
    lifetime: float | None
    """Epsilon that all fits may cost together; None: no limit."""
    released: ReleasedLists
    """The released lists."""
    stars: StarModel | None
    """The released stars; None unless the settings ask for them."""
    item_ids: Column
    """(target items,) ids of the items that lists are made of, ascending."""
    context_ids: Column
    """(context items,) ids of the items that profiles are read for, ascending."""
    one_domain: bool
    """Whether context and target items are the same."""
    scale: RatingScale
    """Scale of the stars."""
    feature_names: tuple[str, ...]
    """(f,) names of the features' columns."""
    titles: Titles
    """Item id to title."""
    details: Details = field(default_factory=dict, repr=False)
    """Categories, prices and pictures of items, for display."""
    dense_columns: int = 0
    """Number of dense features, which come last."""
    n_consenting: int = 0
    """Number of people who agreed not to be protected and were learned from."""
    plan: PlanState | None = None
    """State from which the next fit of the plan continues; None: the fit is in no plan."""

    @property
    def threshold(self) -> float:
        """Least rating that is a like."""
        return like_threshold(self.scale, self.settings.like_at)

    @property
    def named_features(self) -> tuple[str, ...]:
        """Names of the features that are not dense, which people can understand."""
        return self.feature_names[: len(self.feature_names) - self.dense_columns]

    @property
    def planned_fits(self) -> tuple[Fit, ...]:
        """Records of the plan's fits that are still to come; empty without a plan."""
        if self.plan is None:
            return ()
        fit_plan = self.plan.plan
        return fit_plan.all_fits()[fit_plan.count_fits(self.fits) :]

    @property
    def assumed_public(self) -> tuple[str, ...]:
        """Names in `public_facts.CONDITIONS` of the facts that any fit assumed to be public."""
        return list_assumed_public(self.fits)

    @property
    def history_ids(self) -> Column:
        """(context and target items,) ids that a history may have, ascending."""
        return self.item_ids if self.one_domain else np.union1d(self.context_ids, self.item_ids)

    @cached_property
    def context_places(self) -> Mapping[Any, int]:
        """Item id to its place in `context_ids`."""
        return {item: place for place, item in enumerate(self.context_ids.tolist())}

    @cached_property
    def target_places(self) -> Mapping[Any, int]:
        """Item id to its place in `item_ids`."""
        return {item: place for place, item in enumerate(self.item_ids.tolist())}

    def profile(self, history: History) -> Profiles:
        """Make the profile of one person from their history, item id to stars."""
        return profile_of_history(
            history,
            self.context_places,
            self.target_places,
            threshold=self.threshold,
            other_weight=self.settings.other_weight,
            one_domain=self.one_domain,
        )


def prepare_fit(
    ratings: RatingsSource,
    settings: Settings,
    choices: CatalogueChoices,
    *,
    consented: Collection[Any] = (),
    features_of_consenting: bool = True,
) -> PreparedFit:
    """Check and read the inputs of a fit, before the first sum.

    Args:
        ratings: Ratings of all people.
        settings: Choices of the fit.
        choices: Choices of items and metadata.
        consented: Ids of people who agreed not to be protected.
        features_of_consenting: Whether their likes give features; they give lists in any case.

    Raises:
        DataError: The ratings, the catalogue or its metadata cannot be used.
        ConfigError: The settings or choices do not fit the ratings.
    """
    ratings = as_ratings_source(ratings)
    catalogue = checked_catalogue(ratings)
    sides = split_items(catalogue, choices)
    threshold = like_threshold(catalogue.scale, settings.like_at)
    consented = list_consenting(consented)
    likes = None
    if consented:
        likes = _consented_likes(ratings, sides, consented, threshold)
    feature_names, table = feature_columns(catalogue, choices.features)
    blocks = _dense_blocks(catalogue, choices, table.shape[1])
    if likes is not None and features_of_consenting:
        blocks["consented"] = consented_features(likes)
    if blocks:
        table = join_features(table, list(blocks.values()))
    dense_names = []
    for name, block in blocks.items():
        dense_names += [f"{name} {column + 1}" for column in range(block.shape[1])]
    features = feature_tables(table, sides)
    check_mode(settings, has_features=features is not None)
    return PreparedFit(
        ratings=ratings,
        catalogue=catalogue,
        settings=settings,
        choices=choices,
        sides=sides,
        feature_names=(*feature_names, *dense_names),
        features=features,
        people=read_people(ratings, sides, threshold, settings.other_weight),
        assumed_public=(*facts_read_off(catalogue), *choices.feature_sources),
        dense_columns=len(dense_names),
        consented_likes=likes,
        consented=tuple(sorted(str(person) for person in consented)),
    )


def _dense_blocks(
    catalogue: Ratings, choices: CatalogueChoices, columns: int
) -> dict[str, NDArray[np.float64]]:
    """Make the dense features that the choices ask for.

    Args:
        catalogue: The items with their metadata.
        choices: Names the metadata with texts, and the file of vectors.
        columns: Number of feature columns that the metadata already have.

    Returns:
        (items, r) features by source, which is "text" or "vector"; only sources that are asked for.
    """
    blocks: dict[str, NDArray[np.float64]] = {}
    if choices.text:
        from tacit.profile_sums.text_features import text_features

        blocks["text"] = text_features(catalogue, choices.text, columns)
    if choices.vectors is not None:
        from tacit.data.tables.vectors import read_vectors

        blocks["vector"] = vector_features(catalogue, read_vectors(Path(choices.vectors)))
    return blocks


def _consented_likes(
    ratings: RatingsSource, sides: ItemSides, consented: Collection[Any], threshold: float
) -> sparse.csr_array:
    """Read the likes (consenting people with likes, items) of consenting people.

    Args:
        ratings: Ratings of all people.
        sides: Context and target items.
        consented: Ids of the people who agreed.
        threshold: Least rating that is a like.

    Raises:
        ConfigError: There are two domains, or the ratings are not in memory.
        DataError: None of the ids is in the ratings, or one may be that of several people.
    """
    if not sides.one_domain or not isinstance(ratings, Ratings):
        raise ConfigError(
            "People who agreed not to be protected are used in one domain, with ratings in memory: "
            "leave out --consented, or --target, --memory and --engine."
        )
    return likes_of_consenting(ratings, consented, threshold)


def fit_lists(prepared: PreparedFit, fits: tuple[Fit, ...], lifetime: float | None) -> FittedLists:
    """Release all sums of a fit, those of lists first, and return the result.

    Args:
        prepared: Inputs of the fit.
        fits: All fits of these people; this one is the last.
        lifetime: Epsilon that all fits may cost together; None: no limit.
    """
    settings, sides = prepared.settings, prepared.sides
    released = release_lists(
        prepared.people,
        len(sides.context),
        len(sides.targets),
        prepared.features,
        settings,
        # The benefit of pairs of likes was not measured together with consenting people's lists.
        sums_for_many=not prepared.count_consenting(),
    )
    stars = None
    if settings.stars:
        star_noises = noise_multipliers(settings)[LIST_SUMS:]
        n_people = released.usefulness.people
        stars = release_stars(prepared.ratings, sides, prepared.features, star_noises, n_people)
    return _fitted_lists(prepared, fits, lifetime, released, stars=stars)


def begin_plan(
    prepared: PreparedFit, plan: FitPlan, fits: tuple[Fit, ...], lifetime: float
) -> FittedLists:
    """Make the first fit of a plan. It chooses the second sum of all later fits.

    If that is sum 3, of the tastes of items' likers, the first fit also chooses the directions of
    tastes that later fits use.

    Args:
        prepared: Inputs of the fit.
        plan: Noise multipliers of all fits.
        fits: All fits of these people; this one is the last.
        lifetime: Epsilon that all fits may cost together.
    """
    settings = replace(prepared.settings, edge=FIRST_EDGE)
    sides = prepared.sides
    sums = release_sums(
        prepared.people,
        len(sides.context),
        len(sides.targets),
        prepared.features,
        settings,
        plan.noises(1),
        sums_for_many=False,
    )
    released = make_lists(sums, prepared.features, settings)
    ids = prepared.catalogue.item_ids
    state = begin_state(
        plan, sums, prepared.features, ids[sides.context], ids[sides.targets], settings
    )
    return _fitted_lists(prepared, fits, lifetime, released, plan=state)


@dataclass(frozen=True, eq=False)
class Continuation:
    """State and profiles for a later fit of a plan, prepared before the fit is charged."""

    state: PlanState
    """State after the earlier fits, with places for items that are new in the catalogue."""
    context: NDArray[np.int64]
    """(context items of the present catalogue,) their places in `state.context_ids`."""
    targets: NDArray[np.int64]
    """(target items of the present catalogue,) their places in `state.item_ids`."""
    people: People = field(repr=False)
    """Everybody's profile, whose items are numbered by these places."""


def prepare_continuation(prepared: PreparedFit, earlier: FittedLists) -> Continuation:
    """Adapt the state of a plan to the present catalogue.

    Args:
        prepared: Inputs of the new fit.
        earlier: Result of the latest fit of the plan.

    Raises:
        ConfigError: The ids of items are of another type than those of the plan.
    """
    sides, names = prepared.sides, earlier.feature_names
    assert earlier.plan is not None  # the caller continues a plan
    ids = prepared.catalogue.item_ids
    context_ids, item_ids = ids[sides.context], ids[sides.targets]
    if ids.dtype.kind != earlier.plan.item_ids.dtype.kind:
        raise ConfigError(
            "The ids of items are whole numbers in one of the plan's fits and texts in another, "
            "where one id is no number: the plan would take each item for a new one. Keep the ids "
            "as they were, or begin another plan with another number of --fits. Nothing was drawn "
            "or spent."
        )
    rows = rows_in_columns(prepared.catalogue, prepared.choices.features, names)
    features = FeatureTables(rows[sides.context], rows[sides.targets])
    state = grow_state(earlier.plan, context_ids, item_ids, features)
    context = np.searchsorted(state.context_ids, context_ids)
    targets = np.searchsorted(state.item_ids, item_ids)
    people = renumber_items(prepared.people, context, targets)
    return Continuation(state, context, targets, people)


def continue_plan(
    prepared: PreparedFit,
    earlier: FittedLists,
    continuation: Continuation,
    fits: tuple[Fit, ...],
    lifetime: float | None,
) -> FittedLists:
    """Make a later fit of a plan: release two sums and add them to those of the earlier fits.

    Args:
        prepared: Inputs of the fit.
        earlier: Result of the latest fit of the plan.
        continuation: State of the plan and everybody's profile, by `prepare_continuation`.
        fits: All fits of these people; this one is the last.
        lifetime: Epsilon that all fits may cost together; None: no limit.
    """
    settings = prepared.settings
    context, targets = continuation.context, continuation.targets
    state = release_next(continuation.people, continuation.state, settings)
    all_features = state.later.features if isinstance(state.later, TasteState) else None
    released = make_lists(sums_of_state(state, settings), all_features, settings)
    released = keep_items(released, context, targets)
    fitted = _fitted_lists(prepared, fits, lifetime, released, plan=state)
    return replace(fitted, feature_names=earlier.feature_names)


def _fitted_lists(
    prepared: PreparedFit,
    fits: tuple[Fit, ...],
    lifetime: float | None,
    released: ReleasedLists,
    *,
    stars: StarModel | None = None,
    plan: PlanState | None = None,
) -> FittedLists:
    """Combine the releases of a fit with the public values of its inputs.

    Args:
        prepared: Inputs of the fit.
        fits: All fits of these people; this one is the last.
        lifetime: Epsilon that all fits may cost together; None: no limit.
        released: The released lists, for the items of `prepared`.
        stars: The released stars; None: not released.
        plan: State after the fit; None: the fit is in no plan.
    """
    catalogue, sides = prepared.catalogue, prepared.sides
    return FittedLists(
        settings=prepared.settings,
        choices=prepared.choices,
        fits=fits,
        lifetime=lifetime,
        released=prepared.add_consented(released),
        stars=stars,
        item_ids=catalogue.item_ids[sides.targets],
        context_ids=catalogue.item_ids[sides.context],
        one_domain=sides.one_domain,
        scale=catalogue.scale,
        feature_names=prepared.feature_names,
        titles=titles_of(catalogue),
        details=read_details(catalogue),
        dense_columns=prepared.dense_columns,
        n_consenting=prepared.count_consenting(),
        plan=plan,
    )
