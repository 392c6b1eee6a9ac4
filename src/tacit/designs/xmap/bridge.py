"""One target domain, fitted: from anybody's ratings to stars, scores and reasons there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.designs.xmap.extender import baseline, extend, means_of_items
from tacit.designs.xmap.generator import (
    Profiles,
    alter_egos,
    drawn_as_published,
    drawn_from_catalogue,
    images,
    places_of,
)
from tacit.designs.xmap.private_neighbours import (
    DrawnPeople,
    constant_neighbours,
    published_neighbours,
)
from tacit.designs.xmap.recommender import (
    ItemNeighbours,
    PeopleNeighbours,
    RatedTogether,
    item_neighbours,
    liked,
    rated_together,
    recency,
)
from tacit.designs.xmap.settings import Catalogue, Settings
from tacit.engine import Engine, Numbers
from tacit.errors import ConfigError, DataError
from tacit.randomness import Source

Floats = NDArray[np.float64]
Times = NDArray[np.int64] | None
People = PeopleNeighbours | DrawnPeople


class Because(NamedTuple):
    """One rating of a person and what it adds to a prediction, in stars.

    item: number of the item they rated; image: the target item it stands for, by number.
    """

    item: int
    image: int
    similarity: float
    stars: float


@dataclass(frozen=True, eq=False)
class Bridge:
    """targets: sorted item numbers. images: (n_items,) places in the target of source items'
    images, -1: none. item_means: (n_items,) stars. lists: None where lists are made from the
    recommender's own numbers. lowest: of the scale."""

    targets: Numbers
    images: Numbers
    item_means: Floats
    neighbours: ItemNeighbours | People
    k: int
    alpha: float
    lowest: float
    engine: Engine
    lists: RatedTogether | None

    @cached_property
    def own(self) -> Numbers:
        """(n_items,) each target item's place in the target."""
        return places_of(self.targets, len(self.images))

    def profiles(self, stars: sparse.csr_array, times: Times) -> Profiles:
        """AlterEgos of (people, n_items) stars."""
        return alter_egos(
            stars, times, item_means=self.item_means, images=self.images, targets=self.targets
        )

    def predict(self, stars: sparse.csr_array, times: Times) -> Floats:
        """(people, n_target) predicted stars."""
        profiles = self.profiles(stars, times)
        if isinstance(self.neighbours, ItemNeighbours):
            return self.neighbours.predict(profiles, self.alpha, self.engine)
        return self._from_people(self.neighbours, profiles)[0]

    def scores(self, stars: sparse.csr_array, times: Times) -> Floats:
        """(people, n_target) what lists are ranked by."""
        if self.lists is not None:
            return self.lists.scores(liked(stars))
        profiles = self.profiles(stars, times)
        if isinstance(self.neighbours, ItemNeighbours):
            predicted = self.neighbours.predict(profiles, self.alpha, self.engine)
            support = self.neighbours.support(profiles, self.alpha)
        else:
            predicted, support = self._from_people(self.neighbours, profiles)
        return support * (predicted - self.lowest)

    def because(self, place: int, stars: sparse.csr_array, times: Times) -> list[Because]:
        """What each of ONE person's ratings adds to the prediction for one target item."""
        if not isinstance(self.neighbours, ItemNeighbours):
            raise ConfigError(
                "A user-based prediction comes from people like them, and they are not named. "
                "Use recommender='item-based' for reasons."
            )
        profiles = self.profiles(stars, times)
        columns = profiles.stars.indices
        similar = self.neighbours.similar[[place]].toarray()[0, columns]
        weights = recency(profiles, self.alpha) * np.abs(similar)
        total = float(weights.sum())
        if not total:
            return []
        found = []
        for column, tau, weight in zip(columns, similar, weights, strict=True):
            members = self._members(int(column), stars)
            share = float(np.sign(tau) * weight) / total / max(1, len(members))
            found += [
                Because(
                    int(stars.indices[at]),
                    int(self.targets[column]),
                    float(tau),
                    share * float(stars.data[at] - self.item_means[stars.indices[at]]),
                )
                for at in members
                if tau
            ]
        return found

    def _members(self, column: int, stars: sparse.csr_array) -> NDArray[np.intp]:
        """Which of a person's ratings stand behind one entry of their profile."""
        own = np.flatnonzero(self.own[stars.indices] == column)
        return own if own.size else np.flatnonzero(self.images[stars.indices] == column)

    def _from_people(self, people: People, profiles: Profiles) -> tuple[Floats, Floats]:
        predicted = np.empty(profiles.stars.shape)
        support = np.empty(profiles.stars.shape)
        for person in range(len(predicted)):
            mine = profiles.of(person)
            predicted[person], support[person] = people.predict(mine, *people.chosen(mine, self.k))
        return predicted, support


def means_by_domain(ratings: Ratings, catalogue: Catalogue) -> Floats:
    """(n_items,) mean stars; an item that nobody rated has the mean of its domain."""
    means = np.zeros(ratings.n_items)
    for name in np.unique(catalogue.domains.astype(str)):
        items = catalogue.targets(name)
        means[items] = means_of_items(ratings.matrix[:, items])
    return means


def fit_bridge(
    ratings: Ratings,
    catalogue: Catalogue,
    target: str,
    item_means: Floats,
    settings: Settings,
    *,
    each: float,
    engine: Engine,
    draws: Source,
) -> Bridge:
    """Learn one target by the four boxes. each: nats for an image or table of the constant variant.

    Lists of who is rated together are only made without noise: their table has none.
    """
    sources, targets = catalogue.sources(target), catalogue.targets(target)
    used = np.concatenate([sources, targets])
    here = ratings.where(np.isin(ratings.items, used))
    constant = settings.variant == "constant"
    # The constant variant pays for everything it learns, so it may not look.
    if not constant and not np.isin(here.items, targets).any():
        raise DataError("nobody rated anything in the target domain", found=target)
    extension = extend(
        baseline(here.matrix),
        sources,
        targets,
        k=settings.extender_k,
        most_edges=settings.most_edges,
        significance=settings.significance,
        engine=engine,
    )
    if constant:
        draw = drawn_from_catalogue(each, draws)
    else:
        draw = drawn_as_published(settings.epsilon, draws)
    places = np.full(ratings.n_items, -1, dtype=np.int32)
    places[sources] = images(extension, sources, draw, engine)
    profiles = alter_egos(
        here.matrix, here.timestamps, item_means=item_means, images=places, targets=targets
    )
    lists = None
    if settings.noiseless and not constant and settings.recommender == "item-based":
        lists = rated_together(here.matrix, targets, np.sort(used), engine)
    return Bridge(
        targets=targets,
        images=places,
        item_means=item_means,
        neighbours=_neighbours(profiles, item_means[targets], settings, each, engine, draws),
        k=settings.k,
        alpha=settings.alpha,
        lowest=ratings.scale.minimum,
        engine=engine,
        lists=lists,
    )


def _neighbours(
    profiles: Profiles,
    means: Floats,
    settings: Settings,
    each: float,
    engine: Engine,
    draws: Source,
) -> ItemNeighbours | People:
    budget = settings.budget
    if settings.recommender == "user-based":
        people = PeopleNeighbours(means, profiles)
        return people if budget is None else DrawnPeople(people, budget, 0, draws)
    how = {"k": settings.k, "significance": settings.significance}
    if settings.variant == "constant":
        return constant_neighbours(profiles, means, **how, epsilon=each, source=draws)
    if budget is None:
        return item_neighbours(profiles, means, **how, engine=engine)
    return published_neighbours(profiles, means, **how, budget=budget, source=draws)
