"""Whether one contender is better than another on the same people: paired differences.

A person may be a test person under several seeds; they count once, with all their ratings. So the
interval is about other people of the same kind, and not about other draws of the split alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column
from tacit.designs.xmap.experiment.judge import Judged
from tacit.designs.xmap.experiment.methods import BASELINES, PRIVATE, Contender
from tacit.evaluation.intervals import Interval, mean_interval

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Comparison:
    """method minus against, on the same ratings of the same people; 95 % intervals.

    measure: mae (below 0: the method is better) or ndcg_at_10 (above 0: the method is better).
    low, high: over people. seeds_low, seeds_high: of the same difference taken seed by seed.
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
    seeds_low: float
    seeds_high: float
    people: int


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
    known = [~np.isnan(gap) for gap in gaps]
    filled = [np.where(has, gap, 0.0) for has, gap in zip(known, gaps, strict=True)]
    times = _by_person(mine, [has.astype(float) for has in known])
    total = _by_person(mine, filled)
    judged = times > 0
    return mean_interval(total[judged] / times[judged]), int(judged.sum())


def compare(judged: Mapping[tuple[Contender, int | None], Sequence[Judged]]) -> list[Comparison]:
    """Every variant of X-Map and NX-Map against every baseline, and X-Map against NX-Map."""
    return [
        _comparison(mine, theirs[0], measure, judged[mine], judged[theirs])
        for mine, theirs in itertools.product(judged, judged)
        if mine[0].method not in BASELINES and _comparable(mine[0], theirs[0])
        for measure in ("mae", "ndcg_at_10")
        if measure == "ndcg_at_10" or (judged[mine][0].has_errors and judged[theirs][0].has_errors)
    ]


def _comparable(mine: Contender, theirs: Contender) -> bool:
    variant = mine.method.removeprefix("x-map-")
    return theirs.method in BASELINES or (
        mine.method in PRIVATE and theirs.method == f"nx-map-{variant}"
    )


def _comparison(
    mine: tuple[Contender, int | None],
    theirs: Contender,
    measure: str,
    judged: Sequence[Judged],
    against: Sequence[Judged],
) -> Comparison:
    over_people = mae_difference if measure == "mae" else ndcg_difference
    (difference, low, high), people = over_people(judged, against)
    value = attrgetter("mae" if measure == "mae" else "mean_ndcg")
    # Seeds share people, so this interval is somewhat narrow.
    seeds = mean_interval([value(a) - value(b) for a, b in zip(judged, against, strict=True)])
    return Comparison(
        method=mine[0].method,
        variant=mine[0].variant,
        epsilon=mine[0].epsilon,
        epsilon_prime=mine[0].epsilon_prime,
        k=mine[1],
        against=theirs.method,
        measure=measure,
        difference=difference,
        low=low,
        high=high,
        seeds_low=seeds.low,
        seeds_high=seeds.high,
        people=people,
    )


def _by_person(judged: Sequence[Judged], values: Sequence[NDArray[np.generic]]) -> Floats:
    """(distinct people,) sums over the seeds."""
    ids: list[Column] = [each.ids for each in judged]
    _, place = np.unique(np.concatenate(ids), return_inverse=True)
    return np.bincount(place, weights=np.concatenate(values)).astype(np.float64)
