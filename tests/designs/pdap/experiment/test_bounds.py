"""The paper's bounds beside what was measured: every option reaches them."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import randomness
from tacit.designs.pdap import theory
from tacit.designs.pdap.experiment.bounds import check_bounds, draw_loss
from tacit.designs.pdap.experiment.run import simulate
from tacit.designs.pdap.experiment.visitors import generate_clicks, generate_contexts
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.policies.p_dap import PDap
from tacit.designs.pdap.regret_bounds import regret_bound, regret_bound_as_printed

WORLD = World(vendors=3, videos=2, dimensions=1, arrivals=200, lipschitz=0.5, gamma=8.0)


def bounds(world=WORLD, policies=(("dap", math.inf), ("p-dap", 0.1), ("gp-dap", 0.1))):
    rows, levels = [], {}
    for name, epsilon in policies:
        result = simulate(world, name, epsilon, 0)
        rows += result.rows
        levels[name, epsilon, 0] = result.level_regrets
    return check_bounds(world, rows, levels)


def one(found, item, policy, level=None, words=""):
    (bound,) = [
        bound
        for bound in found
        if (bound.item, bound.policy) == (item, policy)
        and (level is None or bound.level == level)
        and words in bound.quantity
    ]
    return bound


def test_every_numbered_bound_is_there():
    """Theorems 1 to 3 and 6, Lemmas 1 and 3 to 7 and Corollary 2, of the private policy."""
    found = {bound.item for bound in bounds()}
    assert found == {
        *("Theorem 1", "Theorem 2", "Theorem 3", "Theorem 6", "Corollary 2"),
        *("Lemma 1", "Lemma 3", "Lemma 4", "Lemma 5", "Lemma 6", "Lemma 7"),
    }


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"lipschitz": 2.0},
        {"videos": 3},
        {"vendors": 2},
        {"dimensions": 2},
        {"arrivals": 90},
        {"gamma": 40.0},
        {"gamma": None},
    ],
)
def test_each_option_reaches_the_bound(change):
    """Theorem 3 is that of the world's own setting, epsilon and Gamma, for all three policies."""
    world = replace(WORLD, **change)
    found = bounds(world)
    gamma = world.gamma_at(0.1)
    visits = world.arrivals
    for policy, epsilon, noise, geometric in (
        ("dap", math.inf, 0.0, False),
        ("p-dap", 0.1, gamma, False),
        ("gp-dap", 0.1, gamma, True),
    ):
        bound = one(found, "Theorem 3", policy)
        assert bound.corrected == regret_bound(
            world.setting, visits, epsilon=epsilon, gamma=noise, geometric=geometric
        )
        assert bound.printed == regret_bound_as_printed(
            world.setting, visits, epsilon=epsilon, gamma=noise
        )


@pytest.mark.parametrize(("vendors", "has_lemma_4"), [(1, False), (2, True), (3, True)])
def test_lemma_4_needs_a_neighbour(vendors, has_lemma_4):
    found = {bound.item for bound in bounds(replace(WORLD, vendors=vendors))}
    assert ("Lemma 4" in found) == has_lemma_4


def test_the_corrected_bounds_hold():
    """What was measured is below every corrected bound but Theorem 6's, which is of two bounds."""
    found = [bound for bound in bounds() if bound.item != "Theorem 6"]
    assert found
    assert all(bound.measured <= bound.corrected for bound in found)


def test_lemma_3_is_refuted_by_exact_draws():
    """At epsilon .01 the draw is next to uniform: T times the mean gap, beyond ln K + ln T."""
    world = replace(WORLD, arrivals=5000, vendors=1)
    bound = one(bounds(world, (("p-dap", 0.01),)), "Lemma 3", "p-dap")
    means = (
        generate_clicks(world, seed=0).means(0.5 + 0 * generate_contexts(world, 1, 0))[0].tolist()
    )
    gap = max(means) - min(means)
    uniform = 5000 * gap / 2
    assert bound.measured == pytest.approx(uniform, rel=0.02)
    assert bound.printed == pytest.approx(2 * 0.5 / 0.01 * (math.log(2) + math.log(5000)))
    assert bound.corrected == pytest.approx(5000 * 2 * 0.5 / 0.01 * (math.log(2) + 1))


def test_theorem_2_is_refuted_where_an_arm_is_suboptimal():
    """Means 1 and 0 in a cell so small that the gap of 1 is above B m^(-alpha l)."""
    world = replace(WORLD, arrivals=200_000, lipschitz=0.01)
    # No run of so many visits: the bound does not depend on what was measured in one.
    short = replace(WORLD, arrivals=10)
    result = simulate(short, "p-dap", 0.001, 0)
    found = check_bounds(world, result.rows, {("p-dap", 0.001, 0): result.level_regrets})
    bound = one(found, "Theorem 2", "p-dap")
    gap = theory.suboptimal_gap(0.01, 1, 1)
    assert gap / 2**bound.level < 1 <= gap / 2 ** (bound.level - 1)
    assert bound.verdict == "refuted"
    assert bound.printed < bound.measured < bound.corrected


def test_theorem_1_holds_and_is_nearly_reached():
    """At epsilon 2 and L = .25: one best video and one as far below as e^-t allows."""
    world = replace(WORLD, lipschitz=0.25)
    bound = one(bounds(world, (("p-dap", 2.0),)), "Theorem 1", "p-dap")
    assert bound.verdict == "holds"
    assert 0.4 * bound.printed < bound.measured <= bound.printed
    assert bound.printed == bound.corrected < 1


def test_a_draws_loss_is_that_of_its_weights():
    """Two videos of means 1 and 0 at epsilon / (2 Delta u) = ln 3: lost with a chance of 1/4."""
    setting = replace(WORLD, lipschitz=1.0).setting
    policy = PDap(setting, epsilon=2 * math.log(3), randomness=randomness.secure(), gamma=0.0)
    lost, parts = draw_loss(policy, 0, [1.0, 0.0])
    assert lost == pytest.approx(0.25, rel=1e-3)
    assert parts == [0.0, lost]


def test_lemma_3_is_of_the_whole_cube_and_the_first_world():
    """T draws by the means in the middle of world 0, beside the bounds at the spread of level 0."""
    world = replace(WORLD, dimensions=2, lipschitz=1.5)
    bound = one(bounds(world, (("p-dap", 0.5),)), "Lemma 3", "p-dap")
    s = world.setting
    spread = theory.spread(s.lipschitz, s.slices, s.smoothness, 0)
    assert bound.printed == theory.draw_regret_as_printed(spread, 0.5, 2, 200)
    assert bound.corrected == theory.draw_regret(spread, 0.5, 2, 200)
    means = generate_clicks(world, seed=0).means(np.full((1, 2), 0.5))[0, :2].tolist()
    policy = PDap(s, epsilon=0.5, randomness=randomness.secure(), gamma=0.0)
    assert bound.measured == pytest.approx(200 * draw_loss(policy, 0, means)[0])


def test_theorem_2_is_of_all_visits_of_its_cell():
    """As many draws as a cell of the level has before it splits, A m^(p l), at most T."""
    world = replace(WORLD, arrivals=200_000, lipschitz=0.01)
    short = simulate(replace(WORLD, arrivals=10), "p-dap", 0.001, 0)
    found = check_bounds(world, short.rows, {("p-dap", 0.001, 0): short.level_regrets})
    bound = one(found, "Theorem 2", "p-dap")
    s = world.setting
    draws = min(s.horizon, s.first_split * s.slices ** (s.p * bound.level))
    assert f"in {draws:,.0f} draws" in bound.quantity
    policy = PDap(s, epsilon=0.001, randomness=randomness.secure(), gamma=0.0)
    assert bound.measured == pytest.approx(draws * draw_loss(policy, bound.level, [1.0, 0.0])[0])


def test_bounds_are_of_the_end_of_the_training():
    """What was measured is the regret of all visits, not of the first checkpoint."""
    result = simulate(WORLD, "dap", math.inf, 0)
    ended = [row for row in result.rows if row.arrivals == 200]
    found = check_bounds(WORLD, result.rows, {("dap", math.inf, 0): result.level_regrets})
    assert one(found, "Theorem 3", "dap").measured == ended[0].regret
    assert ended[0].regret > result.rows[0].regret


def test_theorem_6_is_refuted_by_what_it_saves():
    """More is said to be saved than P-DAP loses at all."""
    found = bounds()
    bound = one(found, "Theorem 6", "gp-dap")
    assert bound.verdict == "refuted"
    assert bound.printed > one(found, "Theorem 3", "p-dap").measured
    assert bound.corrected == pytest.approx(
        one(found, "Theorem 3", "p-dap").corrected - one(found, "Theorem 3", "gp-dap").corrected
    )


def test_corollary_2_is_of_uniform_contexts():
    """In clusters it says nothing, and is left out."""
    clustered = bounds(replace(WORLD, groups=2), (("dap", math.inf),))
    assert "Corollary 2" not in {bound.item for bound in clustered}


def test_lemma_5_states_the_chance_at_which_it_holds():
    """Gamma is the noise that a total does not exceed with a chance of 1 - sigma = .95."""
    bound = one(bounds(policies=(("p-dap", 0.1),)), "Lemma 5", "p-dap")
    assert bound.quantity.endswith("with a chance of 0.95")
