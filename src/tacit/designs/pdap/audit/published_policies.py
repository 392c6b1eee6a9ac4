"""Audits of the paper's claims, each on neighbouring data that refute it.

The policies of `policies/` are run. published_guarantees.py says why the claims fail. One further
claim, about a tree with the noise of the binary mechanism, is not the paper's, and holds.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim, Check, PairResult
from tacit.auditing.output_distributions import weighted_choice_check
from tacit.auditing.pairs import check_pair
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.forwarded_users import ForwardedUsers, Reading
from tacit.designs.pdap.policies.p_dap import PDap
from tacit.designs.pdap.published_guarantees import DEEP_CASES
from tacit.designs.pdap.settings import Setting
from tacit.randomness import secure

DRAW_EPSILON = 0.1
"""epsilon' claimed for a draw, in the claims of Theorem 4."""
REWARD_EPSILON = 1.0
"""Epsilon claimed for a reward of a forwarded user."""
GEOMETRIC_EPSILON = 0.01
"""epsilon_0 of GP-DAP."""
LEFT = np.array([0.1])
"""A context in one half of the cube."""
RIGHT = np.array([0.9])
"""A context in the other half."""
Samplers = tuple[Callable[[], Hashable], Callable[[], Hashable]]
"""Two functions, each of which draws an output on one of two neighbouring data sets."""
_SPLIT_EARLY: dict[str, Any] = {"split_after": 1, "growth": 1e-9}
"""Values of a `Setting` whose cells split after one or two visits at all levels: `split_after`, the
paper's A, is 1, and `growth`, its p, is near 0."""


def make_setting(**changes: Any) -> Setting:
    """Return a setting with one feature; by default, each arm is explored once in the whole cube.

    The default horizon is 2. An arm is explored for ln 2 visits, which is below 1, so its first
    visit ends its exploration.

    Args:
        changes: values of `Setting` in place of the defaults.
    """
    defaults = {"videos": 2, "neighbours": 0, "dimension": 1, "horizon": 2, "split_after": 1000}
    return Setting(**{**defaults, **changes})


def teach_arms(policy: PDap, context: NDArray[np.float64], rewards: Sequence[float]) -> None:
    """Run visits until the policy exploits in the cell of the context.

    Args:
        policy: the policy that learns.
        context: (1,) the context of all visits.
        rewards: the reward of each arm.
    """
    choice = policy.select(context)
    while choice.phase != "exploit":
        policy.update(choice, rewards[choice.arm])
        choice = policy.select(context)


def deepen_cell(policy: PDap, context: NDArray[np.float64], level: int) -> None:
    """Run visits until the cell of the context has this level."""
    while policy.partition.find(context)[0].level < level:
        policy.update(policy.select(context), 0.0)


def arm_sampler(
    policy: PDap | ForwardedUsers, context: NDArray[np.float64]
) -> Callable[[], Hashable]:
    """Return a function that draws the arm of the next visitor, without learning."""
    return lambda: policy.select(context).arm


def policy_with_swapped_means(level: int) -> PDap:
    """Make a policy that learned, in two cells of this level, that different videos are liked."""
    policy = PDap(
        make_setting(**_SPLIT_EARLY, deepest=level),
        epsilon=DRAW_EPSILON,
        randomness=secure(),
    )
    for context, rewards in ((LEFT, (1.0, 0.0)), (RIGHT, (0.0, 1.0))):
        deepen_cell(policy, context, level)
        teach_arms(policy, context, rewards)
    return policy


def draw_claim() -> AuditedClaim:
    """Make Theorem 4's claim about a draw: epsilon' for any two contexts."""
    checks: list[Check] = []
    for level, sample_divisor in ((3, 5), (5, 1), (7, 5)):
        make_policy = partial(policy_with_swapped_means, level)
        checks.append(
            _check_contexts(f"swapped winners, level {level}", make_policy, sample_divisor)
        )
    return _published_claim("exp-dap, draw", DRAW_EPSILON, "context", tuple(checks))


def choice_claim() -> AuditedClaim:
    """Make Theorem 4's claim about all of Algorithm 1, for two contexts."""
    checks = (
        _check_contexts("a cell with an unexplored arm", _policy_with_unexplored_video),
        _check_contexts(
            "own videos above, or below, the neighbour's", _policy_with_better_own_video
        ),
    )
    return _published_claim("exp-dap", DRAW_EPSILON, "context", checks)


def past_visit_claim() -> AuditedClaim:
    """Make Theorem 4's claim about past visitors: one more visit splits a cell."""

    def arm_after(visits: int) -> Callable[[], Hashable]:
        policy = PDap(make_setting(split_after=4), epsilon=DRAW_EPSILON, randomness=secure())
        for _ in range(visits):
            policy.update(policy.select(LEFT), 1.0)
        return arm_sampler(policy, LEFT)

    check = _check_samplers("the visit that splits a cell", lambda: (arm_after(4), arm_after(3)))
    return _published_claim("exp-dap, past visit", DRAW_EPSILON, "visit", (check,), "comes or goes")


def forwarded_reward_claim() -> AuditedClaim:
    """Make Theorem 5's claim about all of Algorithm 2, for one reward, on two pairs.

    In the first pair, the reward is of a video that is being explored. In the second, the reward
    decides which of two videos is shown next, because their means are equal without it.
    """

    def sent_rewards() -> Samplers:
        policy = ForwardedUsers(make_setting(neighbours=1, horizon=1 << 20), epsilon=REWARD_EPSILON)
        # In round 1 a video is explored ln 1 = 0 times; exploring begins in round 2.
        policy.update(policy.select(LEFT), 0.0)
        choice = policy.select(LEFT)
        assert choice.phase == "explore"
        return partial(policy.answer, choice, 1.0), partial(policy.answer, choice, 0.0)

    def arm_after(reward: float) -> Callable[[], Hashable]:
        policy = ForwardedUsers(make_setting(neighbours=1, horizon=8), epsilon=REWARD_EPSILON)
        # The two videos are shown in turns. The first visit of the second one gets the reward.
        for reward_of_visit in (0.0, reward, 0.0, 0.0):
            policy.update(policy.select(LEFT), reward_of_visit)
        return arm_sampler(policy, LEFT)

    checks = (
        _check_samplers("a reward while its video is explored", sent_rewards, sample_divisor=10),
        _check_samplers("which mean is the larger", lambda: (arm_after(1.0), arm_after(0.0))),
    )
    return _published_claim("lap-dap", REWARD_EPSILON, "reward", checks, "0 or 1")


def tree_claim_with_too_few_levels() -> AuditedClaim:
    """Make the claim about a tree with Lemma 5's noise for M = 2 vendors.

    This noise is enough for log2 T levels, with T rewards in the tree; the tree has one level more.
    """
    checks = _check_trees("lemma 5")
    return _published_claim("lap-dap, log2 T levels", REWARD_EPSILON, "reward", checks, "0 or 1")


def tree_claim_with_all_levels() -> AuditedClaim:
    """Make the claim about a tree with the noise of the binary mechanism, which holds."""
    return AuditedClaim(
        "lap-dap, tree of floor(log2 T) + 1",
        REWARD_EPSILON,
        _check_trees("tree"),
        unit="reward",
        adjacency="0 or 1",
    )


def geometric_claim() -> AuditedClaim:
    """Make Section VI's claim of epsilon_0, in the deepest cells of each of `DEEP_CASES`."""
    checks: list[Check] = []
    for rounds, first_split, growth in DEEP_CASES:
        deepest = theory.deepest_level(rounds, first_split, growth, m=2)
        checks.append(_check_geometric_tree(deepest))
    return _published_claim("gp-dap", GEOMETRIC_EPSILON, "reward", tuple(checks), "0 or 1")


def _published_claim(
    name: str, epsilon: float, unit: str, checks: tuple[Check, ...], adjacency: str = "any other"
) -> AuditedClaim:
    """Make a claim of the paper, which the audit should refute."""
    return AuditedClaim(
        f"{name}, published", epsilon, checks, published=True, unit=unit, adjacency=adjacency
    )


def _check_samplers(
    name: str, make_samplers: Callable[[], Samplers], sample_divisor: int = 1
) -> Check:
    """Return a check of two samplers.

    Args:
        name: the name of the pair.
        make_samplers: makes the samplers anew for each run of the check.
        sample_divisor: one in `sample_divisor` of an audit's samples is drawn for this pair.
    """

    def check(samples: int, alpha: float) -> PairResult:
        return weighted_choice_check(name, *make_samplers(), sample_divisor=sample_divisor)(
            samples, alpha
        )

    return check


def _check_contexts(name: str, make_policy: Callable[[], PDap], sample_divisor: int = 1) -> Check:
    """Return a check of one policy with two contexts; args as in `_check_samplers`."""

    def make_samplers() -> Samplers:
        policy = make_policy()
        return arm_sampler(policy, LEFT), arm_sampler(policy, RIGHT)

    return _check_samplers(name, make_samplers, sample_divisor)


def _policy_with_unexplored_video() -> PDap:
    """Make a policy that explored both videos on the left, and never tried video 1 on the right."""
    policy = PDap(
        make_setting(**_SPLIT_EARLY, deepest=1), epsilon=DRAW_EPSILON, randomness=secure()
    )
    for context in (LEFT, RIGHT):
        deepen_cell(policy, context, 1)
    teach_arms(policy, LEFT, (1.0, 0.0))
    choice = policy.select(RIGHT)
    while choice.arm != 1:  # ends before the reward of video 1 is learned
        policy.update(choice, 1.0)
        choice = policy.select(RIGHT)
    return policy


def _policy_with_better_own_video() -> PDap:
    """Make a policy whose own video beats the neighbour on the left, and not on the right."""
    one_video = make_setting(**_SPLIT_EARLY, videos=1, neighbours=1, deepest=1)
    policy = PDap(one_video, epsilon=DRAW_EPSILON, randomness=secure(), gamma=0.0)
    deepen_cell(policy, LEFT, 1)
    left_rewards = (0.9, 0.5)
    right_rewards = (0.4, 0.5)

    def is_explored(context: NDArray[np.float64]) -> bool:
        return policy.select(context).phase == "exploit"

    # Exploration grows with ln t, so visits on one side may require more on the other.
    while not (is_explored(LEFT) and is_explored(RIGHT)):
        teach_arms(policy, LEFT, left_rewards)
        teach_arms(policy, RIGHT, right_rewards)
    return policy


def _check_trees(reading: Reading) -> tuple[Check, ...]:
    """Return checks of the first reward in full trees of 2, 4 and 8 rewards.

    The reward is in one node of each level of its tree.

    Args:
        reading: which of the paper's scales the noise has.
    """

    def check_tree(horizon: int) -> Check:
        def send_rewards(rewards: NDArray[np.float64]) -> list[float]:
            one_video = make_setting(videos=1, neighbours=1, horizon=horizon)
            policy = ForwardedUsers(one_video, epsilon=REWARD_EPSILON, reading=reading)
            # In round t the video has t - 1 >= ln t visits, so it is never explored.
            return [policy.answer(policy.select(LEFT), reward) for reward in rewards]

        sample_divisor = 2 if horizon == 2 else 20
        return _check_first_reward(f"the first of {horizon}", send_rewards, horizon, sample_divisor)

    return tuple(check_tree(horizon) for horizon in (2, 4, 8))


def _check_geometric_tree(level: int) -> Check:
    """Return a check of two forwarded users in a cell of this level."""

    def send_rewards(rewards: NDArray[np.float64]) -> list[float]:
        one_video = make_setting(**_SPLIT_EARLY, videos=1, neighbours=1, deepest=level)
        policy = ForwardedUsers(one_video, epsilon=GEOMETRIC_EPSILON, geometric=True)
        cell, _ = policy.partition.find(LEFT)
        while cell.level < level:
            policy.partition.count_arrival(cell)
            cell, _ = policy.partition.find(LEFT)
        policy.select(LEFT)  # creates the cell's statistics
        # "exploit": rewards of a video that is explored would be sent without noise.
        choice = Choice(0, "exploit", cell)
        return [policy.answer(choice, reward) for reward in rewards]

    return _check_first_reward(
        f"the first of two, level {level}", send_rewards, horizon=2, sample_divisor=10
    )


def _check_first_reward(
    name: str,
    send_rewards: Callable[[NDArray[np.float64]], list[float]],
    horizon: int,
    sample_divisor: int,
) -> Check:
    """Return a check of reward streams that differ in the first reward, 1 or 0; all others are 0.

    Args:
        name: the name of the pair.
        send_rewards: maps rewards to what is sent.
        horizon: number of rewards.
        sample_divisor: one in `sample_divisor` of an audit's samples is drawn for this pair.
    """

    def check(samples: int, alpha: float) -> PairResult:
        first_is_1 = [1.0] + [0.0] * (horizon - 1)
        all_0 = [0.0] * horizon
        pair = laplace_pair(
            name,
            send_rewards,
            first_is_1,
            all_0,
            distance=theory.levels(horizon),
            sample_divisor=sample_divisor,
        )
        return check_pair(pair, samples=samples, alpha=alpha)

    return check


CLAIMS: tuple[Callable[[], AuditedClaim], ...] = (
    draw_claim,
    choice_claim,
    past_visit_claim,
    forwarded_reward_claim,
    tree_claim_with_too_few_levels,
    tree_claim_with_all_levels,
    geometric_claim,
)
"""Functions that each make one claim of the audit."""
