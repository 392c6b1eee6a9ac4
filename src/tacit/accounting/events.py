"""Events: immutable facts about one release, all that an accountant needs to charge for it.

Every field is public: it comes from the configuration, never from the data. An event's meaning
never changes; a new meaning is a new event. Noise is given relative to the sensitivity, so an
event holds for whichever adjacency the sensitivity was computed for, and knows no unit itself:
the guarantee states it. Two events that are equal cost the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from math import isfinite

from tacit.errors import ConfigError


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events. Accountants know the classes of this file and refuse any other.

    Fields of one name mean the same in every event, and are checked alike.
    """

    def __post_init__(self) -> None:
        for each in fields(self):
            _check(type(self).__name__, each.name, getattr(self, each.name))


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Event):
    """One of `categories` answers: the true one with chance `truth`, the others share the rest.

    Source: Warner (1965) for two categories; Kairouz, Oh, Viswanath (2014) for more.
    """

    categories: int
    truth: float


@dataclass(frozen=True, slots=True)
class Laplace(Event):
    """Laplace noise. noise_multiplier: scale / L1 sensitivity (Dwork et al., 2006)."""

    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Event):
    """Discrete Laplace noise on integers. noise_multiplier: scale / L1 sensitivity.

    Source: Ghosh, Roughgarden, Sundararajan (2009).
    """

    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class Gaussian(Event):
    """Continuous Gaussian noise. noise_multiplier: standard deviation / L2 sensitivity.

    Source: Bun, Steinke (2016). Noise on integers is a `DiscreteGaussian`, which may cost more.
    """

    noise_multiplier: float


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Event):
    """Discrete Gaussian noise on integers. noise_multiplier: parameter sigma / L2 sensitivity.

    steps: the sensitivity in whole numbers, if neighbours differ in ONE entry; None if they may
    differ in several. The loss then depends on how the distance is divided among the entries, so
    that only its rho is known. Source: Canonne, Kamath, Steinke (2020), Theorem 4.
    """

    noise_multiplier: float
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class DiscreteGaussianVector(Event):
    """Discrete Gaussian noise on at most `entries` integers, each with a parameter of its own.

    noise_multiplier: 1 / L2 distance of neighbours, each entry divided by its own parameter; at
    least so much. sigma: the smallest parameter, in steps of its grid; at least so much. Spanning
    many steps, the noise costs hardly more than continuous noise. Source: Peikert (2010).
    """

    noise_multiplier: float
    sigma: float
    entries: int


@dataclass(frozen=True, slots=True)
class Exponential(Event):
    """One choice by the exponential mechanism. epsilon: its pure loss, nats.

    permute_and_flip: the choice is drawn by permute-and-flip (McKenna, Sheldon, 2020), equal to
    noisy max with exponential noise; it has the same pure loss, but not the bounded range on which
    the smaller zCDP price rests (Cesar, Rogers, 2021).
    """

    epsilon: float
    permute_and_flip: bool = False


@dataclass(frozen=True, slots=True)
class TopK(Event):
    """Peeling: `k` choices, one after the other without repetition, each an `Exponential`.

    epsilon: pure loss of ONE choice, nats; the list of k costs k times as much.
    """

    k: int
    epsilon: float
    permute_and_flip: bool = False


@dataclass(frozen=True, slots=True)
class Tree(Event):
    """A binary tree counter over its whole life: one input touches `levels` nodes.

    levels: floor(log2 T) + 1 for T inputs. noise_multiplier: the noise of each node (Laplace
    scale, or standard deviation of continuous noise if `gaussian`) / what one input changes in one
    node. Nodes with discrete Gaussian noise are `levels` times a `DiscreteGaussian`. Source: Chan,
    Shi, Song (2011); Dwork, Naor, Pitassi, Rothblum (2010).
    """

    levels: int
    noise_multiplier: float
    gaussian: bool = False


@dataclass(frozen=True, slots=True)
class Gate(Event):
    """AboveThreshold from its start until it stops, however many questions that takes.

    epsilon: pure loss, nats. Source: Dwork, Roth (2014), Theorem 3.23.
    """

    epsilon: float


@dataclass(frozen=True, slots=True)
class PostProcessing(Event):
    """Whatever is computed from releases and public values alone. It costs nothing."""


@dataclass(frozen=True, slots=True)
class NonPrivate(Event):
    """A release with a dependence on the data that no epsilon bounds. It costs infinity."""


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """Several events on the same people's data, each with how often it happened (>= 1)."""

    events: tuple[tuple[Event, int], ...]

    def __post_init__(self) -> None:
        if not isinstance(self.events, tuple):
            raise ConfigError("Composed takes a tuple of (event, count); or use compose(*events).")
        for entry in self.events:
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], Event)):
                raise ConfigError(f"Composed takes pairs (event, count); got {entry!r}.")
            check_count(entry[1])


def compose(*events: Event) -> Composed:
    """All of them, once each."""
    return Composed(tuple((event, 1) for event in events))


def repeat(event: Event, n: int) -> Composed:
    """The same event n >= 0 times, each with fresh randomness."""
    return Composed(((event, n),) if n != 0 else ())


def leaves(event: Event, count: int = 1) -> Iterator[tuple[Event, int]]:
    """What `count` times `event` is made of, with nothing composed left."""
    waiting = [(event, count)]
    while waiting:
        inner, times = waiting.pop()
        if type(inner) is Composed:
            waiting.extend((part, times * n) for part, n in reversed(inner.events))
        else:
            yield inner, times


def check_count(count: int) -> None:
    """Refuse what is not a whole number of times, at least once."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ConfigError(f"An event happens a whole number of times, at least 1; got {count!r}.")


_WHOLE = {"categories": 2, "steps": 1, "entries": 1, "k": 1, "levels": 1}
_POSITIVE = ("noise_multiplier", "sigma", "epsilon")
_FLAGS = ("permute_and_flip", "gaussian")


def _check(event: str, name: str, value: object) -> None:
    """Refuse what a field of that name cannot be, in one sentence."""
    if name in _WHOLE and not (name == "steps" and value is None):
        least = _WHOLE[name]
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise ConfigError(
                f"{event}: {name} is a whole number, at least {least}; got {value!r}."
            )
    elif name in _FLAGS and not isinstance(value, bool):
        raise ConfigError(f"{event}: {name} is True or False.")
    elif name in (*_POSITIVE, "truth"):
        noise = "A release without noise is a NonPrivate() event."
        if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
            raise ConfigError(f"{event}: {name} is a finite number; got {value!r}. {noise}")
        if name in _POSITIVE and value <= 0:
            raise ConfigError(f"{event}: {name} is above 0; got {value!r}. {noise}")
        if name == "truth" and not 0 <= value <= 1:
            raise ConfigError(f"{event}: truth is a chance, between 0 and 1; got {value}.")
