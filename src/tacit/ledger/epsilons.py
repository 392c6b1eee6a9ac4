"""Epsilon at a delta of what a budget counts: one number for cards, budgets and answers.

A budget counts in a unit that adds up. What it counts is stored; its epsilon is read off it.

Source     Dong, Roth, Su: Gaussian differential privacy (2022), for mu; Canonne, Kamath, Steinke:
           The discrete Gaussian (2020), Proposition 12, for zCDP.
Guarantee  The epsilon holds for everything that was charged: exact in pure, approximate and gdp,
           an upper bound in zcdp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.accounting.gdp import epsilon_of_mu
from tacit.accounting.zcdp import epsilon_of_rho
from tacit.ledger.amounts import ATTO, MICRO, Cap, Unit

if TYPE_CHECKING:
    from tacit.ledger.requests import Balance

USUAL_DELTA = 1e-6
"""Delta at which a budget in zCDP is shown: it names none."""


@dataclass(frozen=True)
class EpsilonAtDelta:
    """Epsilon in nats, and the delta at which it holds."""

    epsilon: float
    delta: float


def epsilon_of_cap(cap: Cap) -> EpsilonAtDelta:
    """Return the epsilon of everything that a budget may spend in its life."""
    return _epsilon_of(cap, cap.amount, cap.delta)


def epsilon_spent(balance: Balance) -> EpsilonAtDelta:
    """Return the epsilon of everything that was charged to a budget so far, together."""
    return _epsilon_of(balance.cap, balance.spent, balance.delta_spent)


def _epsilon_of(cap: Cap, amount: int, delta_steps: int) -> EpsilonAtDelta:
    """Return the epsilon of an amount, counted as the cap counts."""
    if cap.unit in (Unit.PURE, Unit.APPROXIMATE):
        return EpsilonAtDelta(amount / MICRO, delta_steps / ATTO)
    rho = amount / MICRO
    if cap.unit is Unit.ZCDP:
        return EpsilonAtDelta(epsilon_of_rho(rho, USUAL_DELTA), USUAL_DELTA)
    delta = cap.delta / ATTO
    return EpsilonAtDelta(epsilon_of_mu(math.sqrt(2 * rho), delta), delta)
