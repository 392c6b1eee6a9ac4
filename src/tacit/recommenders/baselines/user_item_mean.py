"""Predict from the item's mean and from how far above the means a person rates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays, Baseline, as_row
from tacit.recommenders.baselines.item_mean import ItemMean, checked_damping
from tacit.recommenders.files import shaped


class UserItemMean(Baseline):
    """Overall mean plus an item's offset plus a person's offset, both pulled towards 0. No privacy.

    Source: the baseline estimates of Koren, Factor in the neighbors (TKDD 2010), section 2.1, with
    its pseudo-ratings for Netflix. The person's offset is over all their known items, whatever
    their domain.
    """

    kind = "user-item-mean"
    settings = ("item_damping", "user_damping")

    def __init__(self, *, item_damping: float = 25.0, user_damping: float = 10.0) -> None:
        self.item_damping = checked_damping(item_damping)
        self.user_damping = checked_damping(user_damping)

    def fit(self, ratings: Ratings) -> UserItemMean:
        self._learn_items(ratings)
        self.means_ = ItemMean(damping=self.item_damping).fit(ratings).means_
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        if not own.nnz:
            return self.means_
        above = (own.data - self.means_[own.indices]).sum() / (self.user_damping + own.nnz)
        scores: Floats = self.means_ + above
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.means_ = shaped(arrays, "means", len(self.item_ids_))
