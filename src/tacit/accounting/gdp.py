"""Gaussian differential privacy: mu^2 adds up, and delta of the total is a formula without slack.

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
from fractions import Fraction

from tacit.accounting import events
from tacit.accounting.base import (
    Accountant,
    Price,
    Prices,
    check_delta,
    check_epsilon,
    is_gaussian,
    total_price,
)
from tacit.accounting.events import Event
from tacit.accounting.rounding import MARGIN, find_root, round_up
from tacit.accounting.zcdp import ZCDPAccountant

ROUNDING = 3
"""Parameter, in steps, of the random rounding that is split off discrete noise."""

PER_ENTRY = 1.2e-76
"""At least 16 exp(-2 pi^2 ROUNDING^2): what an entry of a discrete release adds to delta."""

_LEAST_TAIL = 1e-300
"""Below it the normal tail is taken for this, or for 0, whichever is safe."""

_LARGEST_EXPONENT = 700.0
"""From here on the second term's tail is below that."""


def _square_of_one_entry(event: events.DiscreteGaussian) -> Price:
    """Return mu^2 of noise on one entry; infinite where the grid is not known."""
    if event.steps is None:
        return math.inf
    noise = Fraction(event.noise_multiplier)
    return _square_of_split(noise, noise * event.steps)


def _square_of_vector(event: events.DiscreteGaussianVector) -> Price:
    """Return mu^2 of noise on several entries."""
    return _square_of_split(Fraction(event.noise_multiplier), Fraction(event.sigma))


def _square_of_split(noise_multiplier: Fraction, sigma: Fraction) -> Price:
    """Return mu^2 of the continuous part, whose variance is smaller by that of the rounding.

    1 / (m^2 (1 - (ROUNDING / sigma)^2)), infinite where the noise is no wider than the rounding.
    """
    left = 1 - (ROUNDING / sigma) ** 2
    return 1 / (noise_multiplier**2 * left) if left > 0 else math.inf


SQUARES: Prices = {
    events.Gaussian: lambda event: 1 / Fraction(event.noise_multiplier) ** 2,
    events.DiscreteGaussian: _square_of_one_entry,
    events.DiscreteGaussianVector: _square_of_vector,
    events.Tree: lambda event: event.levels / Fraction(event.noise_multiplier) ** 2,
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""mu^2 of one event, infinite where there is none. A Tree here has Gaussian noise."""

_DELTAS: Prices = {
    events.Gaussian: lambda _: 0.0,
    events.DiscreteGaussian: lambda _: PER_ENTRY,
    events.DiscreteGaussianVector: lambda event: event.entries * Fraction(PER_ENTRY),
    events.Tree: lambda _: 0.0,
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: 0.0,
}
"""What one event adds to delta, besides its mu."""


class GDPAccountant(Accountant):
    """The root of the sum of mu^2, or the sum of rho where that says less.

    It takes Gaussian noise alone. For continuous noise the numbers are exact but for rounding.
    """

    @property
    def mu(self) -> float:
        """The root of the sum of mu^2, never below the exact one; infinite if an event has none."""
        square = total_price(self._counts.items(), SQUARES)
        return round_up(math.sqrt(square)) if square else 0.0

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the smaller epsilon of GDP and of zCDP at this delta."""
        check_delta(delta)
        left = delta - self._added_delta
        if self._added_delta:
            left = math.nextafter(left, -math.inf)
        return min(epsilon_of_mu(self.mu, left), self._as_zcdp().epsilon(delta))

    def delta(self, epsilon: float) -> float:
        """Return the smaller delta of GDP and of zCDP at this epsilon."""
        check_epsilon(epsilon)
        if epsilon == math.inf:
            return 0.0
        delta = delta_of_mu(self.mu, epsilon)
        if self._added_delta:
            delta = round_up(delta + self._added_delta)
        return min(delta, self._as_zcdp().delta(epsilon))

    @property
    def _added_delta(self) -> float:
        return total_price(self._counts.items(), _DELTAS)

    def _as_zcdp(self) -> Accountant:
        """Return a zCDP accountant with the same events."""
        other = ZCDPAccountant()
        for event, times in self._counts.items():
            other.add(event, times)
        return other

    def refusal(self, event: Event) -> str | None:
        """Refuse all noise that is not Gaussian."""
        if is_gaussian(event) or type(event) in (events.PostProcessing, events.NonPrivate):
            return None
        return (
            f"The GDP accountant takes Gaussian noise alone, not {type(event).__name__}. The zCDP "
            "accountant prices both together."
        )


def epsilon_of_mu(mu: float, delta: float) -> float:
    """Return the smallest epsilon of mu-Gaussian privacy at delta, rounded up."""
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
    """Return Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu), rounded up.

    The first term is taken too large and the second too small.
    """
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    ratio = epsilon / mu
    first = math.nextafter(mu / 2 - math.nextafter(ratio, -math.inf), math.inf)
    second = math.nextafter(mu / 2 + math.nextafter(ratio, math.inf), math.inf)
    subtracted = math.exp(min(epsilon, _LARGEST_EXPONENT)) * _tail_below(second)
    return min(1.0, round_up(_tail_above(-first) - subtracted))


def _tail_above(x: float) -> float:
    """Return at least Phi(-x)."""
    scaled = x * math.sqrt(0.5)
    return max(_LEAST_TAIL, round_up(math.erfc(scaled - MARGIN * abs(scaled)) / 2))


def _tail_below(x: float) -> float:
    """Return at most Phi(-x)."""
    scaled = x * math.sqrt(0.5)
    tail = math.erfc(scaled + MARGIN * abs(scaled)) / 2 * (1 - MARGIN)
    return tail if tail > _LEAST_TAIL else 0.0
