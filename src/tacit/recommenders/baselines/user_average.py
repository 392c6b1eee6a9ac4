"""Predict that a person rates as they always do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays, Baseline, as_row
from tacit.recommenders.files import shaped


class UserAverage(Baseline):
    """Every item scores the mean of the person's own stars, in whatever domain.

    No privacy. A newcomer gets the overall mean. All scores are equal, so its lists are in the
    order of the items and say nothing.
    """

    kind = "user-average"

    def fit(self, ratings: Ratings) -> UserAverage:
        self._learn_items(ratings)
        self.overall_ = np.array([ratings.values.mean()])
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        return np.full(len(self.item_ids_), own.data.mean() if own.nnz else self.overall_[0])

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"overall": self.overall_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.overall_ = shaped(arrays, "overall", 1)
