"""One target domain, fitted: from anybody's ratings to stars, scores and reasons there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.generator import Profiles, alter_egos
from tacit.designs.xmap.recommender import ItemNeighbours, RatedTogether, liked, recency
from tacit.engine.base import Engine, Numbers
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
Times = NDArray[np.int64] | None


class People(Protocol):
    """Neighbours among people, taken or drawn."""

    def chosen(self, mine: Profiles, k: int) -> tuple[Numbers, Floats]: ...

    def predict(
        self, mine: Profiles, chosen: Numbers, weights: Floats
    ) -> tuple[Floats, Floats]: ...


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
        own = np.full(len(self.images), -1, dtype=np.int32)
        own[self.targets] = np.arange(len(self.targets))
        return own

    def profiles(self, stars: sparse.csr_array, times: Times) -> Profiles:
        """AlterEgos of (people, n_items) stars."""
        return alter_egos(
            stars,
            times,
            item_means=self.item_means,
            images=self.images,
            own=self.own,
            width=len(self.targets),
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
