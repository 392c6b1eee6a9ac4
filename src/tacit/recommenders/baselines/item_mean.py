"""Recommend what people rate highly on average."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays, Baseline
from tacit.recommenders.files import shaped


class ItemMean(Baseline):
    """Scores are item means pulled towards the overall mean by `damping` pseudo-ratings.

    No privacy. Without damping the head of the list is films that one person gave five stars.
    """

    kind = "item-mean"
    settings = ("damping",)

    def __init__(self, *, damping: float = 5.0) -> None:
        self.damping = checked_damping(damping)

    def fit(self, ratings: Ratings) -> ItemMean:
        self._learn_items(ratings)
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

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.means_ = shaped(arrays, "means", len(self.item_ids_))


def checked_damping(damping: float) -> float:
    """The same number, if it can be one of pseudo-ratings."""
    if not 0 <= damping < math.inf:
        raise ConfigError(f"Damping is a number of pseudo-ratings, 0 or more; got {damping}.")
    return damping
