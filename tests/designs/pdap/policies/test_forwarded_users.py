"""What a vendor sends about users that others forward."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.designs.pdap.policies.forwarded_users import ForwardedUsers
from tacit.designs.pdap.settings import Setting
from tacit.errors import ConfigError, DataError

HERE = np.array([0.2])
ALMOST_EXACT = 1e6
"""An epsilon whose noise is 0 in every draw that anybody will see."""


def setting(**changes) -> Setting:
    plain = {"videos": 2, "neighbours": 3, "dimension": 1, "horizon": 64, "split_after": 1000}
    return Setting(**{**plain, **changes})


def serve(policy: ForwardedUsers, rewards) -> list[tuple[str, int, float]]:
    """Phase, arm and what is sent, for each reward."""
    sent = []
    for reward in rewards:
        choice = policy.select(HERE)
        sent.append((choice.phase, choice.arm, policy.answer(choice, reward)))
    return sent


def test_without_noise_the_reward_is_sent():
    """At epsilon = inf what is sent is the reward itself, in every phase."""
    rewards = [0, 1, 1, 0, 1, 0, 0, 1, 1, 1]
    sent = serve(ForwardedUsers(setting(), epsilon=math.inf), rewards)
    assert [value for _, _, value in sent] == rewards


def test_only_own_videos_are_shown():
    """A guest is not forwarded again."""
    policy = ForwardedUsers(setting(), epsilon=math.inf)
    assert (len(policy.own), len(policy.neighbours)) == (2, 0)
    assert {arm for _, arm, _ in serve(policy, [0] * 50)} == {0, 1}


def test_while_exploring_the_reward_leaves_as_it_is():
    """As printed, and why the claim fails: noise or not, an explored video's reward is sent raw."""
    policy = ForwardedUsers(setting(), epsilon=0.01)
    sent = [
        (reward, value)
        for reward in [0, 1] * 12
        for phase, _, value in serve(policy, [reward])
        if phase == "explore"
    ]
    assert len(sent) > 4
    assert all(reward == value for reward, value in sent)


def test_then_the_mean_of_noisy_totals_is_sent():
    """With next to no noise, each value sent is the mean of that video's rewards so far."""
    policy = ForwardedUsers(setting(videos=1), epsilon=ALMOST_EXACT)
    rewards = [1, 0, 1, 1, 0, 0, 1]
    exploited = []
    for place, (phase, _, value) in enumerate(serve(policy, rewards)):
        if phase == "exploit":
            exploited.append(place)
            assert value == pytest.approx(sum(rewards[: place + 1]) / (place + 1))
    assert exploited


def test_decisions_use_true_rewards():
    """Two vendors at different epsilon choose alike: what is sent has no say."""
    rewards = np.random.default_rng(0).integers(0, 2, 60).tolist()
    choices = [
        [
            (phase, arm)
            for phase, arm, _ in serve(ForwardedUsers(setting(), epsilon=epsilon), rewards)
        ]
        for epsilon in (0.01, math.inf)
    ]
    assert choices[0] == choices[1]


@pytest.mark.parametrize(
    ("reading", "scale"),
    [
        ("tree", 7.0),  # levels of 64 rewards
        ("theorem 5", 3 * 7.0),
        ("lemma 5", 3 * 6.0),
        ("text", 2 * 6.0),
    ],
)
def test_scale_of_each_reading(reading, scale):
    """T = 64, K = 2, M = 4, epsilon = 1: a node's noise in each reading, of the counter itself."""
    policy = ForwardedUsers(setting(), epsilon=1.0, reading=reading)
    assert policy.make_counter(0).scale == pytest.approx(scale)


def test_noise_is_of_the_stated_size():
    """t = 1 of a tree at epsilon 1 is one node: a mean absolute error near 7 in 600 trees;
    outside the limits by chance less than once in a million runs."""
    errors = []
    for _ in range(600):
        policy = ForwardedUsers(setting(videos=1), epsilon=1.0)
        ((_, _, value),) = serve(policy, [1])  # ln 1 = 0: nothing to explore yet
        errors.append(abs(value - 1))
    assert 5.2 < np.mean(errors) < 8.8


def test_geometric_noise_shrinks_with_the_level():
    """GP-DAP: the noise of a node is m^(alpha l) times smaller at level l."""
    policy = ForwardedUsers(setting(), epsilon=1.0, geometric=True)
    assert [policy.make_counter(level).scale for level in (0, 1, 3)] == pytest.approx(
        [7, 3.5, 7 / 8]
    )


def test_full_tree_is_followed_by_another():
    """After T rewards in one tree the next reward enters a new one: still one tree for each."""
    policy = ForwardedUsers(setting(videos=1, horizon=4), epsilon=ALMOST_EXACT)
    sent = serve(policy, [1] * 30 + [0])
    assert sent[-1][0] == "exploit"
    assert sent[-1][2] in (0, 0.5, 0.75, pytest.approx(2 / 3))


def test_dup_serves_on_its_grid():
    """DUP's guests are in cells that never split."""
    policy = ForwardedUsers(setting(horizon=10_000), epsilon=math.inf, uniform=True)
    cells = {policy.select(np.array([x])).cell for x in np.linspace(0, 1, 500)}
    assert len(cells) == 10
    assert serve(policy, [1])[0][2] == 1


@pytest.mark.parametrize("reward", [0.5, 2, -1, math.nan])
def test_reward_is_a_click_or_none(reward):
    """A tree counts clicks; anything else is refused and not counted."""
    policy = ForwardedUsers(setting(), epsilon=1.0)
    with pytest.raises(DataError):
        policy.answer(policy.select(HERE), reward)
    assert policy.arrivals == 0


@pytest.mark.parametrize("change", [{"epsilon": 0.0}, {"reading": "line 9"}])
def test_nonsense_is_refused(change):
    """A parameter out of range is refused when the policy is made."""
    with pytest.raises(ConfigError):
        ForwardedUsers(setting(), **{"epsilon": 1.0, **change})
