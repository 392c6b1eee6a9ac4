"""The rule engine: an upper bound on the loss of a release, from a description of the release.

A release is described by the classes below. Its bound holds for all pairs of neighbouring inputs,
so none of them has to be tried. A private value without noise, noise whose scale comes from the
data, and a branch on private data have an infinite bound. The branch has it even if its two
releases look alike, because time, errors and missing values may show which of them ran. A public
condition costs nothing; a condition that is released with noise costs what this release costs. The
engine judges the description only: whether the code does what the description says is tested by
samples.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

from tacit.accounting.zcdp import epsilon_of_rho
from tacit.errors import ConfigError


@dataclass(frozen=True)
class _RuleWithNumbers:
    """Base of rules whose numbers must be 0 or more; only a rate may be infinite."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int | float | Fraction):
                continue
            may_be_infinite = name == "rate"
            if not (value >= 0 and (may_be_infinite or math.isfinite(value))):
                number = "a number" if may_be_infinite else "a finite number"
                raise ConfigError(
                    f"{name} of {type(self).__name__} is {number}, 0 or more; got {value}."
                )


@dataclass(frozen=True)
class PublicValue:
    """A constant, or a value computed from public and released values."""

    value: object = None
    """The value or its name, which the engine does not read."""


@dataclass(frozen=True)
class PrivateValue:
    """A value of the data, or a value computed from the data without randomness."""


@dataclass(frozen=True)
class LaplaceNoise(_RuleWithNumbers):
    """Laplace noise on private numbers."""

    distance: float
    """L1 distance of neighbouring inputs."""
    scale: float
    """Scale of the noise; 0 for no noise."""
    scale_is_public: bool = True
    """Whether the scale does not depend on the data."""


@dataclass(frozen=True)
class GaussianNoise(_RuleWithNumbers):
    """Gaussian noise on private numbers, discrete or continuous."""

    distance: float
    """L2 distance of neighbouring inputs, divided by sigma."""
    delta: float
    """The delta at which the bound holds."""


@dataclass(frozen=True)
class RandomizedResponse:
    """Randomized response: the true answer with a chance, otherwise one of the others."""

    truth: Fraction
    """The chance of the true answer, from 0 to 1."""
    categories: int = 2
    """The number of possible answers, at least 2. All but the true one are equally likely."""

    def __post_init__(self) -> None:
        if not (0 <= self.truth <= 1 and self.categories >= 2):
            raise ConfigError(
                f"categories is at least 2, and truth is a chance, between 0 and 1; got {self}."
            )


@dataclass(frozen=True)
class ExponentialMechanism(_RuleWithNumbers):
    """One candidate, drawn with a weight that is e^rate times larger for each step of its score."""

    distance: float
    """The most steps by which one score differs between neighbouring inputs."""
    rate: float
    """Nats for each step of a score; may be infinite."""
    monotonic: bool = False
    """Whether no two scores ever move in opposite directions."""
    candidates_are_public: bool = True
    """Whether no candidate is left out or added because of the data."""


@dataclass(frozen=True)
class AboveThreshold(_RuleWithNumbers):
    """The position of the first count that reaches a threshold, both with Laplace noise."""

    distance: float
    """The most by which one count differs between neighbouring inputs."""
    threshold_scale: float
    """Scale of the noise on the threshold; 0 for no noise."""
    count_scale: float
    """Scale of the noise on each count; 0 for no noise."""
    monotonic: bool = False
    """Whether all counts move in the same direction."""


@dataclass(frozen=True)
class Branch:
    """One of two releases, chosen by a condition."""

    condition: Rule
    """How the condition is computed."""
    then: Rule
    """The release if it holds."""
    otherwise: Rule
    """The release if it does not hold."""


@dataclass(frozen=True)
class Composition:
    """Several releases about the same data."""

    parts: tuple[Rule, ...]
    """The releases."""


Rule = (
    PublicValue
    | PrivateValue
    | LaplaceNoise
    | GaussianNoise
    | RandomizedResponse
    | ExponentialMechanism
    | AboveThreshold
    | Branch
    | Composition
)


def upper_bound(rule: Rule) -> float:
    """Return an upper bound on the loss of a release, in nats; infinite if there is none.

    Gaussian noise also costs its delta. The deltas of parts add up; they are not returned.
    """
    match rule:
        case PublicValue():
            return 0.0
        case PrivateValue():
            return math.inf
        case LaplaceNoise(distance, scale, is_public):
            return distance / scale if is_public and scale > 0 else math.inf
        case GaussianNoise(distance, delta):
            return epsilon_of_rho(distance**2 / 2, delta)
        case RandomizedResponse(truth, categories):
            lie = (1 - truth) / (categories - 1)
            if lie == 0 or truth == 0:
                return math.inf
            return abs(math.log(truth / lie))
        case ExponentialMechanism(distance, rate, monotonic, is_public):
            if not is_public or math.isinf(rate):
                return math.inf
            factor = 1 if monotonic else 2
            return factor * distance * rate
        case AboveThreshold(distance, threshold_scale, count_scale, monotonic):
            if threshold_scale == 0 or count_scale == 0:
                return math.inf
            factor = 1 if monotonic else 2
            return distance / threshold_scale + factor * distance / count_scale
        case Branch(condition, then, otherwise):
            return upper_bound(condition) + max(upper_bound(then), upper_bound(otherwise))
        case Composition(parts):
            return sum((upper_bound(part) for part in parts), 0.0)
