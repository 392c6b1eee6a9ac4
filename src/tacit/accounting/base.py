"""What every accountant does: it counts events, refuses those it does not know, and converts.

The sum of pure epsilons lies here.

Source     Dwork, McSherry, Nissim, Smith (2006); Dwork, Roth (2014), Theorem 3.16.
Guarantee  Holds for events chosen one after the other, each with knowledge of earlier releases:
           basic composition is a filter in Rogers, Roth, Ullman, Vadhan (2016).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any, ClassVar, Self

from tacit.accounting import events
from tacit.accounting.events import Event, check_count, leaves
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
            reason = self.refusal(leaf)
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
    def refusal(self, event: Event) -> str | None:
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


def _response(event: events.RandomizedResponse) -> float:
    """|ln(truth / chance of one other answer)|. Answering always or never in truth is no noise."""
    if event.truth in (0.0, 1.0):
        return math.inf
    odds = Fraction(event.truth) * (event.categories - 1) / (1 - Fraction(event.truth))
    more = max(odds, 1 / odds) - 1
    if more == 0:
        return 0.0
    if (rounded := float_above(more)) < math.inf:
        return above(math.log1p(rounded))
    return above(math.log(more.numerator) - math.log(more.denominator))


PRICES: Prices = {
    events.RandomizedResponse: _response,
    events.Laplace: lambda event: 1 / Fraction(event.noise_multiplier),
    events.DiscreteLaplace: lambda event: 1 / Fraction(event.noise_multiplier),
    events.Exponential: lambda event: event.epsilon,
    events.TopK: lambda event: event.k * Fraction(event.epsilon),
    events.Tree: lambda event: event.levels / Fraction(event.noise_multiplier),
    events.Gate: lambda event: event.epsilon,
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""Pure loss of one event, nats; a fraction is exact. A Tree here has Laplace noise."""


def is_gaussian(event: Event) -> bool:
    """Whether its noise is Gaussian, which no pure epsilon bounds."""
    if type(event) is events.Tree:
        return event.gaussian
    return type(event) in (events.Gaussian, events.DiscreteGaussian, events.DiscreteGaussianVector)


class PureAccountant(Accountant):
    """The sum of pure epsilons; Gaussian noise has none and is refused."""

    adaptive: ClassVar[bool] = True

    def epsilon(self, delta: float = 0.0) -> float:
        """The sum at delta 0; with a delta, what is left of it for the worst such mechanism.

        That is randomized response (Kairouz, Oh, Viswanath, 2015).
        """
        check_delta(delta)
        total = summed(self._counts.items(), PRICES)
        inner = delta * (1 + math.exp(-total)) * (1 - MARGIN)
        if delta == 1 or inner >= 1:
            return 0.0
        return max(0.0, above(total + math.log1p(-inner), slack=total)) if inner else total

    def delta(self, epsilon: float) -> float:
        """(e^total - e^epsilon) / (1 + e^total): 0 from the sum on."""
        check_epsilon(epsilon)
        total = summed(self._counts.items(), PRICES)
        if epsilon >= total:
            return 0.0
        return min(1.0, above(-math.expm1(epsilon - total) / (1 + math.exp(-total))))

    def refusal(self, event: Event) -> str | None:
        if is_gaussian(event):
            return (
                "Gaussian noise has no pure epsilon: at delta = 0 its loss has no bound. Use the "
                "zCDP accountant and state a delta above 0, or use Laplace noise."
            )
        return None if type(event) in PRICES else no_price("pure", event)


MARGIN = 2.0**-48
"""Relative; far more than a handful of float operations and logarithms can be off."""


def above(computed: float, *, slack: float = 0.0) -> float:
    """A positive float above what a few float operations came to.

    slack: how large the terms were, where they cancelled.
    """
    return math.nextafter(computed + MARGIN * (abs(computed) + slack), math.inf)


def float_above(exact: Fraction) -> float:
    """The smallest float that is not below `exact` (>= 0)."""
    try:
        near = float(exact)
    except OverflowError:
        return math.inf
    return near if near == math.inf or near >= exact else math.nextafter(near, math.inf)


def sum_above(parts: Iterable[float]) -> float:
    """The smallest float, or the next, that is not below the exact sum of `parts` (>= 0)."""
    numbers = list(parts)
    if math.inf in numbers:
        return math.inf
    try:
        total = math.fsum(numbers)  # the nearest float, whatever the order
    except OverflowError:
        return math.inf
    return total if math.fsum([*numbers, -total]) <= 0 else math.nextafter(total, math.inf)


_FURTHEST = 2.0**60


def smallest_noise(
    make_event: Callable[[float], Event],
    *,
    epsilon: float,
    delta: float = 0.0,
    accountant: Callable[[], Accountant],
    precision: float = 1e-9,
) -> float:
    """The smallest noise multiplier whose event costs at most (epsilon, delta); or ConfigError.

    make_event: noise multiplier -> everything that will be released, e.g.
    `lambda noise: repeat(Gaussian(noise), 10)`; more noise has to cost less. For events that take
    an epsilon, `lambda noise: Gate(1 / noise)`.
    precision: relative. The answer meets the target, and a smaller one by this share does not.
    """
    check_epsilon(epsilon)
    check_delta(delta)
    if not 0 < precision < 1:
        raise ConfigError(f"precision is a share between 0 and 1; got {precision}.")

    def enough(noise: float) -> bool:
        return accountant().add(make_event(noise)).epsilon(delta) <= epsilon

    low, high = _bracket(enough, epsilon, delta)
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _bracket(enough: Callable[[float], bool], epsilon: float, delta: float) -> tuple[float, float]:
    high = 1.0
    while not enough(high):
        high *= 2
        if high > _FURTHEST:
            raise ConfigError(
                f"No noise reaches epsilon {epsilon:g} at delta {delta:g}: with this accountant "
                "the target is out of reach, or part of the release has no noise."
            )
    low = high / 2
    while enough(low):
        low, high = low / 2, low
        if low < 1 / _FURTHEST:
            raise ConfigError("Hardly any noise meets the target already: what is to be found?")
    return low, high
