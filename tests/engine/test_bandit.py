"""The compiled bandit makes the choices of the readable policy, one by one and in batches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data.clicks import contexts
from tacit.designs.pdap.control import Adaptive, Alone, Scaled, Setting, UniformCells
from tacit.designs.pdap.model import compiled
from tacit.designs.pdap.published import Cap, Dap
from tacit.engine.bandit import PHASES, CompiledDap, Rules
from tacit.errors import ConfigError, DataError

SETTINGS = st.builds(
    Setting,
    videos=st.integers(1, 4),
    neighbours=st.integers(0, 3),
    dimension=st.sampled_from([1, 2, 3, 17, 40]),
    horizon=st.sampled_from([2, 50, 10**6]),
    slices=st.sampled_from([2, 3, 4]),
    smoothness=st.sampled_from([0.5, 0.3, 1.0]),
    growth=st.sampled_from([None, 0.5, 1.0]),
    split_after=st.sampled_from([None, 1.0, 12.0, 60.0]),
    training=st.sampled_from(["sound", "printed"]),
    inherit=st.booleans(),
    deepest=st.sampled_from([0, 3, 10]),
    most_cells=st.sampled_from([None, 1, 2, 7, 100]),
)
"""From cells that split at once to cells that never do, and bounds that forget all the time."""
streams = given(
    setting=SETTINGS,
    seed=st.integers(0, 2**32),
    noise=st.sampled_from([0.0, 30.0]),
    clicks=st.booleans(),
)
some = settings(max_examples=40, deadline=None)


def stream(setting, seed, clicks, count=400):
    """Contexts in crowds with some on the edges, and what each arm would bring."""
    generator = np.random.default_rng(seed)
    where = contexts(count, setting.dimension, seed=seed, groups=3)
    where[generator.random(count) < 0.1] = 1.0
    outcomes = generator.random((count, setting.videos + setting.neighbours))
    if clicks:  # many ties
        outcomes = np.round(outcomes * 0.8)
    return where, outcomes


def played(policy, where, outcomes):
    """Arms and phases of the readable policy."""
    choices = []
    for context, brings in zip(where, outcomes, strict=True):
        choice = policy.select(context)
        policy.update(choice, float(brings[choice.arm]))
        choices.append((choice.arm, choice.phase))
    return choices


def small(**changes):
    return compiled(
        Setting(**({"videos": 3, "neighbours": 1, "dimension": 2, "horizon": 50} | changes))
    )


@streams
@some
def test_a_batch_makes_the_readable_policys_choices(setting, seed, noise, clicks):
    """Arms, phases and the number of cells are the same, whatever the setting."""
    where, outcomes = stream(setting, seed, clicks)
    controls = Adaptive(setting, noise=noise)
    policy, bandit = Dap(setting, controls), compiled(setting, controls)
    expected = played(policy, where, outcomes)
    found = bandit.play(where, outcomes)
    phases = [PHASES[phase] for phase in found.phases]
    assert list(zip(found.arms.tolist(), phases, strict=True)) == expected
    assert len(bandit) == len(policy.partition)


@streams
@some
def test_one_at_a_time_equals_a_batch(setting, seed, noise, clicks):
    """`select` with `update`, and `step`, choose as `play` does."""
    where, outcomes = stream(setting, seed, clicks, count=200)
    controls = Adaptive(setting, noise=noise)
    batch, single, fused = (compiled(setting, controls) for _ in range(3))
    expected = batch.play(where, outcomes)
    reward = math.nan
    for row, context in enumerate(where):
        arm = fused.select(context) if row == 0 else fused.step(reward, context)
        assert single.select(context) == arm == expected.arms[row]
        assert single.phase == fused.phase == PHASES[expected.phases[row]]
        reward = float(outcomes[row, arm])
        assert reward == expected.rewards[row]
        single.update(reward)


@streams
@some
def test_a_replayed_log_teaches_where_the_arms_agree(setting, seed, noise, clicks):
    """Rows whose logged arm is another change nothing, as an update that never comes."""
    where, outcomes = stream(setting, seed, clicks)
    controls = Adaptive(setting, noise=noise)
    logged = np.random.default_rng(seed).integers(0, outcomes.shape[1], len(where))
    rewards = outcomes[np.arange(len(where)), logged]
    found = compiled(setting, controls).replay(where, logged, rewards)
    policy = Dap(setting, controls)
    for row, context in enumerate(where):
        choice = policy.select(context)
        assert (choice.arm, choice.phase) == (found.arms[row], PHASES[found.phases[row]])
        if choice.arm == logged[row]:
            policy.update(choice, float(rewards[row]))
            assert found.rewards[row] == rewards[row]
        else:
            assert math.isnan(found.rewards[row])


def test_alone_is_cap():
    """Without neighbours and with ln t, the choices are those of CAP."""
    setting = Setting(videos=4, neighbours=2, dimension=2, horizon=3000, split_after=30, growth=1)
    where, outcomes = stream(setting, 5, True, count=3000)
    bandit = compiled(setting, Alone(setting), alone=True)
    found = bandit.play(where, outcomes[:, :4])
    assert found.arms.tolist() == [arm for arm, _ in played(Cap(setting), where, outcomes)]


def test_scaled_control_functions():
    """A tenth of the exploration: the same choices as the readable policy with it."""
    setting = Setting(videos=4, neighbours=2, dimension=2, horizon=3000, split_after=30, growth=1)
    scaled = Scaled(Adaptive(setting), 0.1)
    where, outcomes = stream(setting, 6, True, count=3000)
    found = compiled(setting, scaled).play(where, outcomes)
    assert found.arms.tolist() == [arm for arm, _ in played(Dap(setting, scaled), where, outcomes)]
    plain = compiled(setting).play(where, outcomes)
    assert (found.phases == 2).sum() > 2 * (plain.phases == 2).sum()


@pytest.mark.parametrize("by", [0.0, -1.0, math.inf, math.nan])
def test_a_scale_is_above_zero(by):
    """Nothing explored, or everything for ever, is refused."""
    with pytest.raises(ConfigError):
        Scaled(Adaptive(Setting(videos=1, neighbours=0, dimension=1, horizon=2)), by)


def test_every_phase_and_a_deep_tree_are_met():
    """A long stream explores, trains and exploits, over several doublings of the room."""
    setting = Setting(
        videos=3, neighbours=2, dimension=3, horizon=20_000, smoothness=0.1, growth=0.5,
        split_after=300,
    )  # fmt: skip
    where, outcomes = stream(setting, 8, True, count=20_000)
    policy, bandit = Dap(setting), compiled(setting)
    found = bandit.play(where, outcomes)
    assert found.arms.tolist() == [arm for arm, _ in played(policy, where, outcomes)]
    assert min(np.bincount(found.phases, minlength=3)) > 1000
    assert len(bandit) == len(policy.partition) > 64


def test_batches_one_after_another_are_one_batch():
    """Where a stream is cut changes nothing."""
    setting = Setting(videos=3, neighbours=1, dimension=3, horizon=900, split_after=10, growth=1)
    where, outcomes = stream(setting, 2, False, count=900)
    whole = compiled(setting).play(where, outcomes).arms
    bandit = compiled(setting)
    parts = [bandit.play(where[n : n + 300], outcomes[n : n + 300]).arms for n in (0, 300, 600)]
    assert (np.concatenate(parts) == whole).all()
    assert bandit.arrivals == 900


@pytest.mark.parametrize("dimension", [2, 10_000])
def test_a_bound_on_cells_bounds_the_memory(dimension):
    """Once the bound is reached the memory stays as it is, and the oldest cell is forgotten."""
    bandit = compiled(
        Setting(
            videos=2, neighbours=0, dimension=dimension, horizon=1000, split_after=1, growth=0.01,
            most_cells=100,
        )
    )  # fmt: skip
    where, outcomes = np.random.default_rng(0).random((300, dimension)), np.ones((300, 2))
    bandit.play(where, outcomes)
    assert len(bandit) == 100
    full = bandit.nbytes
    bandit.play(1 - where, outcomes)
    assert (len(bandit), bandit.nbytes) == (100, full)
    assert full <= 100 * (56 + 8 * 3 * 2 + 4 * 8) + 8 * 3 * dimension + 3000


def test_contexts_of_other_types_are_taken():
    """A list, float32, a row that is not contiguous, and one that is read-only."""
    frozen = np.array([0.25, 0.5])
    frozen.setflags(write=False)
    wide = np.array([[0.25, 9.0, 0.5]])
    for context in ([0.25, 0.5], np.array([0.25, 0.5], np.float32), wide[0, ::2], frozen):
        bandit = small()
        assert bandit.select(context) == 0
        assert bandit.select(context) == bandit.select(np.array([0.25, 0.5]))
        assert bandit.step(1, context) == 1


@pytest.mark.parametrize(
    "context", [[0.1, 0.2, 0.3], [0.1], [[0.1, 0.2]], [0.1, 1.01], [-0.1, 0], [math.nan, 0], "ab"]
)
def test_a_bad_context_is_refused_and_nothing_learned(context):
    """By `select`, `step` and `play`; the choice that was waiting still waits."""
    bandit = small()
    bandit.select(np.array([0.1, 0.2]))
    with pytest.raises(DataError):
        bandit.select(context)
    with pytest.raises(DataError):
        bandit.step(1.0, context)
    assert bandit.arrivals == 0
    bandit.update(1.0)
    assert bandit.arrivals == 1
    with pytest.raises(DataError):
        bandit.play([context], np.ones((1, 4)))


@pytest.mark.parametrize("reward", [-0.1, 1.1, math.nan, math.inf])
def test_a_bad_reward_is_refused_and_nothing_learned(reward):
    """Of an own video, by `update`, `step`, `play` and `replay`."""
    bandit, context = small(), np.array([0.1, 0.2])
    bandit.select(context)
    with pytest.raises(DataError, match="reward"):
        bandit.update(reward)
    with pytest.raises(DataError, match="reward"):
        bandit.step(reward, context)
    rewards = np.ones((2, 4))
    rewards[1, 2] = reward
    with pytest.raises(DataError, match="reward"):
        bandit.play(np.zeros((2, 2)), rewards)
    with pytest.raises(DataError, match="reward"):
        bandit.replay(np.zeros((2, 2)), [0, 2], rewards[:, 2])
    assert bandit.arrivals == 0


def test_a_neighbours_reward_may_be_noised():
    """It lies anywhere but must be finite; it is not learned in training."""
    bandit = compiled(Setting(videos=1, neighbours=1, dimension=1, horizon=2), alone=False)
    outcomes = np.array([[1.0, -40.0]] * 30)
    assert (bandit.play(np.zeros((30, 1)), outcomes).arms == 1).any()
    outcomes[3, 1] = math.inf
    with pytest.raises(DataError, match="reward"):
        bandit.play(np.zeros((30, 1)), outcomes)


def test_a_reward_without_a_choice_is_refused():
    """Before the first choice, twice for one choice, and after a batch."""
    bandit, context = small(), np.zeros(2)
    for prepare in (
        lambda: None,
        lambda: (bandit.select(context), bandit.update(1.0)),
        lambda: (bandit.select(context), bandit.play(np.zeros((1, 2)), np.ones((1, 4)))),
    ):
        prepare()
        with pytest.raises(ConfigError, match="select"):
            bandit.update(1.0)
        with pytest.raises(ConfigError, match="select"):
            bandit.step(1.0, context)


@pytest.mark.parametrize(
    ("arms", "rewards"),
    [([0], [1.0, 1.0]), ([0, 4], [1.0, 1.0]), ([0, -1], [1.0, 1.0]), ([0.0, 1.0], [1.0, 1.0])],
)
def test_a_log_that_does_not_fit_is_refused(arms, rewards):
    """Another length, an arm that is none, arms that are no whole numbers."""
    with pytest.raises(DataError, match="log"):
        small().replay(np.zeros((2, 2)), arms, rewards)


def test_shapes_of_a_batch_are_checked():
    """Contexts by rows, and one outcome for each arm."""
    with pytest.raises(DataError, match="contexts"):
        small().play(np.zeros((2, 3)), np.ones((2, 4)))
    with pytest.raises(DataError, match="outcomes"):
        small().play(np.zeros((2, 2)), np.ones((2, 3)))


def test_control_functions_of_another_form_are_refused():
    """DUP's grow as a power of t, which the kernel cannot say."""
    setting = Setting(videos=3, neighbours=1, dimension=2, horizon=50)
    with pytest.raises(ConfigError, match="ln t"):
        compiled(setting, UniformCells(setting))


@pytest.mark.parametrize(
    "change",
    [
        {"dimension": 0},
        {"own": 0},
        {"slices": 1},
        {"most_cells": 0},
        {"split_after": np.ones(60), "tried": np.ones((60, 2))},
        {"tried": np.ones((3, 2))},
    ],
)
def test_rules_without_meaning_are_refused(change):
    """No features, no arms, one slice, no cells, more slices than a float tells apart, a level
    without a control function."""
    two = np.ones((2, 2))
    rules = {
        "dimension": 1, "own": 1, "neighbours": 0, "slices": 2, "split_after": np.ones(2),
        "tried": two, "trained": two, "heard": two,
    }  # fmt: skip
    with pytest.raises(ConfigError):
        CompiledDap(Rules(**(rules | change)))
