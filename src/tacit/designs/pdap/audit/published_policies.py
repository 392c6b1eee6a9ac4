"""P-DAP as published: each claim on the neighbours that refute it, by running the shipped policies.

The claims, and why they fail: published_guarantees.py, whose figures these lines must reproduce.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim, Check, PairResult
from tacit.auditing.output_distributions import weighted_choice_check
from tacit.auditing.pairs import check_pair as on_the_bench
from tacit.auditing.shipped_noise import laplace_pair
from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.forwarded_users import ForwardedUsers, Reading
from tacit.designs.pdap.policies.p_dap import PDap
from tacit.designs.pdap.published_guarantees import DEEP_CASES
from tacit.designs.pdap.settings import Setting
from tacit.randomness import secure

PRIME = 0.1
"""epsilon' of the lines about contexts."""
REWARD = 1.0
GEOMETRIC = 0.01
"""epsilon_0 of GP-DAP."""
LEFT, RIGHT = np.array([0.1]), np.array([0.9])
Sides = tuple[Callable[[], Hashable], Callable[[], Hashable]]
_DEEP: dict[str, Any] = {"split_after": 1, "growth": 1e-9}  # a cell splits at each visit


def setting(**changes: Any) -> Setting:
    """One feature; so short a horizon that ln T visits of the whole cube are one of each arm."""
    plain = {"videos": 2, "neighbours": 0, "dimension": 1, "horizon": 2, "split_after": 1000}
    return Setting(**{**plain, **changes})


def teach_arms(policy: PDap, context: NDArray[np.float64], rewards: Sequence[float]) -> None:
    """Each arm tried with its reward, as often as its cell asks for, and no oftener."""
    choice = policy.select(context)
    while choice.phase != "exploit":
        policy.update(choice, rewards[choice.arm])
        choice = policy.select(context)


def deepen_cell(policy: PDap, context: NDArray[np.float64], level: int) -> None:
    """Visits until the context's cell has this level."""
    while policy.partition.find(context)[0].level < level:
        policy.update(policy.select(context), 0.0)


def next_arm(policy: PDap | ForwardedUsers, context: NDArray[np.float64]) -> Callable[[], Hashable]:
    """Ask which arm the next visitor is shown; asking changes nothing."""
    return lambda: policy.select(context).arm


def two_swapped_videos(level: int) -> PDap:
    """Two cells of this level, two videos: the one liked on the left is not on the right."""
    policy = PDap(setting(**_DEEP, deepest=level), epsilon=PRIME, randomness=secure())
    for context, rewards in ((LEFT, (1.0, 0.0)), (RIGHT, (0.0, 1.0))):
        deepen_cell(policy, context, level)
        teach_arms(policy, context, rewards)
    return policy


def own_draws() -> AuditedClaim:
    """Theorem 4's draw: epsilon' whatever the context."""
    checks = tuple(
        _contexts(f"swapped winners, level {level}", partial(two_swapped_videos, level), share)
        for level, share in ((3, 5), (5, 1), (7, 5))
    )
    return _line("exp-dap, draw", PRIME, "context", checks)


def own_choices() -> AuditedClaim:
    """Theorem 4: all of Algorithm 1, for two contexts."""
    checks = (
        _contexts("a cell with an unexplored arm", _policy_with_unexplored_video),
        _contexts("own videos above, or below, the neighbour's", _better_than_the_neighbour),
    )
    return _line("exp-dap", PRIME, "context", checks)


def own_visit() -> AuditedClaim:
    """Theorem 4 read as one about past visitors: one visit more splits a cell."""

    def arm_after(visits: int) -> Callable[[], Hashable]:
        policy = PDap(setting(split_after=4), epsilon=PRIME, randomness=secure())
        for _ in range(visits):
            policy.update(policy.select(LEFT), 1.0)
        return next_arm(policy, LEFT)

    check = _pair("the visit that splits a cell", lambda: (arm_after(4), arm_after(3)))
    return _line("exp-dap, past visit", PRIME, "visit", (check,), "comes or goes")


def forwarded_users() -> AuditedClaim:
    """Theorem 5: all of Algorithm 2, for one reward, on two pairs.

    In the first the reward is of a video that is explored. In the second it decides which of two
    videos, whose means are equal without it, is shown from then on.
    """

    def raw_answers() -> Sides:
        policy = ForwardedUsers(setting(neighbours=1, horizon=1 << 20), epsilon=REWARD)
        choice = policy.select(LEFT)
        return partial(policy.answer, choice, 1.0), partial(policy.answer, choice, 0.0)

    def arm_after(reward: float) -> Callable[[], Hashable]:
        policy = ForwardedUsers(setting(neighbours=1, horizon=8), epsilon=REWARD)
        for liked in (0.0, reward, 0.0, 0.0):  # one video, the other, and so again
            policy.update(policy.select(LEFT), liked)
        return next_arm(policy, LEFT)

    checks = (
        _pair("a reward while its video is explored", raw_answers, share=10),
        _pair("which mean is the larger", lambda: (arm_after(1.0), arm_after(0.0))),
    )
    return _line("lap-dap", REWARD, "reward", checks, "0 or 1")


def tree_with_too_few_levels() -> AuditedClaim:
    """Lemma 5's noise at M = 2: log2 T levels."""
    return _line("lap-dap, log2 T levels", REWARD, "reward", _trees("lemma 5"), "0 or 1")


def tree_with_all_levels() -> AuditedClaim:
    """The noise of the binary mechanism, which holds for what is sent through the tree."""
    whole = "lap-dap, tree of floor(log2 T) + 1"
    return AuditedClaim(whole, REWARD, _trees("tree"), unit="reward", adjacency="0 or 1")


def geometric() -> AuditedClaim:
    """Section VI at epsilon_0: the levels that T, A and p of the cards reach."""
    trees = tuple(_geometric_tree(theory.deepest_level(*case, 2)) for case in DEEP_CASES)
    return _line("gp-dap", GEOMETRIC, "reward", trees, "0 or 1")


def _line(
    name: str, epsilon: float, unit: str, checks: tuple[Check, ...], adjacency: str = "any other"
) -> AuditedClaim:
    name = f"{name}, published"
    return AuditedClaim(name, epsilon, checks, published=True, unit=unit, adjacency=adjacency)


def _pair(name: str, sides: Callable[[], Sides], share: int = 1) -> Check:
    """sides: made anew for each check."""
    return lambda samples, alpha: weighted_choice_check(name, *sides(), share=share)(samples, alpha)


def _contexts(name: str, make: Callable[[], PDap], share: int = 1) -> Check:
    """One policy, two visitors."""

    def sides() -> Sides:
        policy = make()
        return next_arm(policy, LEFT), next_arm(policy, RIGHT)

    return _pair(name, sides, share)


def _policy_with_unexplored_video() -> PDap:
    """Everything was tried on the left, and on the right one video was not."""
    policy = PDap(setting(**_DEEP, deepest=1), epsilon=PRIME, randomness=secure())
    for context in (LEFT, RIGHT):
        deepen_cell(policy, context, 1)
    teach_arms(policy, LEFT, (1.0, 0.0))
    while (choice := policy.select(RIGHT)).arm != 1:
        policy.update(choice, 1.0)
    return policy


def _better_than_the_neighbour() -> PDap:
    """Make a policy whose own videos beat the neighbour on the left, and not on the right."""
    small = setting(**_DEEP, videos=1, neighbours=1, deepest=1)
    policy = PDap(small, epsilon=PRIME, randomness=secure(), gamma=0.0)
    deepen_cell(policy, LEFT, 1)
    sides = ((LEFT, (0.9, 0.5)), (RIGHT, (0.4, 0.5)))
    while any(policy.select(context).phase != "exploit" for context, _ in sides):
        for context, rewards in sides:  # what is asked for grows with ln t
            teach_arms(policy, context, rewards)
    return policy


def _trees(reading: Reading) -> tuple[Check, ...]:
    """The first reward of as many as the tree was made for: it is in a node of each level."""

    def tree(horizon: int) -> Check:
        def send_rewards(rewards: NDArray[np.float64]) -> list[float]:
            world = setting(videos=1, neighbours=1, horizon=horizon)
            policy = ForwardedUsers(world, epsilon=REWARD, reading=reading)
            # ln t visits are fewer than those before t: nothing is ever explored here.
            return [policy.answer(policy.select(LEFT), reward) for reward in rewards]

        return _check_first_reward(
            f"the first of {horizon}", send_rewards, horizon, 2 if horizon == 2 else 20
        )

    return tuple(map(tree, (2, 4, 8)))


def _geometric_tree(level: int) -> Check:
    """Two guests in a cell of this level."""

    def send_rewards(rewards: NDArray[np.float64]) -> list[float]:
        world = setting(**_DEEP, videos=1, neighbours=1, deepest=level)
        policy = ForwardedUsers(world, epsilon=GEOMETRIC, geometric=True)
        while (cell := policy.partition.find(LEFT)[0]).level < level:
            policy.partition.count_arrival(cell)
        policy.select(LEFT)
        choice = Choice(0, "exploit", cell)
        return [policy.answer(choice, reward) for reward in rewards]

    return _check_first_reward(f"the first of two, level {level}", send_rewards, 2, 10)


def _check_first_reward(
    name: str, send_rewards: Callable[[NDArray[np.float64]], list[float]], horizon: int, share: int
) -> Check:
    def check(samples: int, alpha: float) -> PairResult:
        a, b = [1.0, *[0.0] * (horizon - 1)], [0.0] * horizon
        pair = laplace_pair(name, send_rewards, a, b, distance=theory.levels(horizon), share=share)
        return on_the_bench(pair, samples=samples, alpha=alpha)

    return check


LINES: tuple[Callable[[], AuditedClaim], ...] = (
    own_draws,
    own_choices,
    own_visit,
    forwarded_users,
    tree_with_too_few_levels,
    tree_with_all_levels,
    geometric,
)
