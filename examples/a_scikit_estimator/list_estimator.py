"""A recommender of tacit as an estimator of scikit-learn: `clone`, `get_params`, a pipeline."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

import tacit


class ListEstimator(BaseEstimator):
    """Fits a recommender to a (people, items) matrix of stars; columns are items.

    Args:
        recommender: A recommender of tacit, such as `tacit.Private(1.0)`; its arguments are those
            of this estimator, too, as `recommender__epsilon`. Each fit of a private one costs its
            epsilon anew, also in a grid search.
        scale: Range and step of the stars; None: read off the matrix.
    """

    def __init__(self, recommender: Any, scale: tacit.RatingScale | None = None) -> None:
        self.recommender = recommender
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> ListEstimator:
        """Fit to the matrix's entries that are not 0."""
        matrix = sparse.coo_array(X)
        users, items = matrix.row.astype(np.int64), matrix.col.astype(np.int64)
        settings = {} if self.scale is None else {"scale": self.scale}
        ratings = tacit.Ratings.from_arrays(users, items, matrix.data.astype(float), **settings)
        self.n_features_in_ = matrix.shape[1]
        self.recommender_ = self.recommender.fit(ratings)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Return (people, items) scores; -inf for items that were in no rating."""
        check_is_fitted(self)
        rows = sparse.csr_array(X)
        items = list(range(self.n_features_in_))
        scores = np.empty(rows.shape)
        for person in range(rows.shape[0]):
            own = slice(rows.indptr[person], rows.indptr[person + 1])
            pairs = zip(rows.indices[own].tolist(), rows.data[own].tolist(), strict=True)
            scores[person] = self.recommender_.predict(items, history=dict(pairs))
        return np.where(np.isnan(scores), -np.inf, scores)
