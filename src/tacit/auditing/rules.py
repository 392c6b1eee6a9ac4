"""The rule engine: an upper bound on the loss of a release, from what it is made of.

A release is described by the classes below. No bad pair of inputs has to be found: a raw private
value, noise whose scale comes from the data, or a branch on private data has an infinite bound
whatever the rest does. Which branch ran is visible in time, in errors and in what is missing, so
both sides of it may not be treated as equal. A condition is free if it is public; if it is itself
released with noise, that release is charged. The engine judges the description. Samples test
whether the code does what the description says.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from fractions import Fraction

from tacit.accounting.zcdp import epsilon_of_rho
from tacit.errors import ConfigError


@dataclass(frozen=True)
class _RuleWithNumbers:
    """Numbers of 0 or more: noise that is missing has a scale of 0. Only a rate may be infinite."""

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            number = isinstance(value, int | float | Fraction)
            if number and not (value >= 0 and (name == "rate" or math.isfinite(value))):
                raise ConfigError(
                    f"{name} of {type(self).__name__} is a finite number, 0 or more; got {value}."
                )


@dataclass(frozen=True)
class PublicValue:
    """A constant, or something computed from what is public or released."""

    value: object = None


@dataclass(frozen=True)
class PrivateValue:
    """A value of the data as it is, or computed from it without randomness."""


@dataclass(frozen=True)
class LaplaceNoise(_RuleWithNumbers):
    """Laplace noise on private numbers."""

    distance: float
    """L1 distance of neighbours."""
    scale: float
    """Scale of the noise; 0 where it is missing."""
    scale_is_public: bool = True
    """Whether the scale does not come from the data."""


@dataclass(frozen=True)
class GaussianNoise(_RuleWithNumbers):
    """Gaussian noise, discrete or not."""

    distance: float
    """L2 distance of neighbours, over sigma."""
    delta: float
    """The chance at which the bound holds."""


@dataclass(frozen=True)
class RandomizedResponse:
    """Randomized response: the true one of `categories` with chance `truth`, or any other."""

    truth: Fraction
    categories: int = 2

    def __post_init__(self) -> None:
        if not (0 <= self.truth <= 1 and self.categories >= 2):
            raise ConfigError(f"An answer is one of 2 or more, true with a chance; got {self}.")


@dataclass(frozen=True)
class ExponentialMechanism(_RuleWithNumbers):
    """One candidate, with chances that rise by e^rate per step of its score.

    distance: how far one score moves. monotonic: no two scores ever move apart.
    candidates_are_public: none is left out or added because of the data.
    """

    distance: float
    rate: float
    monotonic: bool = False
    candidates_are_public: bool = True


@dataclass(frozen=True)
class AboveThreshold(_RuleWithNumbers):
    """The first count past a threshold, both with Laplace noise; then nothing more.

    distance: how far one count moves. monotonic: all counts move in the same direction.
    """

    distance: float
    threshold_scale: float
    count_scale: float
    monotonic: bool = False


@dataclass(frozen=True)
class Branch:
    """One of two releases, chosen by a condition."""

    condition: Rule
    then: Rule
    otherwise: Rule


@dataclass(frozen=True)
class Composition:
    """Several releases about the same data."""

    parts: tuple[Rule, ...]


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
    """Return the most that a release can cost, in nats; infinite if no number bounds it.

    Parts with a delta cost that, too, and their deltas add up.
    """
    match rule:
        case PublicValue():
            return 0.0
        case PrivateValue():
            return math.inf
        case LaplaceNoise(distance, scale, public):
            return distance / scale if public and scale > 0 else math.inf
        case GaussianNoise(distance, delta):
            return epsilon_of_rho(distance**2 / 2, delta)
        case RandomizedResponse(truth, categories):
            lie = (1 - truth) / (categories - 1)
            if lie == 0 or truth == 0:
                return math.inf
            return abs(math.log(truth / lie))
        case ExponentialMechanism(distance, rate, monotonic, public):
            if not public or math.isinf(rate):
                return math.inf
            return (1 if monotonic else 2) * distance * rate
        case AboveThreshold(distance, threshold, count, monotonic):
            if threshold == 0 or count == 0:
                return math.inf
            return distance / threshold + (1 if monotonic else 2) * distance / count
        case Branch(condition, then, otherwise):
            return upper_bound(condition) + max(upper_bound(then), upper_bound(otherwise))
        case Composition(parts):
            return sum((upper_bound(part) for part in parts), 0.0)
