"""Prices in rho, each against the Renyi divergence it bounds, and the conversion."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from sys import float_info

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
    RandomizedResponse,
    TopK,
    Tree,
    ZCDPAccountant,
)
from tacit.accounting.rounding import find_root
from tacit.accounting.zcdp import delta_of_rho as delta_of
from tacit.accounting.zcdp import epsilon_of_rho as epsilon_of
from tacit.errors import ConfigError

EPSILONS = (0.01, 0.5, 1.0, 3.0, 8.0)
ORDERS = (1.001, 1.1, 1.5, 2.0, 5.0, 30.0)


def rho(event):
    return ZCDPAccountant().add(event).rho


def renyi(p, q, order):
    """Renyi divergence of two finite distributions, nats."""
    terms = [a**order * b ** (1 - order) for a, b in zip(p, q, strict=True)]
    return math.log(math.fsum(terms)) / (order - 1)


def two(chance):
    return chance, 1 - chance


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Gaussian(2.0), 0.125),
        (Exponential(2.0), 0.5),
        (TopK(3, 2.0), 1.5),
        (Tree(4, 2.0, gaussian=True), 0.5),
        (Laplace(1.0), math.exp(-1)),
        (DiscreteLaplace(1.0), math.tanh(0.5)),
        (Tree(3, 1.0), 3 * math.tanh(0.5)),
        (Gate(1.0), math.tanh(0.5)),
        (Exponential(1.0, permute_and_flip=True), math.tanh(0.5)),
        (TopK(2, 1.0, permute_and_flip=True), 2 * math.tanh(0.5)),
        (RandomizedResponse(2, math.e / (1 + math.e)), math.tanh(0.5)),
    ],
)
def test_prices(event, expected):
    """Each event costs what its theorem says."""
    assert rho(event) == pytest.approx(expected)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_randomized_response_is_bounded_tightly(epsilon):
    """No order's divergence exceeds order times rho, and the order next to 1 almost reaches it."""
    truth = 1 / (1 + math.exp(-epsilon))
    price = rho(RandomizedResponse(2, truth))
    found = [renyi(two(truth), two(1 - truth), order) / order for order in ORDERS]
    assert max(found) <= price * (1 + 1e-9)
    assert found[0] == pytest.approx(price, rel=0.01)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_laplace_is_bounded_tightly(epsilon):
    """The closed form of its divergence (Mironov, 2017) stays below, and almost reaches rho."""
    price = rho(Laplace(1 / epsilon))
    found = []
    for a in ORDERS:
        inner = a * math.exp((a - 1) * epsilon) + (a - 1) * math.exp(-a * epsilon)
        found.append(math.log(inner / (2 * a - 1)) / (a - 1) / a)
    assert max(found) <= price * (1 + 1e-9)
    assert found[0] == pytest.approx(price, rel=0.01)


@given(st.floats(-6, 6), st.sampled_from(EPSILONS), st.sampled_from(ORDERS))
def test_selection_is_bounded(start, epsilon, order):
    """Two candidates whose odds move by e^epsilon: the divergence stays below order times rho."""
    p, q = (two(1 / (1 + math.exp(-odds))) for odds in (start, start + epsilon))
    for divergence in (renyi(p, q, order), renyi(q, p, order)):
        assert divergence <= order * rho(Exponential(epsilon)) + 1e-9


def test_permute_and_flip_costs_more_than_bounded_range():
    """Two equal candidates, then one ahead: its divergence exceeds epsilon^2/8, and stays within
    its own price."""
    epsilon = 0.1
    behind = math.exp(-epsilon) / 2
    divergence = renyi(two(0.5), two(behind), 1.001) / 1.001
    assert rho(Exponential(epsilon)) < divergence
    assert divergence <= rho(Exponential(epsilon, permute_and_flip=True))


@pytest.mark.parametrize("epsilon", [1e-9, 1e-6, 9.9e-6, 1.01e-5])
def test_laplace_keeps_its_digits(epsilon):
    """Little epsilons are not lost in a difference of numbers close to 1."""
    assert rho(Laplace(1 / epsilon)) == pytest.approx(epsilon**2 / 2, rel=1e-5)


def test_hardly_any_epsilon_costs_half_its_square():
    """Below the rounding of epsilon - 1 + e^-epsilon."""
    assert rho(Laplace(1e20)) == pytest.approx(5e-41, rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("spent", "delta", "expected"),
    [(1 / 32, 1e-3, 0.6880024554878085), (0.125, 1e-6, 2.419093176867195)],
)
def test_conversion_equals_opendp(spent, delta, expected):
    """The same epsilon as OpenDP's conversion finds, to 12 digits, and back."""
    assert epsilon_of(spent, delta) == pytest.approx(expected, rel=1e-12)
    assert delta_of(spent, expected) == pytest.approx(delta, rel=1e-9)


def test_conversion_at_epsilon_zero():
    """The delta at epsilon 0 equals OpenDP's."""
    assert delta_of(1 / 32, 0.0) == pytest.approx(0.1508457845622862, rel=1e-12)


@given(st.floats(1e-6, 100), st.floats(1e-12, 0.5))
def test_conversion_beats_the_textbook(spent, delta):
    """Never above rho + 2 sqrt(rho ln(1/delta)) (Bun, Steinke, 2016, Proposition 1.3)."""
    assert epsilon_of(spent, delta) <= spent + 2 * math.sqrt(spent * math.log(1 / delta))


@given(st.floats(1e-4, 20), st.floats(1e-10, 0.5), st.floats(1.0001, 1000))
def test_no_order_does_better(spent, delta, order):
    """The order that is used gives the least epsilon of all orders."""
    inner = (math.log(1 / delta) - math.log(order)) / (order - 1) + math.log(1 - 1 / order)
    assert epsilon_of(spent, delta) <= max(0.0, order * spent + inner) * (1 + 1e-9)


@pytest.mark.parametrize("spent", [1e-300, 1e-12, 1.0, 1e12, 1e300])
@pytest.mark.parametrize("delta", [5e-324, 1e-12, 0.5, 1 - 1e-16, 1.0])
def test_extremes_convert(spent, delta):
    """The ends of the floats give an epsilon above or at 0, never NaN and never an error."""
    epsilon = epsilon_of(spent, delta)
    assert 0 <= epsilon < math.inf
    assert 0 <= delta_of(spent, epsilon) <= 1


def test_no_delta_no_epsilon():
    """zCDP alone bounds no pure epsilon, however little was spent."""
    assert ZCDPAccountant().add(Laplace(1e6)).epsilon(0.0) == math.inf


def test_many_choices_are_cheaper_than_their_sum():
    """A thousand choices at 0.01 cost 10 in pure epsilon, and below 1 at delta 1e-6."""
    assert ZCDPAccountant().add(Exponential(0.01), 1000).epsilon(1e-6) < 1


@pytest.mark.parametrize("noise", [4.0, 0.25])
def test_a_tree_of_laplace_noise_is_one_for_each_level(noise):
    """Three levels, each epsilon-private with epsilon = 1 / noise: three times the rho of that."""
    assert rho(Tree(3, noise)) == pytest.approx(3 / noise * math.tanh(0.5 / noise), rel=1e-9)


SPENT = (1e-4, 0.01, 0.3, 2.0, 50.0)


def least(formula, slope):
    """The formula at the order - 1 where its slope crosses 0, with 50 digits."""
    low, high = mpmath.mpf(0), mpmath.mpf(1)
    while slope(high) < 0:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return formula(high)


def exact_epsilon(spent, delta):
    """The least over all orders in exact numbers."""
    rho, wanted = mpmath.mpf(spent), -mpmath.log(delta)
    found = least(
        lambda t: (t + 1) * rho + (wanted - mpmath.log1p(t)) / t - mpmath.log1p(1 / t),
        lambda t: t * t * rho + mpmath.log1p(t) - wanted,
    )
    return max(found, mpmath.mpf(0))


def exact_delta(spent, epsilon):
    """The least over all orders in exact numbers."""
    rho, wanted = mpmath.mpf(spent), mpmath.mpf(epsilon)
    return least(
        lambda t: mpmath.exp(
            t * ((t + 1) * rho - wanted) - mpmath.log(t) - (t + 1) * mpmath.log1p(1 / t)
        ),
        lambda t: (2 * t + 1) * rho - mpmath.log1p(1 / t) - wanted,
    )


@pytest.mark.parametrize(
    ("spent", "delta"),
    [*itertools.product(SPENT, [1e-12, 1e-6, 0.01]), (1e-300, 1e-300), (1e-300, 5e-324)],
)
def test_epsilon_is_rounded_up(spent, delta):
    """Never below the least, and hardly above, with hardly any rho as well."""
    with mpmath.workdps(50):
        exact = exact_epsilon(spent, delta)
        assert exact <= epsilon_of(spent, delta) <= exact * (1 + mpmath.mpf(2) ** -40)


@pytest.mark.parametrize("spent", [1e-9, 1e-4, 0.01, 0.1])
def test_epsilons_near_0_are_rounded_up(spent):
    """Where terms of about 1 cancel, a step of rounding is a large share of what is left."""
    low, high = 0.0, 0.9
    for _ in range(60):  # the largest delta that costs anything
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(spent, middle) > 0 else (low, middle)
    with mpmath.workdps(50):
        for share in range(1, 15):
            delta = low * (1 - share * 1e-5)
            exact = exact_epsilon(spent, delta)
            assert exact <= epsilon_of(spent, delta) <= exact + mpmath.mpf(2) ** -45


def test_ends_of_the_conversion_to_epsilon():
    """Hardly any rho is free at a delta next to 1, and a rho near the largest float never is."""
    assert epsilon_of(1e-300, 1 - 2**-53) == 0
    assert epsilon_of(1.7e308, 1 - 2**-53) == math.inf


@pytest.mark.parametrize(
    ("spent", "epsilon"),
    [
        *((rho, rho + far * math.sqrt(2 * rho)) for rho in SPENT for far in (0.1, 1.0, 5.0)),
        *((50.0, 400.0 + number) for number in range(9)),
        *((1e-5, 0.1 + number / 100) for number in range(7)),
        *((rho, 0.0) for rho in (5e-324, 1e-309, 1e-300, 1e-100, 1e-20, 1.0)),
        (1e-100, 1e-52),
        (1e-20, 1e-9),
    ],
)
def test_delta_is_rounded_up(spent, epsilon):
    """Never below the least, and hardly above: some deviations beyond the mean of the loss, where
    delta is as small as floats can be, and with hardly any rho."""
    with mpmath.workdps(50):
        exact = exact_delta(spent, epsilon)
        assert exact <= delta_of(spent, epsilon) <= exact * (1 + mpmath.mpf(2) ** -36)


@pytest.mark.parametrize(("spent", "epsilon"), [(1e-306, 100.0), (5e-324, 1e9), (1.0, 1e200)])
def test_a_delta_below_all_floats_is_the_least_float(spent, epsilon):
    """Neither 0, which zCDP does not promise, nor 1."""
    assert delta_of(spent, epsilon) == 5e-324


def test_roots_are_found_to_the_last_digit():
    """Where a float is the root it is that one, and else the next above it."""
    assert find_root(lambda t: t - 1, 2.0) == 1.0
    assert find_root(lambda t: t - 1, 1e9) == 1.0
    assert find_root(lambda t: 3 * Fraction(t) - 1, 1.0) == math.nextafter(1 / 3, 1)


LARGEST = float_info.max


@pytest.mark.parametrize(
    "event",
    [
        Laplace(1e-309),
        Tree(1, 1e-309),
        Tree(10**400, 1e-309),
        Exponential(LARGEST, permute_and_flip=True),
        TopK(10**400, LARGEST, permute_and_flip=True),
        Gate(LARGEST),
    ],
)
def test_a_loss_beyond_all_floats_is_infinite(event):
    """Too little noise for any finite rho is priced like no noise at all."""
    assert rho(event) == math.inf
    assert ZCDPAccountant().add(event).epsilon(1e-6) == math.inf


def test_an_epsilon_of_0_is_allowed():
    """The delta at epsilon 0 bounds the distance of the outputs; a negative epsilon is refused."""
    accountant = ZCDPAccountant().add(Gaussian(2.0))
    assert 0 < accountant.delta(0.0) <= 1
    with pytest.raises(ConfigError, match="at least 0"):
        accountant.delta(-1e-9)
