"""Gaussian noise on a public grid of integers, drawn by `blocks`.

Source       Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy (NeurIPS
             2020), Theorem 4: sigma / L2 sensitivity = m gives 1 / (2 m^2)-zCDP, as does
             the continuous Gaussian (Bun and Steinke, TCC 2016).
Guarantee    1 / (2 noise_multiplier^2)-zCDP. No pure epsilon.
Sensitivity  the L2 distance of two neighbouring vectors before rounding, and the number of entries
             in which they may differ: rounding adds up to one step in each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.events import DiscreteGaussian, DiscreteGaussianVector, Event, NonPrivate
from tacit.accounting.rounding import float_above
from tacit.mechanisms import samplers
from tacit.mechanisms.checks import check_multiplier, check_positive, check_scale, check_whole
from tacit.mechanisms.grid import Grid
from tacit.mechanisms.sensitive_values import MOST_STEPS, finite_floats

MARGIN = 1 + 2**-40
"""Factor by which sigma is enlarged, so that rounding errors of its computation never make it too
small."""


@dataclass(frozen=True)
class GaussianRelease:
    """Release of numbers that are clamped and rounded down to a grid, plus Gaussian noise."""

    noise_multiplier: float
    """sigma / L2 sensitivity; 0 releases the numbers as they are."""
    sensitivity: float
    """Largest L2 distance of two neighbouring arrays, in the unit of the numbers."""
    lower: float
    """Lower bound of the grid."""
    upper: float
    """Upper bound of the grid."""
    resolution: float
    """Step of the grid, a power of two."""
    changes: int = 1
    """Largest number of entries in which two neighbouring arrays differ."""

    def __post_init__(self) -> None:
        check_multiplier(self.noise_multiplier)
        check_positive("sensitivity", self.sensitivity)
        check_whole("changes", self.changes, least=1, most=MOST_STEPS)
        check_scale(self.sigma)

    @cached_property
    def grid(self) -> Grid:
        """The grid to which numbers are rounded down."""
        return Grid(self.resolution, self.lower, self.upper)

    @property
    def sigma(self) -> float:
        """Parameter of the noise, in steps of the grid; 0 for no noise."""
        return self.noise_multiplier * self._distance * MARGIN

    @property
    def event(self) -> Event:
        """The cost of one call, however many entries it has."""
        if self.noise_multiplier == 0:
            return NonPrivate()
        steps_of_one_entry = int(self._distance) if self.changes == 1 else None
        return DiscreteGaussian(self.noise_multiplier, steps_of_one_entry)

    def __call__(self, values: ArrayLike) -> NDArray[np.float64]:
        """Release `values` with noise, as multiples of the resolution; same shape.

        The result is not clamped to the bounds.

        Raises:
            DataError: A value is NaN, infinite or not a number.
        """
        if self.noise_multiplier == 0:
            return finite_floats(values)
        steps = self.grid.to_steps(values)
        return self.grid.to_numbers(samplers.discrete_gaussian(steps, self.sigma))

    @property
    def _distance(self) -> float:
        """Bound on the L2 distance of neighbours after rounding, in steps.

        For neighbours at a distance of d before rounding, it is ceil(d / step) if they differ in
        one entry, and d / step + sqrt(m) if they differ in m entries.
        """
        if self.changes == 1:
            return float_above(Fraction(self.grid.distance(self.sensitivity)))
        return self.sensitivity / self.resolution + math.sqrt(self.changes)


def vector_event(noise_multiplier: float, *, sigma: float, entries: int) -> Event:
    """Return the event of Gaussian noise on a whole table; `NonPrivate` for no noise.

    Args:
        noise_multiplier: sigma / L2 distance of neighbours; 0 for no noise.
        sigma: Parameter of the noise on the least noisy entry, in steps.
        entries: Number of entries of the table.
    """
    if noise_multiplier == 0:
        return NonPrivate()
    return DiscreteGaussianVector(noise_multiplier, sigma, entries)
