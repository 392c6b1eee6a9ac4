"""Zero-concentrated differential privacy: rho adds up, and is converted once, at the end.

Source     Bun, Steinke: Concentrated differential privacy (2016), for rho and its sum;
           Canonne, Kamath, Steinke: The discrete Gaussian (2020), Proposition 12, for delta;
           Cesar, Rogers: Bounding, concentrating, and truncating (2021), for selection;
           Harrison, Manurangsi: Exact zCDP characterizations (2025), for pure mechanisms.
Guarantee  Holds for events chosen one after the other: Feldman, Zrnic (2021).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from tacit.accounting import events
from tacit.accounting.base import PRICES as PURE_PRICES
from tacit.accounting.base import (
    Accountant,
    Price,
    Prices,
    check_delta,
    check_epsilon,
    no_price,
    summed,
)
from tacit.accounting.events import Event
from tacit.accounting.rounding import MARGIN, above, float_above

_STEPS = 120
"""Halvings of an interval: more than a float can tell apart."""


def _pure(exact: Price) -> float:
    """rho of the worst mechanism with this pure epsilon: binary randomized response."""
    epsilon = _float(exact)
    return above(epsilon * math.tanh(epsilon / 2)) if epsilon else 0.0


def _laplace(exact: Price) -> float:
    """rho of Laplace noise: epsilon - 1 + e^-epsilon, or its series' first term, which is above."""
    epsilon = _float(exact)
    return min(above(epsilon + math.expm1(-epsilon), slack=epsilon), above(epsilon * epsilon / 2))


def _gaussian(noise_multiplier: float) -> Fraction:
    return 1 / (2 * Fraction(noise_multiplier) ** 2)


def _choice(event: events.Exponential | events.TopK) -> Fraction:
    """One choice: its loss has a range of epsilon, and the bounded range makes it cheaper."""
    pure = Fraction(_pure(event.epsilon))
    return pure if event.permute_and_flip else min(pure, Fraction(event.epsilon) ** 2 / 8)


def _tree(event: events.Tree) -> Price:
    """Each level is one release; the discrete Laplace price covers the continuous one too."""
    if event.gaussian:
        return event.levels * _gaussian(event.noise_multiplier)
    return event.levels * Fraction(_pure(1 / Fraction(event.noise_multiplier)))


def _float(price: Price) -> float:
    return float_above(price) if isinstance(price, Fraction) else price


PRICES: Prices = {
    events.RandomizedResponse: lambda event: _pure(PURE_PRICES[events.RandomizedResponse](event)),
    events.Laplace: lambda event: _laplace(PURE_PRICES[events.Laplace](event)),
    events.DiscreteLaplace: lambda event: _pure(PURE_PRICES[events.DiscreteLaplace](event)),
    events.Gaussian: lambda event: _gaussian(event.noise_multiplier),
    events.DiscreteGaussian: lambda event: _gaussian(event.noise_multiplier),
    events.DiscreteGaussianVector: lambda event: _gaussian(event.noise_multiplier),
    events.Exponential: _choice,
    events.TopK: lambda event: event.k * _choice(event),
    events.Tree: _tree,
    events.Gate: lambda event: _pure(event.epsilon),
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""rho of one event, never below the exact one."""


class ZCDPAccountant(Accountant):
    """The sum of rho, and the tight conversion of it."""

    adaptive: ClassVar[bool] = True

    @property
    def rho(self) -> float:
        return summed(self._counts.items(), PRICES)

    def epsilon(self, delta: float = 0.0) -> float:
        """Infinite at delta 0, unless nothing was spent: zCDP alone bounds no pure epsilon."""
        check_delta(delta)
        return epsilon_of(self.rho, delta)

    def delta(self, epsilon: float) -> float:
        check_epsilon(epsilon)
        return delta_of(self.rho, epsilon)

    def _refusal(self, event: Event) -> str | None:
        if type(event) is events.SmoothSensitivity:
            return (
                "Noise by smooth sensitivity has no rho here. Use the basic accountant or PLD, and "
                "state a delta above 0."
            )
        return None if type(event) in PRICES else no_price("zCDP", event)


def epsilon_of(rho: float, delta: float) -> float:
    """The smallest epsilon that rho-zCDP implies at delta.

    Any order a > 1 gives a valid epsilon, a rho + (ln(1/delta) - ln a)/(a - 1) + ln(1 - 1/a). It is
    least where (a - 1)^2 rho + ln a = ln(1/delta).
    """
    if rho == 0 or delta >= 1:
        return 0.0
    if math.isinf(rho) or delta == 0:
        return math.inf
    wanted = -math.log(delta)
    most = min(math.sqrt(wanted / rho), math.expm1(min(wanted, 700.0)))
    if most == 0:
        return 0.0 if wanted == 0 else math.inf
    t = root(lambda t: t * t * rho + math.log1p(t) - wanted, most)  # t = a - 1
    terms = (t + 1) * rho + math.log1p(1 / t) + (wanted + math.log1p(t)) / t
    found = (t + 1) * rho + (wanted - math.log1p(t)) / t - math.log1p(1 / t)
    return max(0.0, above(found, slack=terms))


def delta_of(rho: float, epsilon: float) -> float:
    """The smallest delta that rho-zCDP implies at epsilon.

    Any order a > 1 gives a valid delta, exp((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1/a)^a. It
    is least where (2a - 1) rho + ln(1 - 1/a) = epsilon.
    """
    if rho == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(rho):
        return 1.0
    most = (epsilon + 1) / (2 * rho) + 1
    if math.isinf(most):
        return math.ulp(0.0)
    t = root(lambda t: (2 * t + 1) * rho - math.log1p(1 / t) - epsilon, most)
    log_delta = t * ((t + 1) * rho - epsilon) - math.log(t) - (t + 1) * math.log1p(1 / t)
    terms = t * ((t + 1) * rho + epsilon) + abs(math.log(t)) + (t + 1) * math.log1p(1 / t)
    return min(1.0, above(math.exp(min(0.0, log_delta + MARGIN * terms))))


def root(rising: Callable[[float], float], most: float) -> float:
    """Where a rising function crosses zero, in (0, most]; never 0."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high
