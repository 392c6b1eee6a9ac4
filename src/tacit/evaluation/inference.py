"""Intervals and paired tests over people and splits.

A figure is a mean over splits of means over test people. Its two sources of chance are the choice
of people, and the choice of splits together with the noise of the recommenders:

  V_people  variance of the figure under resampling of people, each with all their splits
  V_splits  variance of the splits' means, divided by the number of splits

The interval is mean +- sqrt(t_P^2 V_people + t_S^2 V_splits). For P people and S splits, t_P and
t_S are Student's quantiles of P - 1 and S - 1 degrees of freedom. The interval has about its
stated confidence if one of the two variances is 0, and more otherwise, since V_splits contains a
part of V_people. (A single t quantile, with the degrees of freedom of Welch and Satterthwaite, is
no alternative: with two splits and strong noise, it finds a difference in 12 % of pairs of equal
recommenders.)

The difference of two recommenders is paired, person by person and split by split. Its p value is
the level at which the interval touches 0. The p values of several differences are corrected by Holm
(1979), so that the chance of one false finding or more is at most 5 %.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.evaluation.intervals import Interval

RESAMPLINGS = 1000
"""Number of bootstrap samples of people."""
_SEED = 2024
"""Seed of the resamples. It is fixed, so that the same comparison has the same intervals."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class PairedDifference:
    """A recommender's figure minus that of a reference, paired over people and splits."""

    interval: Interval
    """Mean difference with its 95 % interval, for this difference alone."""
    p_value: float
    """Chance of a difference at least as large between equal recommenders, not corrected."""


class PeopleBootstrap:
    """Resamples of people, the same for every recommender of a comparison.

    Args:
        splits: For each split, the numbers of its test people, shape (people,).
    """

    def __init__(self, splits: Sequence[NDArray[np.int64]]) -> None:
        self._people = np.unique(np.concatenate(list(splits)))
        self._columns = [np.searchsorted(self._people, people) for people in splits]
        generator = np.random.default_rng(_SEED)
        n_people = len(self._people)
        shares = np.full(n_people, 1 / n_people)
        # Shape (RESAMPLINGS, people): how often each resample holds each person.
        weights = generator.multinomial(n_people, shares, size=RESAMPLINGS)
        self._weights = weights.astype(np.float64)

    def interval(self, splits: Sequence[Floats], bounds: tuple[float, float]) -> Interval:
        """Compute a figure with its 95 % interval.

        Args:
            splits: For each split, the figure of each of its test people, shape (people,); NaN for
                a person without a figure.
            bounds: Smallest and largest possible figure, at which the interval is cut.
        """
        estimate = self._estimate(splits)
        mean = estimate.mean
        half_width = estimate.half_width(0.05)
        low, high = bounds
        return Interval(mean, max(low, mean - half_width), min(high, mean + half_width))

    def difference(
        self, figures: Sequence[Floats], reference: Sequence[Floats]
    ) -> PairedDifference:
        """Compare two recommenders on the same people and splits.

        Args:
            figures: For each split, the figure of each of its test people, shape (people,); NaN for
                a person without a figure. Such a person is left out of the split.
            reference: Figures of the reference recommender, in the same shapes.
        """
        differences = []
        for split_figures, reference_figures in zip(figures, reference, strict=True):
            differences.append(split_figures - reference_figures)
        estimate = self._estimate(differences)
        mean = estimate.mean
        half_width = estimate.half_width(0.05)
        interval = Interval(mean, mean - half_width, mean + half_width)
        return PairedDifference(interval, estimate.p_value())

    def _estimate(self, splits: Sequence[Floats]) -> _Estimate:
        """Estimate the mean over splits of means over people, and both parts of its variance.

        Args:
            splits: For each split, the figure of each of its test people, shape (people,); NaN for
                a person without a figure.
        """
        figures = np.zeros((len(splits), len(self._people)))  # 0 for a person without a figure
        has_figure = np.zeros_like(figures)
        for split, (columns, values) in enumerate(zip(self._columns, splits, strict=True)):
            is_finite = np.isfinite(values)
            figures[split, columns[is_finite]] = values[is_finite]
            has_figure[split, columns[is_finite]] = 1.0
        split_means = figures.sum(axis=1) / has_figure.sum(axis=1)
        # Sums and numbers of figures in each resample, shape (RESAMPLINGS, splits).
        sums = self._weights @ figures.T
        counts = self._weights @ has_figure.T
        is_usable = (counts > 0).all(axis=1)  # a resample of few people may hold nobody of a split
        resampled_means = (sums[is_usable] / counts[is_usable]).mean(axis=1)
        people_variance = 0.0
        if len(resampled_means) > 1:
            people_variance = float(resampled_means.var(ddof=1))
        splits_variance = 0.0
        if len(splits) > 1:
            splits_variance = float(split_means.var(ddof=1)) / len(splits)
        has_any_figure = has_figure.any(axis=0)
        return _Estimate(
            mean=float(split_means.mean()),
            people_variance=people_variance,
            splits_variance=splits_variance,
            people=int(has_any_figure.sum()),
            splits=len(splits),
        )


@dataclass(frozen=True)
class _Estimate:
    """A figure and the two parts of its variance."""

    mean: float
    """Mean over splits of means over people."""
    people_variance: float
    """V_people of the module's text."""
    splits_variance: float
    """V_splits of the module's text."""
    people: int
    """Number of people with a figure in some split."""
    splits: int
    """Number of splits."""

    def half_width(self, level: float) -> float:
        """Compute half the width of the interval that misses the true mean with chance `level`."""
        from scipy.stats import t as student

        t_people = student.isf(level / 2, max(self.people - 1, 1))
        t_splits = student.isf(level / 2, max(self.splits - 1, 1))
        return math.sqrt(t_people**2 * self.people_variance + t_splits**2 * self.splits_variance)

    def p_value(self) -> float:
        """Find the level at which the interval touches 0; 1e-12 if it is smaller than that."""
        from scipy.optimize import brentq

        least_level = 1e-12
        if self.mean == 0:
            return 1.0
        if self.half_width(least_level) <= abs(self.mean):
            return least_level

        def distance_to_zero(level: float) -> float:
            return self.half_width(level) - abs(self.mean)

        return float(brentq(distance_to_zero, least_level, 1.0))


def correct_by_holm(p_values: Sequence[float]) -> list[float]:
    """Correct m p values for multiple tests, by Holm's step-down rule.

    The k-th smallest p value (k from 0) is multiplied by m - k and cut at 1. It is raised to the
    largest corrected value of smaller p values, if that is larger.

    Returns:
        Corrected p values in the order of `p_values`.
    """
    rising_order = np.argsort(p_values, kind="stable")
    corrected = np.empty(len(p_values))
    largest_so_far = 0.0
    for k, index in enumerate(rising_order.tolist()):
        multiplied = min(1.0, (len(p_values) - k) * p_values[index])
        largest_so_far = max(largest_so_far, multiplied)
        corrected[index] = largest_so_far
    return [float(value) for value in corrected]


def name_outcome(mean: float, corrected_p: float) -> str:
    """Call a difference "better" (positive) or "worse" if it is significant at 5 %, else "tie"."""
    if corrected_p >= 0.05 or mean == 0:
        return "tie"
    return "better" if mean > 0 else "worse"
