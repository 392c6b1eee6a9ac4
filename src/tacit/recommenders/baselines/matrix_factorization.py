"""Matrix factorisation of centred ratings; a person is fitted from her history on the spot."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from tacit import container
from tacit.data.ratings import Ratings
from tacit.engine.factorization import alternating_ridge
from tacit.engine.ridge import solve
from tacit.errors import ConfigError
from tacit.privacy import Guarantee
from tacit.recommenders.base import Floats, History, ItemRecommender
from tacit.recommenders.baselines.item_mean import ItemMean
from tacit.recommenders.files import (
    ids_from_header,
    items_to_header,
    shaped,
    titles_from_header,
    titles_of,
)


class MatrixFactorization(ItemRecommender):
    """Alternating ridge regressions (Zhou et al. 2008) around damped item means. No privacy.

    regularization: squared stars; 10 suits five whole stars. random_state places the start only.
    """

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
        self.item_ids_, self.people_ = ratings.item_ids, ratings
        self.titles_ = titles_of(ratings)
        self.means_ = ItemMean().fit(ratings).means_
        matrix = ratings.matrix
        centred = sparse.csr_array(
            (matrix.data - self.means_[matrix.indices], matrix.indices, matrix.indptr),
            shape=matrix.shape,
        )
        _, self.item_factors_ = alternating_ridge(
            centred,
            factors=self.factors,
            penalty=self.regularization,
            sweeps=self.sweeps,
            seed=self.random_state,
        )
        return self

    def _score(self, history: History) -> Floats:
        number = {item: position for position, item in enumerate(self.item_ids_.tolist())}
        known = [item for item in history if item in number]
        columns = np.array([number[item] for item in known], dtype=np.int32)
        stars = np.array([history[item] for item in known], dtype=float)
        row = sparse.csr_array(
            (stars - self.means_[columns], columns, np.array([0, len(known)])),
            shape=(1, len(self.means_)),
        )
        person = solve(row, self.item_factors_, self.regularization)[0]
        scores: Floats = self.means_ + self.item_factors_ @ person
        return scores

    def guarantees(self) -> tuple[Guarantee, ...]:
        return ()

    def save(self, path: str | Path) -> None:
        self._fitted()
        header = {
            "recommender": "matrix-factorization",
            **items_to_header(self.item_ids_, self.titles_),
            "settings": {
                "factors": self.factors,
                "regularization": self.regularization,
                "sweeps": self.sweeps,
                "random_state": self.random_state,
            },
        }
        container.write(path, header, {"means": self.means_, "factors": self.item_factors_})

    @classmethod
    def from_parts(cls, header: dict[str, Any], arrays: dict[str, Any]) -> MatrixFactorization:
        model = cls(**header["settings"])
        model.titles_ = titles_from_header(header)
        model.item_ids_ = ids_from_header(header["items"])
        model.means_ = shaped(arrays, "means", len(model.item_ids_))
        model.item_factors_ = shaped(arrays, "factors", len(model.item_ids_), model.factors)
        return model
