"""How contenders are judged on people new to the target domain, and compared.

Two contenders are compared by paired differences over people. A person who is a test person for
several seeds counts once, with their held-out ratings of all seeds. So the interval says what to
expect for other people, and not only for other random splits of the same people.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import cross_domain_split, items_in
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import Split
from tacit.designs.xmap.experiment.contenders import BASELINES, Contender
from tacit.designs.xmap.experiment.grid import Setting
from tacit.errors import DataError
from tacit.evaluation import Interval, mean_interval
from tacit.evaluation.lists import lists_of, predict_held_out, top_quarter
from tacit.evaluation.metrics import ranking_by_person
from tacit.recommenders.base import Recommender

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Judgement:
    """Errors of predictions and quality of lists of one recommender, for each test person."""

    ids: Column
    """(people,) ids of the test people."""
    counts: Ints
    """(people,) numbers of held-out ratings."""
    errors: Floats
    """(people,) sums of |predicted - true stars|; NaN if the recommender predicts no stars."""
    ndcg: Floats
    """(people,) NDCG of their lists; NaN for people without a relevant held-out item."""

    @property
    def mae(self) -> float | None:
        """Mean absolute error in stars over all held-out ratings; None without predictions."""
        if not np.isfinite(self.errors).all():
            return None
        return float(self.errors.sum() / self.counts.sum())

    @property
    def mean_ndcg(self) -> float:
        """Mean NDCG over the people with a relevant held-out item."""
        return float(np.nanmean(self.ndcg))


class SharedInputs(NamedTuple):
    """Inputs that all splits and settings share."""

    ratings: Ratings
    """Ratings of everybody, in both domains."""
    source: str
    """Domain that people have rated in."""
    target: str
    """Domain to recommend from."""
    share: float
    """Share of the people with ratings in both domains who are tested."""
    least_ratings: int
    """Fewest ratings that a test person has in the target domain."""
    options: Mapping[str, Any]
    """Further keywords of XMap by name, such as `stars`."""


def run_setting(
    shared: SharedInputs, seed: int, setting: Setting, contenders: Sequence[Contender]
) -> list[Judgement]:
    """Fit every contender on one split, and judge all of them on the same test people.

    Args:
        shared: Inputs that all splits share.
        seed: Seed of the split.
        setting: Overlap, profile size and alpha.
        contenders: Contenders that are run in this setting.

    Returns:
        The judgement of each contender, in their order.
    """
    ratings = shared.ratings
    split = cross_domain_split(
        ratings,
        source=shared.source,
        target=shared.target,
        share=shared.share,
        keep=setting.profile_size,
        at_least=shared.least_ratings,
        overlap=setting.overlap,
        seed=seed,
    )
    is_target = np.isin(np.arange(ratings.n_items), items_in(ratings, shared.target))
    options = {**shared.options, "alpha": setting.alpha}
    judgements = []
    for contender in contenders:
        recommender = contender.make(shared.source, shared.target, options, seed)
        model = recommender.fit(split.train)
        stars = contender.predicts(options)
        judgements.append(judge_target(model, split, is_target, stars=stars))
    return judgements


def judge_target(
    recommender: Recommender, split: Split, is_target: NDArray[np.bool_], *, stars: bool
) -> Judgement:
    """Judge errors on the held-out ratings, and lists of ten from all items of the target domain.

    Predictions are not rounded. If a recommender makes no prediction for a rating, the mean stars
    of the training ratings in the target domain are taken.

    Args:
        recommender: A recommender fitted on `split.train`.
        split: Training ratings, and the held-out ratings of the test people.
        is_target: (items,) whether each item is in the target domain.
        stars: Whether the recommender predicts stars.

    Raises:
        DataError: There is no test person, no relevant held-out item, or no training rating in the
            target domain.
    """
    test = split.test
    people = np.flatnonzero(np.diff(test.offsets) > 0)
    if not people.size:
        raise DataError(
            "nobody has held-out ratings in the target domain", fix="Hold out more people."
        )
    in_target = is_target[split.train.items]  # (training ratings,)
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
    lists = lists_of(recommender, test, people, candidates=test.item_ids[is_target].tolist())
    counts = np.diff(test.offsets)[people]
    errors = np.full(len(people), np.nan)
    if stars:
        truth, predicted = predict_held_out(recommender, split.train.where(in_target), test, people)
        person_of_rating = np.repeat(np.arange(len(people)), counts)
        errors = np.bincount(person_of_rating, np.abs(predicted - truth))
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
    """The other method, a key of `NAMES`."""
    measure: str
    """`mae` (below 0: the method is better) or `ndcg_at_10` (above 0: the method is better)."""
    difference: float
    """The method's mean minus the other's, in the measure's unit."""
    low: float
    """Lower end of its 95 % interval over people."""
    high: float
    """Upper end."""
    people: int
    """Number of people over whom the difference was computed."""
    alpha: float | None = None
    """The method's alpha, if it is compared with itself at the base value of alpha; else None."""

    @property
    def interval(self) -> Interval:
        """The difference and its interval, as one value."""
        return Interval(self.difference, self.low, self.high)


def mae_difference(mine: Sequence[Judgement], theirs: Sequence[Judgement]) -> tuple[Interval, int]:
    """Compute the difference of the MAE of two methods over all seeds.

    The MAE weighs ratings equally, and people have different numbers of ratings. So the difference
    is a ratio of two means over people. The numerator is the mean of d, where d is the sum of a
    person's errors with the first method minus the sum of their errors with the second. The
    denominator is the mean number of a person's ratings. The interval is computed by linearisation
    (Cochran, Sampling techniques, 1977, chapter 6).

    Args:
        mine: The first method's judgements, one for each seed.
        theirs: The second method's.

    Returns:
        The difference with its interval, and the number of people.
    """
    differences_by_seed = [a.errors - b.errors for a, b in zip(mine, theirs, strict=True)]
    differences = _sum_by_person(mine, differences_by_seed)
    counts = _sum_by_person(mine, [judgement.counts for judgement in mine])
    ratio = differences.sum() / counts.sum()
    linearised = ratio + (differences - ratio * counts) / counts.mean()
    return mean_interval(linearised), len(differences)


def ndcg_difference(mine: Sequence[Judgement], theirs: Sequence[Judgement]) -> tuple[Interval, int]:
    """Compute the difference of the NDCG of two methods over all seeds.

    Args:
        mine: The first method's judgements, one for each seed.
        theirs: The second method's.

    Returns:
        The mean difference over people with a relevant held-out item, with its interval; and the
        number of these people. A person who is tested for several seeds counts once, with the mean
        over their lists.
    """
    differences_by_seed = [a.ndcg - b.ndcg for a, b in zip(mine, theirs, strict=True)]
    finite_by_seed = [np.isfinite(values).astype(float) for values in differences_by_seed]
    n_lists = _sum_by_person(mine, finite_by_seed)
    sums = _sum_by_person(mine, [np.nan_to_num(values) for values in differences_by_seed])
    is_judged = n_lists > 0
    return mean_interval(sums[is_judged] / n_lists[is_judged]), int(is_judged.sum())


def compare(judged: Mapping[Contender, Sequence[Judgement]]) -> list[Comparison]:
    """Compare X-Map and NX-Map with every baseline, and X-Map with NX-Map of the same kind.

    The kinds are item-based and user-based.

    Args:
        judged: Judgements of each contender, one for each seed.
    """
    comparisons = []
    for mine, theirs in itertools.product(judged, judged):
        is_baseline = theirs.method in BASELINES
        is_same_without_privacy = theirs.method == f"n{mine.method}"  # such as nx-map-ib
        if mine.method in BASELINES or not (is_baseline or is_same_without_privacy):
            continue
        have_errors = None not in (judged[mine][0].mae, judged[theirs][0].mae)
        measures = ("mae", "ndcg_at_10") if have_errors else ("ndcg_at_10",)
        comparisons += [
            compare_contenders(mine, theirs, measure, judged[mine], judged[theirs])
            for measure in measures
        ]
    return comparisons


def compare_contenders(
    mine: Contender,
    theirs: Contender,
    measure: str,
    judgements: Sequence[Judgement],
    their_judgements: Sequence[Judgement],
    alpha: float | None = None,
) -> Comparison:
    """Compare two contenders by one measure, on the same people.

    Args:
        mine: The first contender.
        theirs: The second contender.
        measure: `mae` or `ndcg_at_10`.
        judgements: The first contender's judgements, one for each seed.
        their_judgements: The second contender's.
        alpha: The first contender's alpha, if both are the same with different alphas; else None.
    """
    compute_difference = mae_difference if measure == "mae" else ndcg_difference
    interval, people = compute_difference(judgements, their_judgements)
    return Comparison(
        method=mine.method,
        variant=mine.variant,
        epsilon=mine.epsilon,
        epsilon_prime=mine.epsilon_prime,
        pnsa=mine.pnsa,
        k=mine.k,
        against=theirs.method,
        measure=measure,
        difference=interval.mean,
        low=interval.low,
        high=interval.high,
        people=people,
        alpha=alpha,
    )


def _sum_by_person(
    judgements: Sequence[Judgement], values: Sequence[NDArray[np.generic]]
) -> Floats:
    """Sum values over the seeds for each person.

    Args:
        judgements: A contender's judgement of each seed, with the ids of its test people.
        values: For each seed, (people,) values.

    Returns:
        (distinct people,) sums, in the order of sorted ids.
    """
    ids = np.concatenate([judgement.ids for judgement in judgements])
    _, number_of_person = np.unique(ids, return_inverse=True)
    return np.bincount(number_of_person, weights=np.concatenate(values)).astype(np.float64)
