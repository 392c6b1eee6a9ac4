"""Recommenders judged on ratings they have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.splits import Split, default_split
from tacit.errors import DataError
from tacit.evaluation.accuracy import mae, rmse
from tacit.evaluation.lists import lists_of
from tacit.evaluation.parallel import Progress
from tacit.evaluation.ranking import ranking_metrics
from tacit.recommenders.base import Recommender
from tacit.recommenders.baselines import ItemMean, MatrixFactorization, Popularity


def judge(recommender: Recommender, split: Split, *, n: int = 10) -> dict[str, float | None]:
    """Fit on `split.train`; errors on the held-out ratings and metrics of lists of n.

    Relevant is a held-out rating in the top quarter of the scale. RMSE and MAE are of scores in
    stars; for a recommender whose scores are not stars (popularity) they are left out.
    """
    train, test = split.train, split.test
    people = np.flatnonzero((np.diff(test.offsets) > 0) & (np.diff(train.offsets) > 0))
    if not len(people):
        raise DataError("nobody has ratings on both sides of the split", fix="Use more ratings.")
    recommender.fit(train)
    lists = lists_of(recommender, train, people, n=n)
    truth, predicted = [], []
    for person in people:
        user = train.user_ids[person]
        rows = slice(test.offsets[person], test.offsets[person + 1])
        predicted.append(recommender.predict(list(train.item_ids[test.items[rows]]), user))
        truth.append(test.values[rows])
    metrics = ranking_metrics(lists, _relevant(test, people))
    errors = {}
    if not isinstance(recommender, Popularity):
        stars = np.clip(np.concatenate(predicted), train.scale.minimum, train.scale.maximum)
        errors = {
            "rmse": rmse(np.concatenate(truth), stars),
            "mae": mae(np.concatenate(truth), stars),
        }
    return {
        "rmse": errors.get("rmse"),
        "mae": errors.get("mae"),
        "ndcg": metrics.ndcg,
        "recall": metrics.recall,
        "mrr": metrics.mrr,
        "coverage": metrics.coverage,
    }


def _relevant(test: Ratings, people: Any) -> sparse.csr_array:
    threshold = test.scale.minimum + 0.75 * test.scale.span
    matrix = test.matrix[people]
    return sparse.csr_array(
        ((matrix.data >= threshold).astype(float), matrix.indices, matrix.indptr),
        shape=matrix.shape,
    )


def evaluate_baselines(
    ratings: Ratings, *, n: int, seed: int, progress: Progress
) -> tuple[str, list[dict[str, Any]]]:
    """The split that was used, and a row per baseline."""
    split = default_split(ratings, seed=seed)
    rows = []
    recommenders: dict[str, Recommender] = {
        "popularity": Popularity(),
        "item-mean": ItemMean(),
        "matrix-factorization": MatrixFactorization(random_state=seed),
    }
    for name, recommender in recommenders.items():
        rows.append({"recommender": name, **judge(recommender, split, n=n)})
        progress(1)
    timed = ratings.timestamps is not None
    return ("the last 20 % in time" if timed else "a random 20 % of each person's ratings"), rows
