"""Intervals and paired tests over people and splits.

A figure is a mean over splits of means over test people. It varies because other people could have
been judged, and because other splits and other noise could have been drawn:

  V_people  variance of the figure under resampling of people, each with all their splits
  V_splits  variance of the splits' means / their number

The interval is mean +- sqrt(t_P^2 V_people + t_S^2 V_splits), with Student's quantile of P - 1 and
S - 1 degrees of freedom for P people and S splits: exact where either part is alone, too wide
between, since V_splits holds a part of V_people. (One t with Welch and Satterthwaite's degrees of
freedom called 12 % of equal recommenders different at two splits with strong noise.) The difference
of two recommenders is paired: person by person and split by split. Its p value is the level at
which the interval touches 0. Where several differences are tested, p values are corrected by Holm
(1979), so that the chance of any false one is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.evaluation.intervals import Interval

RESAMPLINGS = 1000
"""Bootstrap samples of people."""
_SEED = 2024

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedDifference:
    """A recommender's figure less that of a reference, paired over people and splits."""

    interval: Interval
    """Mean difference with its 95 % interval, for this difference alone."""
    p_value: float
    """Chance of so large a difference between equal recommenders, before a correction."""


class PeopleBootstrap:
    """Resamples of people, the same for every recommender of a comparison.

    Args:
        splits: For each split, the numbers of its test people, shape (people,).
    """

    def __init__(self, splits: Sequence[NDArray[np.int64]]) -> None:
        self._people = np.unique(np.concatenate(list(splits)))
        self._rows = [np.searchsorted(self._people, people) for people in splits]
        generator = np.random.default_rng(_SEED)
        number = len(self._people)
        shares = np.full(number, 1 / number)
        self._weights = generator.multinomial(number, shares, size=RESAMPLINGS).astype(np.float64)

    def interval(self, splits: Sequence[Floats], bounds: tuple[float, float]) -> Interval:
        """Compute a figure with its 95 % interval.

        Args:
            splits: For each split, the figure of each of its test people; NaN for nobody's.
            bounds: Least and largest figure that there can be.
        """
        estimate = self._estimate(splits)
        mean = estimate.mean
        half = estimate.half_width(0.05)
        return Interval(mean, max(bounds[0], mean - half), min(bounds[1], mean + half))

    def difference(self, own: Sequence[Floats], reference: Sequence[Floats]) -> PairedDifference:
        """Compare two recommenders on the same people and splits.

        Args:
            own: For each split, the figure of each of its test people.
            reference: The same of the reference.
        """
        paired = [mine - theirs for mine, theirs in zip(own, reference, strict=True)]
        estimate = self._estimate(paired)
        mean = estimate.mean
        half = estimate.half_width(0.05)
        return PairedDifference(Interval(mean, mean - half, mean + half), estimate.p_value())

    def _estimate(self, splits: Sequence[Floats]) -> _Estimate:
        totals = np.zeros((len(splits), len(self._people)))
        counted = np.zeros_like(totals)
        for number, (rows, values) in enumerate(zip(self._rows, splits, strict=True)):
            known = np.isfinite(values)
            totals[number, rows[known]] = values[known]
            counted[number, rows[known]] = 1.0
        means = totals.sum(axis=1) / counted.sum(axis=1)
        sums = self._weights @ totals.T
        counts = self._weights @ counted.T
        drawn = (counts > 0).all(axis=1)  # a sample of few people may hold nobody of a split
        resampled = (sums[drawn] / counts[drawn]).mean(axis=1)
        people_variance = float(resampled.var(ddof=1)) if len(resampled) > 1 else 0.0
        splits_variance = 0.0
        if len(splits) > 1:
            splits_variance = float(means.var(ddof=1)) / len(splits)
        n_people = int((counted.sum(axis=0) > 0).sum())
        return _Estimate(
            float(means.mean()), people_variance, splits_variance, n_people, len(splits)
        )


@dataclass(frozen=True)
class _Estimate:
    """A figure and the two parts of its variance."""

    mean: float
    people_variance: float
    splits_variance: float
    people: int
    splits: int

    def half_width(self, level: float) -> float:
        """Half of the width of an interval that misses with this chance."""
        from scipy.stats import t as student

        of_people = student.isf(level / 2, max(self.people - 1, 1)) ** 2 * self.people_variance
        of_splits = student.isf(level / 2, max(self.splits - 1, 1)) ** 2 * self.splits_variance
        return math.sqrt(of_people + of_splits)

    def p_value(self) -> float:
        """Find the level at which the interval touches 0."""
        from scipy.optimize import brentq

        least = 1e-12
        if self.mean == 0:
            return 1.0
        if self.half_width(least) <= abs(self.mean):
            return least
        return float(brentq(lambda level: self.half_width(level) - abs(self.mean), least, 1.0))


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for their number, by Holm's step-down rule."""
    order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    largest = 0.0
    for place, number in enumerate(order.tolist()):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[number]))
        corrected[number] = largest
    return [float(value) for value in corrected]


def name_outcome(mean: float, corrected_p: float) -> str:
    """Call a difference "better" or "worse" at 5 %, or else a "tie"."""
    if corrected_p >= 0.05 or mean == 0:
        return "tie"
    return "better" if mean > 0 else "worse"
