"""A discrete Gaussian is a continuous one, rounded at random: the lemma, and prices made of it."""

from __future__ import annotations

import functools
import itertools
import math
from decimal import Decimal, localcontext

import pytest
from dp_accounting.pld import privacy_loss_distribution as library

from tacit.accounting import (
    DiscreteGaussian,
    DiscreteGaussianVector,
    GDPAccountant,
    compose,
)
from tacit.accounting.gdp import DELTA_PER_ENTRY, ROUNDING

FINE = 100  # points of an integral, per step


def discrete(sigma, reach, centre=0.0):
    """Chances of the integers up to `reach` around a centre, by value."""
    weights = {k: math.exp(-((k - centre) ** 2) / (2 * sigma**2)) for k in range(-reach, reach + 1)}
    whole = math.fsum(weights.values())
    return {k: weight / whole for k, weight in weights.items()}


def rounded(sigma, rounding, reach):
    """Chances of a continuous Gaussian of variance sigma^2 - rounding^2, rounded to an integer by
    a discrete Gaussian around it: an integral, by equal steps."""
    left = math.sqrt(sigma**2 - rounding**2)
    chances = dict.fromkeys(range(-reach, reach + 1), 0.0)
    for point in range(-reach * FINE, reach * FINE + 1):
        u = point / FINE
        density = math.exp(-(u**2) / (2 * left**2)) / (left * math.sqrt(2 * math.pi))
        for k, chance in discrete(rounding, reach, u).items():
            chances[k] += density * chance / FINE
    return chances


def eta(rounding):
    """How far a sum of a Gaussian over the integers can lie from its integral, relatively."""
    return 2 * math.fsum(math.exp(-2 * (math.pi * rounding * j) ** 2) for j in range(1, 20))


def worst_ratio(sigma, rounding):
    reach = math.ceil(4 * sigma + 9 * rounding)
    exact, made = discrete(sigma, 2 * reach), rounded(sigma, rounding, reach)
    inside = range(-2 * math.ceil(sigma), 2 * math.ceil(sigma) + 1)
    return max(abs(math.log(made[k] / exact[k])) for k in inside)


@pytest.mark.parametrize(("sigma", "rounding"), [(0.6, 0.4), (0.8, 0.5), (1.5, 0.5), (1.0, 0.7)])
def test_rounded_noise_is_discrete_noise(sigma, rounding):
    """Every chance of the one is within (1 + eta) / (1 - eta) of the other's. Rounding so narrow
    that the difference shows."""
    found = worst_ratio(sigma, rounding)
    assert 1e-9 < found <= 2 * math.atanh(eta(rounding))


def test_wide_rounding_leaves_no_difference():
    """With the rounding that is used, floats show none."""
    assert worst_ratio(4.0, ROUNDING) < 1e-12


@pytest.mark.parametrize("shift", [0.0, 0.25, 0.5])
@pytest.mark.parametrize("rounding", [0.4, 0.6, 1.0])
def test_sums_are_near_their_integral(rounding, shift):
    """Poisson's formula: wherever its centre is, the sum is within eta of the integral."""
    total = math.fsum(math.exp(-((k - shift) ** 2) / (2 * rounding**2)) for k in range(-40, 41))
    assert (
        abs(total / (rounding * math.sqrt(2 * math.pi)) - 1) <= eta(rounding) * (1 + 1e-9) + 1e-15
    )


def test_what_is_charged_for_an_entry():
    """The constant is 4 ln((1 + eta) / (1 - eta)) or more, and nearly that."""
    with localcontext(prec=120):
        pi = Decimal("3.14159265358979323846264338327950288")
        q = (-2 * (pi * ROUNDING) ** 2).exp()
        bound = 2 * q / (1 - q**3)
        needed = 4 * ((1 + bound) / (1 - bound)).ln()
        assert Decimal("0.9") * Decimal(DELTA_PER_ENTRY) < needed <= Decimal(DELTA_PER_ENTRY)


def exact_delta(sigmas, moves, epsilon):
    """The sum over all vectors of what one input gives above e^epsilon times the other."""
    sides = []
    for sigma, move in zip(sigmas, moves, strict=True):
        chances = discrete(sigma, math.ceil(9 * sigma) + move)
        sides.append([(p, chances.get(k - move, 0.0)) for k, p in chances.items() if p > 1e-14])
    grown = math.exp(epsilon)
    return math.fsum(
        max(0.0, math.prod(p for p, _ in pairs) - grown * math.prod(q for _, q in pairs))
        for pairs in itertools.product(*sides)
    )


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
@pytest.mark.parametrize(
    ("sigmas", "moves"), [((7.0,), (7,)), ((5.0, 5.0), (3, 4)), ((4.0, 9.0), (3, 3))]
)
def test_vectors_are_not_below_the_exact_sum(sigmas, moves, epsilon):
    """One entry, and two that share the distance, of equal scales and of unequal ones."""
    distance = math.hypot(*(move / sigma for sigma, move in zip(sigmas, moves, strict=True)))
    event = DiscreteGaussianVector(1 / distance, min(sigmas), len(sigmas))
    exact, found = exact_delta(sigmas, moves, epsilon), GDPAccountant().add(event).delta(epsilon)
    # What the exact sum leaves out is 1e-12 at most.
    assert exact <= found <= 4 * exact + 1e-9


@pytest.mark.parametrize("scale", [1.0, 3.0])
def test_near_the_loss_distribution_of_discrete_noise(scale):
    """Four discrete Gaussians of a hundred steps and more, composed by dp-accounting: epsilon is
    not below its lower bound, and at most half a per cent above its upper one."""
    noises = [scale * noise for noise in (2.0, 3.0, 4.0, 2.5)]
    steps = 64
    bounds = []
    for pessimistic in (False, True):
        losses = [
            library.from_discrete_gaussian_mechanism(
                noise * steps,
                steps,
                truncation_bound=math.ceil(12 * noise * steps),
                pessimistic_estimate=pessimistic,
                use_connect_dots=pessimistic,
            )
            for noise in noises
        ]
        bounds.append(functools.reduce(lambda one, other: one.compose(other), losses))
    every = compose(*(DiscreteGaussian(noise, steps) for noise in noises))
    for delta in (1e-3, 1e-6, 1e-9):
        least, most = (bound.get_epsilon_for_delta(delta) for bound in bounds)
        assert least <= GDPAccountant().add(every).epsilon(delta) <= 1.005 * most
