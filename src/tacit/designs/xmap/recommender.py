"""Step 4, the Recommender: predicted stars in the target domain from people's profiles there.

Source   the X-Map paper. Item-based: the prediction for an item is computed from the person's
         ratings of its k most similar items; with an alpha above 0 older ratings weigh less.
         User-based: the prediction is computed from the ratings of the k people most similar to the
         person.
Deviations  without privacy only items or people of positive similarity are neighbours, because an
         item that is unlike another says little about it. An item's mean is over people's own
         ratings, not over images. A rating's rank in time is its rank in the whole profile.
         Predictions are not rounded.

With privacy, PNSA draws the neighbours and PNCF adds noise to their similarities
(private_neighbours.py).
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
    NeighbourParameters,
    admit_candidates,
    draw_neighbours,
    measure_candidates,
)
from tacit.designs.xmap.sparse_rows import sparse_from_lists
from tacit.designs.xmap.voting_lists import mark_rated
from tacit.engine import Engine, Neighbours, Numbers, Table, find_nearest
from tacit.engine.item_item import make_empty_lists
from tacit.randomness import Source

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ItemNeighbours:
    """The item-based model: neighbours of each target item, with their similarities."""

    means: Floats
    """(n_target,) mean stars of the target items."""
    items: Numbers
    """(n_target, k) positions of each item's neighbours in the target domain; -1 if there are fewer
    than k."""
    similarities: Floats
    """(n_target, k) similarities to the neighbours; noisy with privacy."""

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """(n_target, n_target): row i holds the similarities of item i's neighbours."""
        return sparse_from_lists(self.items, self.similarities, width=len(self.means))

    @cached_property
    def _weights_by_neighbour(self) -> sparse.csr_array:
        """(n_target, n_target): row j holds |similarity| to each item that has j as a neighbour."""
        return abs(self.matrix).T.tocsr()

    def predict(self, profiles: Profiles, alpha: float, engine: Engine) -> Floats:
        """Predict (people, n_target) stars; the item's mean if none of its neighbours is rated.

        The sums are over the neighbours j of item i that are in the person's profile. s_ij is the
        similarity of i and j, w_j the weight of the rating of j by its age, and d_j its deviation
        (`Profiles.deviations`):

            stars of i = mean of i + (sum of s_ij w_j d_j) / (sum of |s_ij| w_j)

        Args:
            profiles: Target profiles of the people.
            alpha: How fast old ratings lose weight, for each rank in time.
            engine: Computes the sums.
        """
        deviations = profiles.matrix(profiles.deviations)
        weights = profiles.matrix(recency_weights(profiles, alpha))
        return self.means + engine.predictions(deviations, weights, self.matrix)

    def support(self, profiles: Profiles, alpha: float) -> Floats:
        """Compute the (people, n_target) weight that each prediction is based on.

        It is the denominator of `predict`: the sum of |s_ij| w_j over the rated neighbours.

        Args:
            profiles: Target profiles of the people.
            alpha: How fast old ratings lose weight, for each rank in time.
        """
        weights = profiles.matrix(recency_weights(profiles, alpha))
        return np.asarray((weights @ self._weights_by_neighbour).toarray(), dtype=np.float64)


def find_item_neighbours(
    table: Table, means: Floats, *, k: int, significance: int, engine: Engine
) -> ItemNeighbours:
    """Find every target item's neighbours: at most k items, of the largest positive similarity.

    Args:
        table: Everybody's centred target profiles (AlterEgos).
        means: (n_target,) mean stars of the target items.
        k: Largest number of neighbours of an item.
        significance: A similarity is scaled down if fewer people than this rated both items; 0:
            never.
        engine: Computes similarities.
    """
    items = np.arange(table.values.shape[1], dtype=np.int32)
    find = partial(_find_positive, engine=engine, k=k, significance=significance)
    (neighbours,) = find_nearest(table, [(items, items)], find, k)
    return ItemNeighbours(means, neighbours.neighbours, neighbours.similarities)


def _find_positive(
    table: Table, items: Numbers, candidates: Numbers, *, engine: Engine, k: int, significance: int
) -> Neighbours:
    """Find for each item at most k candidates, those of the largest positive similarity.

    The engine ranks by |similarity|. If fewer than k of an item's first 2 k neighbours have a
    positive similarity, the search is repeated for twice as many, until there are k of positive
    similarity or no more candidates.

    Args:
        table: Everybody's centred target profiles.
        items: Numbers of the items whose neighbours are searched for.
        candidates: Numbers of the items that can be neighbours.
        engine: Computes similarities.
        k: Largest number of neighbours of an item.
        significance: A similarity is scaled down if fewer people than this rated both items; 0:
            never.
    """
    result = make_empty_lists(items, k)
    unfinished = np.arange(len(items))  # positions in `items`
    n_searched = min(2 * k, len(candidates))
    while unfinished.size:
        searched = engine.neighbours(
            table,
            items=items[unfinished],
            candidates=candidates,
            k=n_searched,
            significance=significance,
        )
        is_positive = searched.similarities > 0
        # Positions of the first k positive neighbours in their order; if there are fewer, positions
        # of other neighbours follow, which are not used.
        order = np.argsort(~is_positive, axis=1, kind="stable")[:, :k]
        is_used = np.take_along_axis(is_positive, order, axis=1)
        columns = slice(0, order.shape[1])
        neighbours = np.take_along_axis(searched.neighbours, order, axis=1)
        result.neighbours[unfinished, columns] = np.where(is_used, neighbours, -1)
        for result_values, searched_values in (
            (result.similarities, searched.similarities),
            (result.co_counts, searched.co_counts),
            (result.agreements, searched.agreements),
        ):
            values = np.take_along_axis(searched_values, order, axis=1)
            result_values[unfinished, columns] = np.where(is_used, values, 0)
        has_too_few = is_positive.sum(axis=1) < k
        has_more = (searched.neighbours[:, -1] >= 0) & (n_searched < len(candidates))
        unfinished = unfinished[has_too_few & has_more]
        n_searched = min(2 * n_searched, len(candidates))
    return result


def recency_weights(profiles: Profiles, alpha: float) -> Floats:
    """Compute the weight of each rating by its age: (stored,) e^(-alpha (t - t_j)).

    t_j is the rank of the rating's time in its profile: equal times share a rank, and the next
    later time has the next rank. t is the rank of the profile's latest rating. All weights are 1 if
    times are unknown or alpha is 0.
    """
    times = profiles.times
    if times is None or alpha == 0 or not len(times):
        return np.ones(profiles.stars.nnz)
    people = person_of_each_rating(profiles.stars)
    # Ranks continue from one person to the next: only differences within a person are used.
    order = np.lexsort((times, people))
    has_next_rank = (np.diff(times[order]) != 0) | (np.diff(people[order]) != 0)
    ranks = np.empty(len(times), dtype=np.int64)
    ranks[order] = np.concatenate([[0], has_next_rank.cumsum()])
    latest_rank = np.zeros(profiles.stars.shape[0], dtype=np.int64)
    np.maximum.at(latest_rank, people, ranks)
    weights: Floats = np.exp(-alpha * (latest_rank[people] - ranks))
    return weights


@dataclass(frozen=True, eq=False)
class PeopleNeighbours:
    """The user-based model: stars from the k people most similar to a person. No guarantee.

    Source   the X-Map paper. With privacy, PNSA and PNCF are used with the roles of people and
             items swapped; the report prints no formula for this.
    Sees     everybody's profile. The model consists of people's profiles, so no file holds it.

    The mean of repeated draws for one profile would have hardly any noise, so this object stores
    the first draw and uses it again.
    """

    means: Floats
    """(n_target,) mean stars of the target items."""
    profiles: Profiles
    """Everybody's target profiles (AlterEgos)."""
    k: int
    """Largest number of neighbours of a person."""
    pnsa: NeighbourParameters | None
    """How neighbours are drawn; None without privacy."""
    source: Source
    """Where draws come from."""
    _neighbours_of: dict[bytes, tuple[Numbers, Floats]] = field(default_factory=dict)
    """Stored neighbours and similarities, by the bytes of a profile's items and stars."""

    def predict(self, profile: Profiles, *_: object) -> Floats:
        """Predict the (1, n_target) stars of one profile.

        The sums are over the profile's neighbours p who rated item i. s_p is the similarity of p:

            stars of i = mean of the profile + (sum of s_p (stars of p for i - mean of p))
                                               / (sum of |s_p|)

        For a profile without ratings the first term is the item's mean. The second term is 0 if no
        neighbour rated the item. Further arguments are those of `ItemNeighbours.predict`, and have
        no effect.
        """
        people, similarities = self.neighbours(profile)
        weight = self.support(profile)
        stars_of_people = self.profiles.stars[people]
        means_of_people = mean_stars_of_people(stars_of_people)
        deviations = center_stars(stars_of_people, means_of_people).values
        weighted_sum = similarities @ deviations
        deviation = np.divide(weighted_sum, weight, out=np.zeros_like(weight), where=weight > 0)
        mean = float(profile.stars.data.mean()) if profile.stars.nnz else self.means
        stars: Floats = mean + deviation
        return stars

    def support(self, profile: Profiles, *_: object) -> Floats:
        """Compute the (1, n_target) weight that each prediction is based on.

        It is the sum of |similarity| of the neighbours who rated the item. Further arguments are
        those of `ItemNeighbours.support`, and have no effect.
        """
        people, similarities = self.neighbours(profile)
        rated = mark_rated(self.profiles.stars[people]).values
        weights: Floats = np.abs(similarities) @ rated
        return weights[None]

    def neighbours(self, profile: Profiles) -> tuple[Numbers, Floats]:
        """Return the n neighbours of a profile, at most k, and their similarities: (n,) and (n,).

        They are chosen at the first call for a profile, and stored. Of several threads that choose
        for one profile at once, all return what the first of them stored.
        """
        key = profile.stars.indices.tobytes() + profile.stars.data.tobytes()
        stored = self._neighbours_of.get(key)
        if stored is None:
            stored = self._neighbours_of.setdefault(key, self._choose(profile))
        return stored

    def _choose(self, profile: Profiles) -> tuple[Numbers, Floats]:
        """Choose the neighbours of a profile among all people with another profile.

        With privacy PNSA draws them, and PNCF adds noise to their similarities. Otherwise they are
        at most k people, of the largest positive similarity; of people with equal similarities, the
        one with the smaller number goes first.
        """
        rated = profile.stars.indices
        deviations = profile.deviations
        everybody = measure_candidates(rated, deviations, self._columns, self._squares, 0)
        others = everybody.where(~self._has_same_profile(profile.stars))
        if self.pnsa is None:
            similar = admit_candidates(others, "positive")
            order = np.argsort(-similar.similarities, kind="stable")[: self.k]
            return similar.numbers[order], similar.similarities[order]
        longest_profile = int(np.diff(self.profiles.stars.indptr).max(initial=0))
        longest_vector = max(profile.stars.nnz, longest_profile)
        candidates = admit_candidates(others, self.pnsa.reading)
        (people,), (similarities,) = draw_neighbours(
            [candidates], self.pnsa, longest_vector, self.source
        )
        is_drawn = people >= 0
        return people[is_drawn], similarities[is_drawn]

    @cached_property
    def _columns(self) -> sparse.csr_array:
        """(n_target, people) deviations of everybody's profiles, by which people are compared."""
        return self.profiles.matrix(self.profiles.deviations).T.tocsr()

    @cached_property
    def _squares(self) -> Floats:
        """(people,) squared norm of each person's column."""
        columns = self._columns
        squares = np.bincount(columns.indices, columns.data**2, minlength=columns.shape[1])
        return squares.astype(np.float64)

    def _has_same_profile(self, stars: sparse.csr_array) -> NDArray[np.bool_]:
        """Return (people,) whether a person's profile has the same items and stars as one profile.

        Such a person may be the one whose profile it is, and nobody is their own neighbour.

        Args:
            stars: (1, n_target) CSR of the one profile.
        """
        profiles = self.profiles.stars
        stars_of_items = np.full(stars.shape[1], np.nan)
        stars_of_items[stars.indices] = stars.data
        is_equal = profiles.data == stars_of_items[profiles.indices]
        n_equal = np.bincount(person_of_each_rating(profiles), is_equal, profiles.shape[0])
        n_ratings = np.diff(profiles.indptr)
        is_same: NDArray[np.bool_] = (n_equal == stars.nnz) & (n_ratings == stars.nnz)
        return is_same
