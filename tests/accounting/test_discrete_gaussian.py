"""Discrete Gaussian noise is never priced below what it costs."""

from __future__ import annotations

import math
from statistics import NormalDist

import pytest

from tacit.accounting import (
    DiscreteGaussian,
    DiscreteGaussianVector,
    Gaussian,
    GDPAccountant,
    ZCDPAccountant,
    compose,
    repeat,
)
from tacit.accounting.pld import PLDAccountant

RELEASES = [(0.5, 1), (1.0, 1), (2.0, 1), (0.7, 5), (3.0, 7)]
EPSILONS = (0.0, 1.0, 4.37)


def masses(noise, steps):
    """The chances of the noise, by its value."""
    sigma = noise * steps
    reach = math.ceil(40 * sigma) + steps
    weights = {k: math.exp(-k * k / (2 * sigma**2)) for k in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    return {k: weight / whole for k, weight in weights.items()}


def exact_delta(noise, steps, epsilon):
    """The sum over all outputs of what one input gives above e^epsilon times the other."""
    chances = masses(noise, steps)
    grown = math.exp(epsilon)
    return math.fsum(
        max(0.0, chance - grown * chances.get(k - steps, 0.0)) for k, chance in chances.items()
    )


def exact_delta_of_two(noise, steps, epsilon):
    """The same of two releases: a sum over pairs of outputs."""
    chances = masses(noise, steps)
    both = [(p, chances.get(k - steps, 0.0)) for k, p in chances.items() if p > 1e-25]
    grown = math.exp(epsilon)
    return math.fsum(max(0.0, p * a - grown * q * b) for p, q in both for a, b in both)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(("noise", "steps"), RELEASES)
def test_never_below_the_exact_sum(noise, steps, epsilon):
    """Both accountants' delta is at or above the exact one; the distribution's nearly meets it."""
    exact = exact_delta(noise, steps, epsilon)
    event = DiscreteGaussian(noise, steps)
    found = PLDAccountant().add(event).delta(epsilon)
    assert exact <= found <= max(exact * 1.001, 1.001e-10)
    assert exact <= ZCDPAccountant().add(event).delta(epsilon)


@pytest.mark.parametrize("delta", [1e-2, 1e-8])
@pytest.mark.parametrize(("noise", "steps"), RELEASES)
def test_epsilon_is_enough(noise, steps, delta):
    """At the epsilon it finds for a delta, the exact delta is not above that."""
    found = PLDAccountant().add(DiscreteGaussian(noise, steps)).epsilon(delta)
    assert exact_delta(noise, steps, found) <= delta


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 5.0])
def test_two_releases_are_not_below_the_exact_sum(epsilon):
    """Composed twice, neither accountant's delta is below the sum over all pairs of outputs."""
    exact = exact_delta_of_two(1.0, 1, epsilon)
    event = DiscreteGaussian(1.0, 1)
    assert exact <= PLDAccountant().add(event, 2).delta(epsilon) <= exact * 1.002
    assert exact <= ZCDPAccountant().add(event, 2).delta(epsilon)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_smaller_change_costs_no_more(epsilon):
    """The largest shift is the worst: so one pair of neighbours stands for all."""
    chances = masses(1.0, 6)
    grown = math.exp(epsilon)
    deltas = [
        math.fsum(max(0.0, p - grown * chances.get(k - shift, 0.0)) for k, p in chances.items())
        for shift in range(7)
    ]
    assert deltas == sorted(deltas)


@pytest.mark.parametrize(
    ("noise", "least", "most"), [(0.5, 4.45, 4.5), (1.0, 2.14, 2.15), (2.0, 1.348, 1.35)]
)
def test_the_continuous_price_would_be_below(noise, least, most):
    """For one step, the continuous curve is lower by up to this factor: the documented 4.5, 2.15
    and 1.35, wherever its delta is 1e-9 or more."""
    normal = NormalDist().cdf
    half = 1 / (2 * noise)
    ratios = []
    for epsilon in (number / 500 for number in range(1, 7000)):
        # Balle, Wang (2018)
        shifted = normal(half - epsilon * noise), normal(-half - epsilon * noise)
        continuous = shifted[0] - math.exp(epsilon) * shifted[1]
        if continuous > 1e-9:
            ratios.append(exact_delta(noise, 1, epsilon) / continuous)
    assert least < max(ratios) < most


@pytest.mark.parametrize(
    "event",
    [DiscreteGaussian(1.0), DiscreteGaussian(1.0, 1 << 15), DiscreteGaussianVector(1.0, 50.0, 9)],
)
def test_without_a_distribution_other_accountants_decide(event):
    """Several entries, or a very fine grid: what GDP says, which is what zCDP says where nobody
    knows the grid; alone and beside other events."""
    for every in (event, compose(event, repeat(Gaussian(9.0), 3))):
        found = PLDAccountant().add(every).epsilon(1e-6)
        assert found == GDPAccountant().add(every).epsilon(1e-6)
        same = found == ZCDPAccountant().add(every).epsilon(1e-6)
        assert same == (event == DiscreteGaussian(1.0))
