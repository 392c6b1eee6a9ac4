"""The role of a policy: it chooses an arm for a context, and learns from the reward.

Arms   One's own videos are numbered 0 to K - 1, neighbours (other vendors, each of them one arm) K
       to K + M - 2. An arm that joins later takes the next number. The number of an arm that left
       is never used again.
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
"""Why an arm is chosen: to learn from its reward, to teach the neighbour, or because it is best."""
LARGEST_REWARD = 1e18


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision.

    Attributes:
        arm: its number.
        phase: why it was chosen. The reward of a "train" choice is not learned from.
        cell: where the reward is learned.
        chance: of this arm, for estimators on logged data; 1 where nothing is drawn, None if
            unknown.
        visit: the visit's number, of learners that take one answer to each.
        learner: drawn at random by such a learner, which learns no choice of another one.
    """

    arm: int
    phase: Phase
    cell: Any
    chance: float | None = 1.0
    visit: int | None = None
    learner: str = field(default="", compare=False)

    def __repr__(self) -> str:
        """Show the decision, without the visitor's context."""
        return f"Choice(arm={self.arm}, phase={self.phase!r}, visit={self.visit})"


class Policy:
    """Chooses with `select`, and learns with `update`, which may come late or not at all.

    Attributes:
        epsilon: nats of one visit, as proved; inf where nothing is.
        own: own videos that may be chosen, in ascending order.
        neighbours: neighbours that may be chosen, in ascending order.
        is_neighbour: of all numbers that were given out so far, whether it is a neighbour.
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
            arms: those that may be chosen now; None is all of them.
        """
        raise NotImplementedError

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose by what was learned, without exploring, for a visit that is not learned from.

        By default as `select` does: a choice that is random for privacy stays so.
        """
        return self.select(context, arms)

    def update(self, choice: Choice, reward: float) -> None:
        """Learn from a visit.

        Args:
            choice: what `select` gave.
            reward: in [0, 1] from an own video; a neighbour's may be noised and lie anywhere.
        """
        raise NotImplementedError

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose an own video for each of (n, d) contexts of others' users.

        Nothing is learned of them. Returns (n,) numbers.
        """
        raise NotImplementedError

    def settle(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """Choose again for a visit whose choice came to nothing; both are one visit.

        Args:
            context: as before.
            arms: those that may be chosen now.
            instead: the first choice.
        """
        return self.select(context, arms)

    def add_arm(self, *, neighbour: bool = False) -> int:
        """Add an own video or a neighbour of which nothing is known, and return its number."""
        arm = len(self.is_neighbour)
        self.is_neighbour.append(neighbour)
        if neighbour:
            self.neighbours.append(arm)
        else:
            self.own.append(arm)
        return arm

    def remove_arm(self, arm: int) -> None:
        """Never choose this arm again.

        Raises:
            ConfigError: It is the last arm, or there is none of this number.
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
        """Own videos and then neighbours that may be chosen, of `arms`; None is all.

        Raises:
            ConfigError: None of `arms`, or one that has not joined.
        """
        joined = [*self.own, *self.neighbours]
        if arms is None:
            return joined
        allowed = set(arms)
        if not allowed or not allowed.issubset(joined):
            raise ConfigError("The arms to choose from are one or more of those that have joined.")
        return [arm for arm in joined if arm in allowed]


def check_contexts(contexts: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Read contexts as (n, dimension) float64 in [0, 1].

    Raises:
        DataError: One is none. The message does not repeat it.
    """
    rows = np.asarray(contexts, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != dimension:
        raise DataError(
            "the contexts have another shape", found=rows.shape, expected=f"(n, {dimension})"
        )
    if rows.size and not (rows.min() >= 0 and rows.max() <= 1):  # NaN has no order
        for row in rows:
            check_context(row, dimension)
    return rows


def check_context(context: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """Read a context as (dimension,) float64 in [0, 1].

    Raises:
        DataError: It is none. The message does not repeat the context.
    """
    try:
        numbers = np.asarray(context, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the context holds something that is no number") from None
    if numbers.shape != (dimension,):
        raise DataError(
            "the context has another shape", found=numbers.shape, expected=f"({dimension},)"
        )
    features = numbers.tolist()
    if not (min(features) >= 0 and max(features) <= 1 and sum(features) >= 0):  # NaN has no order
        raise DataError(
            "the context holds a number outside the cube",
            expected="every feature in [0, 1]",
            fix="Scale the features first, with public bounds.",
        )
    return numbers


def check_reward(reward: float) -> float:
    """Read a reward as a float of less than `LARGEST_REWARD` in size.

    Raises:
        DataError: It is none.
    """
    with suppress(TypeError, ValueError):
        number = float(reward)
        if -LARGEST_REWARD < number < LARGEST_REWARD:  # false for NaN as well
            return number
    raise DataError("the reward is not a finite number", expected="a number, such as 0 or 1")
