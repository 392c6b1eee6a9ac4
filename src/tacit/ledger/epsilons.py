"""The epsilon of a budget at a delta, for cards, lists of budgets and answers.

A budget stores a whole number of steps of its unit, to which costs are added; the epsilon is
computed from it.
It is stated with four digits, rounded up, both for the cap and for the amount spent, so a budget
that is spent up to its cap states the same epsilon twice. In gdp, an operator sets an epsilon; its
mu^2 / 2 is rounded up to a step of 1e-12 before the budget is opened. That last step is left out of
the stated epsilon, so a cap set as epsilon 0.0123 is stated as 0.0123. Apart from what this one
step adds in gdp, a true epsilon is never more than the stated one.

Source     Dong, Roth, Su: Gaussian differential privacy (2022), for mu; Canonne, Kamath, Steinke:
           The discrete Gaussian (2020), Proposition 12, for zCDP.
Guarantee  The epsilon holds for everything that was charged. Its computation from the amount is
           exact in pure, approximate and gdp; in zcdp it gives an upper bound.
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
"""Delta at which the epsilon of a budget in zcdp is stated, since such a budget names no delta."""
STATED_DIGITS = 4
"""Significant digits of stated epsilons."""


@dataclass(frozen=True)
class EpsilonAtDelta:
    """An epsilon, and the delta at which it holds."""

    epsilon: float
    """Nats."""
    delta: float
    """From 0 to 1."""


def epsilon_of_cap(cap: Cap) -> EpsilonAtDelta:
    """Return the epsilon of all that a budget may spend over its lifetime."""
    return _epsilon_of(cap, cap.amount, cap.delta)


def epsilon_spent(balance: Balance) -> EpsilonAtDelta:
    """Return the epsilon of all that was charged to a budget so far."""
    return _epsilon_of(balance.cap, balance.spent, balance.delta_spent)


def stated_epsilon_of_cap(cap: Cap) -> Decimal:
    """Return the epsilon of a cap with four digits, rounded up."""
    return _stated_epsilon(cap, cap.amount, cap.delta)


def stated_epsilon_spent(balance: Balance) -> Decimal:
    """Return the epsilon of all charges to a budget so far with four digits, rounded up."""
    return _stated_epsilon(balance.cap, balance.spent, balance.delta_spent)


def _stated_epsilon(cap: Cap, amount: int, delta_steps: int) -> Decimal:
    """Return the epsilon of an amount in the cap's unit with four digits, rounded up.

    In gdp one step is left out, because the stored amount was rounded up to a whole step.

    Args:
        cap: The budget's cap, for its unit and in gdp its delta.
        amount: Steps of the unit.
        delta_steps: Steps of 1e-18, for a budget in approximate.
    """
    if cap.unit is Unit.GDP:
        amount = max(0, amount - 1)
    return _round_up_to_digits(_epsilon_of(cap, amount, delta_steps).epsilon)


def _round_up_to_digits(number: float) -> Decimal:
    """Round a number up to `STATED_DIGITS` significant digits."""
    exact = Decimal(repr(number))
    last_digit = Decimal(1).scaleb(exact.adjusted() - STATED_DIGITS + 1)
    return exact.quantize(last_digit, rounding=ROUND_UP).normalize()


def _epsilon_of(cap: Cap, amount: int, delta_steps: int) -> EpsilonAtDelta:
    """Return the epsilon of an amount in the cap's unit.

    Args:
        cap: The budget's cap, for its unit and in gdp its delta.
        amount: Steps of the unit.
        delta_steps: Steps of 1e-18, for a budget in approximate; 0 in pure.
    """
    amount_in_units = amount / cap.unit.steps
    if cap.unit in (Unit.PURE, Unit.APPROXIMATE):
        return EpsilonAtDelta(amount_in_units, delta_steps / ATTO)
    if cap.unit is Unit.ZCDP:
        return EpsilonAtDelta(epsilon_of_rho(amount_in_units, USUAL_DELTA), USUAL_DELTA)
    mu = math.sqrt(2 * amount_in_units)
    delta = cap.delta / ATTO
    return EpsilonAtDelta(epsilon_of_mu(mu, delta), delta)
