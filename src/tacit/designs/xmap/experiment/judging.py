"""The contenders of an experiment across domains, and each judged on people new to the target.

nx-map     X-Map without privacy: the published variant at epsilon = inf
x-map      X-Map with privacy, in its variants; user-based only as published
baselines  popularity has lists alone, for its scores are not stars; remote-user asks people who are
           alike in the source domain about the target domain; mf takes both domains as one

Whether one is better than another is judged by paired differences: a person may be a test person
under several seeds and counts once, with all their ratings. So the interval is about other people
of the same kind, and not about other draws of the split alone.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import cross_domain_split, items_in
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import Split
from tacit.errors import DataError
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.lists import lists_of, stars_of, top_quarter
from tacit.evaluation.metrics import ndcg_by_person
from tacit.recommenders.base import Recommender

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NAMES = {
    "nx-map-ib": "NX-Map (item-based)",
    "nx-map-ub": "NX-Map (user-based)",
    "x-map-ib": "X-Map (item-based)",
    "x-map-ub": "X-Map (user-based)",
    "item-average": "item average",
    "user-average": "user average",
    "popularity": "popularity",
    "remote-user": "remote user",
    "knn-single": "item kNN (target only)",
    "knn-cross": "item kNN (both domains)",
    "mf": "matrix factorisation",
}
METHODS = tuple(NAMES)
NON_PRIVATE, PRIVATE, BASELINES = METHODS[:2], METHODS[2:4], METHODS[4:]
VARIANTS = ("sound", "published")
READINGS = ("printed", "counted", "positive")
WITHOUT_K = ("item-average", "user-average", "popularity", "mf")
PAPERS_BUDGETS = {"x-map-ib": (0.3, 0.8), "x-map-ub": (0.6, 0.3)}
"""(epsilon, epsilon_prime) of the paper's figures: one replaced item; the recommender's step."""


@dataclass(frozen=True)
class Contender:
    """One method with its parameters. epsilon: inf without privacy. k: neighbours, if it has any.

    variant: of X-Map; published for NX-Map, which it is at infinity; baseline for the others.
    pnsa: the reading of PNSA, of the published variant with privacy alone.
    """

    method: str
    variant: str = "baseline"
    epsilon: float = math.inf
    epsilon_prime: float | None = None
    delta: float = 0.0
    k: int | None = None
    pnsa: str | None = None

    @property
    def parameters(self) -> tuple[str, str, float, float | None, str | None]:
        """Parameters by which a comparison names it, at any k."""
        return self.method, self.variant, self.epsilon, self.epsilon_prime, self.pnsa

    @property
    def has_k(self) -> bool:
        return self.method not in WITHOUT_K and self.variant != "sound"

    @property
    def has_alpha(self) -> bool:
        """Whether old ratings lose weight in it: the paper's item-based methods."""
        return self.method.endswith("-ib") and self.variant == "published"

    @property
    def name(self) -> str:
        """`X-Map (item-based), sound`; baselines and NX-Map go by their name alone."""
        name = NAMES[self.method]
        return f"{name}, {self.variant}" if self.method in PRIVATE else name

    @property
    def budget(self) -> str:
        """`ε = 1, δ = 1e-06`; empty without privacy."""
        if self.method not in PRIVATE:
            return ""
        if math.isinf(self.epsilon):
            return "ε = ∞"
        if self.epsilon_prime is not None:
            claimed = f"ε = {self.epsilon:g}, ε′ = {self.epsilon_prime:g}, as claimed"
            return claimed if self.pnsa in (None, "printed") else f"{claimed}; PNSA {self.pnsa}"
        return f"ε = {self.epsilon:g}, δ = {self.delta:g}"

    def predicts(self, options: Mapping[str, Any]) -> bool:
        """Whether its scores are stars: not popularity's, nor sound ones without the option."""
        if self.variant == "sound":
            return bool(options.get("stars"))
        return self.method != "popularity"

    def make(self, source: str, target: str, options: Mapping[str, Any], seed: int) -> Recommender:
        """An unfitted recommender. options: further keywords of XMap, by name."""
        from tacit.designs.xmap.model import XMap
        from tacit.recommenders import baselines

        neighbours: dict[str, Any] = {} if self.k is None else {"k": self.k}
        match self.method:
            case "item-average":
                return baselines.ItemMean(damping=0.0)
            case "user-average":
                return baselines.UserAverage()
            case "popularity":
                return baselines.Popularity()
            case "remote-user":
                return baselines.RemoteUser(source=source, target=target, **neighbours)
            case "knn-single":
                return baselines.ItemKNN(domain=target, **neighbours)
            case "knn-cross":
                return baselines.ItemKNN(**neighbours)
            case "mf":
                return baselines.MatrixFactorization(random_state=seed)
        names = ("variant", "epsilon", "epsilon_prime", "delta")
        own: dict[str, Any] = {name: getattr(self, name) for name in names} | neighbours
        if self.pnsa is not None:
            own["pnsa"] = self.pnsa
        own["recommender"] = "user-based" if self.method.endswith("-ub") else "item-based"
        return XMap(source=source, target=target, **own, **options)


@dataclass(frozen=True, eq=False)
class Judgement:
    """Errors and lists of one recommender, for each test person; arrays (people,).

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


Shared = tuple[Ratings, str, str, float, int, Mapping[str, Any]]
"""Of every split: ratings, source, target, share of people who are tested, how many ratings in the
target make a test person, and options of XMap by name (significance, stars, ...)."""


def run_setting(
    shared: Shared, seed: int, setting: Setting, contenders: Sequence[Contender]
) -> list[Judgement]:
    ratings, source, target, share, test_ratings, options = shared
    split = cross_domain_split(
        ratings,
        source=source,
        target=target,
        share=share,
        keep=setting.profile_size,
        at_least=test_ratings,
        overlap=setting.overlap,
        seed=seed,
    )
    listed = np.isin(np.arange(ratings.n_items), items_in(ratings, target))
    options = {**options, "alpha": setting.alpha}
    judged = []
    for contender in contenders:
        model = contender.make(source, target, options, seed).fit(split.train)
        stars = contender.predicts(options)
        judged.append(judge_target(model, split, listed, stars=stars))
    return judged


def judge_target(
    recommender: Recommender, split: Split, target: NDArray[np.bool_], *, stars: bool
) -> Judgement:
    """Errors on the held-out ratings, and lists of ten from all items of the target domain.

    recommender: fitted on `split.train`. target: (items,) which items are of the target domain.
    Predictions are not rounded; for none, the target's mean star in training stands in.
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
    lists = lists_of(recommender, test, people, candidates=test.item_ids[target].tolist())
    counts, errors = np.diff(test.offsets)[people], np.full(len(people), np.nan)
    if stars:
        truth, predicted = stars_of(recommender, split.train.where(known), test, people)
        owner = np.repeat(np.arange(len(people)), counts)
        errors = np.bincount(owner, np.abs(predicted - truth))
    return Judgement(test.user_ids[people], counts, errors, ndcg_by_person(lists, relevant))


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
    pnsa: str | None
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


def mae_difference(mine: Sequence[Judgement], theirs: Sequence[Judgement]) -> tuple[Interval, int]:
    """Difference of MAE over all seeds, and how many people it rests on.

    Ratings weigh the same, people differ in how many they have: the interval is that of a ratio of
    two means, by linearisation (Cochran, Sampling techniques, 1977, chapter 6).
    """
    gaps = [a.errors - b.errors for a, b in zip(mine, theirs, strict=True)]
    gap, counts = _by_person(mine, gaps), _by_person(mine, [each.counts for each in mine])
    overall = gap.sum() / counts.sum()
    return mean_interval(overall + (gap - overall * counts) / counts.mean()), len(gap)


def ndcg_difference(mine: Sequence[Judgement], theirs: Sequence[Judgement]) -> tuple[Interval, int]:
    """Difference of NDCG over all seeds, of the people with something relevant."""
    gaps = [a.ndcg - b.ndcg for a, b in zip(mine, theirs, strict=True)]
    times = _by_person(mine, [np.isfinite(gap).astype(float) for gap in gaps])
    total = _by_person(mine, [np.nan_to_num(gap) for gap in gaps])
    judged = times > 0
    return mean_interval(total[judged] / times[judged]), int(judged.sum())


def compare(judged: Mapping[Contender, Sequence[Judgement]]) -> list[Comparison]:
    """Every variant of X-Map and NX-Map against every baseline, and X-Map against NX-Map."""
    return [
        comparison(mine, theirs, measure, judged[mine], judged[theirs])
        for mine, theirs in itertools.product(judged, judged)
        if mine.method not in BASELINES
        and (theirs.method in BASELINES or theirs.method == f"n{mine.method}")
        for measure in ("mae", "ndcg_at_10")
        if measure == "ndcg_at_10" or None not in (judged[mine][0].mae, judged[theirs][0].mae)
    ]


def comparison(
    mine: Contender, theirs: Contender, measure: str, judged: Sequence[Judgement],
    against: Sequence[Judgement], alpha: float | None = None,
) -> Comparison:  # fmt: skip
    """One measure on the same people. alpha: of the first, where it differs from the base's."""
    over_people = mae_difference if measure == "mae" else ndcg_difference
    gap, people = over_people(judged, against)
    return Comparison(*mine.parameters, mine.k, theirs.method, measure, *gap, people, alpha)


def _by_person(judged: Sequence[Judgement], values: Sequence[NDArray[np.generic]]) -> Floats:
    """(distinct people,) sums over the seeds."""
    _, place = np.unique(np.concatenate([each.ids for each in judged]), return_inverse=True)
    return np.bincount(place, weights=np.concatenate(values)).astype(np.float64)
