"""Recommend what most people rated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tacit import container
from tacit.data.ratings import Ratings
from tacit.privacy import Guarantee
from tacit.recommenders.base import Floats, History, ItemRecommender
from tacit.recommenders.files import (
    ids_from_header,
    items_to_header,
    shaped,
    titles_from_header,
    titles_of,
)


class Popularity(ItemRecommender):
    """Scores are counts of ratings, the same for everybody. No privacy."""

    def fit(self, ratings: Ratings) -> Popularity:
        self.item_ids_, self.people_ = ratings.item_ids, ratings
        self.titles_ = titles_of(ratings)
        self.counts_ = np.bincount(ratings.items, minlength=ratings.n_items).astype(float)
        return self

    def _score(self, history: History) -> Floats:
        return self.counts_

    def guarantees(self) -> tuple[Guarantee, ...]:
        return ()

    def save(self, path: str | Path) -> None:
        self._fitted()
        header = {"recommender": "popularity", **items_to_header(self.item_ids_, self.titles_)}
        container.write(path, header, {"counts": self.counts_})

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> Popularity:
        model = cls()
        model.titles_ = titles_from_header(header)
        model.item_ids_ = ids_from_header(header["items"])
        model.counts_ = shaped(arrays, "counts", len(model.item_ids_))
        return model
