"""Noise that is enough, and hardly more."""

from __future__ import annotations

import contextlib
import math
import zlib

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tacit.accounting import (
    Gate,
    Gaussian,
    GDPAccountant,
    Laplace,
    NonPrivate,
    PureAccountant,
    Tree,
    ZCDPAccountant,
    compose,
    repeat,
    smallest_noise,
)
from tacit.errors import ConfigError, PrivacyError


@given(st.floats(1e-3, 20), st.integers(1, 40))
def test_pure_noise_is_the_closed_form(epsilon, levels):
    """A tree needs levels / epsilon, and never gets less."""
    found = smallest_noise(
        lambda noise: Tree(levels, noise), epsilon=epsilon, accountant=PureAccountant
    )
    assert found == pytest.approx(levels / epsilon, rel=2e-9)
    assert PureAccountant().add(Tree(levels, found)).epsilon() <= epsilon


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-3])
def test_gaussian_noise_meets_its_target_and_no_less_does(epsilon, delta):
    """The noise found meets the target; a millionth less does not."""

    def cost(noise):
        return ZCDPAccountant().add(Gaussian(noise), 10).epsilon(delta)

    found = smallest_noise(
        lambda noise: repeat(Gaussian(noise), 10),
        epsilon=epsilon,
        delta=delta,
        accountant=ZCDPAccountant,
    )
    assert cost(found) <= epsilon < cost(found * (1 - 1e-6))


def test_events_that_take_an_epsilon():
    """Two gates share epsilon 1 when each gets half."""
    found = smallest_noise(
        lambda noise: repeat(Gate(1 / noise), 2), epsilon=1.0, accountant=PureAccountant
    )
    assert 1 / found == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("make_event", "epsilon", "accountant"),
    [
        (lambda noise: compose(Laplace(noise), NonPrivate()), 1.0, PureAccountant),
        (Laplace, 0.0, PureAccountant),
        (Gaussian, 1.0, ZCDPAccountant),
    ],
)
def test_out_of_reach(make_event, epsilon, accountant):
    """A release with a part that has no noise, epsilon 0, and zCDP at delta 0 are never reached."""
    with pytest.raises(ConfigError, match="No noise multiplier up to"):
        smallest_noise(make_event, epsilon=epsilon, accountant=accountant)


def test_no_noise_needed():
    """A target that anything meets has no smallest noise."""
    with pytest.raises(ConfigError, match="no smallest noise"):
        smallest_noise(Laplace, epsilon=math.inf, accountant=PureAccountant)


def test_refusals_of_the_accountant_arrive():
    """Gaussian noise for the pure accountant is refused in the accountant's words."""
    with pytest.raises(PrivacyError, match="no pure epsilon"):
        smallest_noise(Gaussian, epsilon=1.0, accountant=PureAccountant)


@pytest.mark.parametrize("precision", [0.0, 1e-17, 1.0, math.nan])
def test_precision_is_a_share(precision):
    """A precision that can never be met, or that means nothing, is refused."""
    with pytest.raises(ConfigError, match="precision"):
        smallest_noise(Laplace, epsilon=1.0, accountant=PureAccountant, precision=precision)


@pytest.mark.parametrize("power", [-59.5, -1.0, 0.0, 59.5, 60])
def test_noise_is_found_up_to_a_bound(power):
    """Between 2^-60 and 2^60, with that one."""
    epsilon = 2.0**-power
    found = smallest_noise(Laplace, epsilon=epsilon, accountant=PureAccountant)
    assert found == pytest.approx(1 / epsilon, rel=2e-9)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [(2.0**-60.5, "No noise multiplier up to"), (2.0**60.5, "no smallest noise")],
)
def test_noise_beyond_the_bounds_is_not_looked_for(epsilon, message):
    """More than 2^60 and less than 2^-60 is a mistake in the target."""
    with pytest.raises(ConfigError, match=message):
        smallest_noise(Laplace, epsilon=epsilon, accountant=PureAccountant)


def test_precision_is_relative():
    """To a half, the first power of two that is enough; without one, to a part in 10^9."""

    def found(epsilon, **precision):
        return smallest_noise(Laplace, epsilon=epsilon, accountant=PureAccountant, **precision)

    assert found(0.4, precision=0.5) == 4.0
    assert found(4e6, precision=0.5) == 2.0**-21
    assert found(0.3) == found(0.3, precision=1e-9) != found(0.3, precision=1e-10)


def halve(make_event, budget, delta, accountant, precision):
    """Find the same noise by halving alone, pricing each middle."""

    def meets(noise):
        return accountant().add(make_event(noise)).epsilon(delta) <= budget

    high = 1.0
    while not meets(high):
        high *= 2
    low = high / 2
    while meets(low):
        low, high = low / 2, low
    while high - low > precision * high:
        middle = (low + high) / 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


CURVES = {
    "Gaussian": (lambda noise: repeat(Gaussian(noise), 3), GDPAccountant, 1e-6),
    "of several sums": (
        lambda noise: compose(Gaussian(noise), Gaussian(3 * noise)),
        ZCDPAccountant,
        1e-9,
    ),
    "Laplace": (lambda noise: repeat(Laplace(noise), 7), PureAccountant, 0.0),
    "a gate": (lambda noise: Gate(1 / noise), PureAccountant, 0.0),
    "in steps": (lambda noise: Gate(math.ceil(20 / noise) / 10), PureAccountant, 0.0),
}


@pytest.mark.parametrize("curve", CURVES)
@given(epsilon=st.floats(1e-3, 50), precision=st.sampled_from([1e-9, 1e-6, 0.01, 0.3]))
def test_fewer_prices_find_the_noise_that_halving_finds(curve, epsilon, precision):
    """To the last bit: models and cards state it."""
    make_event, accountant, delta = CURVES[curve]
    expected = None
    with contextlib.suppress(OverflowError, ConfigError):
        expected = halve(make_event, epsilon, delta, accountant, precision)
    assume(expected is not None and 2.0**-59 < expected < 2.0**59)
    found = smallest_noise(
        make_event, epsilon=epsilon, delta=delta, accountant=accountant, precision=precision
    )
    assert found == expected


@given(st.floats(0.01, 20), st.integers(0, 2**32))
def test_the_answer_was_priced(epsilon, salt):
    """Where prices are rounded so roughly that more noise may cost more, it meets the budget."""

    class Rough(PureAccountant):
        def epsilon(self, delta=0.0):
            exact = super().epsilon(delta)
            share = zlib.crc32(f"{salt} {exact!r}".encode()) / 2**32
            return exact * (1 + 1e-8 * share)

    found = smallest_noise(lambda noise: Gate(1 / noise), epsilon=epsilon, accountant=Rough)
    assert Rough().add(Gate(1 / found)).epsilon() <= epsilon


def test_few_prices_are_asked_for():
    """A price takes a search of its own: halving alone would ask 37 times."""
    asked = []

    class Counting(GDPAccountant):
        def epsilon(self, delta=0.0):
            asked.append(delta)
            return super().epsilon(delta)

    smallest_noise(
        lambda noise: repeat(Gaussian(noise), 3), epsilon=1.0, delta=1e-6, accountant=Counting
    )
    assert len(asked) <= 20


@pytest.mark.parametrize(("above", "below"), [(1.0001, 1e-6), (10.0, 0.9999)])
def test_each_halving_asks_for_two_prices_at_most(above, below):
    """Where the price is a step, a straight line says nothing of its place.

    From a factor of 2 to a quarter of 1e-9 there are 32 halvings. Before them, 1 and 2 are priced;
    after them come two halvings to the answer, and the answer.
    """
    asked = []

    def make_event(noise):
        asked.append(noise)
        return Gate(above if noise < 1.9 else below)

    found = smallest_noise(make_event, epsilon=1.0, accountant=PureAccountant)
    assert found == pytest.approx(1.9, rel=1e-9)
    assert len(asked) <= 2 + 2 * 32 + 2 + 1


def test_the_finest_precision_is_allowed():
    """And none below it."""
    found = smallest_noise(Gaussian, epsilon=1.0, delta=1e-6, accountant=GDPAccountant)
    finest = smallest_noise(
        Gaussian, epsilon=1.0, delta=1e-6, accountant=GDPAccountant, precision=2.0**-50
    )
    assert finest == pytest.approx(found, rel=1e-6)
    with pytest.raises(ConfigError, match="precision is a share"):
        smallest_noise(
            Gaussian, epsilon=1.0, delta=1e-6, accountant=GDPAccountant, precision=2.0**-51
        )
