"""Intervals and paired tests over people and splits.

A figure is a mean over splits of means over test people. It varies because other people could have
been judged, and because other splits and other noise could have been drawn:

  V = V_people + V_splits
  V_people  variance of the figure under resampling of people, each with all their splits
  V_splits  variance of the splits' means / their number

V_splits holds a part of V_people, so V is rather too large than too small. The interval is
Student's with the degrees of freedom of Welch and Satterthwaite. The difference of two recommenders
is paired: person by person and split by split. Where several differences are tested, p values are
corrected by Holm (1979), so that the chance of any false one is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.evaluation.intervals import Interval

RESAMPLINGS = 1000
"""Bootstrap samples of people."""
_SEED = 2024

Floats = NDArray[np.float64]
ByPerson = Sequence[Mapping[int, float]]
"""For each split, a figure by the number of each test person."""


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
        mean, error, freedom = self._estimate(splits)
        half = _student_quantile(freedom) * error
        return Interval(mean, max(bounds[0], mean - half), min(bounds[1], mean + half))

    def difference(self, own: Sequence[Floats], reference: Sequence[Floats]) -> PairedDifference:
        """Compare two recommenders on the same people and splits.

        Args:
            own: For each split, the figure of each of its test people.
            reference: The same of the reference.
        """
        from scipy.stats import t as student

        paired = [mine - theirs for mine, theirs in zip(own, reference, strict=True)]
        mean, error, freedom = self._estimate(paired)
        half = _student_quantile(freedom) * error
        p_value = float(mean == 0)
        if error > 0:
            p_value = float(2 * student.sf(abs(mean) / error, freedom))
        return PairedDifference(Interval(mean, mean - half, mean + half), p_value)

    def _estimate(self, splits: Sequence[Floats]) -> tuple[float, float, float]:
        """Return the figure, its standard error, and the degrees of freedom."""
        totals = np.zeros((len(splits), len(self._people)))
        counted = np.zeros_like(totals)
        for number, (rows, values) in enumerate(zip(self._rows, splits, strict=True)):
            known = np.isfinite(values)
            totals[number, rows[known]] = values[known]
            counted[number, rows[known]] = 1.0
        means = totals.sum(axis=1) / counted.sum(axis=1)
        counts = self._weights @ counted.T
        resampled = np.divide(
            self._weights @ totals.T, counts, out=np.full(counts.shape, np.nan), where=counts > 0
        )
        people_variance = float(np.nanvar(np.nanmean(resampled, axis=1), ddof=1))
        splits_variance = 0.0
        if len(splits) > 1:
            splits_variance = float(means.var(ddof=1)) / len(splits)
        variance = people_variance + splits_variance
        freedom = math.inf
        if variance > 0:
            by_people = people_variance**2 / max(len(self._people) - 1, 1)
            by_splits = splits_variance**2 / max(len(splits) - 1, 1)
            freedom = max(1.0, variance**2 / (by_people + by_splits))
        return float(means.mean()), math.sqrt(variance), freedom


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


def _student_quantile(freedom: float) -> float:
    from scipy.stats import t as student

    return float(student.ppf(0.975, freedom))
