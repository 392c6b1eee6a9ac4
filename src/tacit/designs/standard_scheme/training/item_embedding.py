"""Item embedding that devices may rank lists with: a few public numbers an item.

Source      ridge regression of all items on all items, G (G + penalty I)^-1 with G = X'X, kept
            along the leading eigenvectors of G. Without a penalty this is PureSVD (Cremonesi,
            Koren, Turrin: Performance of recommender algorithms on top-N recommendation tasks,
            RecSys 2010).
Runs at     the recommender; a person's own device ranks with it and their true stars.
Sees        the consenting people's ratings in the clear.
Releases    the numbers, if these people agree. As for the item-item weights, X'X is rounded to
            multiples of 5 before, and items with few raters are left out.
Cost        one dense array of items^2 float64.
Guarantee   none for the consenting people. A device that ranks with it sends nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import eigh
from threadpoolctl import threadpool_limits

from tacit.designs.standard_scheme.messages import LIKED
from tacit.designs.standard_scheme.server import weigh_levels
from tacit.designs.standard_scheme.training.item_weights import (
    list_eligible_items,
    rank_by_likes,
    sum_products,
)
from tacit.designs.standard_scheme.training.people import Floats, Ints

MOST_ITEMS = 5_000
"""Items with numbers, the most liked ones."""


@dataclass(frozen=True)
class ItemEmbedding:
    """Public numbers of items, by which a device ranks."""

    vectors: Floats
    """(items, size) numbers of each item; zeros for an item left out."""
    popularity_rank: Ints
    """(items,) rank of each item by number of likes, 0 for the most liked."""
    n_levels: int
    """Whole levels of the scale."""

    def keep_first_numbers(self, size: int) -> ItemEmbedding:
        """Keep the first numbers of each item: the embedding of that size."""
        return ItemEmbedding(self.vectors[:, :size], self.popularity_rank, self.n_levels)

    def preferences(self, levels: sparse.csr_array) -> Floats:
        """Rank items for people with these true levels.

        Args:
            levels: Shape (people, items).

        Returns:
            Shape (people, items). Items left out come last, by popularity, and a person who rated
            none of the others gets all items by popularity.
        """
        tastes = weigh_levels(levels, self.n_levels) @ self.vectors / LIKED
        preferences = np.asarray(tastes @ self.vectors.T)
        left_out = ~self.vectors.any(axis=1)
        lowest = preferences.min(axis=1, initial=0.0)
        preferences[:, left_out] = lowest[:, None] - 1.0 - self.popularity_rank[left_out]
        preferences[~tastes.any(axis=1)] = -self.popularity_rank
        return preferences


def fit_item_embedding(
    levels: sparse.csr_array, n_levels: int, penalty: float, size: int
) -> ItemEmbedding:
    """Fit an embedding of at most this size, largest directions first.

    Args:
        levels: Shape (people, items), of the consenting people.
        n_levels: Whole levels of the scale.
        penalty: Penalty of the ridge regression, as for the item-item weights.
        size: Numbers an item. Directions that the ratings do not have are zeros.
    """
    weights = weigh_levels(levels, n_levels)
    columns = list_eligible_items(weights, MOST_ITEMS)
    vectors = np.zeros((levels.shape[1], size))
    n_directions = min(size, len(columns))
    if n_directions:
        leading = (len(columns) - n_directions, len(columns) - 1)
        with threadpool_limits(1):  # with more, sums come in another order each time
            values, directions = eigh(
                sum_products(weights[:, columns]), subset_by_index=leading, overwrite_a=True
            )
        # An eigenvalue l of G is l / (l + penalty) in the ridge regression; the largest come first.
        shrunk = np.maximum(values[::-1], 0.0)
        shrunk /= shrunk + penalty
        vectors[columns, :n_directions] = directions[:, ::-1] * np.sqrt(shrunk)
    return ItemEmbedding(vectors, rank_by_likes(weights), n_levels)
