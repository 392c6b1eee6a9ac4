"""Pure epsilons, added up; and pairs of epsilon and delta, where no pure epsilon exists.

Source     Dwork, McSherry, Nissim, Smith (2006); Dwork, Roth (2014), Theorem 3.16.
Guarantee  Holds for events chosen one after the other, each with knowledge of earlier releases:
           basic composition is a filter in Rogers, Roth, Ullman, Vadhan (2016).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from tacit.accounting import events
from tacit.accounting.base import Accountant, Prices, check_delta, check_epsilon, no_price, summed
from tacit.accounting.events import Event
from tacit.accounting.rounding import MARGIN, above, float_above


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
    return above(math.log(more.numerator) - math.log(more.denominator), slack=2000.0)


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

    def _refusal(self, event: Event) -> str | None:
        if type(event) is events.SmoothSensitivity:
            return (
                "Noise by smooth sensitivity has no pure epsilon. Use the basic accountant or PLD, "
                "and state a delta above 0."
            )
        if is_gaussian(event):
            return (
                "Gaussian noise has no pure epsilon: at delta = 0 its loss has no bound. Use the "
                "zCDP accountant and state a delta above 0, or use Laplace noise."
            )
        return None if type(event) in PRICES else no_price("pure", event)


_EPSILONS: Prices = {**PRICES, events.SmoothSensitivity: lambda event: event.epsilon}


def _delta(event: Event) -> float:
    return event.delta if isinstance(event, events.SmoothSensitivity) else 0.0


_DELTAS: Prices = dict.fromkeys(_EPSILONS, _delta)


class BasicAccountant(Accountant):
    """The sum of epsilons at the sum of deltas, and nothing at any smaller delta or epsilon."""

    adaptive: ClassVar[bool] = True

    def epsilon(self, delta: float = 0.0) -> float:
        check_delta(delta)
        if delta == 1:
            return 0.0
        enough = summed(self._counts.items(), _DELTAS) <= delta
        return summed(self._counts.items(), _EPSILONS) if enough else math.inf

    def delta(self, epsilon: float) -> float:
        check_epsilon(epsilon)
        if epsilon == math.inf:  # which promises nothing, and holds for everything
            return 0.0
        if summed(self._counts.items(), _EPSILONS) > epsilon:
            return 1.0
        return min(1.0, summed(self._counts.items(), _DELTAS))

    def _refusal(self, event: Event) -> str | None:
        if type(event) is events.SmoothSensitivity:
            return None
        if is_gaussian(event):
            return (
                "Gaussian noise has no one pair of epsilon and delta. The GDP accountant prices it "
                "alone, the zCDP accountant wherever there is no noise by smooth sensitivity; PLD "
                "prices both together, if one entry may change; else price the two apart and add "
                "the pairs."
            )
        return PureAccountant()._refusal(event)
