"""What a budget counts, as epsilon at a delta."""

from __future__ import annotations

import math

import pytest

from tacit.accounting import Gaussian, GDPAccountant, ZCDPAccountant
from tacit.errors import ConfigError
from tacit.ledger import Balance, Cap, Cost, Holder, Unit, epsilon_of_cap, epsilon_spent

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
