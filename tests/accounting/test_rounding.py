"""Rounding is upwards: no total is below the exact one."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.accounting import (
    DiscreteLaplace,
    Exponential,
    Gate,
    Gaussian,
    Laplace,
    PureAccountant,
    RandomizedResponse,
    TopK,
    Tree,
    ZCDPAccountant,
)
from tacit.accounting.rounding import float_above, round_up, sum_above

NUMBERS = st.floats(0, 1e300) | st.floats(0, 1) | st.sampled_from([5e-324, 0.1, 1 / 3])
TINY = 1e-200


@given(st.lists(NUMBERS, max_size=20))
def test_sum_is_not_below_the_exact_one(numbers):
    """Nor is it more than two floats above it."""
    exact = sum(map(Fraction, numbers))
    found = sum_above(numbers)
    assert found >= exact
    assert math.nextafter(math.nextafter(found, 0), 0) <= exact


def test_nearest_sums_would_be_below():
    """The nearest float is below the sum of these, so that the law above can fail."""
    numbers = [1.0, 2.0**-60]
    assert math.fsum(numbers) < sum(map(Fraction, numbers)) <= sum_above(numbers)


@given(st.fractions(0, 10**6))
def test_float_above(exact):
    """The smallest float that is not below."""
    found = float_above(exact)
    assert found >= exact
    assert found == 0 or math.nextafter(found, 0) < exact


def test_beyond_all_floats():
    """Infinity, not an error."""
    assert float_above(Fraction(10**400)) == sum_above([1.7e308, 1.7e308]) == math.inf
    assert sum_above([math.inf, 1.0]) == math.inf
    assert round_up(0.0) == 5e-324


@given(st.lists(st.tuples(st.floats(1e-3, 1e6), st.integers(1, 50)), max_size=6))
def test_total_of_laplace_noise_is_not_below(releases):
    """Sums of 1 / multiplier, by count, are at or above the exact ones."""
    made = PureAccountant()
    for noise, times in releases:
        made.add(Laplace(noise), times)
    assert made.epsilon() >= sum(times / Fraction(noise) for noise, times in releases)


@given(st.lists(st.tuples(st.floats(1e-3, 1e6), st.integers(1, 50)), max_size=6))
def test_total_of_gaussian_noise_is_not_below(releases):
    """Sums of 1 / (2 multiplier^2) are at or above the exact ones."""
    made = ZCDPAccountant()
    for noise, times in releases:
        made.add(Gaussian(noise), times)
    assert made.rho >= sum(times / (2 * Fraction(noise) ** 2) for noise, times in releases)


@given(st.integers(2, 1000), st.floats(0.001, 0.999))
def test_answers_are_not_below(categories, truth):
    """The logarithm of the exact odds, to 50 digits, is at or below the price."""
    odds = Fraction(truth) * (categories - 1) / (1 - Fraction(truth))
    price = PureAccountant().add(RandomizedResponse(categories, truth)).epsilon()
    with localcontext(prec=50):
        exact = abs((Decimal(odds.numerator) / Decimal(odds.denominator)).ln())
    assert Fraction(price) >= Fraction(exact) * (1 - Fraction(1, 10**45))
    assert price == pytest.approx(float(exact), rel=1e-12)


def test_an_odd_fifth_is_not_free():
    """The float 0.2 is no fifth, and five answers with that chance of truth tell a little."""
    assert 0 < PureAccountant().add(RandomizedResponse(5, 0.2)).epsilon() < 1e-15


@pytest.mark.parametrize(
    "event",
    [
        Laplace(1 / TINY),
        DiscreteLaplace(1 / TINY),
        Gaussian(1 / TINY),
        Exponential(TINY),
        Exponential(TINY, permute_and_flip=True),
        TopK(2, TINY),
        Tree(2, 1 / TINY),
        Gate(TINY),
    ],
)
def test_no_rho_underflows(event):
    """An epsilon whose square no float can hold still costs something."""
    once, often = (ZCDPAccountant().add(event, times).rho for times in (1, 1000))
    assert 0 < once <= often
    assert ZCDPAccountant().add(event).delta(1.0) > 0
    assert ZCDPAccountant().add(event).epsilon() == math.inf


@given(st.floats(1e-12, 50))
def test_rho_is_not_below_the_formula(epsilon):
    """epsilon tanh(epsilon / 2) and epsilon - 1 + e^-epsilon, to 60 digits, are not above rho."""
    with localcontext(prec=60):
        e = Decimal(epsilon)
        shrunk = (-e).exp()
        pure = e * (1 - shrunk) / (1 + shrunk)
        laplace = e - 1 + shrunk
    assert Fraction(ZCDPAccountant().add(Gate(epsilon)).rho) >= Fraction(pure)
    noise = math.nextafter(1 / epsilon, 0)  # so that its epsilon is not below the one here
    assert Fraction(ZCDPAccountant().add(Laplace(noise)).rho) >= Fraction(laplace)


@pytest.mark.parametrize("computed", [1.0, -1.0, 3e7])
@pytest.mark.parametrize("slack", [0.0, 5.0, 1e9])
def test_room_for_sixteen_roundings(computed, slack):
    """A result is raised by sixteen steps of a float of the size of its terms, and one of its
    own."""
    raised = Fraction(round_up(computed, slack=slack)) - Fraction(computed)
    room = Fraction(16, 2**52) * (abs(Fraction(computed)) + Fraction(slack))
    assert room <= raised <= room + 2 * Fraction(math.ulp(computed))


@pytest.mark.parametrize("categories", [2, 3, 1000])
@pytest.mark.parametrize("steps", [1, 3, 1000003])
def test_answers_that_are_hardly_ever_true_are_not_below(categories, steps):
    """Odds beyond all floats: two logarithms are subtracted, and the price is not below."""
    truth = steps * 5e-324
    price = PureAccountant().add(RandomizedResponse(categories, truth)).epsilon()
    with mpmath.workdps(60):
        exact = -mpmath.log(mpmath.mpf(truth) * (categories - 1) / (1 - mpmath.mpf(truth)))
        assert exact <= price <= exact * (1 + mpmath.mpf(2) ** -46)
