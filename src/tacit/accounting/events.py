"""Events: immutable facts about one release, all that an accountant needs to charge for it.

Every field is public: it comes from the configuration, never from the data. The meaning of an
event never changes; a new meaning gets a new class. Noise is stated relative to the sensitivity, so
an event does not name its adjacency (whether it protects a person, or one rating): it holds for the
adjacency of that sensitivity, which the guarantee names. Equal events cost the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite
from sys import float_info

from tacit.errors import ConfigError

_LARGEST_FLOAT = float_info.max
"""Largest number of a field that is not a count."""


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events. Accountants refuse events of classes that are not in this file."""


@dataclass(frozen=True, slots=True)
class RandomizedResponse(Event):
    """One of several answers: the true one with chance `truth`, the others equally likely.

    Source: Warner (1965) for two categories; Kairouz, Oh, Viswanath (2014) for more.
    """

    categories: int
    """Number of possible answers, at least 2."""
    truth: float
    """Chance of the true answer, from 0 to 1."""

    def __post_init__(self) -> None:
        _check_whole(self, "categories", self.categories, least=2)
        _check_number(self, "truth", self.truth)
        if not 0 <= self.truth <= 1:
            raise ConfigError(
                f"{type(self).__name__}: truth is a chance, between 0 and 1; got {self.truth}."
            )


@dataclass(frozen=True, slots=True)
class Laplace(Event):
    """Laplace noise (Dwork et al., 2006)."""

    noise_multiplier: float
    """Scale / L1 sensitivity, above 0."""

    def __post_init__(self) -> None:
        _check_positive(self, "noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class DiscreteLaplace(Event):
    """Discrete Laplace noise on integers (Ghosh, Roughgarden, Sundararajan, 2009)."""

    noise_multiplier: float
    """Scale / L1 sensitivity, above 0."""

    def __post_init__(self) -> None:
        _check_positive(self, "noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class Gaussian(Event):
    """Continuous Gaussian noise (Bun, Steinke, 2016).

    Noise on integers is a `DiscreteGaussian`, which may cost more.
    """

    noise_multiplier: float
    """Standard deviation / L2 sensitivity, above 0."""

    def __post_init__(self) -> None:
        _check_positive(self, "noise_multiplier", self.noise_multiplier)


@dataclass(frozen=True, slots=True)
class DiscreteGaussian(Event):
    """Discrete Gaussian noise on integers (Canonne, Kamath, Steinke, 2020, Theorem 4)."""

    noise_multiplier: float
    """Parameter sigma / L2 sensitivity, above 0."""
    steps: int | None = None
    """The sensitivity in steps of the grid to which values are rounded, if neighbours differ in ONE
    entry. None if they may differ in several: the loss then depends on how the distance is divided
    among the entries, and only its rho is known."""

    def __post_init__(self) -> None:
        _check_positive(self, "noise_multiplier", self.noise_multiplier)
        if self.steps is not None:
            _check_whole(self, "steps", self.steps, least=1)


@dataclass(frozen=True, slots=True)
class DiscreteGaussianVector(Event):
    """Discrete Gaussian noise on several integers, each with a parameter sigma of its own.

    If every sigma is many steps, the noise costs hardly more than continuous noise. Source: Peikert
    (2010).
    """

    noise_multiplier: float
    """1 / L2 distance of neighbours after each entry is divided by its own sigma, or a lower bound
    of that."""
    sigma: float
    """The smallest sigma of the entries, in steps of the entry's grid, or a lower bound of that."""
    entries: int
    """Number of integers, or an upper bound of that."""

    def __post_init__(self) -> None:
        _check_positive(self, "noise_multiplier", self.noise_multiplier)
        _check_positive(self, "sigma", self.sigma)
        _check_whole(self, "entries", self.entries, least=1)


@dataclass(frozen=True, slots=True)
class Exponential(Event):
    """One choice by the exponential mechanism."""

    epsilon: float
    """Pure loss of the choice, in nats, above 0."""
    permute_and_flip: bool = False
    """Whether the choice is drawn by permute-and-flip (McKenna, Sheldon, 2020), which equals noisy
    max with exponential noise. Its pure loss is the same, but its losses may lie in a range
    longer than `epsilon`. The smaller zCDP price of the exponential mechanism holds only for a
    range of length `epsilon` (Cesar, Rogers, 2021)."""

    def __post_init__(self) -> None:
        _check_positive(self, "epsilon", self.epsilon)
        _check_flag(self, "permute_and_flip", self.permute_and_flip)


@dataclass(frozen=True, slots=True)
class TopK(Event):
    """Peeling: several choices without repetition, one after the other, each an `Exponential`."""

    k: int
    """Number of choices, at least 1."""
    epsilon: float
    """Pure loss of ONE choice, in nats; the list of k costs k times as much."""
    permute_and_flip: bool = False
    """Whether each choice is drawn by permute-and-flip, as in `Exponential`."""

    def __post_init__(self) -> None:
        _check_whole(self, "k", self.k, least=1)
        _check_positive(self, "epsilon", self.epsilon)
        _check_flag(self, "permute_and_flip", self.permute_and_flip)


@dataclass(frozen=True, slots=True)
class Tree(Event):
    """All releases of a binary tree counter, in which one input changes `levels` nodes at most.

    The noise is continuous, or discrete Laplace. A tree whose nodes have discrete Gaussian noise is
    `levels` times a `DiscreteGaussian`, and no event of this class. Source: Chan, Shi, Song (2011);
    Dwork, Naor, Pitassi, Rothblum (2010).
    """

    levels: int
    """floor(log2 T) + 1 for T inputs."""
    noise_multiplier: float
    """Noise of one node / the largest change of the node's sum by one input, above 0.

    The noise is given as the Laplace scale, or as the standard deviation if `gaussian`."""
    gaussian: bool = False
    """Whether the noise is Gaussian; otherwise Laplace."""

    def __post_init__(self) -> None:
        _check_whole(self, "levels", self.levels, least=1)
        _check_positive(self, "noise_multiplier", self.noise_multiplier)
        _check_flag(self, "gaussian", self.gaussian)


@dataclass(frozen=True, slots=True)
class Gate(Event):
    """One run of AboveThreshold, until it stops (Dwork, Roth, 2014, Theorem 3.23)."""

    epsilon: float
    """Pure loss of the whole run, in nats, however many questions it answers."""

    def __post_init__(self) -> None:
        _check_positive(self, "epsilon", self.epsilon)


@dataclass(frozen=True, slots=True)
class PostProcessing(Event):
    """A computation from releases and public values only. It costs nothing."""


@dataclass(frozen=True, slots=True)
class NonPrivate(Event):
    """A release without any bound on its loss, such as exact data. Its epsilon is infinite."""


@dataclass(frozen=True, slots=True)
class ComposedEvent(Event):
    """Several events on the data of the same people."""

    events: tuple[tuple[Event, int], ...]
    """Pairs (event, how often it happened, at least 1)."""

    def __post_init__(self) -> None:
        if not isinstance(self.events, tuple):
            raise ConfigError(
                "ComposedEvent takes a tuple of (event, count); or use compose(*events)."
            )
        for entry in self.events:
            if not (isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], Event)):
                raise ConfigError(f"ComposedEvent takes pairs (event, count); got {entry!r}.")
            check_count(entry[1])


def compose(*events: Event) -> ComposedEvent:
    """Combine events that each happen once."""
    return ComposedEvent(tuple((event, 1) for event in events))


def repeat(event: Event, n: int) -> ComposedEvent:
    """Combine n repetitions of one event, each with fresh randomness.

    Raises:
        ConfigError: n is not a whole number, or is negative.
    """
    return ComposedEvent(((event, n),) if n != 0 else ())


def leaves(event: Event, count: int = 1) -> Iterator[tuple[Event, int]]:
    """Yield the events that are not composed, out of `count` repetitions of `event`, in order.

    Yields:
        An event, and how often it happens. Equal events may come more than once.
    """
    stack = [(event, count)]
    while stack:
        current, times = stack.pop()
        if type(current) is ComposedEvent:
            for part, repetitions in reversed(current.events):
                stack.append((part, times * repetitions))
        else:
            yield current, times


def check_count(count: int) -> None:
    """Raise ConfigError unless count is an integer of at least 1."""
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise ConfigError(f"An event happens a whole number of times, at least 1; got {count!r}.")


def _check_whole(event: Event, name: str, value: object, *, least: int) -> None:
    """Raise ConfigError unless the field's value is an integer of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ConfigError(
            f"{type(event).__name__}: {name} is a whole number, at least {least}; got {value!r}."
        )


def _check_number(event: Event, name: str, value: object) -> None:
    """Raise ConfigError unless the field's value is a finite number that fits a float."""
    if isinstance(value, int) and abs(value) > _LARGEST_FLOAT:
        raise ConfigError(
            f"{type(event).__name__}: {name} is a finite number, at most {_LARGEST_FLOAT:.3g}; got "
            "a whole number beyond that."
        )
    if not isinstance(value, int | float) or isinstance(value, bool) or not isfinite(value):
        raise ConfigError(
            f"{type(event).__name__}: {name} is a finite number; got {value!r}. A release without "
            "noise is a NonPrivate() event."
        )


def _check_positive(event: Event, name: str, value: float) -> None:
    """Raise ConfigError unless the field's value is a finite number above 0."""
    _check_number(event, name, value)
    if value <= 0:
        raise ConfigError(
            f"{type(event).__name__}: {name} is above 0; got {value!r}. A release without noise is "
            "a NonPrivate() event."
        )


def _check_flag(event: Event, name: str, value: object) -> None:
    """Raise ConfigError unless the field's value is True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{type(event).__name__}: {name} is True or False.")
