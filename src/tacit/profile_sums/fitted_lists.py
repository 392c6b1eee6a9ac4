"""A fit: checked inputs go in, and everything that it leaves comes out as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource
from tacit.engine.profile_kernels.types import Profiles
from tacit.profile_sums.catalogue import (
    CatalogueChoices,
    ItemSides,
    checked_catalogue,
    like_threshold,
    split_items,
)
from tacit.profile_sums.events import LIST_SUMS, noise_multipliers
from tacit.profile_sums.features import FeatureTables, feature_columns, feature_tables
from tacit.profile_sums.fits import Fit, list_assumed_public
from tacit.profile_sums.people import People, profile_of_history, read_people
from tacit.profile_sums.release import ReleasedLists, choose_mode, release_lists
from tacit.profile_sums.release_stars import StarModel, release_stars
from tacit.profile_sums.settings import Settings
from tacit.recommenders.base import History
from tacit.recommenders.headers import Titles, titles_of
from tacit.recommenders.inputs import as_ratings_source
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

    @property
    def threshold(self) -> float:
        """Least rating that is a like."""
        return like_threshold(self.scale, self.settings.like_at)

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
    ratings: RatingsSource, settings: Settings, choices: CatalogueChoices
) -> PreparedFit:
    """Check everything that a fit reads, before the first sum.

    Raises:
        DataError: the ratings, the catalogue or its metadata cannot be used.
        ConfigError: the choices do not fit them.
    """
    ratings = as_ratings_source(ratings)
    catalogue = checked_catalogue(ratings)
    sides = split_items(catalogue, choices)
    feature_names, table = feature_columns(catalogue, choices.features)
    features = feature_tables(table, sides)
    choose_mode(
        None,
        has_features=features is not None,
        one_domain=sides.one_domain,
        settings=settings,
    )
    threshold = like_threshold(catalogue.scale, settings.like_at)
    return PreparedFit(
        ratings=ratings,
        catalogue=catalogue,
        settings=settings,
        choices=choices,
        sides=sides,
        feature_names=feature_names,
        features=features,
        people=read_people(ratings, sides, threshold, settings.other_weight),
        assumed_public=facts_read_off(catalogue),
    )


def fit_lists(prepared: PreparedFit, fits: tuple[Fit, ...], lifetime: float | None) -> FittedLists:
    """Draw the sums, those of lists first. All of a fit is returned, or nothing of it.

    Args:
        prepared: What the fit reads.
        fits: This fit last, after all earlier ones of the same people.
        lifetime: Epsilon that all fits may cost together; None without a limit.
    """
    settings, sides = prepared.settings, prepared.sides
    released = release_lists(
        prepared.people, len(sides.context), len(sides.targets), prepared.features, settings
    )
    stars = None
    if settings.stars:
        star_noises = noise_multipliers(settings)[LIST_SUMS:]
        n_people = released.usefulness.people
        stars = release_stars(prepared.ratings, sides, prepared.features, star_noises, n_people)
    catalogue = prepared.catalogue
    return FittedLists(
        settings=settings,
        choices=prepared.choices,
        fits=fits,
        lifetime=lifetime,
        released=released,
        stars=stars,
        item_ids=catalogue.item_ids[sides.targets],
        context_ids=catalogue.item_ids[sides.context],
        one_domain=sides.one_domain,
        scale=catalogue.scale,
        feature_names=prepared.feature_names,
        titles=titles_of(catalogue),
    )
