"""Laplace noise on a public grid of integers, drawn by `blocks`.

Source       Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data
             analysis (TCC 2006). On integers: Ghosh, Roughgarden, Sundararajan: Universally
             utility-maximizing privacy mechanisms (STOC 2009). Sampler: Canonne, Kamath, Steinke:
             The discrete Gaussian for differential privacy (NeurIPS 2020).
Guarantee    A pure loss of (L1 distance of neighbours) / scale, both in steps, which is at most
             epsilon (docs/mechanisms/laplace.md has the proof).
Sensitivity  the L1 distance of two neighbouring vectors before rounding, and the number of entries
             in which they may differ: rounding adds up to one step in each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import DiscreteLaplace, Event, NonPrivate
from tacit.accounting.rounding import float_above
from tacit.errors import ConfigError
from tacit.mechanisms import samplers
from tacit.mechanisms.checks import check_epsilon, check_positive, check_scale, check_whole
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.sensitive_values import MOST_STEPS, finite_floats


@dataclass(frozen=True)
class LaplaceRelease:
    """Release of numbers that are clamped and rounded down to a grid, plus Laplace noise."""

    epsilon: float
    """Loss of the whole array, in nats; inf releases the numbers as they are."""
    sensitivity: float
    """Largest L1 distance of two neighbouring arrays, in the unit of the numbers."""
    lower: float
    """Lower bound of the grid."""
    upper: float
    """Upper bound of the grid."""
    resolution: float
    """Step of the grid, a power of two; 1 for whole numbers."""
    changes: int = 1
    """Largest number of entries in which two neighbouring arrays differ."""

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_positive("sensitivity", self.sensitivity)
        check_whole("changes", self.changes, least=1, most=MOST_STEPS)
        check_scale(0.0 if math.isinf(self.epsilon) else self.scale)

    @cached_property
    def grid(self) -> Grid:
        """The grid to which numbers are rounded down."""
        return Grid(self.resolution, self.lower, self.upper)

    @property
    def scale(self) -> float:
        """Scale of the noise, in steps of the grid; OverflowError if epsilon is infinite."""
        return float_above(self.noise_multiplier * self._distance)

    @property
    def noise_multiplier(self) -> Fraction:
        """Scale / L1 distance, rounded up; OverflowError if epsilon is infinite.

        The noise is computed from this rounded number, so the event's loss is the real one.
        """
        return Fraction(float_above(1 / Fraction(self.epsilon)))

    @property
    def event(self) -> Event:
        """The cost of one call, however many entries it has."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return DiscreteLaplace(float(self.noise_multiplier))

    def __call__(self, values: ArrayLike) -> NDArray[np.float64]:
        """Release `values` with noise, as multiples of the resolution; same shape.

        The result is not clamped to the bounds.

        Raises:
            DataError: A value is NaN, infinite or not a number.
        """
        if math.isinf(self.epsilon):
            return finite_floats(values)
        steps = self.grid.to_steps(values)
        return self.grid.to_numbers(samplers.discrete_laplace(steps, self.scale))

    @property
    def _distance(self) -> int:
        """Bound on the L1 distance of two neighbouring arrays after rounding, in steps."""
        return self.grid.distance(self.sensitivity, self.changes)


def discrete_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Add independent noise k with P(k) proportional to exp(-|k| / scale) to each of `values`.

    Raises:
        ConfigError: The scale is not finite and above 0.
    """
    if not np.isfinite(scale) or scale <= 0:
        raise ConfigError(f"A noise scale is a finite number above 0; got {scale}.")
    return samplers.discrete_laplace(values, float(scale))
