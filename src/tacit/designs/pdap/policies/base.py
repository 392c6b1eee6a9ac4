"""The base class of policies, which choose an arm for a context and learn from the reward.

Arms   With K own videos and M vendors in all, the own videos have the numbers 0 to K - 1. The
       neighbours, the M - 1 other vendors, are one arm each and have the numbers K to K + M - 2.
       An arm that joins later gets the next number. The number of an arm that has left is never
       used again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError, DataError

Phase = Literal["explore", "train", "exploit"]
"""Why an arm is chosen. "explore": to learn from its reward. "exploit": by what was learned.
"train": to teach the neighbour, or because a `Device` (local_learner.py) has spent its budget; the
reward is not learned."""
LARGEST_REWARD = 1e18
"""Rewards are accepted only between -LARGEST_REWARD and LARGEST_REWARD."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision.

    Attributes:
        arm: number of the chosen arm.
        phase: why it was chosen. The reward of a "train" choice is not learned.
        cell: where the choice is counted, and its reward learned: a cell of the policy, or the
            context itself; None if neither is done.
        chance: probability of this arm, for estimators on logged data; 1 if nothing was drawn,
            None if it is not known.
        visit: number of the visit, from 0, at a learner that learns one answer to each visit; None
            for other policies.
        learner: random tag of such a learner, which refuses choices of other learners; otherwise
            empty.
    """

    arm: int
    phase: Phase
    cell: Any
    chance: float | None = 1.0
    visit: int | None = None
    learner: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """Format the decision without its cell, which may be the visitor's context."""
        return f"Choice(arm={self.arm}, phase={self.phase!r}, visit={self.visit})"


class Policy:
    """Chooses with `select`, and learns with `update`, which may come late or not at all.

    Attributes:
        epsilon: nats of one visit, as proved; inf if nothing is proved.
        own: numbers of own videos that may be chosen, in ascending order.
        neighbours: numbers of neighbours that may be chosen, in ascending order.
        is_neighbour: for each number ever used, whether this arm is a neighbour.
    """

    epsilon = math.inf

    def __init__(self, n_own: int, n_neighbours: int) -> None:
        if n_own < 0 or n_neighbours < 0 or n_own + n_neighbours == 0:
            raise ConfigError(
                "A policy chooses among at least one arm: own videos, neighbours or both; got "
                f"{n_own} and {n_neighbours}."
            )
        self.own = list(range(n_own))
        self.neighbours = list(range(n_own, n_own + n_neighbours))
        self.is_neighbour = [False] * n_own + [True] * n_neighbours

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose an arm for one visit.

        Args:
            context: (d,) in [0, 1].
            arms: the arms that may be chosen now; None is all of them.

        Raises:
            ConfigError: `arms` is empty, or has an arm that never joined or has left.
            DataError: The context does not have this form.
        """
        raise NotImplementedError

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose an arm for a visit that is not learned from; args as in `select`.

        A policy that explores overrides this method and chooses the arm that it believes best. A
        policy whose draws protect the visitor, such as `LocalLearner`, draws as at any visit. The
        default is `select`, for policies that learn nothing.
        """
        return self.select(context, arms)

    def update(self, choice: Choice, reward: float) -> None:
        """Learn from a visit.

        Args:
            choice: what `select` returned.
            reward: in [0, 1] for an own video. The reward of a neighbour may have noise and be
                any number.

        Raises:
            DataError: The reward is not such a number.
        """
        raise NotImplementedError

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose own videos for users that other vendors forward. Nothing is learned from them.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            (n,) numbers of arms.
        """
        raise NotImplementedError

    def choose_again(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """Choose again for a visit whose first choice could not be shown.

        Args:
            context: (d,) the visit's context.
            arms: the arms that may be chosen now.
            instead: the first choice, which the new one replaces. The default method does not use
                it, and chooses as `select` does.
        """
        return self.select(context, arms)

    def add_arm(self, *, neighbour: bool = False) -> int:
        """Add an own video, or a neighbour, without any visits, and return its number."""
        arm = len(self.is_neighbour)
        self.is_neighbour.append(neighbour)
        if neighbour:
            self.neighbours.append(arm)
        else:
            self.own.append(arm)
        return arm

    def add_own_arms(self, count: int) -> list[int]:
        """Add several own videos at once, without any visits, and return their numbers."""
        return [self.add_arm() for _ in range(count)]

    def remove_arm(self, arm: int) -> None:
        """Never choose this arm again.

        Raises:
            ConfigError: It is the last arm, or it never joined or has left.
        """
        if len(self.own) + len(self.neighbours) == 1:
            raise ConfigError("The last arm stays: a policy without arms has nothing to choose.")
        if arm not in self.allowed_arms():
            raise ConfigError(f"There is no arm {arm}: it never joined, or has left.")
        if self.is_neighbour[arm]:
            self.neighbours.remove(arm)
        else:
            self.own.remove(arm)

    def allowed_arms(self, arms: Sequence[int] | None = None) -> list[int]:
        """List the arms that may be chosen: own videos, then neighbours.

        Args:
            arms: the arms to choose from; None is all that have joined and not left.

        Raises:
            ConfigError: `arms` is empty, or has an arm that never joined or has left.
        """
        joined = [*self.own, *self.neighbours]
        if arms is None:
            return joined
        allowed = set(arms)
        if not allowed or not allowed.issubset(joined):
            raise ConfigError(
                "The arms to choose from are one or more of those that have joined and not left."
            )
        return [arm for arm in joined if arm in allowed]


def check_contexts(contexts: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Convert contexts to (n, dimension) float64 in [0, 1].

    Raises:
        DataError: They do not have this form. The message repeats no context.
    """
    try:
        rows = np.asarray(contexts, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("the contexts are not numbers, or differ in length") from None
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise DataError(
            "the contexts have another shape", found=rows.shape, expected=f"(n, {dimension})"
        )
    is_in_cube = rows.size == 0 or (rows.min() >= 0 and rows.max() <= 1)  # False for NaN
    if not is_in_cube:
        for row in rows:
            check_context(row, dimension)
    return rows


def check_context(context: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Convert a context to (dimension,) float64 in [0, 1].

    Raises:
        DataError: The context does not have this form. The message does not repeat it.
    """
    try:
        numbers = np.asarray(context, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError("the context holds something that is not a number") from None
    if numbers.shape != (dimension,):
        raise DataError(
            "the context has another shape", found=numbers.shape, expected=f"({dimension},)"
        )
    features = numbers.tolist()
    # A sum with NaN is NaN, which no comparison holds for; min and max may miss it.
    is_in_cube = min(features) >= 0 and max(features) <= 1 and sum(features) >= 0
    if not is_in_cube:
        raise DataError(
            "the context holds a number outside the cube",
            expected="every feature in [0, 1]",
            fix="Scale the features first, with public bounds.",
        )
    return numbers


def check_reward(reward: float) -> float:
    """Convert a reward to a float between -LARGEST_REWARD and LARGEST_REWARD.

    Raises:
        DataError: The reward is not such a number.
    """
    with suppress(TypeError, ValueError, OverflowError):
        number = float(reward)
        if -LARGEST_REWARD < number < LARGEST_REWARD:  # False for NaN
            return number
    raise DataError(
        "the reward is not a finite number, or far too large",
        expected="a number, such as 0 or 1",
    )
