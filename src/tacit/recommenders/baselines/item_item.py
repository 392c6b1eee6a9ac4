"""Lists by votes: what a person likes votes for the items that are liked together with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import (
    Arrays,
    matrix_from_arrays,
    matrix_to_arrays,
    with_values,
)
from tacit.recommenders.baselines.likes import ListBaseline, like_matrix
from tacit.recommenders.files import shaped

K1, LENGTH = 1.2, 0.1
"""Of BM25: how soon many people count no more, and how far long columns are scaled down; the latter
was chosen on ml-latest-small among .1, .3, .5 and .75, the usual value."""
_TIES = 1e-9
_BLOCK = 500


class ItemItem(ListBaseline):
    """A score is the sum of the similarities of an item's k nearest that the person likes.

    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001), on likes and for lists; BM25: Robertson and Zaragoza, The probabilistic
    relevance framework (2009), people being the words of an item. No privacy.

    weighting: "cosine" of two items' columns of likes, or their product after "bm25" weights.
    What nothing votes for is ordered by popularity.
    """

    kind = "item-item"
    settings = ("k", "weighting")

    def __init__(self, *, k: int = 200, weighting: str = "cosine") -> None:
        if k < 1:
            raise ConfigError(f"There is at least one neighbour; got k={k}.")
        if weighting not in ("cosine", "bm25"):
            raise ConfigError(f"The weighting is cosine or bm25; got {weighting!r}.")
        self.k = k
        self.weighting = weighting

    def fit(self, ratings: Ratings) -> ItemItem:
        self._learn_items(ratings)
        likes = like_matrix(ratings)
        weighted = cosine_weights(likes) if self.weighting == "cosine" else bm25_weights(likes)
        self.similar_ = nearest(weighted, self.k)
        counts = np.bincount(likes.indices, minlength=ratings.n_items)
        self.popularity_: Floats = counts / max(1, int(counts.sum()))
        return self

    def _score(self, history: History) -> Floats:
        votes = (self._likes(history) @ self.similar_).toarray()[0]
        scores: Floats = votes + _TIES * self.popularity_
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"popularity": self.popularity_, **matrix_to_arrays("similar", self.similar_)}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        self.popularity_ = shaped(arrays, "popularity", len(self.item_ids_))
        self.similar_ = matrix_from_arrays("similar", arrays, len(self.item_ids_))
        if self.similar_.shape[0] != len(self.item_ids_):
            raise ValueError("the similarities do not fit the list of items")


def cosine_weights(likes: sparse.csr_array) -> sparse.csr_array:
    """(people, items) likes of 0 or 1 over the length of their column: products are cosines."""
    lengths = np.sqrt(np.maximum(_counts(likes), 1))
    return with_values(likes, likes.data / lengths[likes.indices])


def bm25_weights(likes: sparse.csr_array) -> sparse.csr_array:
    """(people, items) BM25 weights of likes of 0 or 1: people with many likes count for less."""
    counts = _counts(likes)
    own = np.diff(likes.indptr)
    rarity = np.log(max(likes.shape[1], 2)) - np.log1p(own)  # fewer likes than items: above 0
    average = max(float(counts.mean()), 1.0)
    length = K1 * (1 - LENGTH + LENGTH * counts / average)
    people = np.repeat(np.arange(len(own)), own)
    weights = (K1 + 1) / (1 + length[likes.indices]) * np.maximum(rarity, 0.0)[people]
    return with_values(likes, weights)


def nearest(weighted: sparse.csr_array, k: int) -> sparse.csr_array:
    """(items, items) products of columns; column j keeps the k largest of item j, ties too.

    Only products above 0 are kept, and none of an item with itself.
    """
    columns = sparse.csc_array(weighted)
    items = columns.shape[1]
    rows = sparse.csr_array(columns.T)
    blocks = []
    for start in range(0, items, _BLOCK):
        products = (rows @ columns[:, start : start + _BLOCK]).toarray()
        own = np.arange(products.shape[1])
        products[start + own, own] = 0.0
        if k < items:
            least = np.partition(products, items - k, axis=0)[items - k]
            products[products < least] = 0.0
        blocks.append(sparse.csc_array(np.maximum(products, 0.0)))
    found = sparse.csr_array(sparse.hstack(blocks))
    found.sort_indices()
    return found


def _counts(likes: sparse.csr_array) -> NDArray[np.int64]:
    return np.bincount(likes.indices, minlength=likes.shape[1])
