"""Numbers on a public grid: whole multiples of a step that is a power of two.

Source   Mironov: On significance of the least significant bits for differential privacy (CCS
         2012); Balcer and Vadhan: Differential privacy on finite computers (2018).
Why      Noise added to floating-point numbers leaks through their low digits. Here every number is
         divided by the step, rounded DOWN to an integer, and everything private happens on
         integers. The step is a power of two, so that the division is exact.
Price    Rounding may increase distances. Two numbers at most d apart are at most ceil(d / step)
         steps apart after rounding. For two vectors that differ in m entries, an L1 distance of at
         most d becomes one of at most ceil(d / step) + m - 1 steps, and an L2 distance of at most d
         becomes one of at most d / step + sqrt(m) steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_positive
from tacit.mechanisms.sensitive_values import MOST_STEPS, finite_floats


@dataclass(frozen=True)
class Grid:
    """Multiples of a resolution from a lower to an upper bound, all three public."""

    resolution: float
    """The step: a power of two such as 1, 2**-10 or 8."""
    lower: float
    """A multiple of the resolution; smaller numbers are clamped to it."""
    upper: float
    """A multiple of the resolution above `lower`; larger numbers are clamped to it."""

    def __post_init__(self) -> None:
        check_positive("resolution", self.resolution)
        if math.frexp(self.resolution)[0] != 0.5:
            raise ConfigError(
                f"resolution is a power of two, such as 2**-10; got {self.resolution}."
            )
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if not math.isfinite(bound) or Fraction(bound) % Fraction(self.resolution):
                raise ConfigError(
                    f"{name} is a multiple of the resolution {self.resolution}; got {bound}."
                )
        if not self.lower < self.upper:
            raise ConfigError(f"lower is below upper; got {self.lower} and {self.upper}.")
        if max(abs(self.first_step), abs(self.last_step)) > MOST_STEPS:
            raise ConfigError("The bounds are at most 2**52 steps of the resolution from zero.")
        if max(abs(self.lower), abs(self.upper)) > 2 * MOST_STEPS:  # integers up to 2**53 are exact
            raise ConfigError("The bounds are at most 2**53 from zero: take a larger unit.")

    @cached_property
    def first_step(self) -> int:
        """The lower bound in steps."""
        return int(Fraction(self.lower) / Fraction(self.resolution))

    @cached_property
    def last_step(self) -> int:
        """The upper bound in steps."""
        return int(Fraction(self.upper) / Fraction(self.resolution))

    def to_steps(self, values: ArrayLike) -> NDArray[np.int64]:
        """Clamp `values` to the bounds and round them down to steps; same shape.

        Raises:
            DataError: A value is NaN, infinite or not a number.
        """
        numbers = finite_floats(values)
        clamped = np.clip(numbers, self.lower, self.upper)
        if self.resolution > 1:  # floor first: a tiny negative quotient would underflow to 0
            clamped = np.floor(clamped)
        return np.floor(clamped / self.resolution).astype(np.int64)

    def to_numbers(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Convert steps to numbers; same shape."""
        return np.asarray(steps * self.resolution, dtype=np.float64)

    def distance(self, sensitivity: float, changes: int = 1) -> int:
        """Return a bound on the L1 distance, in steps, of two vectors after rounding.

        Args:
            sensitivity: Their L1 distance before rounding.
            changes: The number of entries in which they differ.
        """
        return math.ceil(Fraction(sensitivity) / Fraction(self.resolution)) + changes - 1
