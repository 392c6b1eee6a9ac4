"""Predict from what a person gave the items most like the one in question."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import within
from tacit.data.ratings import Ratings
from tacit.engine.base import Engine, Table
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import (
    Arrays,
    Baseline,
    as_row,
    matrix_from_arrays,
    matrix_to_arrays,
    person_means,
    with_values,
)
from tacit.recommenders.baselines.item_mean import ItemMean
from tacit.recommenders.baselines.most_alike import most_alike
from tacit.recommenders.files import shaped
from tacit.recommenders.inputs import checked_ratings


class ItemKNN(Baseline):
    """Item means plus weighted deviations from the means of similar items the person rated.

    Source: Sarwar, Karypis, Konstan and Riedl, Item-based collaborative filtering recommendation
    algorithms (WWW 2001): adjusted cosine, the k most alike items, none of negative similarity.
    Where they rated none of them, the item's mean stands. No privacy. It is for stars: a list by
    them begins with what one person gave five stars; `ItemItem` is for lists.

    domain: learn from and recommend items of this one alone; None: all items, of whatever domain.
    significance: co-raters below which a similarity is scaled down; 0 switches it off.
    engine: where the similarities are computed; it is no part of a model file.
    """

    kind = "item-knn"
    settings = ("k", "significance", "domain")

    def __init__(
        self,
        *,
        k: int = 50,
        significance: int = 50,
        domain: str | None = None,
        engine: Engine | None = None,
    ) -> None:
        if k < 1 or significance < 0:
            raise ConfigError("There is at least one neighbour; the significance is 0 or more.")
        self.k = k
        self.significance = significance
        self.domain = domain
        self.engine = engine

    def fit(self, ratings: Ratings) -> ItemKNN:
        checked_ratings(ratings)
        chosen = ratings if self.domain is None else within(ratings, self.domain)
        self._learn_items(chosen)
        self.means_ = ItemMean(damping=0.0).fit(chosen).means_
        table = _centred(chosen, self.means_)
        self.similar_ = most_alike(self._engine(), table, k=self.k, significance=self.significance)
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        deviations = with_values(own, own.data - self.means_[own.indices])
        weights = with_values(own, np.ones(own.nnz))
        predicted = self._engine().predictions(deviations, weights, self.similar_)
        scores: Floats = self.means_ + predicted[0]
        return scores

    def _engine(self) -> Engine:
        if self.engine is None:
            from tacit.engine.local import LocalEngine

            self.engine = LocalEngine()
        return self.engine

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_, **matrix_to_arrays("similar", self.similar_)}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.means_ = shaped(arrays, "means", len(self.item_ids_))
        self.similar_ = matrix_from_arrays("similar", arrays, len(self.item_ids_))
        if self.similar_.shape[0] != len(self.item_ids_):
            raise ValueError("the similarities do not fit the list of items")


def _centred(ratings: Ratings, means: Floats) -> Table:
    """Stars minus the person's mean."""
    centred = ratings.values - person_means(ratings)[ratings.users]
    return Table(with_values(ratings.matrix, centred), ratings.values >= means[ratings.items])
