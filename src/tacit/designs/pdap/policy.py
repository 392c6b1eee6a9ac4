"""What every policy of this folder is: it picks an arm for a context, and learns from the answer.

Arms   One's own videos are numbered 0 to K - 1, neighbours (other vendors, each of them one arm) K
       to K + M - 2. An arm that joins later takes the next number, whichever it is, and the number
       of one that left is never given again: what was learned stays where it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.designs.pdap.partition import Cell
from tacit.errors import ConfigError, DataError

Phase = Literal["explore", "train", "exploit"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision. A "train" choice teaches the neighbour: its reward is not learned from.

    chance: of this arm, given everything but the draw, for estimators on logged data; 1 where
    nothing is drawn, None where it is not known. visit: its number, of learners that take one
    answer to each; None otherwise.
    """

    arm: int
    phase: Phase
    cell: Cell
    chance: float | None = 1.0
    visit: int | None = None


class Policy(Protocol):
    """`select`, then `update` with that choice and what came of it.

    An update may come late or never: a cell that was split or forgotten in between takes none.
    """

    @property
    def name(self) -> str: ...

    @property
    def epsilon(self) -> float:
        """As configured, inf without noise; what it protects is on the policy's card alone."""

    @property
    def n_own(self) -> int: ...

    @property
    def n_neighbours(self) -> int: ...

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """context: (d,) in [0, 1]. arms: those that may be chosen now; None is all of them."""

    def update(self, choice: Choice, reward: float) -> None:
        """reward: in [0, 1] from an own video; a neighbour's may be noised and lie anywhere."""

    def add_arm(self, *, neighbour: bool = False) -> int:
        """The number of a new own video, or of a new neighbour. Nothing is known about it yet."""

    def remove_arm(self, arm: int) -> None: ...


class Arms:
    """Who may be chosen: own videos and neighbours, in ascending order of their numbers."""

    def __init__(self, n_own: int, n_neighbours: int) -> None:
        if n_own < 0 or n_neighbours < 0 or n_own + n_neighbours == 0:
            raise ConfigError(
                "A policy chooses among at least one arm: own videos, neighbours or both; got "
                f"{n_own} and {n_neighbours}."
            )
        self.own = list(range(n_own))
        self.neighbours = list(range(n_own, n_own + n_neighbours))
        self.numbered = n_own + n_neighbours
        """How many numbers were given out so far."""

    def add(self, *, neighbour: bool = False) -> int:
        arm = self.numbered
        self.numbered += 1
        (self.neighbours if neighbour else self.own).append(arm)
        return arm

    def remove(self, arm: int) -> None:
        if len(self.own) + len(self.neighbours) == 1:
            raise ConfigError("The last arm stays: a policy without arms has nothing to choose.")
        for side in (self.own, self.neighbours):
            if arm in side:
                side.remove(arm)
                return
        raise ConfigError(f"There is no arm {arm}: it never joined, or has left.")

    def among(self, arms: Sequence[int] | None) -> tuple[list[int], list[int]]:
        """Own videos and neighbours that are allowed; not to be changed by the caller."""
        if arms is None:
            return self.own, self.neighbours
        allowed = set(arms)
        own = [arm for arm in self.own if arm in allowed]
        neighbours = [arm for arm in self.neighbours if arm in allowed]
        if len(own) + len(neighbours) < len(allowed) or not allowed:
            raise ConfigError("The arms to choose from are one or more of those that have joined.")
        return own, neighbours


def checked_context(context: ArrayLike, dimension: int) -> NDArray[np.float64]:
    """(d,) float64 in [0, 1]. The refusal does not repeat the context."""
    try:
        numbers = np.asarray(context, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("the context holds something that is no number") from None
    if numbers.shape != (dimension,):
        raise DataError(
            "the context has another shape", found=numbers.shape, expected=f"({dimension},)"
        )
    if not (numbers.min() >= 0 and numbers.max() <= 1):  # false for NaN as well
        raise DataError(
            "the context holds a number outside the cube",
            expected="every feature in [0, 1]",
            fix="Scale the features first, with public bounds.",
        )
    return numbers


def checked_reward(reward: float) -> float:
    try:
        number = float(reward)
    except (TypeError, ValueError):
        raise DataError("the reward is no number", expected="a number, such as 0 or 1") from None
    if not -1e18 < number < 1e18:  # false for NaN as well
        raise DataError("the reward is not a finite number", expected="a number, such as 0 or 1")
    return number
