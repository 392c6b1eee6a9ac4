"""The user-based recommender of the published variant: stars from the k people most like a person.

Source   the X-Map paper. PNSA and PNCF with roles of people and items swapped: the report prints no
         formula of them.
Sees     everybody's profile: the model is made of people, so no file holds it.
Guarantee  none, as for items.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.extender import centred, means_of_people
from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.recommender import candidates, drawn_neighbours, pattern
from tacit.engine import Numbers
from tacit.randomness import Source

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PeopleNeighbours:
    """With a budget, the people like a profile are drawn by PNSA. Drawn again, noise would average
    out; so they are remembered, as long as this object lives.
    """

    means: Floats
    profiles: Profiles
    k: int
    budget: float | None
    source: Source
    _chosen: dict[bytes, tuple[Numbers, Floats]] = field(default_factory=dict)

    def predict(self, mine: Profiles, *_: object) -> Floats:
        """(1, n_target) stars of one profile: its own mean, or without ratings the items', and how
        far the people like it are from their own means."""
        people, similarities = self.chosen(mine)
        total, theirs = self.support(mine), self.profiles.stars[people]
        said = centred(theirs, means_of_people(theirs)[1]).values
        moved = np.divide(similarities @ said, total, out=0 * total, where=total > 0)
        own = float(mine.stars.data.mean()) if mine.stars.nnz else self.means
        stars: Floats = own + moved
        return stars

    def support(self, mine: Profiles, *_: object) -> Floats:
        """(1, n_target) the weight a prediction rests on: sum of |similarity|."""
        people, similarities = self.chosen(mine)
        weights: Floats = np.abs(similarities) @ pattern(self.profiles.stars[people]).values
        return weights[None]

    def chosen(self, mine: Profiles) -> tuple[Numbers, Floats]:
        """The people most like one profile, k or fewer, and their similarities."""
        key = mine.stars.indices.tobytes() + mine.stars.data.tobytes()
        if key not in self._chosen:
            budget = self.budget
            self._chosen[key] = self._nearest(mine) if budget is None else self._drawn(mine, budget)
        return self._chosen[key]

    def _nearest(self, mine: Profiles) -> tuple[Numbers, Floats]:
        """Of the largest positive cosines of tastes, ties by number."""
        taste = _tastes(mine)
        dots = (taste.T @ self._columns).toarray()[0]
        lengths = self._lengths * _lengths(taste)
        alike = np.divide(dots, lengths, out=np.zeros_like(dots), where=lengths > 0)
        alike[self._same(mine.stars)] = 0.0
        people = np.argsort(-alike, kind="stable")[: self.k]
        people = people[alike[people] > 0].astype(np.int32)
        return people, alike[people]

    def _drawn(self, mine: Profiles, budget: float) -> tuple[Numbers, Floats]:
        found = candidates(mine.stars.indices, mine.deviations, self._columns, self._lengths**2, 0)
        found = found.only(~self._same(mine.stars)[found.numbers])
        (people,), (similarities,) = drawn_neighbours([found], self.k, budget, self.source)
        there = people >= 0
        return people[there], similarities[there]

    @cached_property
    def _columns(self) -> sparse.csr_array:
        return _tastes(self.profiles)

    @cached_property
    def _lengths(self) -> Floats:
        return _lengths(self._columns)

    def _same(self, stars: sparse.csr_array) -> NDArray[np.bool_]:
        """(people,) whose profile has the same items with the same stars: they themselves."""
        every, wanted = self.profiles.stars, np.full(stars.shape[1], np.nan)
        wanted[stars.indices] = stars.data
        people = np.repeat(np.arange(every.shape[0]), np.diff(every.indptr))
        equal = np.bincount(people, every.data == wanted[every.indices], every.shape[0])
        same: NDArray[np.bool_] = (equal == stars.nnz) & (np.diff(every.indptr) == stars.nnz)
        return same


def _tastes(profiles: Profiles) -> sparse.csr_array:
    """(n_target, people) stars minus the item's mean: what people are compared by."""
    return profiles.matrix(profiles.deviations).T.tocsr()


def _lengths(columns: sparse.csr_array) -> Floats:
    return np.sqrt(np.bincount(columns.indices, columns.data**2, minlength=columns.shape[1]))
