"""Item-item weights for lists: which items people like together.

Source      Steck (WWW 2019), as in `tacit.engine.ridge`.
Runs at     the recommender.
Sees        the consenting people's true stars.
Releases    nothing by itself. Anyone who holds B can compute X'X from it: how many people like two
            items. So X'X is rounded to multiples of 5 before B is made of it, items with few raters
            are left out, weights are rounded to 1/1000, and at most 256 of an item are kept. That
            is no guarantee.
Cost        one dense array of n_items^2 float64, twice that while the penalty is chosen.
Deviations  weights are 1 for a star in the top two fifths of the scale and 0.3 for another one,
            where the paper has 1 for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from tacit.designs.standard_scheme.messages import (
    CONTINUOUS_LEVELS,
    LARGEST_COLUMN,
    LIKED,
    ItemTable,
    liked_levels,
)
from tacit.designs.standard_scheme.training.disclosure import FEWEST
from tacit.designs.standard_scheme.training.estimates import ROUNDED_TO, rounded
from tacit.designs.standard_scheme.training.statistics import chosen, with_data
from tacit.engine.ridge import gram, item_weights

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Simulate = Callable[[sparse.csr_array, Ints], sparse.csr_array]
"""What devices would release of the levels of these people; the second: their numbers."""

PENALTIES = (50, 150, 400, 500, 1000, 2000)
MOST_ITEMS = 10_000
ITEMS_TO_CHOOSE_ON = 2_000
"""The penalty grows with the people and not with the items: it is chosen on the most liked ones."""
UNIT = 1000
"""Parts of 1 in which weights are stored."""
AT_HOME, SERVED = LIKED * UNIT, 1000
"""Parts of 1 in which a preference is given on the device, and by the recommender."""
_LEFT_OUT_PEOPLE = 500
_LEFT_OUT = 0.3
_LIST = 10


@dataclass(frozen=True)
class Ease:
    """Item-item weights and the order of items for a person about whom nothing is known.

    weights      (items, items) CSC int64 in 1/1000; the column of an item left out is empty
    popularity   (items,) place of each item by likes, 0 for the most liked
    n_levels     whole levels of the scale
    """

    weights: sparse.csc_array
    popularity: Ints
    n_levels: int

    @property
    def inside(self) -> NDArray[np.bool_]:
        """(items,) which items are ranked by weights."""
        found: NDArray[np.bool_] = np.diff(self.weights.indptr) > 0
        return found

    def preferences(self, levels: sparse.csr_array, stars: Floats) -> Ints:
        """(people, items) preferences in thousandths, for released (people, items) CSR levels.

        stars: (people, items) predicted levels. They order the items left out, below all others.
        Where a person shows no item that has weights, items are ordered by popularity.
        """
        inside = self.inside
        shown = weigh(levels, self.n_levels)
        sums = (shown @ self._rows).toarray()
        found: Ints = (sums + AT_HOME // SERVED // 2) // (AT_HOME // SERVED)
        found[shown @ inside.astype(np.int64) == 0] = -self.popularity
        rest = np.flatnonzero(~inside)
        lowest = found[:, inside].min(axis=1, initial=0)
        order = np.argsort(-stars[:, rest], axis=1, kind="stable")
        found[:, rest] = lowest[:, None] - 1 - np.argsort(order, axis=1)
        return found

    @cached_property
    def _rows(self) -> sparse.csr_array:
        """The weights in the order in which a few people's preferences are summed."""
        return sparse.csr_array(self.weights)

    def table(self, disclosure: str) -> ItemTable:
        """What devices rank with, for the disclosure with this digest."""
        ends = self.weights.indptr.tolist()
        rows, weights = self.weights.indices.tolist(), self.weights.data.tolist()
        columns = tuple(
            (tuple(rows[start:end]), tuple(weights[start:end])) for start, end in pairwise(ends)
        )
        return ItemTable(disclosure, liked_levels(self.n_levels), columns)


def fit_ease(levels: sparse.csr_array, n_levels: int, simulate: Simulate, *, seed: int = 0) -> Ease:
    """The weights of (people, items) CSR levels, with the penalty that ranks left-out likes best.

    n_levels: whole levels of the scale, 0 for a continuous one. The seed draws who is left out.
    """
    n_levels = n_levels or CONTINUOUS_LEVELS + 1
    with threadpool_limits(1):
        penalty = choose_penalty(levels, n_levels, simulate, seed=seed)
        return ease(levels, n_levels, penalty)


def ease(levels: sparse.csr_array, n_levels: int, penalty: float) -> Ease:
    """The weights at one penalty."""
    weights = weigh(levels, n_levels)
    kept = eligible(weights, MOST_ITEMS)
    dense = item_weights(products(weights[:, kept]), penalty)
    popularity = np.empty(levels.shape[1], dtype=np.int64)
    popularity[_most_liked(weights)] = np.arange(levels.shape[1])
    return Ease(_stored(dense, kept, levels.shape[1]), popularity, n_levels)


def choose_penalty(
    levels: sparse.csr_array, n_levels: int, simulate: Simulate, *, seed: int = 0
) -> int:
    """The one of PENALTIES with the best NDCG@10 on left-out likes of left-out people."""
    generator = np.random.default_rng(seed)
    n_people = levels.shape[0]
    held = generator.permutation(n_people)[: min(_LEFT_OUT_PEOPLE, n_people // 5)]
    weights = weigh(levels, n_levels)
    kept = eligible(weights, ITEMS_TO_CHOOSE_ON)
    together = products(weights[np.setdiff1d(np.arange(n_people), held)][:, kept])
    rated = levels[held]
    left_out = generator.random(rated.nnz) < _LEFT_OUT
    now, later = chosen(rated, ~left_out), chosen(rated, left_out)
    shown = weigh(simulate(now, held), n_levels)[:, kept].astype(float)
    liked = weigh(later, n_levels)[:, kept].toarray() == LIKED
    seen = now[:, kept].astype(bool).toarray()

    def quality(penalty: int) -> tuple[float, int]:
        scores = shown @ item_weights(together.copy(order="F"), penalty)
        return _ndcg(np.where(seen, -np.inf, scores), liked), penalty

    return max(PENALTIES, key=quality)


def weigh(levels: sparse.csr_array, n_levels: int) -> sparse.csr_array:
    """CSR int64 of what each level counts for, in tenths; released levels count as the nearest."""
    whole = np.clip(np.floor(levels.data + 0.5), 0, n_levels - 1).astype(np.int64)
    counts = np.array(liked_levels(n_levels))[whole]
    return with_data(levels, counts)


def eligible(weights: sparse.csr_array, most: int) -> Ints:
    """Numbers of the `most` most liked items, ascending; those with few raters are left out."""
    raters = np.bincount(weights.indices, minlength=weights.shape[1])
    order = _most_liked(weights)
    kept: Ints = np.sort(order[raters[order] >= FEWEST][:most])
    return kept


def products(weights: sparse.csr_array) -> Floats:
    """(items, items) X'X in Fortran order, for X in units of 1, to the nearest multiples of 5."""
    found = gram(weights / LIKED)
    found /= ROUNDED_TO
    np.round(found, out=found)
    found *= ROUNDED_TO
    return found


def _stored(dense: Floats, kept: Ints, n_items: int) -> sparse.csc_array:
    """The largest weights of each column as whole numbers, among all items."""
    rows, weights = [], []
    sizes = np.zeros(n_items, dtype=np.int64)
    for column, item in enumerate(kept):
        whole = np.round(dense[:, column] * UNIT).astype(np.int64)
        largest = np.argsort(-np.abs(whole), kind="stable")[:LARGEST_COLUMN]
        largest = np.sort(largest[whole[largest] != 0])
        rows.append(kept[largest])
        weights.append(whole[largest])
        sizes[item] = len(largest)
    return sparse.csc_array(
        (
            np.concatenate([*weights, np.empty(0, np.int64)]),
            np.concatenate([*rows, np.empty(0, np.int64)]),
            np.concatenate([[0], np.cumsum(sizes)]),
        ),
        shape=(n_items, n_items),
    )


def _most_liked(weights: sparse.csr_array) -> Ints:
    """Numbers of all items by how many like them, and then by how many rated them, in fives."""
    size = weights.shape[1]
    likes = np.bincount(weights.indices, weights.data == LIKED, minlength=size).astype(float)
    raters = np.bincount(weights.indices, minlength=size).astype(float)
    return np.lexsort((-rounded(raters), -rounded(likes)))


def _ndcg(scores: Floats, liked: NDArray[np.bool_]) -> float:
    """Mean NDCG@10 over the people who like something; 0 where nobody does."""
    discounts = 1.0 / np.log2(np.arange(2, _LIST + 2))[: scores.shape[1]]
    best = np.argsort(-scores, axis=1, kind="stable")[:, :_LIST]
    gained = np.take_along_axis(liked, best, axis=1) @ discounts
    possible = np.append(0.0, np.cumsum(discounts))[np.minimum(liked.sum(axis=1), len(discounts))]
    some = possible > 0
    return float((gained[some] / possible[some]).mean()) if some.any() else 0.0
