"""Recommend what most people rated, or liked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays, Baseline
from tacit.recommenders.files import shaped


class Popularity(Baseline):
    """Scores are counts, the same for everybody. No privacy.

    likes: count likes alone, not all ratings.
    """

    kind = "popularity"
    settings = ("likes",)

    def __init__(self, *, likes: bool = False) -> None:
        self.likes = likes

    def fit(self, ratings: Ratings) -> Popularity:
        self._learn_items(ratings)
        counted = ratings.items[ratings.likes] if self.likes else ratings.items
        self.counts_ = np.bincount(counted, minlength=ratings.n_items).astype(float)
        return self

    def _score(self, history: History) -> Floats:
        return self.counts_

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"counts": self.counts_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.counts_ = shaped(arrays, "counts", len(self.item_ids_))
