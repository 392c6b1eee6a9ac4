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
from tacit.accounting.base import Accountant, Price, Prices, check_delta, check_epsilon, summed
from tacit.accounting.events import Event
from tacit.accounting.rounding import MARGIN, above
from tacit.accounting.zcdp import ZCDPAccountant, root

ROUNDING = 3
"""Parameter, in steps, of the random rounding that is split off discrete noise."""

PER_ENTRY = 1.2e-76
"""At least 16 exp(-2 pi^2 ROUNDING^2): what an entry of a discrete release adds to delta."""

_LEAST = 1e-300
"""Below it the normal tail is taken for this, or for 0, whichever is safe."""

_LARGEST_EXPONENT = 700.0


def _one_entry(event: events.DiscreteGaussian) -> Price:
    if event.steps is None:  # the grid is not known
        return math.inf
    noise = Fraction(event.noise_multiplier)
    return _split(noise, noise * event.steps)


def _split(noise_multiplier: Fraction, sigma: Fraction) -> Price:
    """Of the continuous part, whose variance is smaller by that of the rounding."""
    left = 1 - (ROUNDING / sigma) ** 2
    return 1 / (noise_multiplier**2 * left) if left > 0 else math.inf


def _tree(event: events.Tree) -> Price:
    return event.levels / Fraction(event.noise_multiplier) ** 2


SQUARES: Prices = {
    events.Gaussian: lambda event: 1 / Fraction(event.noise_multiplier) ** 2,
    events.DiscreteGaussian: _one_entry,
    events.DiscreteGaussianVector: lambda event: _split(
        Fraction(event.noise_multiplier), Fraction(event.sigma)
    ),
    events.Tree: _tree,
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
            left = math.nextafter(left, -1)
        return min(epsilon_of(self.mu, left), self._concentrated().epsilon(delta))

    def delta(self, epsilon: float) -> float:
        check_epsilon(epsilon)
        if epsilon == math.inf:
            return 0.0
        found = delta_of(self.mu, epsilon)
        if self._beside:
            found = min(1.0, above(found + self._beside))
        return min(found, self._concentrated().delta(epsilon))

    @property
    def _beside(self) -> float:
        return summed(self._counts.items(), _BESIDE)

    def _concentrated(self) -> Accountant:
        other = ZCDPAccountant()
        for event, times in self._counts.items():
            other.add(event, times)
        return other

    def _refusal(self, event: Event) -> str | None:
        if type(event) in SQUARES and (type(event) is not events.Tree or event.gaussian):
            return None
        return (
            f"The GDP accountant takes Gaussian noise alone, not {type(event).__name__}. The zCDP "
            "accountant prices both together, where there is no noise by smooth sensitivity."
        )


def epsilon_of(mu: float, delta: float) -> float:
    """The smallest epsilon of mu-Gaussian privacy at delta, rounded up."""
    if mu == 0 or delta >= 1:
        return 0.0
    if mu == math.inf or delta <= _LEAST:
        return math.inf
    if delta_of(mu, 0.0) <= delta:
        return 0.0
    most = 1.0
    while delta_of(mu, most) > delta:
        most *= 2
    return root(lambda epsilon: delta - delta_of(mu, epsilon), most)


def delta_of(mu: float, epsilon: float) -> float:
    """Phi(mu / 2 - epsilon / mu) - e^epsilon Phi(-mu / 2 - epsilon / mu), rounded up.

    The first term is taken too large and the second too small.
    """
    if mu == 0 or epsilon == math.inf:
        return 0.0
    if mu == math.inf:
        return 1.0
    ratio = epsilon / mu
    near = math.nextafter(mu / 2 - math.nextafter(ratio, 0), math.inf)
    if epsilon > _LARGEST_EXPONENT:
        return min(1.0, _tail_above(-near))
    far = math.nextafter(mu / 2 + math.nextafter(ratio, math.inf), math.inf)
    taken = math.exp(epsilon) * _tail_below(far) * (1 - 2 * MARGIN)
    return min(1.0, above(_tail_above(-near) - taken))


def _tail_above(x: float) -> float:
    """At least Phi(-x)."""
    scaled = x * math.sqrt(0.5)
    return max(_LEAST, above(math.erfc(scaled - MARGIN / 4 * abs(scaled)) / 2))


def _tail_below(x: float) -> float:
    """At most Phi(-x)."""
    scaled = x * math.sqrt(0.5)
    found = math.erfc(scaled + MARGIN / 4 * abs(scaled)) / 2 * (1 - MARGIN)
    return found if found > _LEAST else 0.0
