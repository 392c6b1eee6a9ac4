"""Lists by implicit factors, learned by the package `implicit`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, MissingExtra
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import Arrays
from tacit.recommenders.baselines.likes import ListBaseline, like_matrix
from tacit.recommenders.files import shaped
from tacit.recommenders.inputs import checked_ratings


class ALS(ListBaseline):
    """Alternating least squares on likes, everything else being a weak dislike. No privacy.

    Source: Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets (ICDM
    2008). weight: confidence of a like; what is not liked has 1. MissingExtra without the package;
    a model file needs no package. random_state places the start only. The settings were chosen on
    ml-latest-small.
    """

    kind = "als"
    settings = ("factors", "regularization", "weight", "sweeps", "random_state")

    def __init__(
        self,
        *,
        factors: int = 64,
        regularization: float = 30.0,
        weight: float = 5.0,
        sweeps: int = 15,
        random_state: int = 0,
    ) -> None:
        if factors < 1 or sweeps < 1 or not (regularization > 0 and weight >= 1):
            raise ConfigError(
                "Factors and sweeps are at least 1, the regularization is above 0, and the weight "
                "of a like is 1 or more."
            )
        self.factors = factors
        self.regularization = regularization
        self.weight = weight
        self.sweeps = sweeps
        self.random_state = random_state

    def fit(self, ratings: Ratings) -> ALS:
        checked_ratings(ratings)
        try:
            from implicit.als import AlternatingLeastSquares
        except ImportError:
            raise MissingExtra("implicit", "als") from None
        self._learn_items(ratings)
        with threadpool_limits(1, "blas"):
            model = AlternatingLeastSquares(
                factors=self.factors,
                regularization=self.regularization,
                alpha=self.weight,
                iterations=self.sweeps,
                random_state=self.random_state,
                dtype=np.float64,
                num_threads=1,
                use_gpu=False,
            )
            model.fit(sparse.csr_matrix(like_matrix(ratings)), show_progress=False)
        self.item_factors_: Floats = np.asarray(model.item_factors, dtype=np.float64)
        return self

    def _score(self, history: History) -> Floats:
        liked = self.item_factors_[self._likes(history).indices]
        everything = self.item_factors_.T @ self.item_factors_
        normal = everything + (self.weight - 1) * (liked.T @ liked)
        normal[np.diag_indices(len(normal))] += self.regularization
        person = np.linalg.solve(normal, self.weight * liked.sum(axis=0))
        scores: Floats = self.item_factors_ @ person
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"factors": self.item_factors_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        self.item_factors_ = shaped(arrays, "factors", len(self.item_ids_), self.factors)
