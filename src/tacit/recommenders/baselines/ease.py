"""Lists by item-item weights in closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tacit.data.domains import items_in
from tacit.data.ratings import Ratings
from tacit.engine.ridge import gram, item_weights
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays, as_row
from tacit.recommenders.baselines.likes import ListBaseline, like_matrix, liked_rows
from tacit.recommenders.files import shaped
from tacit.recommenders.inputs import checked_ratings

MOST_ITEMS = 30_000
REST = 0.4
"""What a rating below a like counts for in the ridge regression; a like counts for 1."""


class EASE(ListBaseline):
    """A score is the sum of an item's weights with what the person likes. No privacy.

    Source: Steck, Embarrassingly shallow autoencoders for sparse data (WWW 2019), on likes.
    penalty: of the ridge regressions, in likes. The model holds n_items^2 numbers.
    """

    kind = "ease"
    settings = ("penalty",)

    def __init__(self, *, penalty: float = 300.0) -> None:
        self.penalty = checked_penalty(penalty)

    def fit(self, ratings: Ratings) -> EASE:
        checked_ratings(ratings)
        _refuse_many(ratings.n_items)
        self._learn_items(ratings)
        with threadpool_limits(1):
            made = item_weights(gram(like_matrix(ratings)), self.penalty)
        self.weights_: Floats = np.ascontiguousarray(made)
        return self

    def _score(self, history: History) -> Floats:
        scores: Floats = self.weights_[self._likes(history).indices].sum(axis=0)
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"weights": self.weights_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        self.weights_ = shaped(arrays, "weights", len(self.item_ids_), len(self.item_ids_))


class Ridge(ListBaseline):
    """Likes in one domain from ratings in another, by one ridge regression. No privacy.

    It has no intercept. Items of other domains have score 0.
    """

    kind = "ridge"
    settings = ("source", "target", "penalty")

    def __init__(self, *, source: str, target: str, penalty: float = 300.0) -> None:
        self.source = source
        self.target = target
        self.penalty = checked_penalty(penalty)

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


def checked_penalty(penalty: float) -> float:
    """The same number, if it can be a penalty."""
    if not 0 < penalty < math.inf:
        raise ConfigError(f"The penalty is a finite number above 0; got {penalty}.")
    return penalty


def _refuse_many(items: int) -> None:
    if items > MOST_ITEMS:
        raise ConfigError(
            f"{items} items: this needs 8 bytes for each pair of items, and takes {MOST_ITEMS} at "
            "most. Use item-item or als, or leave out rare items with --per-item."
        )
