"""Lists from what is liked together: weights in closed form, votes of items, latent factors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from tacit.data.domains import items_in
from tacit.data.ratings import Ratings
from tacit.engine.ridge import gram, item_weights
from tacit.errors import ConfigError, MissingExtra
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import (
    Arrays,
    ListBaseline,
    as_row,
    like_matrix,
    liked_rows,
    with_values,
)
from tacit.recommenders.inputs import checked_ratings, shaped

MOST_ITEMS = 30_000
REST = 0.4
"""What a rating below a like counts for in the ridge regression; a like counts for 1."""
K1, LENGTH = 1.2, 0.1
"""Of BM25: how soon many people count no more, and how far long columns are scaled down; the latter
was chosen on ml-latest-small among .1, .3, .5 and .75, the usual value."""
_TIES = 1e-9
_BLOCK = 500


@dataclass(kw_only=True, eq=False, repr=False)
class EASE(ListBaseline):
    """A score is the sum of an item's weights with what the person likes. No privacy.

    Source: Steck, Embarrassingly shallow autoencoders for sparse data (WWW 2019), on likes.
    penalty: of the ridge regressions, in likes. The model holds n_items^2 numbers.
    """

    penalty: float = 300.0

    kind = "ease"
    held = (("weights", "weights_", "items", "items"),)

    def __post_init__(self) -> None:
        _check_penalty(self.penalty)

    def fit(self, ratings: Ratings) -> EASE:
        checked_ratings(ratings)
        _refuse_many(ratings.n_items)
        self._learn_items(ratings)
        with threadpool_limits(1):
            made = item_weights(gram(like_matrix(ratings)), self.penalty)
        self.weights_: Floats = np.ascontiguousarray(made)
        return self

    def _score(self, history: History) -> Floats:
        return np.asarray(self.weights_[self._likes(history).indices].sum(axis=0))


@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(ListBaseline):
    """Likes in one domain from ratings in another, by one ridge regression without intercept. Items
    of other domains have score 0. No privacy."""

    source: str
    target: str
    penalty: float = 300.0

    kind = "ridge"

    def __post_init__(self) -> None:
        _check_penalty(self.penalty)

    def fit(self, ratings: Ratings) -> Ridge:
        self._learn_items(ratings)
        self.from_ = items_in(ratings, self.source)
        self.to_ = items_in(ratings, self.target)
        _refuse_many(len(self.from_))
        known = like_matrix(ratings, rest=REST)[:, self.from_]
        liked = like_matrix(ratings)[:, self.to_]
        normal = gram(known)
        normal[np.diag_indices(len(normal))] += self.penalty
        with threadpool_limits(1):
            self.weights_: Floats = np.linalg.solve(normal, (known.T @ liked).toarray())
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        row = liked_rows(own, own.data >= self.liked_from_, rest=REST)[:, self.from_]
        scores: Floats = np.zeros(len(self.item_ids_))
        scores[self.to_] = (row @ self.weights_)[0]
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"weights": self.weights_, "from": self.from_, "to": self.to_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        self.from_, self.to_ = (shaped(arrays, name, None) for name in ("from", "to"))
        self.weights_ = shaped(arrays, "weights", len(self.from_), len(self.to_))


def _check_penalty(penalty: float) -> None:
    if not 0 < penalty < math.inf:
        raise ConfigError(f"The penalty is a finite number above 0; got {penalty}.")


def _refuse_many(items: int) -> None:
    if items > MOST_ITEMS:
        raise ConfigError(
            f"{items} items: this needs 8 bytes for each pair of items, and takes {MOST_ITEMS} at "
            "most. Use item-item or als, or leave out rare items with --per-item."
        )


@dataclass(kw_only=True, eq=False, repr=False)
class ALS(ListBaseline):
    """Alternating least squares on likes, everything else being a weak dislike. No privacy.

    Source: Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets (ICDM
    2008). weight: confidence of a like; what is not liked has 1. A fit without the package
    `implicit` is a MissingExtra. random_state places the start only. The settings were chosen on
    ml-latest-small.
    """

    factors: int = 64
    regularization: float = 30.0
    weight: float = 5.0
    sweeps: int = 15
    random_state: int = 0

    kind = "als"
    held = (("factors", "item_factors_", "items", "factors"),)

    def __post_init__(self) -> None:
        enough = 1 <= self.factors <= 10_000 and self.sweeps >= 1
        if not (enough and 0 < self.regularization < 1e9 and 1 <= self.weight < 1e9):
            raise ConfigError(
                "Factors are 1 to 10,000, sweeps at least 1, the regularization is above 0, and "
                "the weight of a like is 1 or more; both are below 1e9."
            )

    def fit(self, ratings: Ratings) -> ALS:
        checked_ratings(ratings)
        try:
            from implicit.als import AlternatingLeastSquares
        except ImportError:
            raise MissingExtra("implicit", "als") from None
        self._learn_items(ratings)
        with threadpool_limits(1, "blas"):
            model = AlternatingLeastSquares(
                factors=self.factors,
                regularization=self.regularization,
                alpha=self.weight,
                iterations=self.sweeps,
                random_state=self.random_state,
                dtype=np.float64,
                num_threads=1,
                use_gpu=False,
            )
            model.fit(sparse.csr_matrix(like_matrix(ratings)), show_progress=False)
        self.item_factors_: Floats = np.asarray(model.item_factors, dtype=np.float64)
        return self

    def _score(self, history: History) -> Floats:
        liked = self.item_factors_[self._likes(history).indices]
        everything = self.item_factors_.T @ self.item_factors_
        normal = everything + (self.weight - 1) * (liked.T @ liked)
        normal[np.diag_indices(len(normal))] += self.regularization
        person = np.linalg.solve(normal, self.weight * liked.sum(axis=0))
        return self.item_factors_ @ person


@dataclass(kw_only=True, eq=False, repr=False)
class ItemItem(ListBaseline):
    """A score is the sum of the similarities of an item's k nearest that the person likes.

    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001), on likes and for lists; BM25: Robertson and Zaragoza, The probabilistic
    relevance framework (2009), people being the words of an item. No privacy.

    weighting: "cosine" of two items' columns of likes, or their product after "bm25" weights.
    What nothing votes for is ordered by popularity.
    """

    k: int = 200
    weighting: str = "cosine"

    kind = "item-item"
    held = (("popularity", "popularity_", "items"),)
    matrices = (("similar", "similar_", "items", "items"),)

    def __post_init__(self) -> None:
        if self.k < 1:
            raise ConfigError(f"There is at least one neighbour; got k={self.k}.")
        if self.weighting not in ("cosine", "bm25"):
            raise ConfigError(f"The weighting is cosine or bm25; got {self.weighting!r}.")

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
        return np.asarray(votes + _TIES * self.popularity_)


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
    """(items, items) products of columns above 0, but of an item with itself; column j keeps the k
    largest of item j, ties too."""
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
    similar = sparse.csr_array(sparse.hstack(blocks))
    similar.sort_indices()
    return similar


def _counts(likes: sparse.csr_array) -> NDArray[np.int64]:
    return np.bincount(likes.indices, minlength=likes.shape[1])
