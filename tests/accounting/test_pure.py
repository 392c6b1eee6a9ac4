"""Prices in pure epsilon, and what they add up to."""

from __future__ import annotations

import math

import mpmath
import pytest

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
    compose,
)
from tacit.errors import PrivacyError


def epsilon(event):
    return PureAccountant().add(event).epsilon()


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (RandomizedResponse(2, 0.75), math.log(3)),
        (RandomizedResponse(2, 0.25), math.log(3)),
        (RandomizedResponse(5, math.e / (math.e + 4)), 1.0),
        (RandomizedResponse(4, 0.25), 0.0),
        (Laplace(4.0), 0.25),
        (DiscreteLaplace(0.5), 2.0),
        (Exponential(0.7), 0.7),
        (Exponential(0.7, permute_and_flip=True), 0.7),
        (TopK(10, 0.1), 1.0),
        (Tree(5, 10.0), 0.5),
        (Gate(0.3), 0.3),
    ],
)
def test_prices(event, expected):
    """Each event costs what its theorem says."""
    assert epsilon(event) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("truth", [0.0, 1.0])
def test_answer_without_chance_is_no_protection(truth):
    """Always the truth, and never the truth, have no epsilon."""
    assert epsilon(RandomizedResponse(2, truth)) == math.inf


@pytest.mark.parametrize("claimed", [0.1, 1.0, 3.0])
def test_tree_over_two_inputs_has_two_levels(claimed):
    """At T = 2 an input touches a leaf and the root: noise for log2(T) = 1 level costs double."""
    levels = math.floor(math.log2(2)) + 1
    assert epsilon(Tree(levels, 2 / claimed)) == pytest.approx(claimed)
    assert epsilon(Tree(1, 2 / claimed)) == pytest.approx(claimed / 2)
    assert epsilon(Tree(levels, 1 / claimed)) == pytest.approx(2 * claimed)


@pytest.mark.parametrize("event", [Gaussian(100.0), Tree(2, 100.0, gaussian=True)])
def test_gaussian_noise_is_refused_in_words(event):
    """No amount of Gaussian noise has a pure epsilon, and the way out is named."""
    made = PureAccountant()
    with pytest.raises(PrivacyError, match=r"no pure epsilon.*zCDP accountant.*Nothing was added"):
        made.add(compose(Laplace(1.0), event))
    assert made.epsilon() == 0


def test_sum_of_tenths():
    """Ten releases at 0.1 cost 1, not 0.9999999999999999."""
    assert PureAccountant().add(Laplace(10.0), 10).epsilon() == 1.0


@pytest.mark.parametrize("delta", [1e-6, 0.1, 0.4])
def test_delta_of_randomized_response(delta):
    """With a delta, the price is exactly that of randomized response, the worst of its epsilon."""
    truth = 0.8
    made = PureAccountant().add(RandomizedResponse(2, truth))
    found = made.epsilon(delta)
    assert truth - math.exp(found) * (1 - truth) == pytest.approx(delta)
    assert made.delta(found) == pytest.approx(delta)


def test_huge_counts_are_infinite():
    """A count beyond all floats overflows to infinity, not to an error; free events stay free."""
    assert PureAccountant().add(Laplace(1.0), 10**400).epsilon() == math.inf
    assert PureAccountant().add(RandomizedResponse(2, 0.5), 10**400).epsilon() == 0


def test_hardly_ever_the_truth():
    """With the least chance that a float has, a truth is told so rarely that e^epsilon is none."""
    least = 1074 * math.log(2)
    assert epsilon(RandomizedResponse(2, 5e-324)) == pytest.approx(least)
    assert epsilon(RandomizedResponse(2, 3 * 5e-324)) == pytest.approx(least - math.log(3))


@pytest.mark.parametrize("total", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("delta", [1e-9, 0.25, 0.26, 0.6])
def test_what_a_delta_leaves_is_rounded_up(total, delta):
    """For randomized response ln(e^eps - delta (1 + e^eps)): never below it, and hardly above."""
    found = PureAccountant().add(Laplace(1 / total)).epsilon(delta)
    with mpmath.workdps(50):
        spent = mpmath.mpf(1) / mpmath.mpf(1 / total)
        left = mpmath.exp(spent) - mpmath.mpf(delta) * (1 + mpmath.exp(spent))
        exact = mpmath.log(left) if left > 1 else mpmath.mpf(0)
        assert exact <= found <= exact + spent * mpmath.mpf(2) ** -40


@pytest.mark.parametrize("left", [0.01, 0.5])
@pytest.mark.parametrize("total", [5.0, 7.0, 9.0])
def test_little_that_a_delta_leaves_is_rounded_up(total, left):
    """Where delta takes nearly all: ln(1 - x) with x next to 1, not below the exact one."""
    delta = (math.exp(total) - math.exp(left)) / (1 + math.exp(total))
    found = PureAccountant().add(Gate(total)).epsilon(delta)
    with mpmath.workdps(50):
        grown = mpmath.exp(total)
        exact = mpmath.log(grown - mpmath.mpf(delta) * (1 + grown))
        assert exact <= found <= exact + grown * mpmath.mpf(2) ** -45


def test_the_end_of_what_a_delta_leaves():
    """Where nothing is left, to the last bit, epsilon is 0 and no error; nor is it one beyond."""
    for delta in (0.5 * (1 + 2.0**-48), 0.6, 1.0):
        assert PureAccountant().epsilon(delta) == 0
        assert PureAccountant().add(Gate(1e-9)).epsilon(min(1.0, delta * 1.01)) == 0
