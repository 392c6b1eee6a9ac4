"""Step 4, the Recommender: predicted stars in the target domain from people's profiles there.

Source   the X-Map paper. Item-based: the k items most like the one in question, those of them that
         the person rated, older ratings weighing less. User-based: the k people most like the
         person.
Deviations  without privacy neighbours have a positive similarity (an item unlike another says
         little about it); an item's mean is over people's own ratings, not over images; a rating's
         rank in time is its rank in the whole profile; predictions are not rounded.

With privacy, neighbours and their similarities are drawn: private_neighbours.py has PNSA and PNCF.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.baseliner import (
    center_stars,
    mean_stars_of_people,
    person_of_each_rating,
)
from tacit.designs.xmap.generator import Profiles
from tacit.designs.xmap.private_neighbours import (
    PrivateNeighbours,
    admit_candidates,
    draw_neighbours,
    measure_candidates,
)
from tacit.designs.xmap.sparse_rows import sparse_from_lists
from tacit.designs.xmap.voting_lists import mark_rated
from tacit.engine import Engine, Neighbours, Numbers, Table, nearest
from tacit.engine.item_item import no_neighbours
from tacit.randomness import Source

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ItemNeighbours:
    """The item-based model."""

    means: Floats
    """(n_target,) mean stars of the target items."""
    items: Numbers
    """(n_target, k) places of each item's neighbours in the target domain; -1 where fewer."""
    similarities: Floats
    """(n_target, k) similarities to the neighbours; noisy with privacy."""

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """(n_target, n_target): row i holds the similarities of i's neighbours."""
        return sparse_from_lists(self.items, self.similarities, width=len(self.means))

    @cached_property
    def _weight_of(self) -> sparse.csr_array:
        """(n_target, n_target): row j holds |similarity| to each item that j is a neighbour of."""
        return abs(self.matrix).T.tocsr()

    def predict(self, profiles: Profiles, alpha: float, engine: Engine) -> Floats:
        """Predict (people, n_target) stars; the item's mean where no neighbour is rated."""
        deviations = profiles.matrix(profiles.deviations)
        weights = profiles.matrix(recency_weights(profiles, alpha))
        return self.means + engine.predictions(deviations, weights, self.matrix)

    def support(self, profiles: Profiles, alpha: float) -> Floats:
        """(people, n_target) weight behind each prediction: the sum of |similarity| x recency."""
        weights = profiles.matrix(recency_weights(profiles, alpha))
        return np.asarray((weights @ self._weight_of).toarray(), dtype=np.float64)


def find_item_neighbours(
    table: Table, means: Floats, *, k: int, significance: int, engine: Engine
) -> ItemNeighbours:
    """Find every target item's k neighbours of the largest positive similarity.

    Args:
        table: Centred target profiles of everybody, AlterEgos included.
        means: (n_target,) mean stars of the target items.
        k: Neighbours of an item, at most.
        significance: Raters of both below which a similarity is scaled down; 0: never.
        engine: Computes similarities.
    """
    items = np.arange(table.values.shape[1], dtype=np.int32)
    find = partial(_find_positive, engine=engine, k=k, significance=significance)
    (found,) = nearest(table, [(items, items)], find, k)
    return ItemNeighbours(means, found.items, found.similarities)


def _find_positive(
    table: Table, of: Numbers, among: Numbers, *, engine: Engine, k: int, significance: int
) -> Neighbours:
    """Find the k nearest items of positive similarity.

    An engine ranks by |similarity|. So for items with too few positive ones among the first, twice
    as many are searched for, until there are k or no more.
    """
    found = no_neighbours(of, k)
    unfinished = np.arange(len(of))
    width = min(2 * k, len(among))
    while unfinished.size:
        wide = engine.neighbours(
            table, of=of[unfinished], among=among, k=width, significance=significance
        )
        positive = wide.similarities > 0
        order = np.argsort(~positive, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(positive, order, axis=1)
        columns = slice(0, order.shape[1])
        items = np.take_along_axis(wide.items, order, axis=1)
        found.items[unfinished, columns] = np.where(kept, items, -1)
        for result, searched in (
            (found.similarities, wide.similarities),
            (found.co_counts, wide.co_counts),
            (found.agreements, wide.agreements),
        ):
            values = np.take_along_axis(searched, order, axis=1)
            result[unfinished, columns] = np.where(kept, values, 0)
        too_few = positive.sum(axis=1) < k
        more_to_find = (wide.items[:, -1] >= 0) & (width < len(among))
        unfinished = unfinished[too_few & more_to_find]
        width = min(2 * width, len(among))
    return found


def recency_weights(profiles: Profiles, alpha: float) -> Floats:
    """(stored,) e^(-alpha (t - t_j)), with t_j the dense rank of each time in its profile.

    t is the rank of the person's latest rating, for only ratios matter. All weights are 1 without
    times or with alpha 0.
    """
    times = profiles.times
    if times is None or alpha == 0 or not len(times):
        return np.ones(profiles.stars.nnz)
    people = np.repeat(np.arange(profiles.stars.shape[0]), np.diff(profiles.stars.indptr))
    order = np.lexsort((times, people))
    later = (np.diff(times[order]) != 0) | (np.diff(people[order]) != 0)
    ranks = np.empty(len(times), dtype=np.int64)
    ranks[order] = np.concatenate([[0], later.cumsum()])
    last = np.zeros(profiles.stars.shape[0], dtype=np.int64)
    np.maximum.at(last, people, ranks)
    weights: Floats = np.exp(-alpha * (last[people] - ranks))
    return weights


@dataclass(frozen=True, eq=False)
class PeopleNeighbours:
    """The user-based model: stars from the k people most like a person. No guarantee.

    Source   the X-Map paper. PNSA and PNCF with the roles of people and items swapped: the report
             prints no formula of them.
    Sees     everybody's profile: the model is made of people, so no file holds it.

    With privacy, the people like a profile are drawn by PNSA. Drawn again, noise would average
    out; so they are remembered, as long as this object lives.
    """

    means: Floats
    """(n_target,) mean stars of the target items."""
    profiles: Profiles
    """Target profiles of everybody, AlterEgos included."""
    k: int
    """Neighbours of a person, at most."""
    pnsa: PrivateNeighbours | None
    """How neighbours are drawn; None without privacy."""
    source: Source
    """Where draws come from."""
    _remembered: dict[bytes, tuple[Numbers, Floats]] = field(default_factory=dict)

    def predict(self, profile: Profiles, *_: object) -> Floats:
        """Predict (1, n_target) stars of one profile.

        Stars are the profile's own mean, plus the mean deviation of similar people from their own
        means. A profile without ratings has the items' means in place of its own.
        """
        people, similarities = self.neighbours(profile)
        weight = self.support(profile)
        stars_of_people = self.profiles.stars[people]
        means_of_people = mean_stars_of_people(stars_of_people)
        deviations = center_stars(stars_of_people, means_of_people).values
        moved = np.divide(similarities @ deviations, weight, out=0 * weight, where=weight > 0)
        level = float(profile.stars.data.mean()) if profile.stars.nnz else self.means
        stars: Floats = level + moved
        return stars

    def support(self, profile: Profiles, *_: object) -> Floats:
        """(1, n_target) weight behind each prediction: the sum of |similarity|."""
        people, similarities = self.neighbours(profile)
        rated = mark_rated(self.profiles.stars[people]).values
        weights: Floats = np.abs(similarities) @ rated
        return weights[None]

    def neighbours(self, profile: Profiles) -> tuple[Numbers, Floats]:
        """Choose, once, the k or fewer people most like a profile, with their similarities."""
        key = profile.stars.indices.tobytes() + profile.stars.data.tobytes()
        if key not in self._remembered:
            self._remembered[key] = self._choose(profile)
        return self._remembered[key]

    def _choose(self, profile: Profiles) -> tuple[Numbers, Floats]:
        """Draw people by PNSA, or take those of the largest positive cosines, ties by number."""
        rated = profile.stars.indices
        deviations = profile.deviations
        everybody = measure_candidates(rated, deviations, self._columns, self._squares, 0)
        others = everybody.keep(~self._has_same_profile(profile.stars))
        if self.pnsa is None:
            alike = admit_candidates(others, "positive")
            order = np.argsort(-alike.similarities, kind="stable")[: self.k]
            return alike.numbers[order], alike.similarities[order]
        longest_profile = int(np.diff(self.profiles.stars.indptr).max(initial=0))
        longest_vector = max(profile.stars.nnz, longest_profile)
        admitted = admit_candidates(others, self.pnsa.reading)
        (people,), (similarities,) = draw_neighbours(
            [admitted], self.pnsa, longest_vector, self.source
        )
        there = people >= 0
        return people[there], similarities[there]

    @cached_property
    def _columns(self) -> sparse.csr_array:
        """(n_target, people) stars minus the item's mean: what people are compared by."""
        return self.profiles.matrix(self.profiles.deviations).T.tocsr()

    @cached_property
    def _squares(self) -> Floats:
        """(items,) sums of squares of each item's ratings."""
        columns = self._columns
        squares = np.bincount(columns.indices, columns.data**2, minlength=columns.shape[1])
        return squares.astype(np.float64)

    def _has_same_profile(self, stars: sparse.csr_array) -> NDArray[np.bool_]:
        """(people,) whether their profile has the same items and stars: it is the same person."""
        profiles = self.profiles.stars
        stars_of_items = np.full(stars.shape[1], np.nan)
        stars_of_items[stars.indices] = stars.data
        is_equal = profiles.data == stars_of_items[profiles.indices]
        equal = np.bincount(person_of_each_rating(profiles), is_equal, profiles.shape[0])
        lengths = np.diff(profiles.indptr)
        same: NDArray[np.bool_] = (equal == stars.nnz) & (lengths == stars.nnz)
        return same
