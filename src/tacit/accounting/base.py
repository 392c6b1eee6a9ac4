"""Accountants: they count events, refuse those that they cannot price, and convert the total."""

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
"""What one event adds to a total: nats, rho, mu^2, or a delta.

A fraction is exact; a float is never too low."""
Prices = Mapping[type[Event], Callable[[Any], Price]]
"""For each class of events, the function from an event to its price."""


class Accountant(ABC):
    """Base of accountants: counts equal events, and converts the counts to (epsilon, delta).

    Losses are computed from the counts only when a total is asked for, so neither the order nor the
    nesting of events changes the total.
    """

    adaptive: ClassVar[bool] = False
    """Whether the total holds even if each event is chosen in view of earlier releases. A
    `PrivacyFilter` needs that."""

    def __init__(self) -> None:
        """Begin without events."""
        self._counts: dict[Event, int] = {}  # how often each event, not composed, was added

    def add(self, event: Event, count: int = 1) -> Self:
        """Add `count` times `event`: all of it, or nothing.

        Returns:
            This accountant.

        Raises:
            ConfigError: `event` is not an event, or the count is not a whole number of at least 1.
            PrivacyError: The accountant cannot price the event, or a part of it.
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
        """Return another accountant with the same events."""
        duplicate = type(self)()
        duplicate._counts = dict(self._counts)
        return duplicate

    @abstractmethod
    def epsilon(self, delta: float = 0.0) -> float:
        """Return the smallest epsilon known to hold at this delta.

        Args:
            delta: A probability, from 0 to 1.

        Returns:
            Nats; math.inf if no epsilon is known to hold.

        Raises:
            ConfigError: delta is not a probability.
        """

    @abstractmethod
    def delta(self, epsilon: float) -> float:
        """Return the smallest delta, from 0 to 1, known to hold at this epsilon.

        Raises:
            ConfigError: epsilon, in nats, is negative or NaN.
        """

    @abstractmethod
    def refusal(self, event: Event) -> str | None:
        """Return why the accountant cannot price this event, as a sentence; None if it can.

        Args:
            event: An event that is not composed. For a `ComposedEvent`, `add` calls this with each
                of its parts.
        """


def explain_unknown_event(name: str, event: Event) -> str:
    """Return the reason for refusing an event of a class that the accountant does not know.

    Args:
        name: The accountant's name in the sentence.
        event: The event.
    """
    return (
        f"The {name} accountant does not know the event {type(event).__name__}, and a total "
        "without it would be too low. Describe the release by events it knows."
    )


def total_price(counts: Iterable[tuple[Event, int]], prices: Prices) -> float:
    """Add up counts times prices; the result is never below the exact sum.

    Args:
        counts: Events, each with how often it happened, in any order.
        prices: Price of one event, by its class.
    """
    products = []
    for event, times in counts:
        price = prices[type(event)](event)
        if price == math.inf:
            return math.inf
        products.append(float_above(times * Fraction(price)))
    return sum_above(products)


def check_delta(delta: float) -> None:
    """Raise ConfigError unless delta is a probability, from 0 to 1."""
    if not 0 <= delta <= 1:  # so written, NaN is refused too
        raise ConfigError(f"delta is a chance, between 0 and 1; got {delta}.")


def check_epsilon(epsilon: float) -> None:
    """Raise ConfigError for a negative epsilon or NaN; infinity is allowed."""
    if not epsilon >= 0:  # so written, NaN is refused too
        raise ConfigError(f"epsilon is a number of nats, at least 0; got {epsilon}.")


def is_gaussian(event: Event) -> bool:
    """Say whether the event's noise is Gaussian, so that it has no pure epsilon."""
    if type(event) is events.Tree:
        return event.gaussian
    return type(event) in (events.Gaussian, events.DiscreteGaussian, events.DiscreteGaussianVector)
