"""Lists judged on likes that were held out: one split, and one recommender on it.

One domain     a random 20 % of each person's likes are held out, at least one, never all, and are
               to be found again; candidates are all items the person has not rated in training.
               At most `MOST_PEOPLE` test people, drawn at random.
Two domains    20 % of the people who rated in both, `MOST_PEOPLE` at most, lose all ratings in the
               target domain; candidates are all its items. No other person loses a rating.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import cross_domain_split, items_in, straddlers
from tacit.data.ratings import Ratings
from tacit.data.splits import Split, random_per_user
from tacit.errors import DataError
from tacit.evaluation.accuracy import rmse
from tacit.evaluation.ranking import ranking_metrics
from tacit.recommenders.base import Recommender

SHARE = 0.2
MOST_PEOPLE = 1500
LIST_LENGTH = 10

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ListTrial:
    """Ratings to learn from, and whose likes are to be found again.

    train: a recommender is fitted to it. test: held-out ratings; people and items have the same
    numbers in both. people: (n,) numbers of the test people, each with a held-out like, sorted.
    candidates: ids of the items a list may hold; None: every item.
    """

    train: Ratings
    test: Ratings
    people: Ints
    candidates: Sequence[Any] | None = None

    @property
    def relevant(self) -> sparse.csr_array:
        """(n, items) 1 for each held-out like of a test person."""
        matrix = self.test.matrix
        likes = sparse.csr_array(
            (self.test.likes.astype(float), matrix.indices, matrix.indptr), shape=matrix.shape
        )
        return sparse.csr_array(likes[self.people])


@dataclass(frozen=True, slots=True)
class ListFigures:
    """Means over the test people. rmse: of all their held-out ratings, in stars; None for scores
    that are no stars."""

    ndcg: float
    recall: float
    rmse: float | None


def list_trial(
    ratings: Ratings, *, source: str | None = None, target: str | None = None, seed: int
) -> ListTrial:
    """One split: in one domain, or from `source` to `target`; the module's text defines both."""
    if source is None or target is None:
        return _trial(random_per_user(ratings, SHARE, seed=seed, among=ratings.likes), None, seed)
    both = len(straddlers(ratings, source, target))
    share = min(SHARE, MOST_PEOPLE / max(both, 1))
    split = cross_domain_split(ratings, source=source, target=target, share=share, seed=seed)
    return _trial(split, ratings.item_ids[items_in(ratings, target)].tolist(), seed)


def _trial(split: Split, candidates: Sequence[Any] | None, seed: int) -> ListTrial:
    people = np.unique(split.test.users[split.test.likes]).astype(np.int64)
    if not people.size:
        raise DataError(
            "no test person has a held-out like",
            expected=f"a held-out rating of {split.test.scale.liked_from:g} or more",
            fix="Use more ratings.",
        )
    chosen = np.random.default_rng((seed, 1)).permutation(people)[:MOST_PEOPLE]
    return ListTrial(split.train, split.test, np.sort(chosen), candidates)


def lists_of(
    recommender: Recommender,
    ratings: Ratings,
    people: Ints,
    *,
    n: int = LIST_LENGTH,
    candidates: Sequence[Any] | None = None,
) -> Ints:
    """(len(people), n) item numbers, best first, -1 where a list is shorter.

    recommender: fitted on these people's ratings, or on others' with the same ids.
    """
    number = {item: place for place, item in enumerate(ratings.item_ids.tolist())}
    lists = np.full((len(people), n), -1, dtype=np.int64)
    for row, user in enumerate(ratings.user_ids[people].tolist()):
        found = recommender.recommend(user, n=n, candidates=candidates).item_ids
        lists[row, : len(found)] = [number[item] for item in found]
    return lists


def judge_lists(recommender: Recommender, trial: ListTrial, *, stars: bool = False) -> ListFigures:
    """Fit on `trial.train`; lists of ten, and the error of predictions if they are stars.

    Predictions are clipped to the scale; the mean star of training stands in where there is none.
    """
    recommender.fit(trial.train)
    lists = lists_of(recommender, trial.train, trial.people, candidates=trial.candidates)
    found = ranking_metrics(lists, trial.relevant)
    return ListFigures(found.ndcg, found.recall, _error(recommender, trial) if stars else None)


def _error(recommender: Recommender, trial: ListTrial) -> float:
    test, predicted, truth = trial.test, [], []
    for person in trial.people:
        rows = slice(test.offsets[person], test.offsets[person + 1])
        items = test.item_ids[test.items[rows]].tolist()
        predicted.append(recommender.predict(items, test.user_ids[[person]].tolist()[0]))
        truth.append(test.values[rows])
    stars = np.concatenate(predicted)
    stars = np.where(np.isnan(stars), trial.train.values.mean(), stars)
    return rmse(np.concatenate(truth), np.clip(stars, test.scale.minimum, test.scale.maximum))
