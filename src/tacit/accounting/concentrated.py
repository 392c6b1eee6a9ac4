"""Zero-concentrated differential privacy: rho adds up, and is converted once, at the end.

Source     Bun, Steinke: Concentrated differential privacy (2016), for rho and its sum;
           Canonne, Kamath, Steinke: The discrete Gaussian (2020), Proposition 12, for delta;
           Cesar, Rogers: Bounding, concentrating, and truncating (2021), for selection;
           Harrison, Manurangsi: Exact zCDP characterizations (2025), for pure mechanisms.
Guarantee  Holds for events chosen one after the other: Feldman, Zrnic (2021).

Gaussian differential privacy: mu^2 adds up, and delta of the total is a formula without slack.

Source     Dong, Roth, Su: Gaussian differential privacy (JRSS B 2022), for mu and its sum; Balle,
           Wang: Improving the Gaussian mechanism (2018), for the formula. Discrete noise: Peikert:
           An efficient and parallel Gaussian sampler for lattices (2010), Theorem 3.1; the
           constants are proved in docs/accounting.md.
Guarantee  Holds for a list of events fixed in advance, whatever each release asks in view of
           earlier ones; not a basis for a filter.
Discrete   A discrete Gaussian of parameter sigma steps is, but for a factor within e^(+-3e-77) an
           entry, a continuous one of variance sigma^2 - 9 that was then rounded at random.
           Coarser noise costs what zCDP says, and so does the list it is in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from tacit.accounting import events
from tacit.accounting.base import (
    MARGIN,
    Accountant,
    Price,
    Prices,
    above,
    check_delta,
    check_epsilon,
    float_above,
    no_price,
    summed,
)
from tacit.accounting.base import PRICES as PURE_PRICES
from tacit.accounting.events import Event

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


def _tree_rho(event: events.Tree) -> Price:
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
    events.Tree: _tree_rho,
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
        return epsilon_of_rho(self.rho, delta)

    def delta(self, epsilon: float) -> float:
        check_epsilon(epsilon)
        return delta_of_rho(self.rho, epsilon)

    def refusal(self, event: Event) -> str | None:
        return None if type(event) in PRICES else no_price("zCDP", event)


def epsilon_of_rho(rho: float, delta: float) -> float:
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
        return math.inf
    t = root(lambda t: t * t * rho + math.log1p(t) - wanted, most)  # t = a - 1
    found = (t + 1) * rho + (wanted - math.log1p(t)) / t - math.log1p(1 / t)
    return max(0.0, above(found, slack=rho + wanted / t))  # t rho is at most wanted / t


def delta_of_rho(rho: float, epsilon: float) -> float:
    """The smallest delta that rho-zCDP implies at epsilon.

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
    t = root(lambda t: (2 * t + 1) * rho - math.log1p(1 / t) - epsilon, most)
    log_delta = t * ((t + 1) * rho - epsilon) - math.log(t) - (t + 1) * math.log1p(1 / t)
    terms = t * ((t + 1) * rho + epsilon) + abs(math.log(t))  # the last one is about as large
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


ROUNDING = 3
"""Parameter, in steps, of the random rounding that is split off discrete noise."""

PER_ENTRY = 1.2e-76
"""At least 16 exp(-2 pi^2 ROUNDING^2): what an entry of a discrete release adds to delta."""

_LEAST = 1e-300
"""Below it the normal tail is taken for this, or for 0, whichever is safe."""

_LARGEST_EXPONENT = 700.0
"""From here on the second term's tail is below that."""


def _one_entry(event: events.DiscreteGaussian) -> Price:
    if event.steps is None:  # the grid is not known
        return math.inf
    noise = Fraction(event.noise_multiplier)
    return _split(noise, noise * event.steps)


def _split(noise_multiplier: Fraction, sigma: Fraction) -> Price:
    """Of the continuous part, whose variance is smaller by that of the rounding."""
    left = 1 - (ROUNDING / sigma) ** 2
    return 1 / (noise_multiplier**2 * left) if left > 0 else math.inf


def _tree_mu(event: events.Tree) -> Price:
    return event.levels / Fraction(event.noise_multiplier) ** 2


SQUARES: Prices = {
    events.Gaussian: lambda event: 1 / Fraction(event.noise_multiplier) ** 2,
    events.DiscreteGaussian: _one_entry,
    events.DiscreteGaussianVector: lambda event: _split(
        Fraction(event.noise_multiplier), Fraction(event.sigma)
    ),
    events.Tree: _tree_mu,
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""mu^2 of one event, infinite where there is none. A Tree here has Gaussian noise."""

_BESIDE: Prices = {
    **dict.fromkeys(SQUARES, lambda _: 0.0),
    events.DiscreteGaussian: lambda _: PER_ENTRY,
    events.DiscreteGaussianVector: lambda event: event.entries * Fraction(PER_ENTRY),
}
"""What one event adds to delta, beside its mu."""


class GDPAccountant(Accountant):
    """The root of the sum of mu^2, or the sum of rho where that says less.

    It takes Gaussian noise alone. For continuous noise the numbers are exact but for rounding.
    """

    @property
    def mu(self) -> float:
        """Never below the exact one; infinite if an event has none."""
        square = summed(self._counts.items(), SQUARES)
        return above(math.sqrt(square)) if square else 0.0

    def epsilon(self, delta: float = 0.0) -> float:
        check_delta(delta)
        left = delta - self._beside
        if self._beside:
            left = math.nextafter(left, -math.inf)
        return min(epsilon_of_mu(self.mu, left), self._concentrated().epsilon(delta))

    def delta(self, epsilon: float) -> float:
        check_epsilon(epsilon)
        if epsilon == math.inf:
            return 0.0
        found = delta_of_mu(self.mu, epsilon)
        if self._beside:
            found = above(found + self._beside)
        return min(found, self._concentrated().delta(epsilon))

    @property
    def _beside(self) -> float:
        return summed(self._counts.items(), _BESIDE)

    def _concentrated(self) -> Accountant:
        other = ZCDPAccountant()
        for event, times in self._counts.items():
            other.add(event, times)
        return other

    def refusal(self, event: Event) -> str | None:
        if type(event) in SQUARES and (type(event) is not events.Tree or event.gaussian):
            return None
        return (
            f"The GDP accountant takes Gaussian noise alone, not {type(event).__name__}. The zCDP "
            "accountant prices both together."
        )


def epsilon_of_mu(mu: float, delta: float) -> float:
    """The smallest epsilon of mu-Gaussian privacy at delta, rounded up."""
    if mu == 0:
        return 0.0
    if mu == math.inf or delta <= _LEAST:
        return math.inf
    if delta_of_mu(mu, 0.0) <= delta:
        return 0.0
    most = 1.0
    while delta_of_mu(mu, most) > delta:
        most *= 2
    return root(lambda epsilon: delta - delta_of_mu(mu, epsilon), most)


def delta_of_mu(mu: float, epsilon: float) -> float:
    """Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu), rounded up.

    The first term is taken too large and the second too small.
    """
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    ratio = epsilon / mu
    near = math.nextafter(mu / 2 - math.nextafter(ratio, -math.inf), math.inf)
    far = math.nextafter(mu / 2 + math.nextafter(ratio, math.inf), math.inf)
    taken = math.exp(min(epsilon, _LARGEST_EXPONENT)) * _tail_below(far)
    return min(1.0, above(_tail_above(-near) - taken))


def _tail_above(x: float) -> float:
    """At least Phi(-x)."""
    scaled = x * math.sqrt(0.5)
    return max(_LEAST, above(math.erfc(scaled - MARGIN * abs(scaled)) / 2))


def _tail_below(x: float) -> float:
    """At most Phi(-x)."""
    scaled = x * math.sqrt(0.5)
    found = math.erfc(scaled + MARGIN * abs(scaled)) / 2 * (1 - MARGIN)
    return found if found > _LEAST else 0.0
