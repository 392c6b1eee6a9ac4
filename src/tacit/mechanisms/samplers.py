"""Public fields refused in one sentence where they are wrong, and numbers on a public grid.

Grid     Whole multiples of a step that is a power of two.
Source   Mironov: On significance of the least significant bits for differential privacy (CCS
         2012); Balcer and Vadhan: Differential privacy on finite computers (2018).
Why      Noise added to floating-point numbers leaks through their low digits. Here every number is
         divided by the step, rounded DOWN to an integer, and everything private happens on
         integers. The step is a power of two, so that the division is exact.
Price    Two numbers at most d apart are at most ceil(d / step) steps apart after rounding. If m
         entries of a vector change, its L1 distance is at most ceil(d / step) + m - 1 steps, and
         its L2 distance at most d / step + sqrt(m).

Samplers Exact noise on integers by `blocks`; beyond 2^48 steps by OpenDP, which is also the
         reference that tests compare with. Both draw from the operating system's generator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError, DataError
from tacit.mechanisms.blocks import LARGEST_SCALE, add_noise

SMALLEST_EPSILON = 1e-9
"""Below it, rounding a chance to a multiple of 2**-53 would no longer be negligible."""
MOST_STEPS = 1 << 52  # so that every grid point is an exact float


def check_epsilon(epsilon: float) -> None:
    """A loss in nats, or infinity for the non-private variant."""
    if math.isnan(epsilon) or epsilon < SMALLEST_EPSILON:
        raise ConfigError(
            f"epsilon is a number of at least {SMALLEST_EPSILON:g}, or inf for the non-private "
            f"variant; got {epsilon}."
        )


def check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{name} is a finite number above 0; got {value}.")


def check_scale(scale: float) -> None:
    """Of noise, in steps; 0 for the non-private variant."""
    if not math.isfinite(scale):
        raise ConfigError(
            "The noise would have no finite scale: take less of it, or a coarser resolution for "
            "this sensitivity."
        )


def check_multiplier(noise_multiplier: float) -> None:
    if not (math.isfinite(noise_multiplier) and noise_multiplier >= 0):
        raise ConfigError(
            "noise_multiplier is a finite number above 0, or 0 for the non-private variant; "
            f"got {noise_multiplier}."
        )


def check_whole(name: str, value: int, *, least: int, most: int | None = None) -> None:
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or value < least
        or (most is not None and value > most)
    ):
        top = "" if most is None else f" and at most {most}"
        raise ConfigError(f"{name} is a whole number, at least {least}{top}; got {value!r}.")


@dataclass(frozen=True)
class Grid:
    """Multiples of `resolution` from `lower` to `upper`, all three public.

    resolution: a power of two such as 1, 2**-10 or 8. lower, upper: multiples of it; numbers
    beyond are clamped.
    """

    resolution: float
    lower: float
    upper: float

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
        if max(abs(self.first), abs(self.last)) > MOST_STEPS:
            raise ConfigError("The bounds are at most 2**52 steps of the resolution from zero.")
        if max(abs(self.lower), abs(self.upper)) > 2 * MOST_STEPS:  # as floats, integers are exact
            raise ConfigError("The bounds are at most 2**53 from zero: take a larger unit.")

    @property
    def first(self) -> int:
        return int(Fraction(self.lower) / Fraction(self.resolution))

    @property
    def last(self) -> int:
        return int(Fraction(self.upper) / Fraction(self.resolution))

    def steps(self, values: ArrayLike) -> NDArray[np.int64]:
        """`values` clamped and rounded down to steps. NaN and infinity are refused before that."""
        numbers = finite(values)
        clamped = np.clip(numbers, self.lower, self.upper)
        if self.resolution > 1:  # whole then, so that no quotient underflows to 0
            clamped = np.floor(clamped)
        return np.floor(clamped / self.resolution).astype(np.int64)

    def numbers(self, steps: NDArray[np.int64]) -> NDArray[np.float64]:
        """Steps as numbers again."""
        return np.asarray(steps * self.resolution, dtype=np.float64)

    def distance(self, sensitivity: float, changes: int = 1) -> int:
        """L1 distance in steps of two vectors at most `sensitivity` apart in `changes` entries."""
        return math.ceil(Fraction(sensitivity) / Fraction(self.resolution)) + changes - 1


def finite(values: ArrayLike) -> NDArray[np.float64]:
    """`values` as floats. The refusal does not repeat what was found."""
    given = np.asarray(values)
    if given.dtype.kind not in "biuf" or given.dtype.itemsize > 8:  # longer floats would be rounded
        raise DataError(
            "the values to release are not numbers of at most 64 bits", fix="Nothing was released."
        )
    numbers = given.astype(np.float64)
    if not np.isfinite(numbers).all():
        raise DataError(
            "the values to release hold NaN or infinity",
            expected="finite numbers",
            fix="Nothing was released.",
        )
    return numbers


def whole(values: ArrayLike) -> NDArray[np.int64]:
    """`values` as integers, beyond 2**52 clamped to it; a fraction is refused, unrepeated."""
    numbers = finite(values)
    if (numbers != np.floor(numbers)).any():
        raise DataError(
            "the values to release are not whole", expected="integers", fix="Nothing was released."
        )
    return np.clip(numbers, -MOST_STEPS, MOST_STEPS).astype(np.int64)


def one_whole(value: ArrayLike, *, otherwise: str) -> int:
    """`value` as `whole` takes it, if it is one number; `otherwise` is what the refusal says."""
    if isinstance(value, int | np.integer):  # what a stream is asked about, without an array
        return max(-MOST_STEPS, min(int(value), MOST_STEPS))
    number = whole(value)
    if number.shape != ():
        raise DataError(otherwise)
    return int(number)


def discrete_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Add noise with P(k) proportional to exp(-|k| / scale).

    Args:
        values: Integers of any shape.
        scale: Scale of the noise, in steps.

    Returns:
        The sums, cut off at the ends of int64; shape of `values`.
    """
    scale = float(scale)
    if 0 < scale <= LARGEST_SCALE:
        return add_noise(values, "laplace", scale)
    return reference_laplace(values, scale)


def discrete_gaussian(values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
    """Add noise with P(k) proportional to exp(-k^2 / (2 sigma^2)).

    Args:
        values: Integers of any shape.
        sigma: Scale of the noise, in steps.

    Returns:
        The sums, cut off at the ends of int64; shape of `values`.
    """
    sigma = float(sigma)
    if 0 < sigma <= LARGEST_SCALE:
        return add_noise(values, "gaussian", sigma)
    return reference_gaussian(values, sigma)


def reference_laplace(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """Add discrete Laplace noise by OpenDP, one draw at a time; for any scale that it takes."""
    return _apply(_laplace(scale), values)


def reference_gaussian(values: NDArray[np.int64], sigma: float) -> NDArray[np.int64]:
    """Add discrete Gaussian noise by OpenDP, one draw at a time; for any sigma that it takes."""
    return _apply(_gaussian(sigma), values)


# A measurement holds its scale and no random state, so keeping it repeats no draw.
@lru_cache(maxsize=64)
def _laplace(scale: float) -> Any:
    vectors, measurements, metrics = _opendp()
    return measurements.make_laplace(vectors, metrics.l1_distance(T="i64"), scale=scale)


@lru_cache(maxsize=64)
def _gaussian(sigma: float) -> Any:
    vectors, measurements, metrics = _opendp()
    return measurements.make_gaussian(vectors, metrics.l2_distance(T="f64"), scale=sigma)


def _apply(measurement: Any, values: NDArray[np.int64]) -> NDArray[np.int64]:
    noisy = measurement(values.ravel().tolist())
    return np.asarray(noisy, dtype=np.int64).reshape(values.shape)


@cache
def _opendp() -> tuple[Any, Any, Any]:
    """Vectors of integers and two modules: the prelude would load scikit-learn, if it is there."""
    from opendp import domains, measurements, metrics, mod

    mod.enable_features("contrib")
    vectors = domains.vector_domain(domains.atom_domain(T="i64"))
    return vectors, measurements, metrics
