"""Discrete Gaussian noise: exact sums, near the continuous formula where the grid is fine."""

import math

import numpy as np
import pytest

from tacit.accounting.events import Gaussian
from tacit.accounting.zcdp import ZCDPAccountant
from tacit.auditing import gaussian
from tacit.errors import ConfigError


def directly(step, sigma, epsilon):
    """delta by its definition: how much of P lies above e^epsilon Q."""
    k = np.arange(-60, 61)
    p, q = (np.exp(-((k - centre) ** 2) / (2 * sigma**2)) for centre in (0, step))
    return float(np.maximum(p / p.sum() - math.exp(epsilon) * q / q.sum(), 0).sum())


@pytest.mark.parametrize(("step", "sigma"), [(1, 0.5), (1, 1.0), (2, 3.0), (-3, 2.0)])
@pytest.mark.parametrize("delta", [1e-2, 1e-5, 1e-8])
def test_epsilon_fits_the_definition_of_delta(step, sigma, delta):
    """One noise, few steps: at the epsilon found, P - e^epsilon Q adds up to delta."""
    epsilon = gaussian.discrete_epsilon_of([step], [sigma], delta)
    assert directly(step, sigma, epsilon) == pytest.approx(delta, rel=1e-6)


def test_epsilon_of_two_noises_fits_the_definition():
    """The same of two noises drawn apart, by all pairs of steps."""
    k = np.arange(-40, 41)
    epsilon = gaussian.discrete_epsilon_of([1, 2], [2.0, 2.0], 1e-5)

    def both(*centres):
        one, other = (np.exp(-((k - centre) ** 2) / 8.0) for centre in centres)
        return np.outer(one / one.sum(), other / other.sum())

    over = np.maximum(both(0, 0) - math.exp(epsilon) * both(1, 2), 0).sum()
    assert over == pytest.approx(1e-5, rel=1e-6)


@pytest.mark.parametrize("sigma", [32.0, 256.0])
def test_fine_grids_are_continuous(sigma):
    """From sigma 32 on, the continuous formula is right to a ten-thousandth."""
    fine = gaussian.discrete_epsilon_of([int(sigma)], [sigma], 1e-5)
    assert fine == pytest.approx(gaussian.epsilon_of_mu(1.0, 1e-5), rel=1e-4)


def test_coarse_grids_are_not():
    """At sigma 1 and one step the discrete noise loses 1 % more than the formula says."""
    coarse = gaussian.discrete_epsilon_of([1], [1.0], 1e-5)
    assert coarse > 1.01 * gaussian.epsilon_of_mu(1.0, 1e-5)
    assert coarse <= ZCDPAccountant().add(Gaussian(1.0)).epsilon(1e-5)


def test_two_noises_add_up():
    """Two noises that move by one step are one that moves by one at sigma / sqrt(2), nearly."""
    both = gaussian.discrete_epsilon_of([40, 40], [64.0, 64.0], 1e-5)
    assert both == pytest.approx(gaussian.epsilon_of_mu(40 * math.sqrt(2) / 64, 1e-5), rel=1e-4)


def test_noises_with_different_sigmas():
    """Half the variance off the diagonal counts twice."""
    found = gaussian.discrete_epsilon_of([25, 25, 25], [64.0, 64.0, 64.0 / math.sqrt(2)], 1e-5)
    assert found == pytest.approx(gaussian.epsilon_of_mu(50 / 64, 1e-5), rel=1e-4)


def test_nothing_moves():
    """Equal inputs lose nothing."""
    assert gaussian.discrete_epsilon_of([0, 0], [1.0, 1.0], 1e-5) == 0


@pytest.mark.parametrize(
    ("steps", "sigmas", "delta", "said"),
    [
        ([1], [1.0], 0.0, "delta"),
        ([1, 1], [1.0, math.pi], 1e-5, "simple ratio"),
        ([10**6, 10**6 + 1], [1e3, 1e3], 1e-5, "too many steps"),
    ],
)
def test_what_cannot_be_summed_is_refused(steps, sigmas, delta, said):
    """No delta, sigmas in no simple ratio and a sum that is too long."""
    with pytest.raises(ConfigError, match=said):
        gaussian.discrete_epsilon_of(steps, sigmas, delta)


def test_tails_of_one_noise():
    """With its centre moved by 2 the noise reaches k as often as k - 2 without."""
    halfway, moved, still = gaussian.tails([2], [1.5])
    middle = len(still) // 2
    assert halfway[middle] == pytest.approx(-0.5 * 2 / 1.5**2)
    assert moved[2:] == pytest.approx(still[:-2])
    at_zero = gaussian.gaussian_masses(1.5)[1].max()
    assert still[middle] == pytest.approx(0.5 + at_zero / 2)


@pytest.mark.parametrize("steps", [[1, 1, 1], [3, -2, 0], [-1, 2, 2]])
def test_tails_of_several_noises(steps):
    """Both inputs' chances of the weighted sum, as summed over all noises one by one."""
    sigmas = [1.2, 1.2, 1.2]
    noises, chances = gaussian.gaussian_masses(1.2)
    kept = chances > 1e-12
    noises, chances = noises[kept], chances[kept]
    sums = np.add.outer(np.add.outer(steps[0] * noises, steps[1] * noises), steps[2] * noises)
    likely = np.multiply.outer(np.multiply.outer(chances, chances), chances)
    _, moved, still = gaussian.tails(steps, sigmas)
    middle, far = len(still) // 2, sum(step**2 for step in steps)
    for threshold in (-3, 0, 5):
        assert still[middle + threshold] == pytest.approx(likely[sums >= threshold].sum())
        assert moved[middle + threshold] == pytest.approx(likely[sums + far >= threshold].sum())
