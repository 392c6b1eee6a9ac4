"""Accountants: they count events, refuse those that they do not know, and convert the total."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.accounting import events
from tacit.accounting.events import Event, check_count, leaves
from tacit.accounting.rounding import float_above, sum_above
from tacit.errors import ConfigError, PrivacyError

Price = Fraction | float
"""Loss of one event; a fraction is exact."""
Prices = Mapping[type[Event], Callable[[Any], Price]]
"""By class of events, the loss of one of them."""


class Accountant(ABC):
    """Count equal events instead of adding floats, so neither order nor nesting can matter."""

    adaptive: ClassVar[bool] = False
    """Whether the total also holds when each event is chosen after seeing earlier releases, which
    is what a `PrivacyFilter` needs."""

    def __init__(self) -> None:
        self._counts: dict[Event, int] = {}

    def add(self, event: Event, count: int = 1) -> Self:
        """Charge `count` times `event`: all of it, or nothing.

        Returns:
            This accountant.

        Raises:
            ConfigError: `event` is no event, or the count is no whole number of at least 1.
            PrivacyError: The accountant does not know the event, or a part of it.
        """
        check_count(count)
        if not isinstance(event, Event):
            raise ConfigError(f"An accountant adds events; got {event!r}.")
        parts = list(leaves(event, count))
        for leaf, _ in parts:
            reason = self.refusal(leaf)
            if reason is not None:
                raise PrivacyError(f"{reason} Nothing was added.")
        for leaf, times in parts:
            self._counts[leaf] = self._counts.get(leaf, 0) + times
        return self

    def copy(self) -> Self:
        """Return an accountant with the same events, that goes its own way from here."""
        other = type(self)()
        other._counts = dict(self._counts)
        return other

    @abstractmethod
    def epsilon(self, delta: float = 0.0) -> float:
        """Return the smallest epsilon known to hold at this delta.

        Args:
            delta: A chance, from 0 to 1.

        Returns:
            Nats; math.inf if no epsilon is known to hold.

        Raises:
            ConfigError: delta is no chance.
        """

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return the smallest delta, from 0 to 1, known to hold at this epsilon.

        Raises:
            ConfigError: epsilon, in nats, is negative or undefined.
        """

    @abstractmethod
    def refusal(self, event: Event) -> str | None:
        """Say why this event, never a composed one, has no price here; None if it has one."""


def refuse_unknown_event(name: str, event: Event) -> str:
    """Return an accountant's sentence for a class of events that it has never heard of."""
    return (
        f"The {name} accountant does not know the event {type(event).__name__}, and a total "
        "without it would be too low. Describe the release by events it knows."
    )


def total_price(counts: Iterable[tuple[Event, int]], prices: Prices) -> float:
    """Add up counts times prices: never below the exact sum, and equal in every order."""
    products = []
    for event, times in counts:
        price = prices[type(event)](event)
        products.append(math.inf if price == math.inf else float_above(times * Fraction(price)))
    return sum_above(products)


def check_delta(delta: float) -> None:
    """Refuse what is no chance."""
    if not 0 <= delta <= 1:  # NaN fails it too
        raise ConfigError(f"delta is a chance, between 0 and 1; got {delta}.")


def check_epsilon(epsilon: float) -> None:
    """Refuse a negative or undefined epsilon; infinity is allowed."""
    if not epsilon >= 0:
        raise ConfigError(f"epsilon is a number of nats, at least 0; got {epsilon}.")


def is_gaussian(event: Event) -> bool:
    """Say whether the event's noise is Gaussian, which no pure epsilon bounds."""
    if type(event) is events.Tree:
        return event.gaussian
    return type(event) in (events.Gaussian, events.DiscreteGaussian, events.DiscreteGaussianVector)
