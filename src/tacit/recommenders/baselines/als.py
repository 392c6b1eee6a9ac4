"""Lists from latent factors of likes. No privacy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from threadpoolctl import threadpool_limits

from tacit.data.ratings import Ratings
from tacit.errors import ConfigError, MissingExtra
from tacit.recommenders.base import Floats, History
from tacit.recommenders.baselines.baseline import ListBaseline, like_matrix, like_rows
from tacit.recommenders.headers import Arrays, read_floats
from tacit.recommenders.inputs import as_ratings


@dataclass(kw_only=True, eq=False, repr=False)
class ALS(ListBaseline):
    """Alternating least squares: a like counts as 1, any other item as 0 with less confidence.

    Source: Hu, Koren and Volinsky, Collaborative filtering for implicit feedback datasets (ICDM
    2008). The defaults were chosen on ml-latest-small.

    Args:
        factors: Number of latent factors.
        regularization: Penalty on the squared length of a factor vector.
        weight: Confidence of a like; other items have confidence 1.
        sweeps: Number of rounds; each solves for the factors of people, then for those of items.
        random_state: Seed of the initial factors.
    """

    factors: int = 64
    regularization: float = 30.0
    weight: float = 5.0
    sweeps: int = 15
    random_state: int = 0

    kind = "als"

    def __post_init__(self) -> None:
        has_valid_counts = 1 <= self.factors <= 10_000 and self.sweeps >= 1
        has_valid_weights = 0 < self.regularization < 1e9 and 1 <= self.weight < 1e9
        if not (has_valid_counts and has_valid_weights):
            raise ConfigError(
                "Factors are 1 to 10,000, sweeps at least 1, the regularization is above 0, and "
                "the weight of a like is 1 or more; both are below 1e9."
            )

    def fit(self, ratings: Ratings) -> ALS:
        """Learn item factors; raise MissingExtra if the package `implicit` is not installed."""
        ratings = as_ratings(ratings)
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
        self.gram_: Floats = self.item_factors_.T @ self.item_factors_
        return self

    def _score(self, history: History) -> Floats:
        return self._score_likes(self._likes(history).indices)

    def _score_rows(self, rows: sparse.csr_array) -> Floats:
        likes = like_rows(rows, rows.data >= self.liked_from_)
        scores = np.empty((rows.shape[0], len(self.item_ids_)))
        for person in range(rows.shape[0]):
            liked = likes.indices[likes.indptr[person] : likes.indptr[person + 1]]
            scores[person] = self._score_likes(liked)
        return scores

    def _score_likes(self, items: NDArray[np.integer[Any]]) -> Floats:
        """Return (items,) scores of all items for a person.

        Let F (items, factors) be the factors of all items, and L the rows of F of the items that
        the person likes. The person's factors p solve
            (F'F + (weight - 1) L'L + regularization I) p = weight L'1,
        and the scores are F p.

        Args:
            items: Numbers of the items that the person likes.
        """
        liked = self.item_factors_[items]
        normal = self.gram_ + (self.weight - 1) * (liked.T @ liked)
        normal[np.diag_indices(len(normal))] += self.regularization
        person = np.linalg.solve(normal, self.weight * liked.sum(axis=0))
        scores: Floats = self.item_factors_ @ person
        return scores

    def _arrays(self) -> dict[str, NDArray[Any]]:
        return {"factors": self.item_factors_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        super()._restore(header, arrays)
        self.item_factors_ = read_floats(arrays, "factors", len(self.item_ids_), self.factors)
        self.gram_ = self.item_factors_.T @ self.item_factors_
