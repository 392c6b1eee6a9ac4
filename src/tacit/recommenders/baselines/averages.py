"""Predictions from means of items and people. No privacy."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Baseline, history_row
from tacit.recommenders.headers import Arrays, read_floats


@dataclass(kw_only=True, eq=False, repr=False)
class ItemMean(Baseline):
    """Item means that are pulled towards the overall mean. They are the same for everybody.

    Args:
        damping: Number of ratings at the overall mean that are added to each item. With 0, an item
            with a single rating of five stars would be among the best.
    """

    damping: float = 5.0

    kind = "item-mean"

    def __post_init__(self) -> None:
        _check_damping(self.damping)

    def fit(self, ratings: Ratings) -> ItemMean:
        """Learn the damped mean of each item.

        It is (sum of stars + damping * overall mean) / (number of ratings + damping).
        """
        self._learn_items(ratings)
        overall = float(ratings.values.mean())
        damped_counts = np.bincount(ratings.items, minlength=ratings.n_items) + self.damping
        sums = np.bincount(ratings.items, ratings.values, minlength=ratings.n_items)
        damped_sums = sums + self.damping * overall
        # Items without ratings keep the overall mean, also if damping is 0.
        self.means_: Floats = np.full(ratings.n_items, overall)
        np.divide(damped_sums, damped_counts, out=self.means_, where=damped_counts > 0)
        return self

    def _score(self, history: History) -> Floats:
        return self.means_

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.means_ = read_floats(arrays, "means", len(self.item_ids_))


class UserAverage(Baseline):
    """A person's mean stars for every item; the overall mean for a person without ratings.

    Since all scores of a person are equal, lists are in the order of the items.
    """

    kind = "user-average"

    def fit(self, ratings: Ratings) -> UserAverage:
        """Learn the overall mean."""
        self._learn_items(ratings)
        self.overall_ = np.array([ratings.values.mean()])
        return self

    def _score(self, history: History) -> Floats:
        row = history_row(history, self.item_ids_)
        mean = row.data.mean() if row.nnz else self.overall_[0]
        return np.full(len(self.item_ids_), mean)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"overall": self.overall_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.overall_ = read_floats(arrays, "overall", 1)


@dataclass(kw_only=True, eq=False, repr=False)
class UserItemMean(Baseline):
    """Overall mean plus an item's offset plus a person's offset, both pulled towards 0.

    The overall mean plus the item's offset is the item's damped mean, as in `ItemMean`. A person's
    offset is the sum of the deviations of their ratings from the damped means of the items, divided
    by (number of their ratings + user_damping).
    Source: the baseline estimates of Koren, Factor in the neighbors (TKDD 2010), section 2.1, with
    the paper's damping for Netflix.

    Args:
        item_damping: Number of ratings at the overall mean that are added to each item.
        user_damping: Number of zero deviations that are added to each person's deviations.
    """

    item_damping: float = 25.0
    user_damping: float = 10.0

    kind = "user-item-mean"

    def __post_init__(self) -> None:
        _check_damping(self.item_damping)
        _check_damping(self.user_damping)

    def fit(self, ratings: Ratings) -> UserItemMean:
        """Learn the damped means of items."""
        self._learn_items(ratings)
        self.means_ = ItemMean(damping=self.item_damping).fit(ratings).means_
        return self

    def _score(self, history: History) -> Floats:
        """Return the damped means of items plus the person's damped offset."""
        row = history_row(history, self.item_ids_)
        if not row.nnz:
            return self.means_
        deviations = row.data - self.means_[row.indices]
        offset = deviations.sum() / (self.user_damping + row.nnz)
        return np.asarray(self.means_ + offset)

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.means_ = read_floats(arrays, "means", len(self.item_ids_))


def _check_damping(damping: float) -> None:
    """Raise ConfigError unless the damping is finite and 0 or more."""
    if not 0 <= damping < math.inf:
        raise ConfigError(f"Damping is a number of pseudo-ratings, 0 or more; got {damping}.")
