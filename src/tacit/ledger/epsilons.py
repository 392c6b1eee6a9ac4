"""Epsilon at a delta of what a budget counts: one number for cards, budgets and answers.

A budget counts in a unit that adds up. What it counts is stored, in whole steps; its epsilon is
read off it. Stated are four digits, rounded up: of what was spent and of a cap alike, so that
neither is ever more than what is stated, and a cap that is spent is stated as what was spent. In
gdp, where an epsilon is set and half of mu^2 stored, that holds but for the step of 1e-12 to which
the store rounds up: what was set as epsilon 0.0123 is stated as 0.0123.

Source     Dong, Roth, Su: Gaussian differential privacy (2022), for mu; Canonne, Kamath, Steinke:
           The discrete Gaussian (2020), Proposition 12, for zCDP.
Guarantee  The epsilon holds for everything that was charged: exact in pure, approximate and gdp,
           an upper bound in zcdp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import TYPE_CHECKING

from tacit.accounting.gdp import epsilon_of_mu
from tacit.accounting.zcdp import epsilon_of_rho
from tacit.ledger.amounts import ATTO, Cap, Unit

if TYPE_CHECKING:
    from tacit.ledger.requests import Balance

USUAL_DELTA = 1e-6
"""Delta at which a budget in zCDP is shown: it names none."""
STATED_DIGITS = 4
"""Significant digits of stated epsilons."""


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


def state_cap(cap: Cap) -> Decimal:
    """Return the epsilon of a cap to four digits, rounded up."""
    return _state(cap, cap.amount, cap.delta)


def state_spent(balance: Balance) -> Decimal:
    """Return the epsilon that was spent to four digits, rounded up."""
    return _state(balance.cap, balance.spent, balance.delta_spent)


def _state(cap: Cap, amount: int, delta_steps: int) -> Decimal:
    """Round an amount's epsilon up; in gdp without the last step, to which it was rounded up."""
    if cap.unit is Unit.GDP:
        amount = max(0, amount - 1)
    return _round_up(_epsilon_of(cap, amount, delta_steps).epsilon)


def _round_up(number: float) -> Decimal:
    """Round to significant digits, never below."""
    exact = Decimal(repr(number))
    last_digit = Decimal(1).scaleb(exact.adjusted() - STATED_DIGITS + 1)
    return exact.quantize(last_digit, rounding=ROUND_UP).normalize()


def _epsilon_of(cap: Cap, amount: int, delta_steps: int) -> EpsilonAtDelta:
    """Return the epsilon of an amount, counted as the cap counts."""
    if cap.unit in (Unit.PURE, Unit.APPROXIMATE):
        return EpsilonAtDelta(amount / cap.unit.steps, delta_steps / ATTO)
    rho = amount / cap.unit.steps
    if cap.unit is Unit.ZCDP:
        return EpsilonAtDelta(epsilon_of_rho(rho, USUAL_DELTA), USUAL_DELTA)
    delta = cap.delta / ATTO
    return EpsilonAtDelta(epsilon_of_mu(math.sqrt(2 * rho), delta), delta)
