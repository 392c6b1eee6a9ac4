"""Predictions from counts, means and latent factors."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.data.ratings import Ratings
from tacit.engine.ridge import alternating_ridge, solve
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Baseline, as_row, with_values


@dataclass(kw_only=True, eq=False, repr=False)
class Popularity(Baseline):
    """Scores are counts, the same for everybody. No privacy.

    likes: count likes alone, not all ratings.
    """

    likes: bool = False

    kind = "popularity"
    settings = ("likes",)
    held = (("counts", "counts_", "items"),)

    def fit(self, ratings: Ratings) -> Popularity:
        self._learn_items(ratings)
        counted = ratings.items[ratings.likes] if self.likes else ratings.items
        self.counts_ = np.bincount(counted, minlength=ratings.n_items).astype(float)
        return self

    def _score(self, history: History) -> Floats:
        return self.counts_


@dataclass(kw_only=True, eq=False, repr=False)
class ItemMean(Baseline):
    """Scores are item means pulled towards the overall mean by `damping` pseudo-ratings.

    No privacy. Without damping the head of the list is films that one person gave five stars.
    """

    damping: float = 5.0

    kind = "item-mean"
    settings = ("damping",)
    held = (("means", "means_", "items"),)

    def __post_init__(self) -> None:
        check_damping(self.damping)

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


class UserAverage(Baseline):
    """Every item scores the mean of the person's own stars, in whatever domain.

    No privacy. A newcomer gets the overall mean. All scores are equal, so its lists are in the
    order of the items and say nothing.
    """

    kind = "user-average"
    held = (("overall", "overall_", 1),)

    def fit(self, ratings: Ratings) -> UserAverage:
        self._learn_items(ratings)
        self.overall_ = np.array([ratings.values.mean()])
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        return np.full(len(self.item_ids_), own.data.mean() if own.nnz else self.overall_[0])


@dataclass(kw_only=True, eq=False, repr=False)
class UserItemMean(Baseline):
    """Overall mean plus an item's offset plus a person's offset, both pulled towards 0. No privacy.

    Source: the baseline estimates of Koren, Factor in the neighbors (TKDD 2010), section 2.1, with
    its pseudo-ratings for Netflix. The person's offset is over all their known items, whatever
    their domain.
    """

    item_damping: float = 25.0
    user_damping: float = 10.0

    kind = "user-item-mean"
    settings = ("item_damping", "user_damping")
    held = (("means", "means_", "items"),)

    def __post_init__(self) -> None:
        check_damping(self.item_damping)
        check_damping(self.user_damping)

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


@dataclass(kw_only=True, eq=False, repr=False)
class MatrixFactorization(Baseline):
    """Alternating ridge regressions (Zhou et al. 2008) around damped item means. No privacy.

    regularization: squared stars; 10 suits five whole stars. random_state places the start only.
    """

    factors: int = 20
    regularization: float = 10.0
    sweeps: int = 10
    random_state: int = 0

    kind = "matrix-factorization"
    settings = ("factors", "regularization", "sweeps", "random_state")
    held = (
        ("means", "means_", "items"),
        ("factors", "item_factors_", "items", "factors"),
    )

    def __post_init__(self) -> None:
        if self.factors < 1 or self.sweeps < 1 or not self.regularization > 0:
            raise ConfigError("Factors and sweeps are at least 1, the regularization is above 0.")

    def fit(self, ratings: Ratings) -> MatrixFactorization:
        self._learn_items(ratings)
        self.means_ = ItemMean().fit(ratings).means_
        centred = with_values(ratings.matrix, ratings.values - self.means_[ratings.items])
        _, self.item_factors_ = alternating_ridge(
            centred,
            factors=self.factors,
            penalty=self.regularization,
            sweeps=self.sweeps,
            seed=self.random_state,
        )
        return self

    def _score(self, history: History) -> Floats:
        own = as_row(history, self.item_ids_)
        row = with_values(own, own.data - self.means_[own.indices])
        person = solve(row, self.item_factors_, self.regularization)[0]
        scores: Floats = self.means_ + self.item_factors_ @ person
        return scores


def check_damping(damping: float) -> None:
    """ConfigError unless it can be a number of pseudo-ratings."""
    if not 0 <= damping < math.inf:
        raise ConfigError(f"Damping is a number of pseudo-ratings, 0 or more; got {damping}.")
