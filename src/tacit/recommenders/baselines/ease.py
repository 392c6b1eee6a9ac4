"""Lists from ridge regressions, in closed form, on likes or on ratings. No privacy."""

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
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import (
    ListBaseline,
    history_row,
    like_matrix,
    like_rows,
)
from tacit.recommenders.headers import Arrays, read_floats, read_places
from tacit.recommenders.inputs import as_ratings

MOST_ITEMS = 30_000
"""Largest number of items that a regression reads: it needs a number for each pair of them."""
OTHER_WEIGHT = 0.4
"""Weight of a rating below a like in the ridge regression between domains; a like has 1."""


@dataclass(kw_only=True, eq=False, repr=False)
class EASE(ListBaseline):
    """Linear autoencoder: an item's score is the sum of its weights on the liked items.

    Source: Steck, Embarrassingly shallow autoencoders for sparse data (WWW 2019), on likes. The
    model holds n_items^2 weights.

    Args:
        penalty: Penalty of the ridge regressions, lambda of the paper. It is added to each item's
            number of likes.
    """

    penalty: float = 300.0

    kind = "ease"

    def __post_init__(self) -> None:
        _check_penalty(self.penalty)

    def fit(self, ratings: Ratings) -> EASE:
        """Learn the weights: for each item, those of a ridge regression on all other items."""
        ratings = as_ratings(ratings)
        _refuse_many_items(ratings.n_items)
        self._learn_items(ratings)
        with threadpool_limits(1):
            weights = item_weights(gram(like_matrix(ratings)), self.penalty)
        self.weights_: Floats = np.ascontiguousarray(weights)
        return self

    def _score(self, history: History) -> Floats:
        return np.asarray(self.weights_[self._likes(history).indices].sum(axis=0))

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        scores: Floats = like_rows(rows, rows.data >= self.liked_from_) @ self.weights_
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"weights": self.weights_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        items = len(self.item_ids_)
        self.weights_ = read_floats(arrays, "weights", items, items)


@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(ListBaseline):
    """Ridge regression, without intercept, of likes in one domain on ratings in another.

    Items outside the target domain have the score 0.

    Args:
        source: Domain whose ratings the regression reads.
        target: Domain whose likes it predicts.
        penalty: Penalty of the regression. It is added to each source item's sum of squared
            weights, where a like has weight 1.
    """

    source: str
    target: str
    penalty: float = 300.0

    kind = "ridge"

    def __post_init__(self) -> None:
        _check_penalty(self.penalty)

    def fit(self, ratings: Ratings) -> Ridge:
        """Learn the weights W (source items, target items), which solve (X'X + penalty I) W = X'Y.

        X (people, source items) has 1 for a like and `OTHER_WEIGHT` for another rating; Y (people,
        target items) has 1 for a like.
        """
        self._learn_items(ratings)
        self.source_places_ = items_in(ratings, self.source)
        self.target_places_ = items_in(ratings, self.target)
        _refuse_many_items(len(self.source_places_))
        rated = like_matrix(ratings, other_weight=OTHER_WEIGHT)[:, self.source_places_]
        liked = like_matrix(ratings)[:, self.target_places_]
        normal = gram(rated)
        normal[np.diag_indices(len(normal))] += self.penalty
        with threadpool_limits(1):
            self.weights_: Floats = np.linalg.solve(normal, (rated.T @ liked).toarray())
        return self

    def _score(self, history: History) -> Floats:
        scores: Floats = self._score_rows(history_row(history, self.item_ids_))[0]
        return scores

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        likes = rows.data >= self.liked_from_
        rated = like_rows(rows, likes, other_weight=OTHER_WEIGHT)[:, self.source_places_]
        scores: Floats = np.zeros(rows.shape)
        scores[:, self.target_places_] = rated @ self.weights_
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {
            "weights": self.weights_,
            "from": self.source_places_,
            "to": self.target_places_,
        }

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        items = len(self.item_ids_)
        self.source_places_ = read_places(arrays, "from", items)
        self.target_places_ = read_places(arrays, "to", items)
        shape = len(self.source_places_), len(self.target_places_)
        self.weights_ = read_floats(arrays, "weights", *shape)


def _check_penalty(penalty: float) -> None:
    """Raise ConfigError unless the penalty is finite and above 0."""
    if not 0 < penalty < math.inf:
        raise ConfigError(f"The penalty is a finite number above 0; got {penalty}.")


def _refuse_many_items(items: int) -> None:
    """Raise ConfigError for more than `MOST_ITEMS` items."""
    if items > MOST_ITEMS:
        raise ConfigError(
            f"A ridge regression on {items} items needs 8 bytes for each pair of them; the most "
            f"are {MOST_ITEMS}. Use item-item or als, or leave out rare items with --per-item."
        )
