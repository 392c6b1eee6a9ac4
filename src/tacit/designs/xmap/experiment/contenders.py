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
from tacit.evaluation.metrics import ranking_by_person
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
NON_PRIVATE = METHODS[:2]
PRIVATE = METHODS[2:4]
BASELINES = METHODS[4:]
VARIANTS = ("sound", "published")
READINGS = ("printed", "counted", "positive")
WITHOUT_K = ("item-average", "user-average", "popularity", "mf")
PAPERS_BUDGETS = {"x-map-ib": (0.3, 0.8), "x-map-ub": (0.6, 0.3)}
"""(epsilon, epsilon_prime) of the paper's figures: one replaced item; the recommender's step."""


@dataclass(frozen=True)
class Contender:
    """One method with its parameters."""

    method: str
    """A key of `NAMES`."""
    variant: str = "baseline"
    """X-Map's; `published` for NX-Map, which it is at infinity; `baseline` for the others."""
    epsilon: float = math.inf
    """Nats; inf without privacy."""
    epsilon_prime: float | None = None
    """Nats of the published recommender's step."""
    delta: float = 0.0
    """Chance beside epsilon, of the sound variant alone."""
    k: int | None = None
    """Number of neighbours, if the method has any."""
    pnsa: str | None = None
    """Reading of PNSA, of the published variant with privacy alone."""

    @property
    def parameters(self) -> tuple[str, str, float, float | None, str | None]:
        """Parameters by which a comparison names the contender; k is none of them."""
        return self.method, self.variant, self.epsilon, self.epsilon_prime, self.pnsa

    @property
    def has_k(self) -> bool:
        """Whether it has a number of neighbours to choose."""
        return self.method not in WITHOUT_K and self.variant != "sound"

    @property
    def has_alpha(self) -> bool:
        """Whether old ratings lose weight in it: the paper's item-based methods."""
        return self.method.endswith("-ib") and self.variant == "published"

    @property
    def name(self) -> str:
        """Name such as `X-Map (item-based), sound`; baselines and NX-Map have no variant in it."""
        name = NAMES[self.method]
        return f"{name}, {self.variant}" if self.method in PRIVATE else name

    @property
    def budget(self) -> str:
        """Budget in words, such as `ε = 1, δ = 1e-06`; empty without privacy."""
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
        """Make the recommender, not fitted.

        Args:
            source: Domain that people have rated in.
            target: Domain to recommend from.
            options: Further keywords of XMap, by name.
            seed: Seed of the methods that draw.
        """
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
        parameters: dict[str, Any] = {
            "variant": self.variant,
            "epsilon": self.epsilon,
            "epsilon_prime": self.epsilon_prime,
            "delta": self.delta,
            "recommender": "user-based" if self.method.endswith("-ub") else "item-based",
        }
        if self.pnsa is not None:
            parameters["pnsa"] = self.pnsa
        return XMap(source=source, target=target, **parameters, **neighbours, **options)


@dataclass(frozen=True, eq=False)
class Judgement:
    """Errors and lists of one recommender, for each test person."""

    ids: Column
    """(people,) ids, in the order of their numbers."""
    counts: Ints
    """(people,) held-out ratings."""
    errors: Floats
    """(people,) sums of |prediction - star|; NaN for scores that are not stars."""
    ndcg: Floats
    """(people,) NDCG of their lists; NaN for people who liked none of their held-out items."""

    @property
    def mae(self) -> float | None:
        """Stars; every rating weighs the same, not every person. None for scores not in stars."""
        if not np.isfinite(self.errors).all():
            return None
        return float(self.errors.sum() / self.counts.sum())

    @property
    def mean_ndcg(self) -> float:
        """Mean NDCG of the people with something relevant."""
        return float(np.nanmean(self.ndcg))


@dataclass(frozen=True)
class Setting:
    """One value of everything that an experiment moves."""

    overlap: float
    """Share of the training people in both domains who stay in training."""
    profile_size: int
    """Ratings in the target domain that a test person keeps; 0: cold start."""
    alpha: float = 0.0
    """How fast old ratings lose weight; 0: not at all."""


Shared = tuple[Ratings, str, str, float, int, Mapping[str, Any]]
"""What every split shares: ratings, source, target, share of people who are tested, how many
ratings in the target make a test person, and options of XMap by name (significance, stars, ...)."""


def run_setting(
    shared: Shared, seed: int, setting: Setting, contenders: Sequence[Contender]
) -> list[Judgement]:
    """Fit every contender on one split and judge it on the same test people."""
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
    """Judge errors on the held-out ratings, and lists of ten from all items of the target domain.

    Predictions are not rounded; for none, the target's mean star in training stands in.

    Args:
        recommender: Fitted on `split.train`.
        split: Training and test people.
        target: (items,) which items are of the target domain.
        stars: Whether scores are stars.

    Raises:
        DataError: Nobody is tested, nobody liked anything, or the target has no training rating.
    """
    test = split.test
    people = np.flatnonzero(np.diff(test.offsets) > 0)
    if not people.size:
        raise DataError(
            "nobody has held-out ratings in the target domain", fix="Hold out more people."
        )
    in_target = target[split.train.items]
    if not in_target.any():
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
    counts = np.diff(test.offsets)[people]
    errors = np.full(len(people), np.nan)
    if stars:
        truth, predicted = stars_of(recommender, split.train.where(in_target), test, people)
        owner = np.repeat(np.arange(len(people)), counts)
        errors = np.bincount(owner, np.abs(predicted - truth))
    ndcg = ranking_by_person(lists, relevant)["ndcg"]
    return Judgement(test.user_ids[people], counts, errors, ndcg)


@dataclass(frozen=True)
class Comparison:
    """One method minus another, on the same ratings of the same people."""

    method: str
    """The method that is compared."""
    variant: str
    """The method's variant."""
    epsilon: float
    """The method's epsilon."""
    epsilon_prime: float | None
    """The method's epsilon'."""
    pnsa: str | None
    """The method's reading of PNSA."""
    k: int | None
    """The method's number of neighbours."""
    against: str
    """The other method."""
    measure: str
    """`mae` (below 0: the method is better) or `ndcg_at_10` (above 0: the method is better)."""
    difference: float
    """Mean difference, in the measure's unit."""
    low: float
    """Lower end of its 95 % interval over people."""
    high: float
    """Upper end."""
    people: int
    """How many people the difference rests on."""
    alpha: float | None = None
    """The method's, where it differs from the base's; then `against` is the method itself."""

    @property
    def interval(self) -> Interval:
        """The difference with its interval."""
        return Interval(self.difference, self.low, self.high)


def mae_difference(mine: Sequence[Judgement], theirs: Sequence[Judgement]) -> tuple[Interval, int]:
    """Difference of MAE over all seeds, and how many people it rests on.

    Ratings weigh the same, people differ in how many they have: the interval is that of a ratio of
    two means, by linearisation (Cochran, Sampling techniques, 1977, chapter 6).
    """
    gaps = [a.errors - b.errors for a, b in zip(mine, theirs, strict=True)]
    gap = _sum_by_person(mine, gaps)
    counts = _sum_by_person(mine, [judged.counts for judged in mine])
    overall = gap.sum() / counts.sum()
    return mean_interval(overall + (gap - overall * counts) / counts.mean()), len(gap)


def ndcg_difference(mine: Sequence[Judgement], theirs: Sequence[Judgement]) -> tuple[Interval, int]:
    """Difference of NDCG over all seeds, of the people with something relevant."""
    gaps = [a.ndcg - b.ndcg for a, b in zip(mine, theirs, strict=True)]
    times = _sum_by_person(mine, [np.isfinite(gap).astype(float) for gap in gaps])
    total = _sum_by_person(mine, [np.nan_to_num(gap) for gap in gaps])
    judged = times > 0
    return mean_interval(total[judged] / times[judged]), int(judged.sum())


def compare(judged: Mapping[Contender, Sequence[Judgement]]) -> list[Comparison]:
    """Compare X-Map and NX-Map with every baseline, and X-Map with NX-Map."""
    compared = []
    for mine, theirs in itertools.product(judged, judged):
        is_baseline = theirs.method in BASELINES
        is_without_privacy = theirs.method == f"n{mine.method}"
        if mine.method in BASELINES or not (is_baseline or is_without_privacy):
            continue
        have_errors = None not in (judged[mine][0].mae, judged[theirs][0].mae)
        for measure in ("mae", "ndcg_at_10") if have_errors else ("ndcg_at_10",):
            pair = judged[mine], judged[theirs]
            compared.append(compare_contenders(mine, theirs, measure, *pair))
    return compared


def compare_contenders(
    mine: Contender,
    theirs: Contender,
    measure: str,
    judged: Sequence[Judgement],
    against: Sequence[Judgement],
    alpha: float | None = None,
) -> Comparison:
    """Compare two contenders by one measure, on the same people.

    Args:
        mine: The first contender.
        theirs: The second one.
        measure: `mae` or `ndcg_at_10`.
        judged: The first one's judgements, one for each seed.
        against: The second one's.
        alpha: The first one's alpha, where it differs from the base's.
    """
    take_difference = mae_difference if measure == "mae" else ndcg_difference
    gap, people = take_difference(judged, against)
    return Comparison(*mine.parameters, mine.k, theirs.method, measure, *gap, people, alpha)


def _sum_by_person(judged: Sequence[Judgement], values: Sequence[NDArray[np.generic]]) -> Floats:
    """Sum over the seeds: (distinct people,)."""
    _, place = np.unique(np.concatenate([each.ids for each in judged]), return_inverse=True)
    return np.bincount(place, weights=np.concatenate(values)).astype(np.float64)
