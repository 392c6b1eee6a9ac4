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
"""k1 of BM25: how soon many people count no more."""
BM25_LENGTH = 0.1
"""b of BM25: how far long columns are scaled down; chosen on ml-latest-small among .1, .3, .5 and
.75, the usual value."""
_POPULARITY_WEIGHT = 1e-9
"""Orders items by popularity where nothing votes for them."""
_ITEMS_PER_BLOCK = 500


@dataclass(kw_only=True, eq=False, repr=False)
class ItemItem(ListBaseline):
    """A score is the sum of the similarities of an item's k nearest that the person likes.

    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001), on likes and for lists; BM25: Robertson and Zaragoza, The probabilistic
    relevance framework (2009), people being the words of an item.

    Args:
        k: How many nearest items vote.
        weighting: "cosine" of two items' columns of likes, or their product after "bm25" weights.
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
        """Learn each item's nearest, and how popular items are."""
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
    """(people, items) likes of 0 or 1 over the length of their column: products are cosines."""
    lengths = np.sqrt(np.maximum(_count_likes(likes), 1))
    return replace_values(likes, likes.data / lengths[likes.indices])


def bm25_weights(likes: sparse.csr_array) -> sparse.csr_array:
    """(people, items) BM25 weights of likes of 0 or 1: people with many likes count for less.

    (k1 + 1) / (1 + k1 (1 - b + b c / mean c)) * max(log(items) - log(1 + n), 0), with c the likes
    of the item and n those of the person.
    """
    counts = _count_likes(likes)
    likes_of_person = np.diff(likes.indptr)
    rarity = np.log(max(likes.shape[1], 2)) - np.log1p(likes_of_person)
    average = max(float(counts.mean()), 1.0)
    length = BM25_SATURATION * (1 - BM25_LENGTH + BM25_LENGTH * counts / average)
    people = np.repeat(np.arange(len(likes_of_person)), likes_of_person)
    saturation = (BM25_SATURATION + 1) / (1 + length[likes.indices])
    return replace_values(likes, saturation * np.maximum(rarity, 0.0)[people])


def nearest_items(weighted: sparse.csr_array, k: int) -> sparse.csr_array:
    """Keep the k largest products of columns above 0, ties too, but of an item with itself.

    Args:
        weighted: (people, items)
        k: How many of each item.

    Returns:
        (items, items) column j has those of item j.
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
            least = np.partition(products, items - k, axis=0)[items - k]
            products[products < least] = 0.0
        blocks.append(sparse.csc_array(np.maximum(products, 0.0)))
    similar = sparse.csr_array(sparse.hstack(blocks))
    similar.sort_indices()
    return similar


def _count_likes(likes: sparse.csr_array) -> NDArray[np.int64]:
    """(items,) likes of each item."""
    return np.bincount(likes.indices, minlength=likes.shape[1])
