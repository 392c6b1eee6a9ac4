"""Means over folds or seeds, with confidence intervals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from tacit.errors import ConfigError, DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

UNBOUNDED = (-math.inf, math.inf)
"""Bounds of a figure that may be any number."""


class Interval(NamedTuple):
    """A mean and the ends of its confidence interval."""

    mean: float
    """Mean of the figures."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""

    def holds(self, value: float) -> bool:
        """Return whether the value lies in the interval, ends included."""
        return self.low <= value <= self.high


def mean_interval(
    values: ArrayLike, confidence: float = 0.95, *, bounds: tuple[float, float] = UNBOUNDED
) -> Interval:
    """Compute Student's t interval of the mean of one figure per fold, cut to `bounds`.

    Folds share training people, so their figures are not quite independent, and the interval is a
    little too narrow (Bengio and Grandvalet, 2004).

    Args:
        values: Shape (folds,): a finite figure of each fold, inside the bounds. With a single fold
            the interval is all of `bounds`.
        confidence: Chance that the interval holds the true mean, between 0 and 1.
        bounds: Smallest and largest possible figure.

    Raises:
        ConfigError: The confidence is not between 0 and 1.
        DataError: There is no figure, or one is not finite or out of bounds.
    """
    import numpy as np
    from scipy.special import stdtrit  # takes long to import, and not every command needs it

    figures = np.asarray(values, dtype=np.float64).ravel()
    if figures.size == 0:
        raise DataError("there is no figure of any fold", expected="one per fold")
    if not np.isfinite(figures).all():
        raise DataError("a fold's figure is not a finite number", expected="one per fold")
    if not 0 < confidence < 1:
        raise ConfigError(f"A confidence lies between 0 and 1, for example 0.95; got {confidence}.")
    low, high = bounds
    if figures.min() < low or figures.max() > high:
        raise DataError("a fold's figure lies out of bounds", expected=f"{low:g} to {high:g}")
    # By rounding, the mean of equal figures can differ from them: it is clipped to their range.
    mean = float(np.clip(figures.mean(), figures.min(), figures.max()))
    if figures.size == 1:
        return Interval(mean, low, high)
    variance = float(np.sum((figures - mean) ** 2)) / (figures.size - 1)
    standard_error = math.sqrt(variance / figures.size)
    half_width = float(stdtrit(figures.size - 1, (1 + confidence) / 2)) * standard_error
    return Interval(mean, max(low, mean - half_width), min(high, mean + half_width))


def auc_interval(values: ArrayLike, confidence: float = 0.95) -> Interval:
    """Compute `mean_interval` of one AUC per fold, cut to 0 and 1."""
    return mean_interval(values, confidence, bounds=(0.0, 1.0))
