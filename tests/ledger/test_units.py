"""Costs are never below what they stand for, caps never above, and nothing odd gets in."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import (
    DiscreteLaplace,
    Gaussian,
    NonPrivate,
    PureAccountant,
    ZCDPAccountant,
    repeat,
)
from tacit.errors import ConfigError
from tacit.ledger import Cap, Cost, Holder, Request, Unit, canonical

AMOUNTS = st.fractions(Fraction(1, 10**6), 1000) | st.floats(1e-5, 1000)


@given(AMOUNTS)
def test_costs_up_caps_down(amount):
    """A cost is the next millionth above the amount, a cap the next below."""
    exact = Fraction(amount) * 10**6
    assert Cost.pure(amount).amount == math.ceil(exact)
    assert Cap.zcdp(amount).amount == math.floor(exact)


@given(st.lists(AMOUNTS, min_size=1, max_size=20), st.data())
def test_sums_are_safe(amounts, data):
    """Whatever is granted in steps is, exactly, within the cap that was asked for."""
    exact = sum(map(Fraction, amounts))
    steps = data.draw(st.integers(-2, 2))
    wanted = max(exact + Fraction(steps, 10**6), Fraction(1, 10**6))
    if sum(Cost.pure(amount).amount for amount in amounts) <= Cap.pure(wanted).amount:
        assert exact <= wanted


def test_decimals_are_exact():
    """Decimals in a text cost what they say; a float costs what it is, a little more or less."""
    assert Cost.pure("0.1") == Cost.pure(Decimal("0.1")) == Cost(Unit.PURE, 100_000)
    assert Cost.pure(0.1).amount == 100_001
    assert Cap.pure(0.3).amount == 299_999
    assert Cost.approximate("1", "1e-6") == Cost(Unit.APPROXIMATE, 10**6, 10**12)


@pytest.mark.parametrize(
    "odd",
    [
        *(0, -1, "-0.1", "0", math.nan, math.inf, "nan", "inf", "-inf", "x", "", "1e999999999"),
        *(None, True, b"1", 1j, 10**13, Decimal("snan")),
    ],
)
def test_odd_amounts_are_refused(odd):
    """Zero, negative, infinite, undefined and unreadable amounts are refused, without a crash."""
    with pytest.raises(ConfigError):
        Cost.pure(odd)
    with pytest.raises(ConfigError):
        Cap.pure(odd)


def test_only_whole_steps():
    """Fields take integers, in range, and delta only where the unit has one."""
    for fields in (
        {"amount": 1.0},
        {"amount": True},
        {"amount": 1, "delta": 1},
        {"amount": 10**18 + 1},
        {"amount": -1},
    ):
        with pytest.raises(ConfigError):
            Cost(Unit.PURE, **fields)
    with pytest.raises(ConfigError):
        Cost("pure", 1)
    with pytest.raises(ConfigError):
        Cost.approximate("1", "1.1")


def test_events_have_their_accountants_price():
    """The price of an event is what its accountant says, rounded up."""
    laplace, gaussian = DiscreteLaplace(3.0), Gaussian(5.0)
    price = Fraction(PureAccountant().add(laplace).epsilon())
    assert Fraction(Cost.from_event(laplace, Unit.PURE).amount, 10**6) >= price
    rho = Fraction(ZCDPAccountant().add(gaussian).rho)
    assert (
        0 <= Fraction(Cost.from_event(gaussian, Unit.ZCDP).amount, 10**6) - rho < Fraction(1, 10**6)
    )
    with pytest.raises(ConfigError):
        Cost.from_event(laplace, Unit.APPROXIMATE)


@pytest.mark.parametrize(
    "name", ["", "x" * 201, "a\x00b", "a\nb", "\ud800", "e\u0301", "\u202eabc", "\ufeffa", 3, None]
)
def test_odd_names_are_refused(name):
    """Names that look like others, or that a store would not keep, are refused and not echoed."""
    with pytest.raises(ConfigError) as refused:
        Holder.subject("shop", name)
    assert not isinstance(name, str) or not name or name not in str(refused.value)
    with pytest.raises(ConfigError):
        Request("shop", "x", "list", name, b"p")


def test_canonical_payloads():
    """Order does not matter, types and values do; what has no one form is refused."""
    assert canonical({"b": 1, "a": [True, None]}) == canonical({"a": [True, None], "b": 1})
    assert canonical({"a": 1}) != canonical({"a": "1"})
    for odd in (
        {"a": math.nan},
        {"a": math.inf},
        {"a": b""},
        {1: "a"},
        {"a": {2: "b"}},
        {"a": {1}},
    ):
        with pytest.raises(ConfigError):
            canonical(odd)


@pytest.mark.parametrize("unit", [Unit.PURE, Unit.ZCDP, Unit.GDP])
def test_an_event_without_a_finite_price_costs_no_amount(unit):
    """Exact data has no price in any unit."""
    with pytest.raises(ConfigError, match="a finite number"):
        Cost.from_event(NonPrivate(), unit)


@pytest.mark.parametrize("event", [Gaussian(1e-309), repeat(Gaussian(1.0), 10**400)])
def test_noise_too_small_for_a_finite_mu_costs_no_amount(event):
    """A mu beyond all floats is refused like that of exact data."""
    with pytest.raises(ConfigError, match="a finite number"):
        Cost.from_event(event, Unit.GDP)
