"""Lists from items that the same people like. No privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import (
    ListBaseline,
    history_row,
    like_matrix,
    like_rows,
    matrix_from_arrays,
    matrix_to_arrays,
    replace_values,
)
from tacit.recommenders.headers import Arrays, read_floats

BM25_SATURATION = 1.2
"""k1 of BM25, at its usual value."""
BM25_LENGTH = 0.1
"""b of BM25, from 0 to 1: how strongly a like is scaled down if its item has many likes. It was
chosen on ml-latest-small among .1, .3, .5 and the usual .75."""
_POPULARITY_WEIGHT = 1e-9
"""Weight of popularity in a score, so small that it orders only items whose sums of similarities
are equal or nearly equal."""
_ITEMS_PER_BLOCK = 500
"""Number of items whose similarities are computed at once."""


@dataclass(kw_only=True, eq=False, repr=False)
class ItemItem(ListBaseline):
    """Item-based neighbours for lists.

    An item's score is the sum of its similarities to the items that the person likes, as far as
    these are among its k nearest items.
    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001), on likes and for lists; BM25: Robertson and Zaragoza, The probabilistic
    relevance framework (2009), with items as documents and people as their words.

    Args:
        k: Number of nearest items of each item; items as similar as the k-th are kept too.
        weighting: How similar two items are: "cosine", the cosine of their columns of likes; or
            "bm25", the product of these columns after BM25 weighting.
    """

    k: int = 200
    weighting: str = "cosine"

    kind = "item-item"

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"There is at least one neighbour; got k={self.k}.")
        if self.weighting not in ("cosine", "bm25"):
            raise ConfigError(f"The weighting is cosine or bm25; got {self.weighting!r}.")

    def fit(self, ratings: Ratings) -> ItemItem:
        """Learn each item's nearest items and its popularity."""
        self._learn_items(ratings)
        likes = like_matrix(ratings)
        weighted = cosine_weights(likes) if self.weighting == "cosine" else bm25_weights(likes)
        self.similar_ = nearest_items(weighted, self.k)
        counts = np.bincount(likes.indices, minlength=ratings.n_items)
        self.popularity_: Floats = counts / max(1, int(counts.sum()))
        return self

    def _score(self, history: History) -> Floats:
        scores: Floats = self._score_rows(history_row(history, self.item_ids_))[0]
        return scores

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        votes = (like_rows(rows, rows.data >= self.liked_from_) @ self.similar_).toarray()
        return np.asarray(votes + _POPULARITY_WEIGHT * self.popularity_)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"popularity": self.popularity_, **matrix_to_arrays("similar", self.similar_)}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        items = len(self.item_ids_)
        self.popularity_ = read_floats(arrays, "popularity", items)
        self.similar_ = matrix_from_arrays(arrays, "similar", items, items)


def cosine_weights(likes: sparse.csr_array) -> sparse.csr_array:
    """Divide each column of likes by its Euclidean length, so that products of columns are cosines.

    Args:
        likes: (people, items) CSR with 1 for each like.
    """
    lengths = np.sqrt(np.maximum(_count_likes(likes), 1))
    return replace_values(likes, likes.data / lengths[likes.indices])


def bm25_weights(likes: sparse.csr_array) -> sparse.csr_array:
    """Return BM25 weights in place of likes.

    Let c be the item's number of likes, n the person's number of likes, k1 `BM25_SATURATION` and b
    `BM25_LENGTH`. The weight of a like is

        (k1 + 1) / (1 + k1 (1 - b + b c / mean(c))) * max(log(items) - log(1 + n), 0),

    where items is the number of items, but at least 2, and mean(c) is the mean over all items, but
    at least 1.

    Args:
        likes: (people, items) CSR with 1 for each like.
    """
    counts = _count_likes(likes)
    likes_of_person = np.diff(likes.indptr)
    rarity = np.log(max(likes.shape[1], 2)) - np.log1p(likes_of_person)
    average = max(float(counts.mean()), 1.0)
    scaled_length = BM25_SATURATION * (1 - BM25_LENGTH + BM25_LENGTH * counts / average)
    people = np.repeat(np.arange(len(likes_of_person)), likes_of_person)
    saturation = (BM25_SATURATION + 1) / (1 + scaled_length[likes.indices])
    return replace_values(likes, saturation * np.maximum(rarity, 0.0)[people])


def nearest_items(weighted: sparse.csr_array, k: int) -> sparse.csr_array:
    """Find for each item the k items with the largest similarity.

    The similarity of two items is the product of their columns. An item is not its own neighbour,
    and only positive similarities count. If several items are as similar as the k-th, all of them
    are kept.

    Args:
        weighted: (people, items) CSR of weights of likes.
        k: Number of neighbours.

    Returns:
        (items, items) CSR: column j has the similarities of item j to its neighbours.
    """
    columns = sparse.csc_array(weighted)
    items = columns.shape[1]
    rows = sparse.csr_array(columns.T)
    blocks = []
    for start in range(0, items, _ITEMS_PER_BLOCK):
        products = (rows @ columns[:, start : start + _ITEMS_PER_BLOCK]).toarray()
        block_items = np.arange(products.shape[1])
        products[start + block_items, block_items] = 0.0
        if k < items:
            kth_largest = np.partition(products, items - k, axis=0)[items - k]
            products[products < kth_largest] = 0.0
        blocks.append(sparse.csc_array(np.maximum(products, 0.0)))
    similar = sparse.csr_array(sparse.hstack(blocks))
    similar.sort_indices()
    return similar


def _count_likes(likes: sparse.csr_array) -> NDArray[np.int64]:
    """Return (items,) numbers of likes."""
    return np.bincount(likes.indices, minlength=likes.shape[1])
