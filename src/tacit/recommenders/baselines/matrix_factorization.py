"""Matrix factorisation of centred ratings; a person is fitted from their history on the spot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.engine.ridge import alternating_ridge, solve
from tacit.errors import ConfigError
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays, Baseline, as_row, with_values
from tacit.recommenders.baselines.item_mean import ItemMean
from tacit.recommenders.files import shaped


class MatrixFactorization(Baseline):
    """Alternating ridge regressions (Zhou et al. 2008) around damped item means. No privacy.

    regularization: squared stars; 10 suits five whole stars. random_state places the start only.
    """

    kind = "matrix-factorization"
    settings = ("factors", "regularization", "sweeps", "random_state")

    def __init__(
        self,
        *,
        factors: int = 20,
        regularization: float = 10.0,
        sweeps: int = 10,
        random_state: int = 0,
    ) -> None:
        if factors < 1 or sweeps < 1 or not regularization > 0:
            raise ConfigError("Factors and sweeps are at least 1, the regularization is above 0.")
        self.factors = factors
        self.regularization = regularization
        self.sweeps = sweeps
        self.random_state = random_state

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

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"means": self.means_, "factors": self.item_factors_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.means_ = shaped(arrays, "means", len(self.item_ids_))
        self.item_factors_ = shaped(arrays, "factors", len(self.item_ids_), self.factors)
