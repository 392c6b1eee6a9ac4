"""Predictions from latent factors around item means. No privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.engine.ridge import alternating_ridge, solve
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.averages import ItemMean
from tacit.recommenders.baselines.baseline import Baseline, history_row, replace_values
from tacit.recommenders.headers import Arrays, read_floats


@dataclass(kw_only=True, eq=False, repr=False)
class MatrixFactorization(Baseline):
    """Alternating ridge regressions (Zhou et al. 2008) of the deviations from damped item means.

    A prediction is the item's damped mean plus the product of the factors of item and person.

    Args:
        factors: Number of latent factors.
        regularization: Penalty of the regressions, in stars; 10 suits a scale from 1 to 5.
        sweeps: Number of rounds; each solves for the factors of people, then for those of items.
        random_state: Seed of the initial factors.
    """

    factors: int = 20
    regularization: float = 10.0
    sweeps: int = 10
    random_state: int = 0

    kind = "matrix-factorization"

    def __post_init__(self) -> None:
        if self.factors < 1 or self.sweeps < 1 or not self.regularization > 0:
            raise ConfigError("Factors and sweeps are at least 1, the regularization is above 0.")

    def fit(self, ratings: Ratings) -> MatrixFactorization:
        """Learn item means and item factors."""
        self._learn_items(ratings)
        self.means_ = ItemMean().fit(ratings).means_
        deviations = ratings.values - self.means_[ratings.items]
        _, self.item_factors_ = alternating_ridge(
            replace_values(ratings.matrix, deviations),
            factors=self.factors,
            penalty=self.regularization,
            sweeps=self.sweeps,
            seed=self.random_state,
        )
        return self

    def _score(self, history: History) -> Floats:
        """Return (items,) predictions; the person's factors are solved for from the history."""
        scores: Floats = self._score_rows(history_row(history, self.item_ids_))[0]
        return scores

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        deviations = replace_values(rows, rows.data - self.means_[rows.indices])
        people = solve(deviations, self.item_factors_, self.regularization)
        scores = np.empty((len(people), len(self.item_ids_)))
        for person, factors in enumerate(people):
            # Not one product for all people, whose last digits would depend on how many they are.
            scores[person] = self.means_ + self.item_factors_ @ factors
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_, "factors": self.item_factors_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        items = len(self.item_ids_)
        self.means_ = read_floats(arrays, "means", items)
        self.item_factors_ = read_floats(arrays, "factors", items, self.factors)
