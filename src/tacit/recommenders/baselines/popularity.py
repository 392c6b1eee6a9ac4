"""Recommend what most people rated."""

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
    """Scores are counts of ratings, the same for everybody. No privacy."""

    kind = "popularity"

    def fit(self, ratings: Ratings) -> Popularity:
        self._learn_items(ratings)
        self.counts_ = np.bincount(ratings.items, minlength=ratings.n_items).astype(float)
        return self

    def _score(self, history: History) -> Floats:
        return self.counts_

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"counts": self.counts_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.counts_ = shaped(arrays, "counts", len(self.item_ids_))
