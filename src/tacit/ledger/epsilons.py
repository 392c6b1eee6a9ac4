"""Epsilon at a delta of what a budget counts: one number for cards, budgets and answers.

A budget counts in a unit that adds up. What it counts is stored; its epsilon is read off it. Of
rho and mu^2 / 2 it keeps whole millionths, rounded up: the stated number is the shortest decimal
whose amount is the stored one, so that what was set as epsilon 5 is stated as 5. Where there is
none of four digits, what was spent is rounded up and a cap down.

Source     Dong, Roth, Su: Gaussian differential privacy (2022), for mu; Canonne, Kamath, Steinke:
           The discrete Gaussian (2020), Proposition 12, for zCDP.
Guarantee  The epsilon holds for everything that was charged: exact in pure, approximate and gdp,
           an upper bound in zcdp.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_UP, Decimal
from typing import TYPE_CHECKING

from tacit.accounting.gdp import epsilon_of_mu
from tacit.accounting.zcdp import epsilon_of_rho
from tacit.ledger.amounts import ATTO, MICRO, Cap, Unit

if TYPE_CHECKING:
    from tacit.ledger.requests import Balance

USUAL_DELTA = 1e-6
"""Delta at which a budget in zCDP is shown: it names none."""
STATED_DIGITS = 4
"""Significant digits of stated epsilons."""
STEP_IN_SIGHT = 5e-4
"""Share of an epsilon from which on one millionth of what is stored shows in four digits."""


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
    """Return the epsilon of a cap to four digits, never above the epsilon that was set."""
    most = epsilon_of_cap(cap).epsilon
    if cap.unit in (Unit.PURE, Unit.APPROXIMATE):
        return _round(most, STATED_DIGITS, ROUND_DOWN)
    shortest = _shortest_between(_epsilon_of(cap, cap.amount - 1, cap.delta).epsilon, most)
    return _round(most, STATED_DIGITS, ROUND_DOWN) if shortest is None else shortest


def state_spent(balance: Balance) -> Decimal:
    """Return the epsilon that was spent to four digits, never below it.

    What spends the whole cap is stated as the cap is.
    """
    cap, spent = balance.cap, epsilon_spent(balance).epsilon
    rounded_up = _round(spent, STATED_DIGITS, ROUND_UP)
    if balance.spent == 0 or cap.unit in (Unit.PURE, Unit.APPROXIMATE):
        return rounded_up
    if balance.spent == cap.amount:
        return state_cap(cap)
    one_step_less = _epsilon_of(cap, balance.spent - 1, balance.delta_spent).epsilon
    if spent - one_step_less > spent * STEP_IN_SIGHT:
        return rounded_up
    shortest = _shortest_between(one_step_less, spent)
    return rounded_up if shortest is None else shortest


def _shortest_between(low: float, high: float) -> Decimal | None:
    """Return the shortest decimal in (low, high]; None if `STATED_DIGITS` digits are too few."""
    for digits in range(1, STATED_DIGITS + 1):
        number = _round(high, digits, ROUND_DOWN)
        if number > low:
            return number
    return None


def _round(number: float, digits: int, rounding: str) -> Decimal:
    """Round to significant digits."""
    exact = Decimal(repr(number))
    last_digit = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return exact.quantize(last_digit, rounding=rounding).normalize()


def _epsilon_of(cap: Cap, amount: int, delta_steps: int) -> EpsilonAtDelta:
    """Return the epsilon of an amount, counted as the cap counts."""
    if cap.unit in (Unit.PURE, Unit.APPROXIMATE):
        return EpsilonAtDelta(amount / MICRO, delta_steps / ATTO)
    rho = amount / MICRO
    if cap.unit is Unit.ZCDP:
        return EpsilonAtDelta(epsilon_of_rho(rho, USUAL_DELTA), USUAL_DELTA)
    delta = cap.delta / ATTO
    return EpsilonAtDelta(epsilon_of_mu(math.sqrt(2 * rho), delta), delta)
