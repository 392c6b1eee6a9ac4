"""Pairs of epsilon and delta, added up: for releases whose pure epsilon does not exist.

Source     Dwork, Roth (2014), Theorem 3.16.
Guarantee  Holds for events chosen one after the other, each with knowledge of earlier releases:
           basic composition is a filter in Rogers, Roth, Ullman, Vadhan (2016).
"""

from __future__ import annotations

import math
from typing import ClassVar

from tacit.accounting.base import Accountant, Prices, check_delta, check_epsilon, summed
from tacit.accounting.events import Event, SmoothSensitivity
from tacit.accounting.pure import PRICES as PURE_PRICES
from tacit.accounting.pure import PureAccountant, is_gaussian

_EPSILONS: Prices = {**PURE_PRICES, SmoothSensitivity: lambda event: event.epsilon}


def _delta(event: Event) -> float:
    return event.delta if isinstance(event, SmoothSensitivity) else 0.0


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
        if type(event) is SmoothSensitivity:
            return None
        if is_gaussian(event):
            return (
                "Gaussian noise has no one pair of epsilon and delta. The GDP accountant prices it "
                "alone, the zCDP accountant wherever there is no noise by smooth sensitivity; PLD "
                "prices both together, if one entry may change; else price the two apart and add "
                "the pairs."
            )
        return PureAccountant()._refusal(event)
