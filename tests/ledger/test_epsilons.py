"""What a budget counts, as epsilon at a delta."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import Gaussian, GDPAccountant, ZCDPAccountant
from tacit.designs.private.refits import cap_of_lifetime, lifetime_of_cap
from tacit.errors import ConfigError
from tacit.ledger import (
    Balance,
    Cap,
    Cost,
    Holder,
    Unit,
    epsilon_of_cap,
    epsilon_spent,
    stated_epsilon_of_cap,
    stated_epsilon_spent,
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


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-8])
@pytest.mark.parametrize("lifetime", [0.001, 0.0123, 0.0234, 0.0876, 0.1234, 0.5, 1, 5, 8, 100])
def test_a_lifetime_of_four_digits_is_stated_as_it_was_set(lifetime, delta):
    """Steps of the ledger do not show: neither in the cap, nor where all of it is spent."""
    cap = cap_of_lifetime(lifetime, delta)
    assert float(stated_epsilon_of_cap(cap)) == lifetime
    assert stated_epsilon_spent(gdp_balance(cap.amount, cap)) == stated_epsilon_of_cap(cap)


@pytest.mark.parametrize("delta", [1e-5, 1e-6, 1e-8])
@pytest.mark.parametrize("lifetime", [0.0012345, 0.0123, 0.1234567, 1.2345674, 4.9999999])
def test_a_budget_pays_for_no_more_than_was_set(lifetime, delta):
    """But for a step of 1e-12 of mu^2 / 2: what a fit may inherit is not what is stated."""
    cap = cap_of_lifetime(lifetime, delta)
    assert lifetime_of_cap(replace(cap, amount=cap.amount - 1), delta) <= lifetime
    assert lifetime_of_cap(cap, delta) <= lifetime * (1 + 2e-5)


@given(st.sampled_from(Unit), st.integers(1, 10**9), st.integers(1, 10**9))
def test_nothing_is_stated_below_it(unit, spent, more):
    """Neither what was spent nor a cap, and what spends a cap is stated as the cap is."""
    delta = {Unit.GDP: 10**12, Unit.APPROXIMATE: 10**12}.get(unit, 0)
    cap = Cap(unit, spent + more, delta)
    balance = Balance(1, HOLDER, cap, spent, 0, 0)
    step = 1 if unit is Unit.GDP else 0  # to which it was rounded up
    least = replace(balance, spent=spent - step)
    assert float(stated_epsilon_spent(balance)) >= epsilon_spent(least).epsilon
    assert float(stated_epsilon_spent(balance)) <= 1.0011 * epsilon_spent(balance).epsilon
    assert (
        float(stated_epsilon_of_cap(cap))
        >= epsilon_of_cap(replace(cap, amount=cap.amount - step)).epsilon
    )
    whole = Balance(1, HOLDER, cap, cap.amount, 0, 0)
    assert stated_epsilon_spent(whole) == stated_epsilon_of_cap(cap)


def test_more_digits_are_rounded_up():
    """A cap is a promise: no more than is stated is ever spent."""
    assert float(stated_epsilon_of_cap(cap_of_lifetime(5.12395, 1e-6))) == 5.124
    assert float(stated_epsilon_of_cap(Cap.pure("2.12399"))) == 2.124
    pure = Balance(1, HOLDER, Cap.pure("2.1"), 1_234_501, 0, 0)
    assert str(stated_epsilon_spent(pure)) == "1.235"


def test_a_fit_of_epsilon_1_is_stated_as_1():
    """The card and the budget say one number: its amount is stored rounded up."""
    spent = cap_of_lifetime(1, 1e-6).amount
    assert str(stated_epsilon_spent(gdp_balance(spent, cap_of_lifetime(5, 1e-6)))) == "1"
