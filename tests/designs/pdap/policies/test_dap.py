"""DAP and CAP: phases, ties, splits, arms that come and go."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.cap import Cap
from tacit.designs.pdap.policies.cells import Cell, CellStatistics
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError, DataError

HERE = np.array([0.2])


def setting(**changes) -> Setting:
    plain = {"videos": 2, "neighbours": 1, "dimension": 1, "horizon": 3, "split_after": 1000}
    return Setting(**{**plain, **changes})


def play(policy, rewards, context=HERE) -> list[tuple[str, int]]:
    """One round for each reward."""
    seen = []
    for reward in rewards:
        choice = policy.select(context)
        seen.append((choice.phase, choice.arm))
        policy.update(choice, reward)
    return seen


def test_a_run_worked_by_hand():
    """T = 3: an own video is tried while N < ln 3 = 1.099, that is twice. The neighbour, with K = 2
    videos, is trained while N1 < 2 ln t (up to 3.2 at t = 5, 4.4 at t = 9), and tried while
    N < ln t (2.3 at t = 10). Means are then 1/2, 1 and 2/3; after a reward of 0 video 1 ties with
    the neighbour at 2/3, both tried three times, and the first of equals is taken."""
    policy = Dap(setting(split_after=16))
    own = play(policy, [1, 1, 0, 1])
    assert own == [("explore", 0), ("explore", 1), ("explore", 0), ("explore", 1)]
    assert play(policy, [0, 0, 0, 0, 0]) == [("train", 2)] * 5  # t = 5 to 9
    assert play(policy, [1, 0, 1]) == [("explore", 2)] * 3  # t = 10 to 12
    assert play(policy, [0]) == [("train", 2)]  # t = 13: 5 < 2 ln 13 = 5.13
    assert play(policy, [0, 1, 1]) == [("exploit", 1)] * 3  # t = 14 to 16, then the cell splits
    choice = policy.select(HERE)
    assert choice == Choice(0, "explore", Cell(1, (0,)), 1.0)


def test_training_teaches_the_neighbour_only():
    """Rewards of the training phase are not learned: the neighbour's mean is that of the rest."""
    policy = Dap(setting())
    play(policy, [0, 0, 0, 0] + [0] * 5 + [1, 1, 1])
    _, visits = policy.partition.find(HERE)
    assert (visits.trained[2], visits.counts[2], visits.means[2]) == (5, 3, 1.0)


def test_smaller_cells_are_explored_longer():
    """At level l every own video is tried m^(2 l) ln T times: 2, then 5 visits at T = 3."""
    policy = Dap(setting(videos=1, neighbours=0, split_after=10))
    play(policy, [1] * 10)
    phases = [phase for phase, _ in play(policy, [1] * 10)]
    assert phases == ["explore"] * math.ceil(4 * math.log(3)) + ["exploit"] * 5


def test_ties_go_to_the_least_explored():
    """Of equal means the less explored one is taken, then the first."""
    visits = CellStatistics()
    for arm, reward in ((0, 1), (0, 1), (1, 1), (2, 1), (2, 1)):
        visits.learn(arm, reward)
    assert visits.best([0, 1, 2]) == 1
    assert visits.best([0, 2]) == 0
    assert visits.best([2, 0]) == 0


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 1)), max_size=120),
    st.integers(1, 4),
    st.integers(0, 2),
)
def test_counts_add_up(stream, videos, neighbours):
    """Without a split, choices learned from and choices that trained are all arrivals."""
    policy = Dap(setting(videos=videos, neighbours=neighbours))
    for feature, reward in stream:
        policy.update(policy.select(np.array([feature])), reward)
    _, visits = policy.partition.find(HERE)
    learned, trained = sum(visits.counts.values()), sum(visits.trained.values())
    assert learned + trained == len(stream) == policy.arrivals
    for arm, count in visits.counts.items():
        assert visits.means[arm] == (visits.sums[arm] / count if count else 0)


@given(st.lists(st.tuples(st.floats(0, 1), st.sets(st.integers(0, 4), min_size=1)), max_size=60))
def test_only_allowed_arms(stream):
    """With a subset of arms, the choice is one of them in every phase."""
    policy = Dap(setting(videos=3, neighbours=2, split_after=9))
    for feature, allowed in stream:
        choice = policy.select(np.array([feature]), sorted(allowed))
        assert choice.arm in allowed
        policy.update(choice, 1)


def test_new_video_is_explored_next():
    """A video that joins has the next number and is tried like any other, before exploitation."""
    policy = Dap(setting(neighbours=0))
    play(policy, [1, 1, 1, 1, 1])
    assert policy.add_arm() == 2
    assert (len(policy.own), len(policy.neighbours)) == (3, 0)
    assert play(policy, [0, 0, 1]) == [("explore", 2), ("explore", 2), ("exploit", 1)]


def test_video_that_left_is_not_shown():
    """Its number is not given again, and what was learned of others stays."""
    policy = Dap(setting(neighbours=0))
    play(policy, [1, 0, 1, 0])
    policy.remove_arm(0)
    assert play(policy, [1]) == [("exploit", 1)]
    assert policy.add_arm() == 2
    with pytest.raises(ConfigError):
        policy.remove_arm(0)


def test_neighbour_joins_and_leaves():
    """A neighbour that joins is trained; one that left is not asked any more."""
    policy = Dap(setting(neighbours=0))
    play(policy, [1] * 4)
    joined = policy.add_arm(neighbour=True)
    assert play(policy, [0]) == [("train", joined)]
    policy.remove_arm(joined)
    assert play(policy, [0])[0][0] == "exploit"


def test_last_arm_stays():
    """A policy is never left without an arm."""
    policy = Dap(setting(videos=1, neighbours=0))
    with pytest.raises(ConfigError):
        policy.remove_arm(0)


def test_late_answer_is_not_learned():
    """A reward for a cell that was split meanwhile counts as an arrival and changes nothing."""
    policy = Dap(setting(split_after=1))
    early, late = policy.select(HERE), policy.select(HERE)
    policy.update(early, 1)
    policy.update(late, 1)
    assert policy.arrivals == 2
    assert policy.partition.statistics(early.cell) is None


def test_cap_keeps_to_itself():
    """CAP has no neighbours, and tries a video while N < ln t: at t = 1 nothing is tried."""
    policy = Cap(setting(videos=2, neighbours=3))
    assert policy.neighbours == []
    seen = play(policy, [0] * 9)
    assert seen[:3] == [("exploit", 0), ("explore", 1), ("explore", 0)]
    assert {arm for _, arm in seen} == {0, 1}


def test_best_video_is_found():
    """Two halves of the cube with different best videos, rewards without noise: at the end every
    context is shown its best."""
    policy = Dap(setting(videos=4, neighbours=0, horizon=4000, split_after=64))
    contexts = np.random.default_rng(0).random((4000, 1))
    shown = []
    for context in contexts:
        choice = policy.select(context)
        best = 3 if context[0] < 0.5 else 1
        policy.update(choice, float(choice.arm == best))
        shown.append((choice.phase, choice.arm == best, choice.cell.level))
    late = [right for phase, right, level in shown if phase == "exploit" and level]
    assert len(late) > 300
    assert all(late)


@pytest.mark.parametrize("context", [[0.5], [0.5, 1.1], [0.5, -0.1], [0.5, math.nan]])
def test_bad_context_is_refused(context):
    """Another shape, a number outside the cube or NaN: nothing is chosen."""
    with pytest.raises(DataError):
        Dap(setting(dimension=2)).select(np.array(context))


@pytest.mark.parametrize("reward", [math.nan, math.inf, 1.5, -0.1])
def test_bad_reward_is_refused(reward):
    """An own video's reward lies in [0, 1]; a refused one is not counted."""
    policy = Dap(setting())
    with pytest.raises(DataError):
        policy.update(policy.select(HERE), reward)
    assert policy.arrivals == 0


def test_a_neighbour_that_left_may_still_be_heard():
    """A noised reward that comes after it left is no own video's: it is taken."""
    policy = Dap(setting(neighbours=2))
    choice = policy.select(HERE, [2])
    policy.remove_arm(2)
    policy.update(choice, -3.7)
    assert policy.arrivals == 1


@pytest.mark.parametrize("given", ["abc", None, [[0.1], [0.1, 0.2]]])
def test_a_context_that_is_no_numbers_is_refused(given):
    """In a sentence of ours, not NumPy's."""
    with pytest.raises(DataError):
        Dap(setting()).select(given)


@pytest.mark.parametrize("arms", [[], [7]])
def test_unknown_arms_are_refused(arms):
    """A subset names at least one arm, and only arms that exist."""
    with pytest.raises(ConfigError):
        Dap(setting()).select(HERE, arms)


@pytest.mark.parametrize(
    "change",
    [
        {"videos": 0},
        {"neighbours": -1},
        {"horizon": 1},
        {"horizon": 1e3},
        {"videos": 2.5},
        {"dimension": 0},
        {"smoothness": 0},
        {"lipschitz": math.inf},
    ],
)
def test_senseless_setting_is_refused(change):
    """A setting that cannot be is refused when it is made."""
    with pytest.raises(ConfigError):
        setting(**change)


def test_levels_beyond_what_a_float_holds_never_split():
    """A growth of 700 is odd but no fault: such cells are simply never full."""
    policy = Dap(setting(growth=700.0, deepest=5))
    assert policy.partition.thresholds == [1000, 1000 * 2.0**700, *[math.inf] * 4]


def test_first_split_leaves_room():
    """A is twice what all phases take in the whole cube: 2 (K G1 + (M - 1)(K G3 + G2))."""
    free = setting(videos=20, neighbours=3, horizon=200_000, split_after=None)
    visits = math.log(200_000)
    assert free.first_split == pytest.approx(2 * (20 + 3 * 21) * visits, rel=1e-3)


def test_the_neighbour_that_is_known_least_is_explored_first():
    """Of two that are trained enough, that with fewer rewards learned."""
    policy = Dap(setting(videos=1, neighbours=2))
    cell, learned = policy.partition.find(HERE)
    learned.counts.update({0: 100, 1: 1, 2: 0})
    learned.trained.update({1: 100, 2: 100})
    policy.arrivals = 50
    assert policy.select(HERE) == Choice(2, "explore", cell)
