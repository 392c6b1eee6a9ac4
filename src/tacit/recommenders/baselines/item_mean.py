"""Recommend what people rate highly on average."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from tacit import container
from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.privacy import Guarantee
from tacit.recommenders.base import Floats, History, ItemRecommender
from tacit.recommenders.files import (
    ids_from_header,
    items_to_header,
    shaped,
    titles_from_header,
    titles_of,
)


class ItemMean(ItemRecommender):
    """Scores are item means pulled towards the overall mean by `damping` pseudo-ratings.

    No privacy. Without damping the head of the list is films that one person gave five stars.
    """

    def __init__(self, *, damping: float = 5.0) -> None:
        if not 0 <= damping < math.inf:
            raise ConfigError(f"Damping is a number of pseudo-ratings, 0 or more; got {damping}.")
        self.damping = damping

    def fit(self, ratings: Ratings) -> ItemMean:
        self.item_ids_, self.people_ = ratings.item_ids, ratings
        self.titles_ = titles_of(ratings)
        overall = float(ratings.values.mean())
        counts = np.bincount(ratings.items, minlength=ratings.n_items) + self.damping
        sums = np.bincount(ratings.items, ratings.values, minlength=ratings.n_items)
        weighted = sums + self.damping * overall
        self.means_: Floats = np.divide(
            weighted, counts, out=np.full(ratings.n_items, overall), where=counts > 0
        )
        return self

    def _score(self, history: History) -> Floats:
        return self.means_

    def guarantees(self) -> tuple[Guarantee, ...]:
        return ()

    def save(self, path: str | Path) -> None:
        self._fitted()
        header = {
            "recommender": "item-mean",
            **items_to_header(self.item_ids_, self.titles_),
            "damping": self.damping,
        }
        container.write(path, header, {"means": self.means_})

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> ItemMean:
        model = cls(damping=header["damping"])
        model.titles_ = titles_from_header(header)
        model.item_ids_ = ids_from_header(header["items"])
        model.means_ = shaped(arrays, "means", len(model.item_ids_))
        return model
