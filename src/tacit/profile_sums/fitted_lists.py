"""A fit: checked inputs go in, and everything that it leaves comes out as a frozen value."""

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
    """Everything that a fit reads. What can be refused was refused: nothing is drawn yet."""

    ratings: RatingsSource = field(repr=False)
    """All ratings, in memory or stored."""
    catalogue: Ratings = field(repr=False)
    """Items, metadata and scale."""
    settings: Settings
    choices: CatalogueChoices
    sides: ItemSides
    """Context and target items."""
    feature_names: tuple[str, ...]
    """Names of the features' columns."""
    features: FeatureTables | None
    """Public features; None where fewer than two are in use on a side."""
    people: People = field(repr=False)
    """Everybody's profile."""
    assumed_public: tuple[str, ...]
    """What is read off the ratings and taken for public."""
    dense_columns: int = 0
    """How many of the features, the last ones, are dense: no names that mean anything."""
    consented_likes: sparse.csr_array | None = field(default=None, repr=False)
    """(consenting people, items) likes of people who agreed not to be protected; None: of none."""
    consented: tuple[str, ...] = field(default=(), repr=False)
    """Their ids as texts, sorted."""

    def count_consenting(self) -> int:
        """Count the consenting people from whom something is learned."""
        people = 0 if self.consented_likes is None else self.consented_likes.shape[0]
        return people if people >= LEAST_PEOPLE else 0

    def add_consented(self, released: ReleasedLists) -> ReleasedLists:
        """Put the lists of consenting people beside a release of tastes."""
        if self.consented_likes is None or released.mode != "taste":
            return released
        weights = consented_lists(self.consented_likes, released.usefulness.effective_population)
        return replace(released, consented=weights)


@dataclass(frozen=True, eq=False)
class FittedLists:
    """Everything that a fit leaves: what was released, and public values. No person is in it."""

    settings: Settings
    choices: CatalogueChoices
    fits: tuple[Fit, ...]
    """This fit last, after all earlier ones of the same people."""
    lifetime: float | None
    """Epsilon that all fits may cost together; None without a limit."""
    released: ReleasedLists
    stars: StarModel | None
    """None unless the settings ask for stars."""
    item_ids: Column
    """(target items,) ids that lists are made of."""
    context_ids: Column
    """(context items,) ids that a history is read for."""
    one_domain: bool
    """Whether context and target items are the same."""
    scale: RatingScale
    feature_names: tuple[str, ...]
    titles: Titles
    details: Details = field(default_factory=dict, repr=False)
    """Categories, prices and pictures, for showing."""
    dense_columns: int = 0
    """How many of the features, the last ones, are dense."""
    consenting: int = 0
    """Number of people who agreed not to be protected and from whom something was learned."""
    plan: PlanState | None = None
    """What the next fit of a plan starts from; None outside of plans."""

    @property
    def threshold(self) -> float:
        """Least rating that is a like."""
        return like_threshold(self.scale, self.settings.like_at)

    @property
    def named_features(self) -> tuple[str, ...]:
        """Names of the features that people can understand: all but the dense ones."""
        return self.feature_names[: len(self.feature_names) - self.dense_columns]

    @property
    def planned_fits(self) -> tuple[Fit, ...]:
        """Fits of the plan that are still to come; empty without a plan."""
        if self.plan is None:
            return ()
        fit_plan = self.plan.plan
        return fit_plan.all_fits()[fit_plan.count_fits(self.fits) :]

    @property
    def assumed_public(self) -> tuple[str, ...]:
        """Names of what any of the fits took for public."""
        return list_assumed_public(self.fits)

    @property
    def history_ids(self) -> Column:
        """Ids that a history may hold."""
        return self.item_ids if self.one_domain else np.union1d(self.context_ids, self.item_ids)

    @cached_property
    def context_places(self) -> Mapping[Any, int]:
        """Id to place among context items."""
        return {item: place for place, item in enumerate(self.context_ids.tolist())}

    @cached_property
    def target_places(self) -> Mapping[Any, int]:
        """Id to place among target items."""
        return {item: place for place, item in enumerate(self.item_ids.tolist())}

    def profile(self, history: History) -> Profiles:
        """Profile of one person with this history."""
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
    consented_in_features: bool = True,
) -> PreparedFit:
    """Check everything that a fit reads, before the first sum.

    Args:
        ratings: Rows of everybody.
        settings: Choices of the fit.
        choices: Choices of items and metadata.
        consented: Ids of people who agreed not to be protected.
        consented_in_features: Whether their likes give features as well as lists.

    Raises:
        DataError: the ratings, the catalogue or its metadata cannot be used.
        ConfigError: the choices do not fit them.
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
    if likes is not None and consented_in_features:
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
    """Make dense public features by their kind. columns: of the metadata."""
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
    """Read the likes of consenting people.

    Raises:
        ConfigError: there are two domains, or the ratings are not in memory.
    """
    if not sides.one_domain or not isinstance(ratings, Ratings):
        raise ConfigError(
            "People who agreed not to be protected are used in one domain, with ratings in memory: "
            "leave out --consented, or --target, --memory and --engine."
        )
    return likes_of_consenting(ratings, consented, threshold)


def fit_lists(prepared: PreparedFit, fits: tuple[Fit, ...], lifetime: float | None) -> FittedLists:
    """Draw the sums, those of lists first. All of a fit is returned, or nothing of it.

    Args:
        prepared: What the fit reads.
        fits: This fit last, after all earlier ones of the same people.
        lifetime: Epsilon that all fits may cost together; None without a limit.
    """
    settings, sides = prepared.settings, prepared.sides
    released = release_lists(
        prepared.people,
        len(sides.context),
        len(sides.targets),
        prepared.features,
        settings,
        # Pairs of likes were not measured beside what consenting people give.
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
    """Make the first fit of a plan, which chooses the map of all its fits; as `fit_lists`."""
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
    """Plan and profiles of a later fit, prepared before anything is charged."""

    state: PlanState
    """The plan so far, with places for the items that are new."""
    context: NDArray[np.int64]
    """(context items,) places of those there are now."""
    targets: NDArray[np.int64]
    """(target items,) places of those there are now."""
    people: People = field(repr=False)
    """Everybody's profile, by those places."""


def prepare_continuation(prepared: PreparedFit, earlier: FittedLists) -> Continuation:
    """Bring the plan of `earlier` to the catalogue there is now.

    Raises:
        ConfigError: the ids of items are of another type than those of the plan.
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
    """Make a later fit of a plan: two sums, added to those of `earlier`; as `fit_lists`."""
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
    """Put what was released beside what is public."""
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
        consenting=prepared.count_consenting(),
        plan=plan,
    )
