"""What every accountant does: it counts events, refuses those it does not know, and converts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.accounting.events import Event, check_count, leaves
from tacit.accounting.rounding import float_above, sum_above
from tacit.errors import ConfigError, PrivacyError

Price = Fraction | float
Prices = Mapping[type[Event], Callable[[Any], Price]]


class Accountant(ABC):
    """Counts equal events instead of adding floats, so neither order nor nesting can matter.

    adaptive: whether the total also holds when each event is chosen after seeing earlier releases,
    which is what a `PrivacyFilter` needs.
    """

    adaptive: ClassVar[bool] = False

    def __init__(self) -> None:
        self._counts: dict[Event, int] = {}

    def add(self, event: Event, count: int = 1) -> Self:
        """Charge `count` times `event`: all of it, or nothing and a PrivacyError."""
        check_count(count)
        if not isinstance(event, Event):
            raise ConfigError(f"An accountant adds events; got {event!r}.")
        found = list(leaves(event, count))
        for leaf, _ in found:
            reason = self._refusal(leaf)
            if reason is not None:
                raise PrivacyError(f"{reason} Nothing was added.")
        for leaf, times in found:
            self._counts[leaf] = self._counts.get(leaf, 0) + times
        return self

    def copy(self) -> Self:
        """An accountant with the same events, that goes its own way from here."""
        other = type(self)()
        other._counts = dict(self._counts)
        return other

    @abstractmethod
    def epsilon(self, delta: float = 0.0) -> float:
        """The smallest epsilon known to hold at this delta, nats; math.inf if none is known."""

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """The smallest delta known to hold at this epsilon (nats), between 0 and 1."""

    @abstractmethod
    def _refusal(self, event: Event) -> str | None:
        """Why this event, never a composed one, has no price here; None if it has one."""


def no_price(name: str, event: Event) -> str:
    """What an accountant says to a class of events it has never heard of."""
    return (
        f"The {name} accountant does not know the event {type(event).__name__}, and a total "
        "without it would be too low. Describe the release by events it knows."
    )


def summed(counts: Iterable[tuple[Event, int]], prices: Prices) -> float:
    """Counts times prices, never below the exact sum, and the same in every order."""
    return sum_above(_product(times, prices[type(event)](event)) for event, times in counts)


def _product(times: int, price: Price) -> float:
    return math.inf if price == math.inf else float_above(times * Fraction(price))


def check_delta(delta: float) -> None:
    """Refuse what is no chance."""
    if not 0 <= delta <= 1:  # NaN fails it too
        raise ConfigError(f"delta is a chance, between 0 and 1; got {delta}.")


def check_epsilon(epsilon: float) -> None:
    """Refuse a negative or undefined epsilon; infinity is allowed."""
    if not epsilon >= 0:
        raise ConfigError(f"epsilon is a number of nats, at least 0; got {epsilon}.")
