"""What a budget counts, as epsilon at a delta."""

from __future__ import annotations

import math

import pytest

from tacit.accounting import Gaussian, GDPAccountant, ZCDPAccountant
from tacit.designs.private.refits import cap_of_lifetime
from tacit.errors import ConfigError
from tacit.ledger import (
    Balance,
    Cap,
    Cost,
    Holder,
    Unit,
    epsilon_of_cap,
    epsilon_spent,
    state_cap,
    state_spent,
)

HOLDER = Holder.dataset("shop", "films")


def test_pure_and_approximate_say_what_they_store():
    """Millionths of a nat, and steps of delta, are epsilon and delta themselves."""
    assert epsilon_of_cap(Cap.pure("2.1")).epsilon == 2.1
    assert epsilon_of_cap(Cap.pure("2.1")).delta == 0
    stated = epsilon_of_cap(Cap.approximate("1.5", "1e-6"))
    assert (stated.epsilon, stated.delta) == (1.5, 1e-6)


def test_two_gaussian_releases_are_told_as_their_accountant_prices_them():
    """What two costs in gdp add up to has the accountant's epsilon, never less."""
    event = Gaussian(5.0)
    cost = Cost.from_event(event, Unit.GDP)
    balance = Balance(1, HOLDER, Cap.gdp("0.5", delta="1e-6"), 2 * cost.amount, 0, 0)
    exact = GDPAccountant().add(event, 2).epsilon(1e-6)
    assert exact <= epsilon_spent(balance).epsilon < exact + 1e-4


def test_zcdp_is_told_as_an_upper_bound():
    """At delta 1e-6, by the accountant of zCDP."""
    stated = epsilon_of_cap(Cap.zcdp("0.08"))
    assert stated.delta == 1e-6
    assert stated.epsilon == pytest.approx(ZCDPAccountant().add(Gaussian(2.5)).epsilon(1e-6))


def test_nothing_spent_is_epsilon_0():
    """A new budget has spent epsilon 0 in every unit."""
    caps = (Cap.pure(1), Cap.zcdp(1), Cap.gdp(1, delta="1e-6"), Cap.approximate(1, "1e-6"))
    assert [epsilon_spent(Balance(1, HOLDER, cap, 0, 0, 0)).epsilon for cap in caps] == [0] * 4


def test_a_cap_in_gdp_names_its_delta():
    """Without one its epsilon would be infinite; a cost has none."""
    with pytest.raises(ConfigError, match="names the delta"):
        Cap(Unit.GDP, 10)
    with pytest.raises(ConfigError, match="no delta"):
        Cost(Unit.GDP, 10, 1)
    assert math.isfinite(epsilon_of_cap(Cap.gdp(1, delta="1e-9")).epsilon)


def gdp_balance(amount: int, cap: Cap) -> Balance:
    """What a budget in gdp has spent."""
    return Balance(1, HOLDER, cap, amount, 0, 0)


@pytest.mark.parametrize("lifetime", [0.01, 0.05, 0.2, 0.5, 1, 1.25, 5, 8, 100])
def test_a_lifetime_is_stated_as_it_was_set(lifetime):
    """Rounding to millionths does not show: neither in the cap, nor where all of it is spent."""
    cap = cap_of_lifetime(lifetime, 1e-6)
    assert float(state_cap(cap)) == lifetime
    assert state_spent(gdp_balance(cap.amount, cap)) == state_cap(cap)


def test_a_cap_is_never_stated_above_what_was_set():
    """Of many digits four are kept, and the rest is dropped."""
    assert float(state_cap(cap_of_lifetime(5.12395, 1e-6))) == 5.123
    assert float(state_cap(Cap.pure("2.12399"))) == 2.123


def test_what_was_spent_is_never_stated_below_it():
    """Sums of fits, and amounts of few millionths, where one step shows, are rounded up."""
    cap = cap_of_lifetime(5, 1e-6)
    for amount in (1, 7, 105, 28_015, 56_030, 333_333):
        balance = gdp_balance(amount, cap)
        exact = epsilon_spent(gdp_balance(amount - 1, cap)).epsilon if amount > 28_000 else 0
        assert state_spent(balance) > exact
        assert float(state_spent(balance)) >= epsilon_spent(balance).epsilon * (1 - 1e-4)
    assert float(state_spent(gdp_balance(7, cap))) >= epsilon_spent(gdp_balance(7, cap)).epsilon
    pure = Balance(1, HOLDER, Cap.pure("2.1"), 1_234_501, 0, 0)
    assert str(state_spent(pure)) == "1.235"


def test_a_fit_of_epsilon_1_is_stated_as_1():
    """The card and the budget say one number: its amount is stored rounded up."""
    spent = cap_of_lifetime(1, 1e-6).amount
    assert str(state_spent(gdp_balance(spent, cap_of_lifetime(5, 1e-6)))) == "1"
