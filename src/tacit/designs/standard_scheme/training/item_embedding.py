"""Item embedding by which devices could rank lists: a few public numbers for each item.

Experiments compare its lists with those made from releases; models do not publish it.

Source      ridge regression of all items on all items, G (G + penalty I)^-1 with G = X'X, X as in
            `item_weights`, restricted to the leading eigenvectors of G. Without a penalty this is
            PureSVD (Cremonesi, Koren, Turrin: Performance of recommender algorithms on top-N
            recommendation tasks, RecSys 2010).
Runs at     the recommender fits it; a person's own device ranks by it and by their true stars.
Sees        the consenting people's ratings in the clear.
Releases    nothing here; published with these people's consent, it would release the numbers. As
            for the item-item weights, X'X is rounded to multiples of 5 first, and items with few
            raters are left out.
Cost        one dense array of float64, of MOST_ITEMS^2 at most.
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
"""Largest number of items that get a vector: the most liked ones. All other vectors are zero."""


@dataclass(frozen=True)
class ItemEmbedding:
    """Public numbers of items, by which a device ranks."""

    vectors: Floats
    """(items, size) numbers of each item, the leading directions first; zeros for an item that is
    left out."""
    popularity_rank: Ints
    """(items,) rank of each item by number of likes, 0 for the most liked."""
    n_levels: int
    """Number of whole levels of the scale."""

    def keep_first_numbers(self, size: int) -> ItemEmbedding:
        """Return the embedding with only the first `size` numbers of each item."""
        return ItemEmbedding(self.vectors[:, :size], self.popularity_rank, self.n_levels)

    def preferences(self, levels: sparse.csr_array) -> Floats:
        """Compute preferences for items, by which lists are ranked, from true levels.

        With w the weights of a person's levels and V the numbers of items: w V V'. Items that are
        left out come below all others, the more popular ones first. A person who rated only such
        items, or none, gets all items in order of popularity.

        Args:
            levels: (people, items) CSR of true levels.

        Returns:
            (people, items) preferences; a larger one is ranked higher.
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
    """Fit an embedding to the levels of consenting people.

    Args:
        levels: (people, items) CSR of true levels.
        n_levels: Number of whole levels of the scale.
        penalty: Penalty of the ridge regression, as for the item-item weights.
        size: How many numbers each item gets. If fewer items are eligible, the last numbers are
            zeros.
    """
    weights = weigh_levels(levels, n_levels)
    columns = list_eligible_items(weights, MOST_ITEMS)
    vectors = np.zeros((levels.shape[1], size))
    n_directions = min(size, len(columns))
    if n_directions:
        # `eigh` numbers the eigenvalues in ascending order: these are the largest ones.
        leading = (len(columns) - n_directions, len(columns) - 1)
        with threadpool_limits(1):  # with more threads, the order of sums changes between runs
            values, directions = eigh(
                sum_products(weights[:, columns]), subset_by_index=leading, overwrite_a=True
            )
        # An eigenvalue l of G becomes l / (l + penalty) in the ridge regression. The order is
        # reversed, so that the largest comes first.
        shrunk = np.maximum(values[::-1], 0.0)
        shrunk /= shrunk + penalty
        vectors[columns, :n_directions] = directions[:, ::-1] * np.sqrt(shrunk)
    return ItemEmbedding(vectors, rank_by_likes(weights), n_levels)
