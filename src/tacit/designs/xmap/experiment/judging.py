"""Every contender of one split, judged on people whose ratings in the target it has not seen.

Whether one is better than another is judged by paired differences: a person may be a test person
under several seeds and counts once, with all their ratings. So the interval is about other people
of the same kind, and not about other draws of the split alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import cross_domain_split, items_in
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import Split
from tacit.designs.xmap.experiment.methods import BASELINES, Contender
from tacit.errors import DataError
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.lists import LIST_LENGTH, lists_of, top_quarter
from tacit.evaluation.metrics import ndcg_by_person
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
    def mae(self) -> float | None:
        """Stars; every rating weighs the same, not every person. None for scores not in stars."""
        if not np.isfinite(self.errors).all():
            return None
        return float(self.errors.sum() / self.counts.sum())

    @property
    def mean_ndcg(self) -> float:
        """Over the people with something relevant."""
        return float(np.nanmean(self.ndcg))


@dataclass(frozen=True)
class Setting:
    """overlap: share of the training people in both domains who stay in training.
    profile_size: ratings in the target domain that a test person keeps; 0: cold start.
    alpha: how fast old ratings lose weight; 0: not at all."""

    overlap: float
    profile_size: int
    alpha: float = 0.0


Key = tuple[Contender, int | None]
"""A contender at a k, None where it has none."""


@dataclass(frozen=True)
class Experiment:
    """What every split shares. test_ratings: how many in the target domain make a test person;
    options: of XMap, by name (significance, stars, ...)."""

    ratings: Ratings
    source: str
    target: str
    share: float
    test_ratings: int
    options: Mapping[str, Any]

    def split(self, setting: Setting, seed: int) -> Split:
        return cross_domain_split(
            self.ratings,
            source=self.source,
            target=self.target,
            share=self.share,
            keep=setting.profile_size,
            at_least=self.test_ratings,
            overlap=setting.overlap,
            seed=seed,
        )


def run_setting(
    experiment: Experiment, seed: int, setting: Setting, entries: Sequence[Key]
) -> list[Judged]:
    """Of every contender, in the order of `entries`."""
    split = experiment.split(setting, seed)
    target = np.zeros(experiment.ratings.n_items, dtype=bool)
    target[items_in(experiment.ratings, experiment.target)] = True
    options = {**experiment.options, "alpha": setting.alpha}
    found = []
    for contender, k in entries:
        model = contender.make(experiment.source, experiment.target, options, seed, k)
        stars = contender.predicts(options)
        found.append(
            judge_target(model.fit(split.train), split, target, n=LIST_LENGTH, stars=stars)
        )
    return found


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
    known = target[split.train.items]
    if not known.any():
        raise DataError(
            "no training rating is left in the target domain", fix="Hold out fewer people."
        )
    relevant = top_quarter(test, people)
    if not relevant.data.any():
        raise DataError(
            "no test person liked a held-out item",
            expected="a held-out rating in the top quarter of the scale",
            fix="Hold out more people.",
        )
    missing = float(split.train.values[known].mean())
    lists = lists_of(recommender, test, people, n=n, candidates=test.item_ids[target].tolist())
    errors = np.full(len(people), np.nan)
    for place, person in enumerate(people) if stars else ():
        rows = slice(test.offsets[person], test.offsets[person + 1])
        items = test.item_ids[test.items[rows]].tolist()
        predicted = recommender.predict(items, test.user_ids[person])
        predicted = np.where(np.isnan(predicted), missing, predicted)
        clipped = np.clip(predicted, test.scale.minimum, test.scale.maximum)
        errors[place] = np.abs(clipped - test.values[rows]).sum()
    counts = np.diff(test.offsets)[people]
    return Judged(test.user_ids[people], counts, errors, ndcg_by_person(lists, relevant))


@dataclass(frozen=True)
class Comparison:
    """method minus against, on the same ratings of the same people; 95 % intervals over people.

    measure: mae (below 0: the method is better) or ndcg_at_10 (above 0: the method is better).
    alpha: of the method, where it differs from the base's; then `against` is the method itself.
    """

    method: str
    variant: str
    epsilon: float
    epsilon_prime: float | None
    k: int | None
    against: str
    measure: str
    difference: float
    low: float
    high: float
    people: int
    alpha: float | None = None

    @property
    def interval(self) -> Interval:
        return Interval(self.difference, self.low, self.high)


def mae_difference(mine: Sequence[Judged], theirs: Sequence[Judged]) -> tuple[Interval, int]:
    """Difference of MAE over all seeds, and how many people it rests on.

    Ratings weigh the same, people differ in how many they have: the interval is that of a ratio of
    two means, by linearisation (Cochran, Sampling techniques, 1977, chapter 6).
    """
    gaps = [a.errors - b.errors for a, b in zip(mine, theirs, strict=True)]
    gap, counts = _by_person(mine, gaps), _by_person(mine, [each.counts for each in mine])
    overall = gap.sum() / counts.sum()
    return mean_interval(overall + (gap - overall * counts) / counts.mean()), len(gap)


def ndcg_difference(mine: Sequence[Judged], theirs: Sequence[Judged]) -> tuple[Interval, int]:
    """Difference of NDCG over all seeds, of the people with something relevant."""
    gaps = [a.ndcg - b.ndcg for a, b in zip(mine, theirs, strict=True)]
    times = _by_person(mine, [np.isfinite(gap).astype(float) for gap in gaps])
    total = _by_person(mine, [np.nan_to_num(gap) for gap in gaps])
    judged = times > 0
    return mean_interval(total[judged] / times[judged]), int(judged.sum())


def compare(judged: Mapping[Key, Sequence[Judged]]) -> list[Comparison]:
    """Every variant of X-Map and NX-Map against every baseline, and X-Map against NX-Map."""
    return [
        comparison(mine, theirs[0], measure, judged[mine], judged[theirs])
        for mine, theirs in itertools.product(judged, judged)
        if mine[0].method not in BASELINES
        and (theirs[0].method in BASELINES or theirs[0].method == f"n{mine[0].method}")
        for measure in ("mae", "ndcg_at_10")
        if measure == "ndcg_at_10" or None not in (judged[mine][0].mae, judged[theirs][0].mae)
    ]


def comparison(
    mine: Key, theirs: Contender, measure: str, judged: Sequence[Judged],
    against: Sequence[Judged], alpha: float | None = None,
) -> Comparison:  # fmt: skip
    over_people = mae_difference if measure == "mae" else ndcg_difference
    found, people = over_people(judged, against)
    one, k = mine
    own = (one.method, one.variant, one.epsilon, one.epsilon_prime, k)
    return Comparison(*own, theirs.method, measure, *found, people, alpha)


def _by_person(judged: Sequence[Judged], values: Sequence[NDArray[np.generic]]) -> Floats:
    """(distinct people,) sums over the seeds."""
    ids: list[Column] = [each.ids for each in judged]
    _, place = np.unique(np.concatenate(ids), return_inverse=True)
    return np.bincount(place, weights=np.concatenate(values)).astype(np.float64)
