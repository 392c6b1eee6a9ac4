"""Pairs add up, and nothing is promised beside the sum."""

from __future__ import annotations

import math

import pytest
from accountant_conformance import AccountantConformance
from hypothesis import strategies as st

from tacit.accounting import (
    BasicAccountant,
    DiscreteGaussian,
    Gaussian,
    GDPAccountant,
    Laplace,
    NonPrivate,
    PrivacyFilter,
    PureAccountant,
    SmoothSensitivity,
    Tree,
    ZCDPAccountant,
)
from tacit.accounting.pld import PLDAccountant
from tacit.errors import ConfigError, PrivacyError

SMOOTH = SmoothSensitivity(0.5, 1e-6)


class TestBasic(AccountantConformance):
    """The laws, with pairs of epsilon and delta among the events."""

    def make(self):
        return BasicAccountant()

    def events(self):
        smooth = st.builds(SmoothSensitivity, st.floats(0.01, 2), st.floats(1e-9, 1e-3))
        return super().events() | smooth


def test_pairs_add_up():
    """Two releases at (0.5, 1e-6) and one of Laplace noise cost (2, 2e-6), and no smaller delta."""
    made = BasicAccountant().add(SMOOTH, 2).add(Laplace(1.0))
    assert made.epsilon(2e-6) == 2.0
    assert made.epsilon(1.9e-6) == math.inf
    assert made.delta(2.0) == 2e-6
    assert made.delta(1.99) == 1.0
    assert made.delta(math.inf) == made.epsilon(1.0) == 0.0
    assert BasicAccountant().add(SmoothSensitivity(0.5, 0.3), 2).delta(1.0) == pytest.approx(0.6)
    assert BasicAccountant().add(SmoothSensitivity(0.5, 0.3), 4).delta(2.0) == 1.0


def test_budget_of_pairs():
    """A filter stops at the budget's epsilon and at its delta, whichever comes first."""
    by_epsilon = PrivacyFilter(BasicAccountant, epsilon=1.0, delta=1e-3)
    by_delta = PrivacyFilter(BasicAccountant, epsilon=10.0, delta=2e-6)
    for budget in (by_epsilon, by_delta):
        budget.spend(SMOOTH)
        budget.spend(SMOOTH)
        with pytest.raises(PrivacyError, match="do not release"):
            budget.spend(SMOOTH)


@pytest.mark.parametrize("accountant", [PureAccountant, ZCDPAccountant])
def test_others_refuse_in_words(accountant):
    """Neither a pure epsilon nor a rho exists; the way out is named."""
    with pytest.raises(PrivacyError, match="basic accountant"):
        accountant().add(SMOOTH)


@pytest.mark.parametrize(
    "event", [Gaussian(9.0), DiscreteGaussian(9.0, 1), Tree(2, 9.0, gaussian=True)]
)
def test_gaussian_noise_is_refused(event):
    """It has no one pair of epsilon and delta, and what prices it is named."""
    with pytest.raises(PrivacyError, match=r"no one pair.*zCDP.*PLD.*apart.*Nothing was added"):
        BasicAccountant().add(event)


def test_the_ways_out_of_that_refusal_work():
    """zCDP prices Gaussian noise; PLD prices it beside smooth noise, if one entry may change."""
    gaussian = DiscreteGaussian(9.0, 1)
    assert ZCDPAccountant().add(gaussian).epsilon(1e-5) < 1
    assert PLDAccountant().add(gaussian).add(SMOOTH).epsilon(1e-5) < 1.5


def test_distributions_are_not_above_the_sum():
    """PLD charges many releases less than their sum, and one as its pair."""
    for times in (1, 30):
        made = PLDAccountant().add(SmoothSensitivity(0.1, 1e-9), times)
        basic = BasicAccountant().add(SmoothSensitivity(0.1, 1e-9), times)
        assert made.epsilon(1e-6) <= basic.epsilon(1e-6)
    assert made.epsilon(1e-6) < 0.9 * basic.epsilon(1e-6)
    assert made.epsilon(1e-8) == math.inf  # thirty deltas are more


@pytest.mark.parametrize("fields", [(0.0, 1e-6), (1.0, 0.0), (1.0, 1.0), (math.inf, 1e-6)])
def test_fields_in_range(fields):
    """An epsilon and a delta, both above 0."""
    with pytest.raises(ConfigError):
        SmoothSensitivity(*fields)


PRICED = {
    PureAccountant: Laplace(1.0),
    BasicAccountant: SMOOTH,
    ZCDPAccountant: Laplace(1.0),
    GDPAccountant: Gaussian(1.0),
    PLDAccountant: SMOOTH,
}


@pytest.mark.parametrize(("accountant", "event"), PRICED.items())
def test_without_a_delta_it_is_0(accountant, event):
    """A delta that is not given is none."""
    made = accountant().add(event)
    assert made.epsilon() == made.epsilon(0.0) > made.epsilon(0.1)


@pytest.mark.parametrize("accountant", PRICED)
def test_ends_of_both_scales_cost_nothing(accountant):
    """An infinite epsilon and a delta of 1 promise nothing: they hold without any noise, and after
    nothing was released everything holds."""
    made = accountant().add(NonPrivate())
    assert (made.epsilon(1.0), made.delta(math.inf)) == (0.0, 0.0)
    assert (made.epsilon(math.nextafter(1, 0)), made.delta(1e9)) == (math.inf, 1.0)
    assert (accountant().epsilon(), accountant().delta(0.0)) == (0.0, 0.0)
    with pytest.raises(ConfigError, match="at least 0"):
        made.delta(-5e-324)
    with pytest.raises(ConfigError, match="between 0 and 1"):
        made.epsilon(math.nextafter(1, 2))
