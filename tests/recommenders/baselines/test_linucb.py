"""LinUCB: exact without privacy, and with it noise on public time, scaled for one visit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.accounting import ZCDPAccountant
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.mechanisms import samplers
from tacit.recommenders.baselines.linucb import GramTrees, LinUCB


def linucb(**changes) -> LinUCB:
    plain = {
        "videos": 3,
        "neighbours": 0,
        "dimension": 1,
        "horizon": 400,
        "epsilon": math.inf,
        "batch": 10,
    }
    return LinUCB(**{**plain, **changes})


def played(policy, visits, seed=0):
    """Regret of each of so many visits: arm a is worth (a + 1) / 5 + context / 5 (arm 0 only)."""
    generator = np.random.default_rng(seed)
    lost = []
    for _ in range(visits):
        context = generator.random(1)
        means = np.array([0.2 + 0.7 * context[0], 0.4, 0.5])
        choice = policy.select(context)
        policy.update(choice, float(generator.random() < means[choice.arm]))
        lost.append(means.max() - means[choice.arm])
    return np.array(lost)


def test_without_privacy_it_is_ridge_regression():
    """Weights are (X^T X + I)^-1 X^T y of each arm's visits, exactly, and no noise is drawn."""
    policy = linucb()
    generator = np.random.default_rng(1)
    seen = {arm: ([], []) for arm in range(3)}
    for _ in range(40):
        context = generator.random(1)
        choice = policy.select(context)
        reward = float(generator.random())
        policy.update(choice, reward)
        seen[choice.arm][0].append([1 / math.sqrt(2), context[0] / math.sqrt(2)])
        seen[choice.arm][1].append(reward)
    policy.until_release()
    for arm, (rows, rewards) in seen.items():
        x, y = np.array(rows).reshape(-1, 2), np.array(rewards)
        expected = np.linalg.solve(x.T @ x + np.eye(2), x.T @ y)
        assert np.allclose(policy.weights[arm], expected)


def test_it_learns_and_with_an_immense_epsilon_as_well():
    """Regret of the last half is below a third of that of the first visits. Any noise breaks ties,
    and one run of ten is slow then (.037): of three runs one at least is below."""
    for epsilon, tries in ((math.inf, 1), (1e4, 3)):
        assert any(
            played(linucb(epsilon=epsilon, horizon=3000), 3000)[1500:].mean() < 0.06
            for _ in range(tries)
        )


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 1), st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=15
    ),
    st.data(),
)
def test_one_visit_changes_each_block_by_two(stream, data):
    """One visit not learned: each block it is in changes by at most 2 in Frobenius norm, which is
    the sensitivity that the noise is scaled for, and it is in at most floor(log2 T) + 1."""
    gone = data.draw(st.integers(0, len(stream) - 1))
    totals = []
    for left_out in (None, gone):
        trees = GramTrees(2, 3, 4, math.inf, 0.0)
        after = [np.zeros((2, 3, 3))]
        for t, (arm, feature, reward) in enumerate(stream):
            row = np.array([[math.sqrt(1 - feature**2), feature, reward]])
            if t != left_out:
                trees.add(np.array([arm]), row)
            trees.release(t + 1)
            after.append(trees.released().copy())
        totals.append(after)
    changed = 0
    for level in range(4):
        for end in range(1 << level, len(stream) + 1, 1 << level):
            ours, theirs = (after[end] - after[end - (1 << level)] for after in totals)
            distance = np.linalg.norm(ours - theirs)
            assert distance <= 2 + 1e-12
            changed += distance > 1e-12
    assert changed <= 4


def test_a_visit_is_charged_for_every_level():
    """256 batches: 9 levels, within (epsilon, delta), and hardly anything is left over."""
    policy = linucb(epsilon=1.0, horizon=2560)
    assert policy.levels == 9
    charged = ZCDPAccountant().add(policy.event).epsilon(1e-6)
    assert 0.999 < charged <= 1.0
    ((block, levels),) = policy.event.events
    assert levels == 9
    assert policy.sums.deviation / 3 >= block.noise_multiplier * 2 * (1 - 1e-6)


def test_trees_step_on_public_time(monkeypatch):
    """A block's noise is drawn once, for all arms, visited or not; later totals share it."""
    drawn = []

    def count(values, sigma):
        drawn.append(values.size)
        return values + len(drawn)

    monkeypatch.setattr(samplers, "discrete_gaussian", count)
    trees = GramTrees(2, 3, 3, 1.0, 1e-6)
    trees.release(4)
    first, so_far = trees.released().copy(), len(drawn)
    trees.release(5)
    assert so_far == 2  # the diagonals of all arms, and the rest
    assert len(drawn) == 4
    assert (trees.released() > first).all()
    trees.release(5)
    assert len(drawn) == 4


def test_noise_is_symmetric_and_as_large_as_the_release_of_a_gram_matrix():
    """sigma on the diagonal and sigma / sqrt 2 off it, within six standard errors."""
    trees = GramTrees(4000, 3, 1, 1.0, 1e-6)
    trees.release(1)
    noise = trees.released()
    assert np.array_equal(noise, noise.transpose(0, 2, 1))
    for drawn, sigma in (
        (noise[:, 0, 0], trees.deviation),
        (noise[:, 0, 1], trees.deviation / math.sqrt(2)),
    ):
        assert abs(drawn.std() / sigma - 1) < 6 / math.sqrt(2 * 4000)


def test_after_the_horizon_nothing_is_learned():
    """Choices go on by what is known."""
    policy = linucb(horizon=50)
    played(policy, 50)
    before = policy.sums.exact.copy()
    played(policy, 30)
    assert np.array_equal(policy.sums.exact, before)
    with pytest.raises(PrivacyError, match="all its steps"):
        policy.sums.release(1 << policy.levels)


def test_arms_join_and_leave():
    """The next number; none that left; subsets are kept to."""
    policy = linucb()
    played(policy, 30)
    assert policy.add_arm(neighbour=True) == 3
    policy.remove_arm(2)
    assert (policy.n_own, policy.n_neighbours) == (2, 1)
    arms = {policy.select(np.array([x])).arm for x in np.linspace(0, 1, 30)}
    assert arms <= {0, 1, 3}
    assert policy.select(np.array([0.5]), [1]).arm == 1
    with pytest.raises(ConfigError):
        policy.select(np.array([0.5]), [2])


def test_more_answers_than_visits_are_refused():
    """A second answer to a visit would be charged again, also where another was never answered;
    one that takes its place is the same visit."""
    policy = linucb()
    here = np.array([0.5])
    choice, _ = policy.select(here), policy.select(here)
    policy.update(policy.settle(here, [0], instead=choice), 1.0)
    before = policy.sums.exact.copy()
    for answered in (choice, policy.settle(here, [1])):
        with pytest.raises(PrivacyError):
            policy.update(answered, 1.0)
    assert np.array_equal(policy.sums.exact, before)


def test_the_last_visit_of_the_horizon_is_learned():
    """The T-th visit is learned and read, the T + 1st is not learned."""
    policy = linucb(horizon=4, batch=2)
    for _ in range(5):
        policy.update(policy.select(np.array([0.5])), 1.0)
    assert policy.sums.released()[:, 0, 0].sum() == pytest.approx(4 / 2)
    assert np.array_equal(policy.sums.released(), policy.sums.exact)


@pytest.mark.parametrize(
    "changes", [{"epsilon": 0.0}, {"epsilon": 1.0, "delta": 0.0}, {"ridge": 0}]
)
def test_settings_that_make_no_sense_are_refused(changes):
    """In one sentence."""
    with pytest.raises(ConfigError):
        linucb(**changes)


@pytest.mark.parametrize("context", [[2.0], [math.nan], [0.1, 0.2]])
def test_odd_contexts_are_refused(context):
    """Outside the cube, or of another length."""
    with pytest.raises(DataError):
        linucb().select(np.array(context))
