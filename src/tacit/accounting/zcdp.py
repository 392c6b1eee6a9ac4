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
    explain_unknown_event,
    total_price,
)
from tacit.accounting.events import Event
from tacit.accounting.pure import PRICES as PURE_PRICES
from tacit.accounting.rounding import MARGIN, find_root, float_above, round_up

_LARGEST_EXPONENT = 700.0
"""Largest number whose power of e is computed; e^700 is still a float."""


def _rho_of_pure(pure_epsilon: Price) -> float:
    """Return rho of the worst mechanism with this pure epsilon, binary randomized response.

    rho = epsilon tanh(epsilon / 2).
    """
    epsilon = _as_float(pure_epsilon)
    return round_up(epsilon * math.tanh(epsilon / 2)) if epsilon else 0.0


def _rho_of_laplace(pure_epsilon: Price) -> float:
    """Return rho of Laplace noise: epsilon - 1 + e^-epsilon, rounded up.

    For a tiny epsilon the terms of the formula cancel, and rounding it up adds much. Then the upper
    bound epsilon^2 / 2 is lower, and is returned.
    """
    epsilon = _as_float(pure_epsilon)
    formula = round_up(epsilon + math.expm1(-epsilon), slack=epsilon)
    return min(formula, round_up(epsilon * epsilon / 2))


def _rho_of_gaussian(noise_multiplier: float) -> Fraction:
    """Return rho of Gaussian noise: 1 / (2 m^2)."""
    return 1 / (2 * Fraction(noise_multiplier) ** 2)


def _rho_of_choice(event: events.Exponential | events.TopK) -> Price:
    """Return rho of one choice.

    The exponential mechanism's losses lie in a range of length epsilon, so its rho is at most
    epsilon^2 / 8. Permute-and-flip is priced as the worst mechanism of the same pure epsilon.
    """
    rho_of_pure = _rho_of_pure(event.epsilon)
    if event.permute_and_flip or math.isinf(rho_of_pure):
        return rho_of_pure
    return min(Fraction(rho_of_pure), Fraction(event.epsilon) ** 2 / 8)


def _rho_of_tree(event: events.Tree) -> Price:
    """Return rho of all levels of a tree.

    The event does not say whether Laplace noise is continuous or discrete. Both are priced as
    discrete, which costs at least as much.
    """
    if event.gaussian:
        return event.levels * _rho_of_gaussian(event.noise_multiplier)
    return _multiply(event.levels, _rho_of_pure(1 / Fraction(event.noise_multiplier)))


def _rho_of_response(event: events.RandomizedResponse) -> float:
    """Return rho of a randomized response: that of its pure epsilon."""
    return _rho_of_pure(PURE_PRICES[events.RandomizedResponse](event))


def _multiply(count: int, rho: Price) -> Price:
    """Return rho of `count` events exactly; infinite if rho is."""
    return math.inf if rho == math.inf else count * Fraction(rho)


def _as_float(price: Price) -> float:
    """Return a price as a float that is not below it."""
    return float_above(price) if isinstance(price, Fraction) else price


PRICES: Prices = {
    events.RandomizedResponse: _rho_of_response,
    events.Laplace: lambda event: _rho_of_laplace(PURE_PRICES[events.Laplace](event)),
    events.DiscreteLaplace: lambda event: _rho_of_pure(PURE_PRICES[events.DiscreteLaplace](event)),
    events.Gaussian: lambda event: _rho_of_gaussian(event.noise_multiplier),
    events.DiscreteGaussian: lambda event: _rho_of_gaussian(event.noise_multiplier),
    events.DiscreteGaussianVector: lambda event: _rho_of_gaussian(event.noise_multiplier),
    events.Exponential: _rho_of_choice,
    events.TopK: lambda event: _multiply(event.k, _rho_of_choice(event)),
    events.Tree: _rho_of_tree,
    events.Gate: lambda event: _rho_of_pure(event.epsilon),
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""For each class of events, rho of one event, never too low."""


class ZCDPAccountant(Accountant):
    """Accountant that adds up rho, and converts the sum by the formula of `epsilon_of_rho`."""

    adaptive: ClassVar[bool] = True

    @property
    def rho(self) -> float:
        """The sum of rho of all events, never too low."""
        return total_price(self._counts.items(), PRICES)

    def epsilon(self, delta: float = 0.0) -> float:
        """Return epsilon at this delta; infinite at delta 0, unless rho is 0."""
        check_delta(delta)
        return epsilon_of_rho(self.rho, delta)

    def delta(self, epsilon: float) -> float:
        """Return the delta at this epsilon (`delta_of_rho`)."""
        check_epsilon(epsilon)
        return delta_of_rho(self.rho, epsilon)

    def refusal(self, event: Event) -> str | None:
        """Return the reason for refusing an event of an unknown class; None for the others."""
        return None if type(event) in PRICES else explain_unknown_event("zCDP", event)


def epsilon_of_rho(rho: float, delta: float) -> float:
    """Return the smallest epsilon at delta that the orders of Renyi divergence give, rounded up.

    Each order a > 1 gives a valid epsilon, a rho + (ln(1/delta) - ln a)/(a - 1) + ln(1 - 1/a). The
    smallest is where (a - 1)^2 rho + ln a = ln(1/delta). With t = a - 1, each term of the left side
    alone is at most ln(1/delta), which bounds t from above.
    """
    if rho == 0 or delta >= 1:
        return 0.0
    if math.isinf(rho) or delta == 0:
        return math.inf
    log_inverse = -math.log(delta)  # ln(1/delta)
    largest_t = min(math.sqrt(log_inverse / rho), math.expm1(min(log_inverse, _LARGEST_EXPONENT)))
    if largest_t == 0:
        return math.inf
    t = find_root(lambda t: t * t * rho + math.log1p(t) - log_inverse, largest_t)
    epsilon = (t + 1) * rho + (log_inverse - math.log1p(t)) / t - math.log1p(1 / t)
    # The terms rho, t rho <= ln(1/delta) / t and ln(1/delta) / t may cancel with the others.
    return max(0.0, round_up(epsilon, slack=rho + log_inverse / t))


def delta_of_rho(rho: float, epsilon: float) -> float:
    """Return the smallest delta at epsilon that the orders of Renyi divergence give, rounded up.

    Each order a > 1 gives a valid delta, exp((a - 1)(a rho - epsilon)) / (a - 1) * (1 - 1/a)^a. It
    is smallest where (2a - 1) rho + ln(1 - 1/a) = epsilon. With t = a - 1, the left side is above
    epsilon at t = epsilon / rho + 1 / sqrt(rho), since ln(1 - 1/a) >= -1/t.
    """
    if rho == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(rho):
        return 1.0
    largest_t = epsilon / rho + 1 / math.sqrt(rho)
    if math.isinf(largest_t * epsilon):
        return math.ulp(0.0)  # delta is below the smallest positive float
    t = find_root(lambda t: (2 * t + 1) * rho - math.log1p(1 / t) - epsilon, largest_t)
    log_delta = t * ((t + 1) * rho - epsilon) - math.log(t) - (t + 1) * math.log1p(1 / t)
    # The terms of log_delta may cancel, so an error is added that is relative to their size; the
    # last term is about as large as log(t).
    size_of_terms = t * ((t + 1) * rho + epsilon) + abs(math.log(t))
    return min(1.0, round_up(math.exp(min(0.0, log_delta + MARGIN * size_of_terms))))
