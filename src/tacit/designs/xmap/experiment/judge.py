"""One recommender judged in one domain, on people whose ratings there it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column
from tacit.data.splits import Split
from tacit.errors import DataError
from tacit.evaluation.lists import lists_of
from tacit.evaluation.ranking import ndcg_by_person
from tacit.recommenders.base import Recommender

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judged:
    """What one recommender did for each test person; arrays (people,).

    ids: people, in the order of their numbers. counts: held-out ratings. errors: sum of
    |prediction - star| over them, NaN for scores that are not stars. ndcg: of their list, NaN for
    people who liked none of their held-out items.
    """

    ids: Column
    counts: Ints
    errors: Floats
    ndcg: Floats

    @property
    def n_test(self) -> int:
        return int(self.counts.sum())

    @property
    def has_errors(self) -> bool:
        """Whether its scores are stars."""
        return bool(np.isfinite(self.errors).all())

    @property
    def mae(self) -> float:
        """Stars; every rating weighs the same, not every person. NaN for scores not in stars."""
        return float(self.errors.sum() / self.counts.sum())

    @property
    def mean_ndcg(self) -> float:
        """Over the people with something relevant."""
        return float(np.nanmean(self.ndcg))


def judge_target(
    recommender: Recommender, split: Split, target: NDArray[np.bool_], *, n: int, stars: bool
) -> Judged:
    """Errors on the held-out ratings, and lists of n from all items of the target domain.

    recommender: fitted on `split.train`. target: (items,) which items are of the target domain.
    Predictions are clipped to the scale and never rounded; where there is none, the mean star of
    the target domain's training ratings stands in.
    """
    test = split.test
    people = np.flatnonzero(np.diff(test.offsets) > 0)
    if not people.size:
        raise DataError(
            "nobody has held-out ratings in the target domain", fix="Hold out more people."
        )
    candidates = test.item_ids[target].tolist()
    missing = _mean_star(split, target)
    lists = lists_of(recommender, test, people, n=n, candidates=candidates)
    errors = np.full(len(people), np.nan)
    if stars:
        for place, person in enumerate(people):
            rows = slice(test.offsets[person], test.offsets[person + 1])
            items = test.item_ids[test.items[rows]].tolist()
            predicted = recommender.predict(items, test.user_ids[person])
            predicted = np.where(np.isnan(predicted), missing, predicted)
            clipped = np.clip(predicted, test.scale.minimum, test.scale.maximum)
            errors[place] = np.abs(clipped - test.values[rows]).sum()
    relevant = _relevant(split, people)
    if not relevant.data.any():
        raise DataError(
            "no test person liked a held-out item",
            expected="a held-out rating in the top quarter of the scale",
            fix="Hold out more people.",
        )
    return Judged(
        ids=test.user_ids[people],
        counts=np.diff(test.offsets)[people],
        errors=errors,
        ndcg=ndcg_by_person(lists, relevant),
    )


def _mean_star(split: Split, target: NDArray[np.bool_]) -> float:
    rows = target[split.train.items]
    if not rows.any():
        raise DataError(
            "no training rating is left in the target domain", fix="Hold out fewer people."
        )
    return float(split.train.values[rows].mean())


def _relevant(split: Split, people: NDArray[Any]) -> sparse.csr_array:
    """Gain 1 for a held-out rating in the top quarter of the scale."""
    scale = split.test.scale
    matrix = split.test.matrix[people]
    liked = (matrix.data >= scale.minimum + 0.75 * scale.span).astype(float)
    return sparse.csr_array((liked, matrix.indices, matrix.indptr), shape=matrix.shape)
