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
from typing import ClassVar

from tacit.accounting.base import Accountant, Prices, check_delta, check_epsilon, no_price, summed
from tacit.accounting.events import (
    DiscreteLaplace,
    Event,
    Exponential,
    Gate,
    Gaussian,
    Laplace,
    NonPrivate,
    PostProcessing,
    RandomizedResponse,
    TopK,
    Tree,
)
from tacit.accounting.pure import PRICES as PURE_PRICES

_STEPS = 120
"""Halvings of an interval: more than a float can tell apart."""


def _pure(epsilon: float) -> float:
    """rho of the worst mechanism with this pure epsilon: binary randomized response."""
    return epsilon * math.tanh(epsilon / 2)


def _laplace(epsilon: float) -> float:
    """rho of Laplace noise: epsilon - 1 + e^-epsilon."""
    if epsilon < 1e-5:  # too close to 0 to subtract; the series' first term is above the sum
        return epsilon * epsilon / 2
    return epsilon + math.expm1(-epsilon)


def _gaussian(noise_multiplier: float) -> float:
    return (1 / noise_multiplier) * (1 / noise_multiplier) / 2


def _choice(event: Exponential | TopK) -> float:
    """One choice: its loss has a range of epsilon, and the bounded range makes it cheaper."""
    pure = _pure(event.epsilon)
    return pure if event.permute_and_flip else min(pure, event.epsilon * event.epsilon / 8)


def _tree(event: Tree) -> float:
    """Each level is one release; the discrete Laplace price covers the continuous one too."""
    node = _gaussian if event.gaussian else lambda multiplier: _pure(1 / multiplier)
    return event.levels * node(event.noise_multiplier)


PRICES: Prices = {
    RandomizedResponse: lambda event: _pure(PURE_PRICES[RandomizedResponse](event)),
    Laplace: lambda event: _laplace(1 / event.noise_multiplier),
    DiscreteLaplace: lambda event: _pure(1 / event.noise_multiplier),
    Gaussian: lambda event: _gaussian(event.noise_multiplier),
    Exponential: _choice,
    TopK: lambda event: event.k * _choice(event),
    Tree: _tree,
    Gate: lambda event: _pure(event.epsilon),
    PostProcessing: lambda _: 0.0,
    NonPrivate: lambda _: math.inf,
}
"""rho of one event."""


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
    t = _root(lambda t: t * t * rho + math.log1p(t) - wanted, most)  # t = a - 1
    return max(0.0, (t + 1) * rho + (wanted - math.log1p(t)) / t - math.log1p(1 / t))


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
        return 0.0
    t = _root(lambda t: (2 * t + 1) * rho - math.log1p(1 / t) - epsilon, most)
    log_delta = t * ((t + 1) * rho - epsilon) - math.log(t) - (t + 1) * math.log1p(1 / t)
    return math.exp(min(0.0, log_delta))


def _root(rising: Callable[[float], float], most: float) -> float:
    """Where a rising function crosses zero, in (0, most]; never 0."""
    low, high = 0.0, most
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high
