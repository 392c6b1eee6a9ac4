"""Privacy loss distributions: tight, and in agreement with the other accountants."""

from __future__ import annotations

import math
import sys

import dp_accounting
import pytest
from dp_accounting import gaussian_mechanism
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.rdp import RdpAccountant
from hypothesis import strategies as st

from tacit.accounting import (
    DiscreteGaussian,
    DiscreteLaplace,
    Exponential,
    Gate,
    Gaussian,
    Laplace,
    NonPrivate,
    PostProcessing,
    PrivacyFilter,
    PureAccountant,
    RandomizedResponse,
    TopK,
    Tree,
    ZCDPAccountant,
    compose,
    repeat,
)
from tacit.accounting.pld import PLDAccountant
from tacit.errors import ConfigError, MissingExtra
from tests.support.accountant_conformance import AccountantConformance


class TestPLD(AccountantConformance):
    """The laws, with few examples: each composes distributions. Losses are rounded to 1e-4."""

    examples = 3
    slack = 1e-3

    def make(self):
        return PLDAccountant()

    def events(self):
        noise = st.floats(8, 50)
        epsilon = st.floats(0.01, 0.1)
        return st.one_of(
            st.builds(Gaussian, noise),
            st.builds(DiscreteGaussian, noise, st.integers(1, 9)),
            st.builds(Laplace, noise),
            st.builds(Tree, st.integers(1, 3), noise, st.booleans()),
            st.builds(RandomizedResponse, st.integers(2, 3), st.floats(0.4, 0.6)),
            st.builds(Exponential, epsilon),
        )


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize(("noise", "times"), [(1.0, 1), (2.0, 1), (20.0, 100)])
def test_gaussian_is_tight(noise, times, delta):
    """The epsilon of Gaussian noise equals its closed form (Balle, Wang, 2018) within 1e-3."""
    found = PLDAccountant().add(Gaussian(noise), times).epsilon(delta)
    exact = gaussian_mechanism.get_epsilon_gaussian(noise / math.sqrt(times), delta)
    assert exact * (1 - 1e-6) <= found <= exact * (1 + 1e-3)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
@pytest.mark.parametrize(("noise", "times"), [(0.7, 1), (2.0, 3), (30.0, 500)])
def test_zcdp_agrees_with_dp_accounting(noise, times, delta):
    """For Gaussian noise the zCDP epsilon is the Renyi accountant's, which tries fewer orders."""
    event = dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(noise), times)
    peer = RdpAccountant().compose(event).get_epsilon(delta)
    found = ZCDPAccountant().add(Gaussian(noise), times).epsilon(delta)
    assert peer * (1 - 0.02) <= found <= peer * (1 + 1e-9)


@pytest.mark.parametrize(
    ("event", "peer"),
    [
        (Laplace(2.0), lambda: pld.from_laplace_mechanism(2.0)),
        (DiscreteLaplace(2.0), lambda: pld.from_discrete_laplace_mechanism(0.5)),
        (RandomizedResponse(2, 0.75), lambda: pld.from_randomized_response(0.5, 2)),
        (RandomizedResponse(5, 0.6), lambda: pld.from_randomized_response(0.5, 5)),
    ],
)
def test_pure_agrees_with_dp_accounting(event, peer):
    """The pure epsilon is the largest loss of the distribution, whose tail is cut at 1e-15."""
    found = PureAccountant().add(event).epsilon()
    assert peer().get_epsilon_for_delta(1e-10) == pytest.approx(found, abs=2e-4)


def test_zcdp_is_never_below_the_truth():
    """Converted from rho, no epsilon is below the one of the distribution itself."""
    for event in (Laplace(3.0), DiscreteLaplace(3.0), RandomizedResponse(3, 0.5), Gaussian(5.0)):
        for times in (1, 20):
            zcdp = ZCDPAccountant().add(event, times).epsilon(1e-6)
            assert PLDAccountant().add(event, times).epsilon(1e-6) <= zcdp + times * 1e-4


def test_repeated_answers_are_all_charged():
    """Ten answers cost more than one: dp-accounting 0.6.0's own accountant forgets nine."""
    once, often = (PLDAccountant().add(RandomizedResponse(5, 0.5), n).epsilon(1e-6) for n in (1, 9))
    assert often > 5 * once


@pytest.mark.parametrize(("categories", "truth", "noise"), [(2, 0.6, 0.8), (5, 0.3, 0.875)])
def test_repeated_answers_of_several_kinds(categories, truth, noise):
    """With chance `noise` any category is said: the library's own distribution, sixty times."""
    peer = pld.from_randomized_response(noise, categories).self_compose(60)
    found = PLDAccountant().add(RandomizedResponse(categories, truth), 60).epsilon(1e-6)
    assert found == pytest.approx(peer.get_epsilon_for_delta(1e-6), rel=1e-3)


def test_no_false_pure_epsilon():
    """A thousand small choices at delta 0 cost their sum, whatever a table rounds to."""
    made = PLDAccountant().add(Exponential(0.01), 1000)
    assert made.epsilon() == pytest.approx(10.0)
    assert made.epsilon(1e-20) > 1.2


@pytest.mark.parametrize(
    "event",
    [Laplace(20.0), Tree(4, 80.0), TopK(4, 0.05), Gate(0.05), Tree(2, 20.0, gaussian=True)],
)
def test_never_above_the_others(event):
    """At no delta does it report more than the zCDP or the pure accountant."""
    made = PLDAccountant().add(event, 30)
    for delta in (0.0, 1e-12, 1e-6, 0.1):
        assert made.epsilon(delta) <= ZCDPAccountant().add(event, 30).epsilon(delta)
    if event != Tree(2, 20.0, gaussian=True):
        assert made.epsilon() == PureAccountant().add(event, 30).epsilon()


def test_the_distribution_counts_from_the_least_delta_on():
    """At 1e-10 itself it is tighter than zCDP and the pure accountant; at less they answer."""
    made = PLDAccountant().add(Laplace(20.0), 30)
    others = [kind().add(Laplace(20.0), 30) for kind in (ZCDPAccountant, PureAccountant)]
    for delta, tighter in ((1e-10, True), (math.nextafter(1e-10, 0), False)):
        assert (made.epsilon(delta) < min(other.epsilon(delta) for other in others)) is tighter


def test_tree_is_its_levels():
    """A tree with Gaussian noise costs as much as one release a level."""
    tree = PLDAccountant().add(Tree(5, 10.0, gaussian=True))
    assert tree.epsilon(1e-6) == PLDAccountant().add(Gaussian(10.0), 5).epsilon(1e-6)


def test_out_of_bounds_is_still_bounded():
    """Hardly any noise: no distribution is built, and the other accountants answer."""
    event = compose(Laplace(0.001), repeat(Laplace(1.0), 3))
    assert PLDAccountant().add(event).epsilon(1e-6) == pytest.approx(1003.0)


def test_an_infinite_epsilon_needs_no_delta():
    """Any loss is at most infinite."""
    assert PLDAccountant().add(Gaussian(1.0)).delta(math.inf) == 0


def test_no_basis_for_a_filter():
    """Its total holds for lists fixed in advance."""
    with pytest.raises(ConfigError, match="fixed in advance"):
        PrivacyFilter(PLDAccountant, epsilon=1.0, delta=1e-6)


def test_missing_extra_is_named(monkeypatch):
    """Without dp-accounting, the first use names the line to type."""
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingExtra, match=r"tacit-rec\[accounting\]"):
        PLDAccountant()


def test_distributions_of_little_noise_are_used():
    """At a rho of 20 the distribution is still looked at: below the zCDP price and the pure one."""
    spent = [made().add(Laplace(0.7), 30) for made in (PLDAccountant, ZCDPAccountant)]
    table, zcdp = (accountant.epsilon(1e-6) for accountant in spent)
    assert table < 0.99 * min(zcdp, 30 / 0.7)


def discrete(sigma, steps):
    return pld.from_discrete_gaussian_mechanism(
        sigma, steps, truncation_bound=math.ceil(12 * sigma) + steps, use_connect_dots=True
    )


@pytest.mark.parametrize(
    ("event", "times", "peer"),
    [
        (Laplace(2.0), 3, pld.from_laplace_mechanism(2.0)),
        (RandomizedResponse(2, 0.75), 30, pld.from_randomized_response(0.5, 2)),
        (RandomizedResponse(5, 0.6), 30, pld.from_randomized_response(0.5, 5)),
        (DiscreteGaussian(1.0, 1), 2, discrete(1.0, 1)),
        (DiscreteGaussian(0.125, 16), 1, discrete(2.0, 16)),
    ],
    ids=["laplace", "two answers", "five answers", "discrete", "little noise"],
)
def test_the_library_says_the_same(event, times, peer):
    """With one part in 10,000 of delta set aside, in the epsilon and in the delta."""
    made, table = PLDAccountant().add(event, times), peer.self_compose(times)
    for delta in (1e-6, 1e-3):
        expected = table.get_epsilon_for_delta(delta * 0.9999)
        assert made.epsilon(delta) == pytest.approx(expected, rel=1e-6)
        assert made.delta(expected) == pytest.approx(delta, rel=1e-5)


@pytest.mark.parametrize("times", [1, 7])
def test_a_tree_is_its_levels_of_laplace_noise(times):
    """One release a level, each charged as the worst of its pure epsilon."""
    table = pld.from_privacy_parameters(DifferentialPrivacyParameters(0.25, 0.0))
    expected = table.self_compose(3 * times).get_epsilon_for_delta(0.9999e-3)
    found = PLDAccountant().add(Tree(3, 4.0), times).epsilon(1e-3)
    assert found == pytest.approx(expected, rel=1e-6)


@pytest.fixture
def tables(monkeypatch):
    """Which events a table was asked for."""
    asked = []

    def note(event, times):
        asked.append((event, times))
        return pld.identity()

    monkeypatch.setattr("tacit.accounting.pld._loss_distribution", note)
    return asked


@pytest.mark.parametrize(
    ("event", "times", "built"),
    [
        (Gaussian(1.0), 100, True),
        (Gaussian(1.0), 101, False),
        (DiscreteGaussian(1.0, 1 << 14), 1, True),
        (DiscreteGaussian(0.25, 1 << 16), 1, True),
        (DiscreteGaussian(1.0, (1 << 14) + 1), 1, False),
        (DiscreteGaussian(4.0, 1 << 13), 1, False),
        (DiscreteGaussian(9.0), 1, False),
        (PostProcessing(), 1, False),
        (RandomizedResponse(4, 0.25), 1, False),
        (Laplace(1e9), 1, True),
        (NonPrivate(), 1, False),
    ],
    ids=repr,
)
def test_what_a_table_is_built_for(tables, event, times, built):
    """Up to a rho of 50 and up to 2^14 steps; not for what costs nothing."""
    PLDAccountant().add(event, times).epsilon(1e-6)
    assert tables == [(event, times)] * built


def test_the_table_of_a_discrete_gaussian_reaches_far_enough(monkeypatch):
    """What lies beyond it has a chance below 1e-29 under either neighbour."""
    asked, build = [], pld.from_discrete_gaussian_mechanism

    def note(sigma, sensitivity, **options):
        asked.append((sigma, sensitivity, options["truncation_bound"]))
        return build(sigma, sensitivity, **options)

    monkeypatch.setattr(pld, "from_discrete_gaussian_mechanism", note)
    for noise, steps in ((1.0, 1), (0.125, 16), (3.0, 7)):
        PLDAccountant().add(DiscreteGaussian(noise, steps)).epsilon(1e-6)
    for sigma, steps, reach in asked:
        weights = [math.exp(-k * k / (2 * sigma**2)) for k in range(1, 40 * reach)]
        beyond = math.fsum(weights[reach - steps :]) / (0.5 + math.fsum(weights))
        assert 1e-40 < beyond < 1e-29
    assert len(asked) == 3


@pytest.mark.parametrize("gaussian", [False, True])
def test_two_trees_are_twice_the_levels(gaussian):
    """Each life of a tree is paid for."""
    small, large = (Tree(levels, 8.0, gaussian=gaussian) for levels in (2, 4))
    twice = PLDAccountant().add(repeat(small, 2)).epsilon(1e-3)
    assert twice == pytest.approx(PLDAccountant().add(large).epsilon(1e-3), rel=1e-6)
    assert twice > 0.25
