"""Pure differential privacy: epsilons add up.

Source     Dwork, McSherry, Nissim, Smith (2006); Dwork, Roth (2014), Theorem 3.16.
Guarantee  Holds for events chosen one after the other, each with knowledge of earlier releases:
           basic composition is a filter in Rogers, Roth, Ullman, Vadhan (2016).
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import ClassVar

from tacit.accounting import events
from tacit.accounting.base import (
    Accountant,
    Prices,
    check_delta,
    check_epsilon,
    explain_unknown_event,
    is_gaussian,
    total_price,
)
from tacit.accounting.events import Event
from tacit.accounting.rounding import MARGIN, float_above, round_up


def _response_loss(event: events.RandomizedResponse) -> float:
    """Return |ln(truth / chance of each other answer)|; infinite if `truth` is 0 or 1."""
    if event.truth in (0.0, 1.0):
        return math.inf
    odds = Fraction(event.truth) * (event.categories - 1) / (1 - Fraction(event.truth))
    excess = max(odds, 1 / odds) - 1  # log1p(excess) loses no digits for odds near 1
    if excess == 0:
        return 0.0
    excess_above = float_above(excess)
    if excess_above < math.inf:
        return round_up(math.log1p(excess_above))
    return round_up(math.log(excess.numerator) - math.log(excess.denominator))


PRICES: Prices = {
    events.RandomizedResponse: _response_loss,
    events.Laplace: lambda event: 1 / Fraction(event.noise_multiplier),
    events.DiscreteLaplace: lambda event: 1 / Fraction(event.noise_multiplier),
    events.Exponential: lambda event: event.epsilon,
    events.TopK: lambda event: event.k * Fraction(event.epsilon),
    events.Tree: lambda event: event.levels / Fraction(event.noise_multiplier),
    events.Gate: lambda event: event.epsilon,
    events.PostProcessing: lambda _: 0.0,
    events.NonPrivate: lambda _: math.inf,
}
"""For each class of events, the pure loss of one event, in nats. Trees here have Laplace noise."""


class PureAccountant(Accountant):
    """Accountant that adds up pure epsilons; Gaussian noise has none and is refused."""

    adaptive: ClassVar[bool] = True

    def epsilon(self, delta: float = 0.0) -> float:
        """Return the sum s of pure epsilons at delta 0, and less at a larger delta.

        The result is s + ln(1 - delta (1 + e^-s)), or 0 if this is negative or undefined. It
        is exact for binary randomized response, the worst mechanism of pure epsilon s (Kairouz,
        Oh, Viswanath, 2015).
        """
        check_delta(delta)
        total = total_price(self._counts.items(), PRICES)
        reduction = delta * (1 + math.exp(-total)) * (1 - MARGIN)
        if delta == 1 or reduction >= 1:
            return 0.0
        if not reduction:
            return total
        return max(0.0, round_up(total + math.log1p(-reduction), slack=total))

    def delta(self, epsilon: float) -> float:
        """Return (e^s - e^epsilon) / (1 + e^s) for the sum s of epsilons; 0 for epsilon >= s."""
        check_epsilon(epsilon)
        total = total_price(self._counts.items(), PRICES)
        if epsilon >= total:
            return 0.0
        return min(1.0, round_up(-math.expm1(epsilon - total) / (1 + math.exp(-total))))

    def refusal(self, event: Event) -> str | None:
        """Return the reason for refusing Gaussian noise or an unknown class; None for others."""
        if is_gaussian(event):
            return (
                "Gaussian noise has no pure epsilon: at delta = 0 its loss has no bound. Use the "
                "zCDP accountant and state a delta above 0, or use Laplace noise."
            )
        return None if type(event) in PRICES else explain_unknown_event("pure", event)
