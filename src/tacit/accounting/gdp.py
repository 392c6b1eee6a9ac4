"""Gaussian differential privacy: mu^2 adds up, and delta of the total is a formula without slack.

Source     Dong, Roth, Su: Gaussian differential privacy (JRSS B 2022), for mu and its sum; Balle,
           Wang: Improving the Gaussian mechanism (2018), for the formula. Discrete noise: Peikert:
           An efficient and parallel Gaussian sampler for lattices (2010), Theorem 3.1; the
           constants are proved in docs/accounting.md.
Guarantee  Holds for a list of events that is fixed in advance. The question behind each event may
           depend on earlier releases, but the events themselves may not: so this accountant cannot
           be used for a filter.
Discrete   Discrete Gaussian noise of parameter sigma steps is as private as continuous noise of
           variance sigma^2 - 9 that is then rounded at random: the probabilities of the two differ
           by a factor within e^(+-3e-77) for each entry. Noise with sigma of 3 steps or fewer has
           no such form; a list with such an event gets its price in zCDP.
"""

from __future__ import annotations

import math
from fractions import Fraction

from tacit.accounting import events
from tacit.accounting.base import (
    Accountant,
    Price,
    Prices,
    check_delta,
    check_epsilon,
    explain_unknown_event,
    is_gaussian,
    total_price,
)
from tacit.accounting.events import Event
from tacit.accounting.rounding import MARGIN, find_root, round_up
from tacit.accounting.zcdp import PRICES as PRICES_BY_ZCDP
from tacit.accounting.zcdp import ZCDPAccountant

ROUNDING = 3
"""Parameter sigma, in steps, of the random rounding; its square is the 9 in the variance above."""

DELTA_PER_ENTRY = 1.2e-76
"""Share of delta that each entry of a discrete release adds: an upper bound of
16 exp(-2 pi^2 ROUNDING^2)."""

_LEAST_TAIL = 1e-300
"""Smallest tail probability that is computed. A smaller probability has this as its upper bound and
0 as its lower bound."""

_LARGEST_EXPONENT = 700.0
"""Largest epsilon for which e^epsilon is computed. For a larger epsilon, the tail by which
e^epsilon is multiplied is below `_LEAST_TAIL` and counts as 0."""


def _mu_squared_of_one_entry(event: events.DiscreteGaussian) -> Price:
    """Return mu^2 of discrete noise on one entry; infinite also if its sigma is not known."""
    if event.steps is None:
        return math.inf
    noise_multiplier = Fraction(event.noise_multiplier)
    sigma = noise_multiplier * event.steps
    return _mu_squared_of_discrete(noise_multiplier, sigma)


def _mu_squared_of_vector(event: events.DiscreteGaussianVector) -> Price:
    """Return mu^2 of discrete noise on several entries."""
    return _mu_squared_of_discrete(Fraction(event.noise_multiplier), Fraction(event.sigma))


def _mu_squared_of_discrete(noise_multiplier: Fraction, sigma: Fraction) -> Price:
    """Return mu^2 of discrete noise, which is that of the continuous noise before rounding.

    It is 1 / (m^2 (1 - (ROUNDING / sigma)^2)) for multiplier m; infinite unless sigma > ROUNDING.

    Args:
        noise_multiplier: m, sigma / L2 sensitivity.
        sigma: Parameter of the discrete noise, in steps.
    """
    variance_share = 1 - (ROUNDING / sigma) ** 2  # variance of the continuous noise / sigma^2
    return 1 / (noise_multiplier**2 * variance_share) if variance_share > 0 else math.inf


MU_SQUARED: Prices = {
    events.Gaussian: lambda event: 1 / Fraction(event.noise_multiplier) ** 2,
    events.DiscreteGaussian: _mu_squared_of_one_entry,
    events.DiscreteGaussianVector: _mu_squared_of_vector,
    events.Tree: lambda event: event.levels / Fraction(event.noise_multiplier) ** 2,
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""For each class of events, mu^2 of one event; infinite if it has no mu.

Trees here have Gaussian noise."""

_DELTAS: Prices = {
    events.Gaussian: lambda _: 0.0,
    events.DiscreteGaussian: lambda _: DELTA_PER_ENTRY,
    events.DiscreteGaussianVector: lambda event: event.entries * Fraction(DELTA_PER_ENTRY),
    events.Tree: lambda _: 0.0,
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: 0.0,
}
"""For each class of events, the delta of one event in addition to that of its mu."""


class GDPAccountant(Accountant):
    """Accountant of Gaussian noise: adds up mu^2, and rho too, and returns the lower result.

    It refuses other noise. For continuous noise and a delta above `_LEAST_TAIL`, its numbers are
    exact, except that they are rounded up.
    """

    @property
    def mu(self) -> float:
        """The root of the sum of mu^2, never too low; infinite if an event has no mu."""
        sum_of_squares = total_price(self._counts.items(), MU_SQUARED)
        return round_up(math.sqrt(sum_of_squares)) if sum_of_squares else 0.0

    def epsilon(self, delta: float = 0.0) -> float:
        """Return epsilon at this delta: that of GDP or of zCDP, whichever is smaller."""
        check_delta(delta)
        delta_for_mu = delta - self._delta_of_rounding
        if self._delta_of_rounding:
            delta_for_mu = math.nextafter(delta_for_mu, -math.inf)
        return min(epsilon_of_mu(self.mu, delta_for_mu), self._as_zcdp().epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """Return delta at this epsilon: that of GDP or of zCDP, whichever is smaller."""
        check_epsilon(epsilon)
        if epsilon == math.inf:
            return 0.0
        delta = delta_of_mu(self.mu, epsilon)
        if self._delta_of_rounding:
            delta = round_up(delta + self._delta_of_rounding)
        return min(delta, self._as_zcdp().delta(epsilon))

    @property
    def _delta_of_rounding(self) -> float:
        """Share of delta that the random rounding of discrete noise adds."""
        return total_price(self._counts.items(), _DELTAS)

    def _as_zcdp(self) -> Accountant:
        """Return a zCDP accountant with the same events."""
        accountant = ZCDPAccountant()
        for event, times in self._counts.items():
            accountant.add(event, times)
        return accountant

    def refusal(self, event: Event) -> str | None:
        """Return why this accountant cannot price an event; None if it can.

        It can price Gaussian noise, `PostProcessing` and `NonPrivate`.
        """
        if is_gaussian(event) or type(event) in (events.PostProcessing, events.NonPrivate):
            return None
        if type(event) not in PRICES_BY_ZCDP:
            return explain_unknown_event("GDP", event)
        return (
            "The GDP accountant takes Gaussian noise alone, and this "
            f"{type(event).__name__} has none. The zCDP accountant prices both together."
        )


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest epsilon that mu-GDP implies at delta, rounded up.

    It is found by bisection between 0 and the first power of two that meets delta. For a delta of
    at most `_LEAST_TAIL`, infinity is returned, unless mu is 0.
    """
    if mu == 0:
        return 0.0
    if mu == math.inf or delta <= _LEAST_TAIL:
        return math.inf
    if delta_of_mu(mu, 0.0) <= delta:
        return 0.0
    most = 1.0
    while delta_of_mu(mu, most) > delta:
        most *= 2
    return find_root(lambda epsilon: delta - delta_of_mu(mu, epsilon), most)


def delta_of_mu(mu: float, epsilon: float) -> float:
    """Return the smallest delta that mu-GDP implies at epsilon, rounded up.

    delta = Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu), where Phi is the
    normal distribution function. An upper bound of the first term and a lower bound of the second
    make the result an upper bound.
    """
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    ratio = epsilon / mu
    above_difference = math.nextafter(mu / 2 - math.nextafter(ratio, -math.inf), math.inf)
    above_sum = math.nextafter(mu / 2 + math.nextafter(ratio, math.inf), math.inf)
    first_term = _bound_tail_from_above(-above_difference)
    second_term = math.exp(min(epsilon, _LARGEST_EXPONENT)) * _bound_tail_from_below(above_sum)
    return min(1.0, round_up(first_term - second_term))


def _bound_tail_from_above(x: float) -> float:
    """Return an upper bound of Phi(-x), the normal distribution's tail beyond x."""
    scaled = x * math.sqrt(0.5)
    return max(_LEAST_TAIL, round_up(math.erfc(scaled - MARGIN * abs(scaled)) / 2))


def _bound_tail_from_below(x: float) -> float:
    """Return a lower bound of Phi(-x), the normal distribution's tail beyond x."""
    scaled = x * math.sqrt(0.5)
    tail = math.erfc(scaled + MARGIN * abs(scaled)) / 2 * (1 - MARGIN)
    return tail if tail > _LEAST_TAIL else 0.0
