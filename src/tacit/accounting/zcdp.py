"""Zero-concentrated differential privacy: rho adds up, and is converted once, at the end.

Source     Bun, Steinke: Concentrated differential privacy (2016), for rho and its sum;
           Canonne, Kamath, Steinke: The discrete Gaussian (2020), Proposition 12, for delta;
           Cesar, Rogers: Bounding, concentrating, and truncating (2021), for selection;
           Harrison, Manurangsi: Exact zCDP characterizations (2025), for pure mechanisms.
Guarantee  Holds for events chosen one after the other: Feldman, Zrnic (2021).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from tacit.accounting import events
from tacit.accounting.base import (
    Accountant,
    Price,
    Prices,
    check_delta,
    check_epsilon,
    refuse_unknown_event,
    total_price,
)
from tacit.accounting.events import Event
from tacit.accounting.pure import PRICES as PURE_PRICES
from tacit.accounting.rounding import MARGIN, find_root, float_above, round_up


def _rho_of_pure(exact: Price) -> float:
    """Return rho of the worst mechanism with this pure epsilon: binary randomized response."""
    epsilon = _as_float(exact)
    return round_up(epsilon * math.tanh(epsilon / 2)) if epsilon else 0.0


def _rho_of_laplace(exact: Price) -> float:
    """Return rho of Laplace noise: epsilon - 1 + e^-epsilon, or epsilon^2 / 2, which is above."""
    epsilon = _as_float(exact)
    formula = round_up(epsilon + math.expm1(-epsilon), slack=epsilon)
    return min(formula, round_up(epsilon * epsilon / 2))


def _rho_of_gaussian(noise_multiplier: float) -> Fraction:
    """Return rho of Gaussian noise: 1 / (2 m^2)."""
    return 1 / (2 * Fraction(noise_multiplier) ** 2)


def _rho_of_choice(event: events.Exponential | events.TopK) -> Fraction:
    """Return rho of one choice, whose loss has a range of epsilon: at most epsilon^2 / 8."""
    pure = Fraction(_rho_of_pure(event.epsilon))
    return pure if event.permute_and_flip else min(pure, Fraction(event.epsilon) ** 2 / 8)


def _rho_of_tree(event: events.Tree) -> Price:
    """Return rho of all levels; the discrete Laplace price covers the continuous noise too."""
    if event.gaussian:
        return event.levels * _rho_of_gaussian(event.noise_multiplier)
    return event.levels * Fraction(_rho_of_pure(1 / Fraction(event.noise_multiplier)))


def _rho_of_response(event: events.RandomizedResponse) -> float:
    return _rho_of_pure(PURE_PRICES[events.RandomizedResponse](event))


def _as_float(price: Price) -> float:
    return float_above(price) if isinstance(price, Fraction) else price


PRICES: Prices = {
    events.RandomizedResponse: _rho_of_response,
    events.Laplace: lambda event: _rho_of_laplace(PURE_PRICES[events.Laplace](event)),
    events.DiscreteLaplace: lambda event: _rho_of_pure(PURE_PRICES[events.DiscreteLaplace](event)),
    events.Gaussian: lambda event: _rho_of_gaussian(event.noise_multiplier),
    events.DiscreteGaussian: lambda event: _rho_of_gaussian(event.noise_multiplier),
    events.DiscreteGaussianVector: lambda event: _rho_of_gaussian(event.noise_multiplier),
    events.Exponential: _rho_of_choice,
    events.TopK: lambda event: event.k * _rho_of_choice(event),
    events.Tree: _rho_of_tree,
    events.Gate: lambda event: _rho_of_pure(event.epsilon),
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""rho of one event, never below the exact one."""


class ZCDPAccountant(Accountant):
    """The sum of rho, and the tight conversion of it."""

    adaptive: ClassVar[bool] = True

    @property
    def rho(self) -> float:
        """The sum of rho of all events, never below the exact one."""
        return total_price(self._counts.items(), PRICES)

    def epsilon(self, delta: float = 0.0) -> float:
        """Return epsilon; infinite at delta 0 unless nothing was spent: zCDP bounds no pure one."""
        check_delta(delta)
        return epsilon_of_rho(self.rho, delta)

    def delta(self, epsilon: float) -> float:
        """Return the smallest delta that the sum of rho implies."""
        check_epsilon(epsilon)
        return delta_of_rho(self.rho, epsilon)

    def refusal(self, event: Event) -> str | None:
        """Refuse events of unknown classes."""
        return None if type(event) in PRICES else refuse_unknown_event("zCDP", event)


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return the smallest epsilon that rho-zCDP implies at delta.

    Any order a > 1 gives a valid epsilon, a rho + (ln(1/delta) - ln a)/(a - 1) + ln(1 - 1/a). It is
    least where (a - 1)^2 rho + ln a = ln(1/delta).
    """
    if rho == 0 or delta >= 1:
        return 0.0
    if math.isinf(rho) or delta == 0:
        return math.inf
    log_delta = -math.log(delta)
    most = min(math.sqrt(log_delta / rho), math.expm1(min(log_delta, 700.0)))
    if most == 0:
        return math.inf
    t = find_root(lambda t: t * t * rho + math.log1p(t) - log_delta, most)  # t = a - 1
    epsilon = (t + 1) * rho + (log_delta - math.log1p(t)) / t - math.log1p(1 / t)
    return max(0.0, round_up(epsilon, slack=rho + log_delta / t))  # t rho <= log_delta / t


def delta_of_rho(rho: float, epsilon: float) -> float:
    """Return the smallest delta that rho-zCDP implies at epsilon.

    Any order a > 1 gives a valid delta, exp((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1/a)^a. It
    is least where (2a - 1) rho + ln(1 - 1/a) = epsilon.
    """
    if rho == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(rho):
        return 1.0
    most = epsilon / rho + 1 / math.sqrt(rho)
    if math.isinf(most * epsilon):
        return math.ulp(0.0)
    t = find_root(lambda t: (2 * t + 1) * rho - math.log1p(1 / t) - epsilon, most)  # t = a - 1
    log_delta = t * ((t + 1) * rho - epsilon) - math.log(t) - (t + 1) * math.log1p(1 / t)
    terms = t * ((t + 1) * rho + epsilon) + abs(math.log(t))  # the last one is about as large
    return min(1.0, round_up(math.exp(min(0.0, log_delta + MARGIN * terms))))
