"""Theorem 3 of a setting, every term by hand; T = 1,000, A = 10, p = 3, K = 5, three neighbours.

There are 1, 4, 16 and 4 cells on four levels, and the cells of the first two take 10 and 320 of the
visits.
"""

from __future__ import annotations

import math

import pytest

from tacit.designs.pdap import theory
from tacit.designs.pdap.regret_bounds import (
    own_video_regret,
    own_video_regret_as_printed,
    regret_bound,
    regret_bound_as_printed,
)
from tacit.designs.pdap.settings import Setting

SETTING = Setting(videos=5, neighbours=3, dimension=2, horizon=1000, split_after=10)
CELLS = (1, 4, 16, 4)
LOGS, WRONG, GAP = math.log(1000), math.pi**2 / 3, 2 * math.sqrt(2) + 4
DRAW = 2 * (math.log(5) + 1)
"""Loss of a draw at epsilon 1 and Delta u 1."""


def without_noise(gamma=0.0, geometric=False):
    total = 0.0
    for level, cells in enumerate(CELLS):
        noise = gamma / 4 * (1 if geometric else 2**level)
        own = 4**level * LOGS + WRONG
        neighbour = 6 * 4**level * LOGS + noise + WRONG * 5
        total += cells * (5 * own + 3 * neighbour + 10 * GAP * 4**level)
    return total


def test_daps_bound():
    """Own videos, neighbours that are trained K times as long as they are explored, near-optimal
    arms."""
    assert regret_bound(SETTING, 1000) == pytest.approx(without_noise(), rel=1e-12)


def test_p_daps_bound_is_a_function_of_epsilon():
    """Draws lose 2 Delta u / epsilon (ln K + 1) each: 10 of them at level 0, 320 at level 1 where
    Delta u is half, the rest at level 2."""
    draws = 10 + 320 / 2 + 670 / 4
    for epsilon in (0.01, 0.1, 1.0):
        expected = without_noise(gamma=100) + DRAW * draws / epsilon
        found = regret_bound(SETTING, 1000, epsilon=epsilon, gamma=100)
        assert found == pytest.approx(expected, rel=1e-12)


def test_gp_daps_bound_has_less_noise_in_deep_cells():
    """Epsilon grows and Gamma shrinks by 2 a level."""
    draws = 10 + 320 / 4 + 670 / 16
    expected = without_noise(gamma=100, geometric=True) + DRAW * draws / 0.1
    found = regret_bound(SETTING, 1000, epsilon=0.1, gamma=100, geometric=True)
    assert found == pytest.approx(expected, rel=1e-12)


def test_the_printed_bound():
    """Lemma 3's term with ln T, e^K, and a training that is not K times as long."""
    total = 0.0
    for level, cells in enumerate(CELLS):
        own = 4**level * LOGS + WRONG + 2 / 2**level / 0.1 * (math.log(5) + LOGS)
        neighbour = 2 * 4**level * LOGS + 25 * 2**level
        neighbour += WRONG * math.exp(5) * (1 + 5 / 2**level)
        total += cells * (5 * own + 3 * neighbour + 10 * GAP * 4**level)
    found = regret_bound_as_printed(SETTING, 1000, epsilon=0.1, gamma=100)
    assert found == pytest.approx(total, rel=1e-12)


def test_theorem_2():
    """Lemma 1 plus ln K + ln T as printed, plus one loss for each draw corrected; level 1."""
    inherent = 4 * LOGS + WRONG
    printed = own_video_regret_as_printed(SETTING, 1, 1000, 0.1)
    assert printed == pytest.approx(inherent + 10 * (math.log(5) + LOGS))
    corrected = own_video_regret(SETTING, 1, 1000, 0.1)
    assert corrected == pytest.approx(inherent + 1000 * 10 * (math.log(5) + 1))


@pytest.mark.parametrize("visits", [300, 5_000, 200_000])
def test_corollary_2_is_above_the_sum_over_a_full_tree(visits):
    """Corrected, it bounds what Theorem 3 sums to where every cell down to l_max is there."""
    s = Setting(videos=3, neighbours=2, dimension=2, horizon=visits, split_after=10)
    deepest = math.ceil(math.log2(visits / 10) / 5 + 1) - 1
    gap = theory.suboptimal_gap(1, 2, 1)
    total = 0.0
    for level in range(deepest + 1):
        own = theory.suboptimal_regret(2, 1, level, math.log(visits))
        neighbour = theory.neighbour_regret(2, 1, level, visits, 3, 50)
        near = theory.near_optimal_regret(10, gap, 3, 2, 1, level)
        draws = theory.draw_regret(2.0**-level, 0.1, 3, 10 * 8**level)
        total += 4**level * (3 * own + 2 * neighbour + near + draws)
    world = theory.UniformWorld(
        T=visits, A=s.first_split, p=s.p, m=2, al=1, d=2, K=3, M=3, L=1, epsilon=0.1, Gamma=50
    )
    found = theory.uniform_regret(world)
    assert total <= found
