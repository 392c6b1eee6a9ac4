"""The closed formulas, on the numbers they are known by."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.auditing.exact_losses import exponential_loss
from tacit.designs.pdap import theory
from tacit.errors import ConfigError


@pytest.mark.parametrize(
    ("videos", "level", "nats"),
    [(2, 3, 0.4), (2, 5, 1.6), (2, 7, 6.4), (1000, 3, 0.799), (1000, 5, 3.195), (1000, 7, 12.33)],
)
def test_one_draw_as_printed(videos, level, nats):
    """epsilon' = 0.1, L = 1, m = 2, alpha = 1: means that swap between two cells of this level."""
    a = theory.draw_exponent(0.1, 1, 2, 1, level)
    assert theory.selection_loss(a, videos) == pytest.approx(nats, abs=5e-3)


@pytest.mark.parametrize(("videos", "nats"), [(2, 0.5), (10, 0.897), (1000, 0.999)])
def test_one_draw_with_a_spread_of_one(videos, nats):
    """At epsilon 1 and Delta u = 1 the exact loss comes near 1 as videos grow."""
    assert theory.selection_loss(0.5, videos) == pytest.approx(nats, abs=5e-4)


@given(st.floats(0.01, 20), st.integers(2, 500))
def test_draw_is_the_auditors(epsilon, videos):
    """The formula is the auditor's closed form of the exponential mechanism, and at most 2 a."""
    found = theory.selection_loss(epsilon / 2, videos)
    assert found == pytest.approx(exponential_loss(epsilon, videos))
    assert found <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(
    ("rounds", "times"), [(2, 2.0), (4, 1.5), (8, 1.333), (1024, 1.10), (200_000, 1.022)]
)
def test_tree_with_too_few_levels(rounds, times):
    """Noise for log2 T levels: the loss of one reward is that many times the claim."""
    assert theory.tree_loss(rounds, math.log2(rounds)) == pytest.approx(times, abs=5e-4)


@given(st.integers(1, 10**6), st.floats(0.01, 10))
def test_tree_with_all_levels(rounds, epsilon):
    """floor(log2 T) + 1 levels keep the claim for every T."""
    scale = theory.noise_scale("tree", rounds, 4, 20, epsilon)
    assert theory.tree_loss(rounds, scale) == pytest.approx(epsilon)


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 7, 8, 1024])
def test_levels_are_the_nodes_above_a_reward(rounds):
    """The most dyadic blocks of 1..T that hold one reward and are closed by T."""
    most = max(
        sum((step >> level << level) + (1 << level) <= rounds for level in range(12))
        for step in range(rounds)
    )
    assert theory.levels(rounds) == most


@pytest.mark.parametrize(("epsilon", "wrong"), [(0.01, 0.4975), (0.1, 0.475), (1.0, 0.269)])
def test_private_in_the_context_is_wrong_often(epsilon, wrong):
    """1 / (1 + e^epsilon) of the choices."""
    assert theory.least_error(epsilon) == pytest.approx(wrong, abs=5e-4)


@pytest.mark.parametrize(
    ("rounds", "first", "growth", "level", "epsilon", "together"),
    [(2e5, 1, 3, 7, 1.28, 164), (2e5, 10, 2, 9, 5.12, 2621), (1e7, 1, 2, 13, 81.92, 671089)],
)
def test_gp_dap_has_no_bound(rounds, first, growth, level, epsilon, together):
    """epsilon_0 = 0.01: what is spent in the finest cells, and with Delta u of that level."""
    assert theory.deepest_level(rounds, first, growth, 2) == level
    assert theory.epsilon_at(0.01, 2, 1, level, geometric=True) == pytest.approx(epsilon)
    assert 2 * theory.draw_exponent(epsilon, 1, 2, 1, level) == pytest.approx(together, rel=1e-3)


@pytest.mark.parametrize(("level", "draws", "exact"), [(0, 10, 1.328), (3, 6, 8.60)])
def test_one_past_reward(level, draws, exact):
    """epsilon 0.5, each of two videos explored once: far above the claim."""
    width = theory.spread(1, 2, 1, level)
    assert theory.past_reward_loss(0.5, width, draws) == pytest.approx(exact, abs=5e-3)


def test_one_past_reward_by_enumeration():
    """Every sequence of three draws and three rewards, multiplied out, has no larger log ratio."""
    epsilon, draws = 0.5, 3
    a = epsilon / 2

    def chance(first: int, second: int, arms: tuple[int, ...], rewards: tuple[int, ...]) -> float:
        sums, counts, found = [first, second], [1, 1], 1.0
        for arm, reward in zip(arms, rewards, strict=True):
            weights = [math.exp(a * sums[k] / counts[k]) for k in range(2)]
            found *= weights[arm] / sum(weights)
            sums[arm] += reward
            counts[arm] += 1
        return found

    bits = tuple(product((0, 1), repeat=draws))
    largest = max(
        abs(math.log(chance(1, second, arms, rewards) / chance(0, second, arms, rewards)))
        for second, arms, rewards in product((0, 1), bits, bits)
    )
    assert theory.past_reward_loss(epsilon, 1.0, draws) == pytest.approx(largest)


def test_control_functions():
    """G1 and G2 at level 2, m = 2, alpha = 1, ln T = 10, K = 20, Gamma = 100."""
    assert theory.exploration(2, 1, 2, 10) == theory.exploration(2, 2, 1, 10) == 160
    assert theory.neighbour_exploration(2, 1, 2, 10, 100) == 160 + 100


def test_gamma_by_hand():
    """Lemma 5 with M = 3, T = 8: 2 * 9 * ln(2 * 8 * 3 / .5) / epsilon; nothing at epsilon = inf."""
    assert theory.gamma(8, 3, 0.5, 0.5) == pytest.approx(36 * math.log(96))
    assert theory.gamma(4, 3, math.inf, 0.5) == 0
    assert theory.gamma(4, 1, 0.5, 0.5) == 0


def test_deepest_level_is_never_passed():
    """All contexts in one point: cells of level l take A m^(p l), and no level is above l_max."""
    for rounds, first, growth in ((1000, 3, 1.0), (5000, 1, 2.0), (20_000, 10, 3.0)):
        level, left = 0, float(rounds)
        while left > first * 2 ** (growth * level):
            left -= first * 2 ** (growth * level)
            level += 1
        assert level <= theory.deepest_level(rounds, first, growth, 2)


def test_cells_that_may_exist():
    """A = 10, p = 1, m = 2, d = 1: level 1 after 10 visits; level 2 after 20 in one cell."""
    assert theory.most_cells(9, 10, 1, 2, 1) == [1, 0]
    assert theory.most_cells(10, 10, 1, 2, 1) == [1, 2]
    assert theory.most_cells(40, 10, 1, 2, 1) == [1, 2, 4, 2]
    assert theory.most_cells(1000, 10, 1, 2, 1)[:6] == [1, 2, 4, 8, 16, 12]
    assert theory.most_cells(20, 10, 1, 2, 3) == [1, 8, 8]


def test_theorem_1_by_hand():
    """Delta u = 1/2, epsilon = 2, eight arms of which two are best, t = 3: (ln 4 + 3) / 2."""
    assert theory.draw_shortfall(0.5, 2, 8, 2, 3) == pytest.approx(2.193147, abs=1e-6)


@given(st.floats(0.05, 20), st.integers(2, 200), st.floats(0, 5))
def test_theorem_1_holds(epsilon, arms, t):
    """All arms but one at the shortfall or below: the exact chance to draw one is at most e^-t."""
    shortfall = theory.draw_shortfall(0.5, epsilon, arms, 1, t)
    rest = (arms - 1) * math.exp(-epsilon * shortfall / (2 * 0.5))
    assert rest / (1 + rest) <= math.exp(-t)


def test_lemma_1_by_hand():
    """m = 2, alpha = 1, level 2, ln T = 10: 160 + pi^2 / 3."""
    assert theory.suboptimal_regret(2, 1, 2, 10) == pytest.approx(163.289868, abs=1e-6)


def test_lemma_3_by_hand():
    """Delta u = 1/4, epsilon = 1/2, K = 10, T = 100: ln 1000 as printed, 100 (ln 10 + 1) corrected;
    nothing without noise."""
    assert theory.draw_regret_as_printed(0.25, 0.5, 10, 100) == pytest.approx(6.907755, abs=1e-6)
    assert theory.draw_regret(0.25, 0.5, 10, 100) == pytest.approx(330.258509, abs=1e-6)
    assert theory.draw_regret_as_printed(0.25, math.inf, 10, 100) == 0
    assert theory.draw_regret(0.25, math.inf, 10, 100) == 0


@given(st.floats(0.01, 10), st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_lemma_3_corrected_holds(epsilon, means):
    """The exact expected loss of a draw, whatever the means are, is at most the bound."""
    weights = [math.exp(epsilon * (mean - max(means)) / 2) for mean in means]
    lost = sum(w * (max(means) - mean) for w, mean in zip(weights, means, strict=True))
    assert lost / sum(weights) <= theory.draw_regret(1.0, epsilon, len(means), 1) + 1e-12


@pytest.mark.parametrize(
    ("version", "regret"),
    [("statement", 88.926567), ("proof", 573.347779), ("theorem 3", 234.038279)],
)
def test_lemma_4_by_hand(version, regret):
    """m = 2, alpha = 1, level 1, T = 100, K = 3, Gamma = 64: 8 ln 100, 32 or 32 ln 64 visits for
    the noise, and the chances of wrong estimates of each version."""
    found = theory.neighbour_regret_as_printed(version, 2, 1, 1, 100, 3, 64)
    assert found == pytest.approx(regret, abs=1e-4)


def test_lemma_4_corrected_by_hand():
    """The same, with (K + 1) 4 ln 100 visits and pi^2 / 3 for each video; Gamma counts once."""
    assert theory.neighbour_regret(2, 1, 1, 100, 3, 64) == pytest.approx(115.552329, abs=1e-4)
    without = theory.neighbour_regret(2, 1, 1, 100, 3, 0)
    assert theory.neighbour_regret(2, 1, 1, 100, 3, 64) - without == pytest.approx(32)


def test_lemma_4_of_a_thousand_videos_is_no_number():
    """e^1000 is infinite, as printed; corrected it is not. A version that there is not is said."""
    assert theory.neighbour_regret_as_printed("theorem 3", 2, 1, 0, 100, 1000, 0) == math.inf
    assert theory.neighbour_regret(2, 1, 0, 100, 1000, 0) < 1e5
    with pytest.raises(ConfigError, match="statement, proof or theorem 3"):
        theory.neighbour_regret_as_printed("lemma", 2, 1, 0, 100, 3, 0)


def test_lemma_4_with_little_noise_as_the_proof_has_it():
    """Gamma = 1/2, whose logarithm is below 0: 1/4 ln(1/2) visits for the noise, 0 without it."""
    found = [theory.neighbour_regret_as_printed("proof", 2, 1, 1, 100, 3, g) for g in (0.5, 0)]
    assert found[0] - found[1] == pytest.approx(0.25 * math.log(0.5))


def test_alpha_2_by_hand():
    """d = 9, alpha = 2, L = 1: B = 2 * 9 + 4. Theorem 6 with d = 5, so x = 16^(1/8) 2, has
    (16^2 * 2^2 - 1) (2 * 3 ln 160 / epsilon x + Gamma x^3)."""
    assert theory.suboptimal_gap(1, 9, 2) == pytest.approx(22)
    x = 2 * 2**0.5
    found = theory.geometric_saving_as_printed(replace(CUBE, al=2, d=5))
    assert found == pytest.approx(1023 * (12 * LOG * x + 8 * x**3), rel=1e-6)


def test_lemma_6_by_hand():
    """A = 10, L = 1, d = 4, alpha = 1: B = 8; p = 3, m = 2: 80 in the cube, 16 times it at 2."""
    assert theory.suboptimal_gap(1, 4, 1) == 8
    assert theory.near_optimal_regret(10, 8, 3, 2, 1, 0) == 80
    assert theory.near_optimal_regret(10, 8, 3, 2, 1, 2) == 80 * 16


CUBE = theory.UniformWorld(T=160, A=10, p=3, m=2, al=1, d=1, K=3, M=3, L=0.5, epsilon=0.5, Gamma=8)
"""T, A, p, m, alpha, d: (T / A)^(1 / (d + p)) m is 4."""
LOG = 5.075174
"""ln 160"""


def test_corollary_2_by_hand():
    """K = M = 3, L = epsilon = 1/2, Gamma = 8, so B = 5: each term as printed."""
    expected = (
        64 * LOG * 5
        + 16 * 10 * 5
        + 64 * 2
        + 4 * 3.289868 * (3 + 2 * 20.085537)
        + 6 * (1.098612 + LOG)
        + 3.289868 * 2 * 20.085537 * LOG
    )
    found = theory.uniform_regret_as_printed(CUBE)
    assert found == pytest.approx(expected, rel=1e-6)


def test_corollary_2_corrected_by_hand():
    """The same world: 4^n over 1 - 2^-n for each exponent n, and ln 3 + 1 for each draw."""
    expected = (
        64 / 0.875 * LOG * (3 + 2 * 4)
        + 64 / 0.875 * 10 * (5 + 2 * 2.098612)
        + 16 / 0.75 * 2 * 8 / 4
        + 4 / 0.5 * 3.289868 * (3 + 2 * 3)
    )
    found = theory.uniform_regret(CUBE)
    assert found == pytest.approx(expected, rel=1e-6)


def test_theorem_6_by_hand():
    """(16 * 2 - 1) (2 * 3 ln 160 / epsilon / 4 + Gamma) with epsilon = 1/2 and Gamma = 8."""
    found = theory.geometric_saving_as_printed(CUBE)
    assert found == pytest.approx(31 * (3 * LOG + 8), rel=1e-6)


@given(st.integers(10**6, 10**12))
def test_theorem_6_saves_more_than_there_is(rounds):
    """With alpha = 1, d = 2 and p = 3, what is saved is beyond T itself, which no regret can be."""
    world = replace(CUBE, T=rounds, d=2, K=5, epsilon=0.01, Gamma=0)
    saving = theory.geometric_saving_as_printed(world)
    assert saving > rounds


def test_noise_scales_by_hand():
    """T = 8, so four levels; five vendors, so four neighbours; K = 3; epsilon = 1/2. A vendor
    alone counts as one with a neighbour."""
    expected = {"tree": 8, "theorem 5": 32, "lemma 5": 24, "text": 18, "line 9": 2}
    found = {name: theory.noise_scale(name, 8, 5, 3, 0.5) for name in expected}
    assert found == expected
    assert theory.noise_scale("theorem 5", 8, 1, 3, 0.5) == 8
    assert theory.noise_scale("theorem 5", 8, 2, 3, 0.5) == 8


def test_corollary_2_of_one_vendor_has_no_term_of_neighbours():
    """Also where e^K is beyond floats."""
    alone = replace(CUBE, M=1, K=1000)
    assert math.isfinite(theory.uniform_regret_as_printed(alone))
    one_video = replace(CUBE, M=1, K=1, Gamma=0)
    expected = 64 * LOG + 16 * 10 * 5 + 4 * 3.289868 + 2 * LOG
    assert theory.uniform_regret_as_printed(one_video) == pytest.approx(expected, rel=1e-6)
    two_vendors = replace(one_video, M=2)
    expected += 64 * LOG + (4 + LOG) * 3.289868 * math.e
    assert theory.uniform_regret_as_printed(two_vendors) == pytest.approx(expected, rel=1e-6)
