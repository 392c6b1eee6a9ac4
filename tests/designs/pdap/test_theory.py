"""The closed formulas, on the numbers they are known by."""

from __future__ import annotations

import math
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.auditing.bench import exponential_worst
from tacit.designs.pdap import theory


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
    assert found == pytest.approx(exponential_worst(epsilon, videos))
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
    assert theory.geometric_epsilon(0.01, rounds, first, growth, 2, 1) == pytest.approx(epsilon)
    assert 2 * theory.draw_exponent(epsilon, 1, 2, 1, level) == pytest.approx(together, rel=1e-3)


@pytest.mark.parametrize(
    ("level", "draws", "exact", "bound"), [(0, 10, 1.328, 2.5), (3, 6, 8.60, 12)]
)
def test_one_past_reward(level, draws, exact, bound):
    """epsilon 0.5, each of two videos explored once: far above the claim, within the bound."""
    width = theory.spread(1, 2, 1, level)
    assert theory.past_reward_loss(0.5, width, draws) == pytest.approx(exact, abs=5e-3)
    assert theory.past_reward_bound(0.5, width, draws) == pytest.approx(bound)


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
    """G1, G3 as printed and G2 at level 2, m = 2, alpha = 1, ln T = 10, K = 20, Gamma = 100."""
    assert theory.exploration(2, 1, 2, 10) == theory.exploration(2, 2, 1, 10) == 160
    assert theory.training(2, 1, 2, 10, 20) == 8
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


@pytest.mark.parametrize(("d", "power"), [(1, 3 / 4), (2, 4 / 5), (4, 6 / 7)])
def test_order_of_the_regret(d, power):
    """With p = 3 alpha, T^((d + 2 alpha) / (d + 3 alpha)); no other p is better."""
    assert theory.regret_exponent(d) == pytest.approx(power)
    assert all(theory.regret_exponent(d, p=p / 10) >= power - 1e-12 for p in range(5, 100))


def test_corollary_2_by_hand():
    """T = A: every term is its constant. d = 1, m = 2, p = 3, K = 2, M = 2, L = 1."""
    logs = math.log(8)
    expected = (
        8 * logs * 4 + 8 * 8 * 6 + 4 * 10 / 4 + 2 * math.pi**2 / 3 * 4 + 4 * (math.log(2) + logs)
    )
    found = theory.corollary_2(8, A=8, K=2, M=2, d=1, epsilon=1.0, Gamma=10)
    assert found == pytest.approx(expected)


def test_printed_corollary_says_nothing_for_a_thousand_videos():
    """e^1000 is beyond any float; with ln t visits to each video the bound is finite."""
    common = {"A": 2000, "K": 1000, "M": 4, "d": 2}
    assert theory.corollary_2(200_000, **common, printed=True) == math.inf
    assert theory.corollary_2(200_000, **common) < math.inf


def test_bounds_of_single_cells():
    """Theorem 2, Lemma 6 and the corrected Lemma 3 at level 1, alpha = 1, L = 1, m = 2."""
    assert theory.own_regret(100, 10, 1, 2, 1, 1, 0.5) == pytest.approx(
        4 * math.log(100) + math.pi**2 / 3 + 2 * math.log(1000)
    )
    assert theory.near_optimal(10, 1, 4, 2, 3, 1, 1) == 10 * 8 * 4
    assert theory.near_optimal(10, 3, 9, 2, 4, 2, 3) == 10 * (2 * 3 * 9 + 4) * 4**3
    assert theory.drawing_regret(10, 0.5, 0.5) == pytest.approx(2 * (math.log(10) + 1))


@given(st.lists(st.floats(0, 1), min_size=2, max_size=20), st.floats(0.05, 20), st.floats(0.05, 1))
def test_expected_loss_of_a_draw(means, epsilon, width):
    """The draw's mean is within (2 Delta u / epsilon)(ln K + 1) of the best."""
    best = max(means)
    weights = [math.exp(epsilon * (mean - best) / (2 * width)) for mean in means]
    drawn = sum(w * mean for w, mean in zip(weights, means, strict=True)) / sum(weights)
    assert best - drawn <= theory.drawing_regret(len(means), epsilon, width) + 1e-12


def test_regret_of_one_neighbour():
    """Lemma 4 at level 2, m = 2, alpha = 1: 32 ln T + Gamma + (pi^2 / 3) W; W is finite as long as
    a float of e^K is."""
    log = math.log(1000)
    known = 32 * log + 30
    assert theory.lemma_4(1000, 5, 2, 1, 2, 30.0) == pytest.approx(known + math.pi**2 / 3 * 5)
    late = math.pi**2 / 3 * math.exp(5) * (1 + log / 4)
    assert theory.lemma_4(1000, 5, 2, 1, 2, 30.0, printed=True) == pytest.approx(known + late)
    assert theory.lemma_4(1000, 705, 2, 1, 2, 0.0, printed=True) < math.inf
    assert theory.lemma_4(1000, 710, 2, 1, 2, 0.0, printed=True) == math.inf


def test_cells_that_may_exist():
    """A = 10, p = 1, m = 2, d = 1: level 1 after 10 visits; level 2 after 20 in one cell."""
    assert theory.most_cells(9, 10, 1, 2, 1) == [1, 0]
    assert theory.most_cells(10, 10, 1, 2, 1) == [1, 2]
    assert theory.most_cells(40, 10, 1, 2, 1) == [1, 2, 4, 2]
    assert theory.most_cells(1000, 10, 1, 2, 1)[:6] == [1, 2, 4, 8, 16, 12]
    assert theory.most_cells(20, 10, 1, 2, 3) == [1, 8, 8]


def test_theorem_3_of_one_level_is_the_sum_of_its_parts():
    """Before the first split there is one cell: K times Theorem 2, M - 1 times Lemma 4, Lemma 6."""
    setting = {"A": 1e6, "K": 5, "M": 4, "d": 2, "epsilon": 0.5, "Gamma": 7.0}
    parts = (
        5 * theory.own_regret(1000, 5, 1, 2, 1, 0, 0.5)
        + 3 * theory.lemma_4(1000, 5, 2, 1, 0, 7.0)
        + theory.near_optimal(1e6, 1, 2, 2, 3, 1, 0)
    )
    assert theory.theorem_3(1000, **setting) == pytest.approx(parts)
    assert theory.theorem_3(1000, **setting, geometric=True) == pytest.approx(parts)


@pytest.mark.parametrize("noise", [{}, {"epsilon": 0.5, "Gamma": 8.0}])
def test_theorem_3_by_hand(noise):
    """T = 1000, A = 10 and p = 3: 1, 4, 16 and 4 cells on four levels. Every term of each."""
    per_nat, delay = 1 / noise.get("epsilon", math.inf), noise.get("Gamma", 0.0)
    logs, start, width = math.log(1000), math.pi**2 / 3, 2 * math.sqrt(2) + 4
    expected = sum(
        cells
        * (
            5 * (4**level * logs + start + 2 / 2**level * per_nat * math.log(5000))
            + 3 * (2 * 4**level * logs + delay / 4 * 2**level + start * 5)
            + 10 * width * 4**level
        )
        for level, cells in enumerate([1, 4, 16, 4])
    )
    found = theory.theorem_3(1000, A=10, K=5, M=4, d=2, **noise)
    assert found == pytest.approx(expected, rel=1e-12)


def test_privacy_costs_regret_in_the_bound():
    """Theorem 3 without noise is the least; geometric noise lies between."""
    setting = {"A": 50, "K": 5, "M": 4, "d": 2}
    plain = theory.theorem_3(10_000, **setting)
    noisy = theory.theorem_3(10_000, **setting, epsilon=0.1, Gamma=100.0)
    geometric = theory.theorem_3(10_000, **setting, epsilon=0.1, Gamma=100.0, geometric=True)
    assert plain < geometric < noisy


def test_noise_scales_by_hand():
    """T = 8, so four levels; five vendors, so four neighbours; K = 3; epsilon = 1/2. A vendor
    alone counts as one with a neighbour."""
    expected = {"tree": 8, "theorem 5": 32, "lemma 5": 24, "text": 18, "line 9": 2}
    found = {name: theory.noise_scale(name, 8, 5, 3, 0.5) for name in expected}
    assert found == expected
    assert theory.noise_scale("theorem 5", 8, 1, 3, 0.5) == 8
    assert theory.noise_scale("theorem 5", 8, 2, 3, 0.5) == 8


def test_corollary_2_by_hand_after_some_splits():
    """T = 16 A, d = 1, m = 2, p = 3: (T / A)^(x / 4) m^x is 4^x. K = 2, M = 2, L = 1."""
    logs = math.log(128)
    late = math.pi**2 / 3 * math.exp(2) * logs

    def corollary(wrong, late):
        return (
            4**3 * logs * 4
            + 4**3 * 8 * 6
            + 4**2 * 10 / 4
            + 4 * math.pi**2 / 3 * (2 + wrong)
            + (4 * (math.log(2) + logs) + late)
        )

    setting = {"A": 8, "K": 2, "M": 2, "d": 1, "epsilon": 1.0, "Gamma": 10}
    assert theory.corollary_2(128, **setting) == pytest.approx(corollary(2, 0))
    printed = theory.corollary_2(128, **setting, printed=True)
    assert printed == pytest.approx(corollary(math.exp(2), late))


def test_regret_exponent_in_other_smoothness():
    """alpha = 2, d = 1: (1 + 4) / (1 + 6)."""
    assert theory.regret_exponent(1, 2) == pytest.approx(5 / 7)
    assert theory.regret_exponent(1, 2, 5) == pytest.approx(5 / 6)


@pytest.mark.parametrize("noise", [{}, {"epsilon": 0.5, "Gamma": 8.0}])
def test_corollary_2_term_by_term(noise):
    """T = 2^12 A, d = 9, m = 2, p = 3: (T / A)^(x / 12) m^x is 4^x. alpha = 2, L = 3, K = 5, M = 4,
    A = 8, so that B is 2 * 3 * 9 + 4."""
    per_nat, delay = 1 / noise.get("epsilon", math.inf), noise.get("Gamma", 0)
    logs = math.log(2**15)
    setting = {"A": 8, "K": 5, "M": 4, "d": 9, "al": 2, "L": 3, **noise}
    first = 4**13 * logs * 11 + 4**10 * 8 * 58 + 4**11 * 3 * delay / 4
    drawn = 4**7 * 2 * 5 * 3 * per_nat * (math.log(5) + logs)
    for printed, wrong, late in ((False, 5, 0), (True, math.exp(5), math.pi**2 * math.exp(5))):
        expected = first + drawn + 4**9 * math.pi**2 / 3 * (5 + 3 * wrong) + 4**7 * late * logs
        found = theory.corollary_2(2**15, **setting, printed=printed)
        assert found == pytest.approx(expected, rel=1e-12)
