"""Exact noise on a public grid of integers: Laplace and Gaussian.

Laplace
Source       Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data
             analysis (TCC 2006). On integers: Ghosh, Roughgarden, Sundararajan: Universally
             utility-maximizing privacy mechanisms (STOC 2009). Sampler: `blocks`.
Guarantee    L1 distance in steps / scale in steps, which is at most epsilon
             (docs/mechanisms/laplace.md has the proof).
Sensitivity  the L1 distance of two neighbouring vectors before rounding, and in how many entries
             they may differ: rounding costs up to one step in each.

Gaussian
Source       Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy (NeurIPS
             2020), Theorem 4: sigma / L2 sensitivity = m gives 1 / (2 m^2)-zCDP, as does
             the continuous Gaussian (Bun and Steinke, TCC 2016).
Guarantee    1 / (2 noise_multiplier^2)-zCDP. No pure epsilon.
Sensitivity  the L2 distance of two neighbouring vectors before rounding, and in how many entries
             they may differ: rounding costs up to one step in each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting.base import float_above
from tacit.accounting.events import (
    DiscreteGaussian,
    DiscreteGaussianVector,
    DiscreteLaplace,
    Event,
    NonPrivate,
)
from tacit.errors import ConfigError
from tacit.mechanisms import samplers
from tacit.mechanisms.samplers import (
    MOST_STEPS,
    Grid,
    check_epsilon,
    check_multiplier,
    check_positive,
    check_scale,
    check_whole,
    finite,
)


@dataclass(frozen=True)
class LaplaceRelease:
    """Numbers, clamped, rounded down to the grid, plus noise.

    epsilon: nats for the whole array, or inf for the numbers as they are. sensitivity: L1, in the
    unit of the numbers. lower, upper, resolution: as in `Grid`; whole numbers take resolution 1.
    changes: in how many entries two neighbouring arrays may differ.
    """

    epsilon: float
    sensitivity: float
    lower: float
    upper: float
    resolution: float
    changes: int = 1

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_positive("sensitivity", self.sensitivity)
        check_whole("changes", self.changes, least=1, most=MOST_STEPS)
        check_scale(0.0 if math.isinf(self.epsilon) else self.scale)

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.resolution, self.lower, self.upper)

    @property
    def scale(self) -> float:
        """Of the noise, in steps of the grid; epsilon is finite."""
        return float_above(self.noise_multiplier * self._distance)

    @property
    def noise_multiplier(self) -> Fraction:
        """Never above scale / distance, the other way round than a float division might be."""
        return Fraction(float_above(1 / Fraction(self.epsilon)))

    @property
    def event(self) -> Event:
        """What one call costs, however many entries it has."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        return DiscreteLaplace(float(self.noise_multiplier))

    def __call__(self, values: ArrayLike) -> NDArray[np.float64]:
        """Multiples of the resolution, not clamped again; same shape as `values`."""
        if math.isinf(self.epsilon):
            return finite(values)
        return self.grid.numbers(samplers.discrete_laplace(self.grid.steps(values), self.scale))

    @property
    def _distance(self) -> int:
        return self.grid.distance(self.sensitivity, self.changes)


def discrete_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """`values` (n,) plus independent noise with P(k) proportional to exp(-|k| / scale)."""
    if not np.isfinite(scale) or scale <= 0:
        raise ConfigError(f"A noise scale is a finite number above 0; got {scale}.")
    return samplers.discrete_laplace(values, float(scale))


MARGIN = 1 + 2**-40  # covers the rounding of the few float operations that make a sigma


@dataclass(frozen=True)
class GaussianRelease:
    """Numbers, clamped, rounded down to the grid, plus noise.

    noise_multiplier: sigma / L2 sensitivity, or 0 for the numbers as they are. sensitivity: L2, in
    the unit of the numbers. lower, upper, resolution: as in `Grid`. changes: in how many entries
    two neighbouring arrays may differ.
    """

    noise_multiplier: float
    sensitivity: float
    lower: float
    upper: float
    resolution: float
    changes: int = 1

    def __post_init__(self) -> None:
        check_multiplier(self.noise_multiplier)
        check_positive("sensitivity", self.sensitivity)
        check_whole("changes", self.changes, least=1, most=MOST_STEPS)
        check_scale(self.sigma)

    @cached_property
    def grid(self) -> Grid:
        return Grid(self.resolution, self.lower, self.upper)

    @property
    def sigma(self) -> float:
        """Of the noise, in steps of the grid."""
        return self.noise_multiplier * self._distance * MARGIN

    @property
    def event(self) -> Event:
        """What one call costs, however many entries it has."""
        if self.noise_multiplier == 0:
            return NonPrivate()
        steps = int(self._distance) if self.changes == 1 else None  # of one entry
        return DiscreteGaussian(self.noise_multiplier, steps)

    def __call__(self, values: ArrayLike) -> NDArray[np.float64]:
        """Multiples of the resolution, not clamped again; same shape as `values`."""
        if self.noise_multiplier == 0:
            return finite(values)
        return self.grid.numbers(samplers.discrete_gaussian(self.grid.steps(values), self.sigma))

    @property
    def _distance(self) -> float:
        """L2 distance in steps: in one entry it is the L1 distance, in more rounding adds sqrt."""
        if self.changes == 1:
            return float_above(Fraction(self.grid.distance(self.sensitivity)))
        return self.sensitivity / self.resolution + math.sqrt(self.changes)


def vector_event(noise_multiplier: float, *, sigma: float, entries: int) -> Event:
    """Of noise on a whole table. sigma: that of its least noisy entry, in steps, as it is drawn."""
    if noise_multiplier == 0:
        return NonPrivate()
    return DiscreteGaussianVector(noise_multiplier, sigma, entries)
