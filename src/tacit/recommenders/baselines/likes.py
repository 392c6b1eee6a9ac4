"""What recommenders of lists share: they learn from likes, and a history's likes are scored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.recommenders.base import History
from tacit.recommenders.baselines.baseline import Arrays, Baseline, as_row, with_values


class ListBaseline(Baseline):
    """Scores order a list; they are no stars. `liked_from_`: the fewest stars that are a like."""

    def _learn_items(self, ratings: Ratings) -> None:
        super()._learn_items(ratings)
        self.liked_from_ = ratings.scale.liked_from

    def _likes(self, history: History) -> sparse.csr_array:
        """(1, items) a 1 at each known item that the history likes."""
        own = as_row(history, self.item_ids_)
        return liked_rows(own, own.data >= self.liked_from_)

    def _header(self) -> dict[str, Any]:
        return {"liked_from": self.liked_from_}

    def _restore(self, header: Mapping[str, Any], arrays: Arrays) -> None:
        self.liked_from_ = float(header["liked_from"])


def like_matrix(ratings: Ratings, *, rest: float = 0.0) -> sparse.csr_array:
    """(people, items) CSR float64: 1 for a like, `rest` for another rating."""
    return liked_rows(ratings.matrix, ratings.likes, rest=rest)


def liked_rows(matrix: sparse.csr_array, likes: Any, *, rest: float = 0.0) -> sparse.csr_array:
    """The same places with 1 for a like, and `rest` for the others; zeros are not stored."""
    weights = with_values(matrix, np.where(likes, 1.0, rest))
    if not rest:
        weights = weights.copy()
        weights.eliminate_zeros()
    return weights
