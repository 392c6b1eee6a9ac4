"""How sure a mean over folds is."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t as student

from tacit.errors import ConfigError, DataError


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval."""

    mean: float
    low: float
    high: float

    def holds(self, value: float) -> bool:
        """Whether the value lies inside, ends included."""
        return self.low <= value <= self.high


def mean_interval(
    values: ArrayLike,
    confidence: float = 0.95,
    *,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    """Student's t interval of the mean of one figure per fold, cut to `bounds`.

    One fold says nothing about the spread, so its interval is the whole of `bounds`: (0, 1) for an
    AUC, infinite ends where no bounds are given. Folds share training people, so their figures are
    not quite independent and the interval is somewhat narrow (Bengio and Grandvalet, 2004).
    """
    figures = np.asarray(values, dtype=np.float64).ravel()
    if figures.size == 0:
        raise DataError("there is no figure to average", expected="one per fold")
    if not np.isfinite(figures).all():
        raise DataError("a fold's figure is not a finite number", expected="one per fold")
    if not 0 < confidence < 1:
        raise ConfigError(f"A confidence lies between 0 and 1, for example 0.95; got {confidence}.")
    low, high = bounds
    if not (low <= figures).all() or not (figures <= high).all():
        raise DataError("a fold's figure lies out of bounds", expected=f"{low:g} to {high:g}")
    mean = float(np.clip(figures.mean(), figures.min(), figures.max()))  # rounding of equal figures
    if figures.size == 1:
        return Interval(mean, low, high)
    variance = float(np.sum((figures - mean) ** 2)) / (figures.size - 1)
    error = math.sqrt(variance / figures.size)
    half = float(student.ppf((1 + confidence) / 2, figures.size - 1)) * error
    return Interval(mean, max(low, mean - half), min(high, mean + half))


def auc_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """`mean_interval` of one AUC per fold, kept within 0 and 1."""
    return mean_interval(values, confidence, bounds=(0.0, 1.0))
