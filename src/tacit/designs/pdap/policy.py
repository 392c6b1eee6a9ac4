"""Policies: they choose an arm for a context, and learn from the reward.

Arms   One's own videos are numbered 0 to K - 1, neighbours (other vendors, each of them one arm) K
       to K + M - 2. An arm that joins later takes the next number; that of one that left is never
       used again.
Grid   Cells of equal size, which no visitor can influence: as many slices per dimension as leave a
       (cell, arm) `PER_CELL` visits on average over the horizon, in at most `MOST_CELLS` cells; but
       at least `FEWEST` while these make no more than `FEW` cells, which learn from one another.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError, DataError
from tacit.randomness import Source, integers_below

Phase = Literal["explore", "train", "exploit"]


@dataclass(frozen=True, slots=True)
class Choice:
    """One decision. A "train" choice teaches the neighbour: its reward is not learned from. cell:
    where it is learned. chance: of this arm, for estimators on logged data; 1 where nothing is
    drawn, None if unknown. visit: its number, of learners that take one answer to each."""

    arm: int
    phase: Phase
    cell: Any
    chance: float | None = 1.0
    visit: int | None = None


class Policy:
    """`select`, then `update` with that choice and what came of it: late, or never. own,
    neighbours: who may be chosen, in ascending order. sides: whether it is a neighbour, of all
    numbers that were given out so far. epsilon: of one visit, as proved."""

    epsilon = math.inf

    def __init__(self, n_own: int, n_neighbours: int) -> None:
        if n_own < 0 or n_neighbours < 0 or n_own + n_neighbours == 0:
            raise ConfigError(
                "A policy chooses among at least one arm: own videos, neighbours or both; got "
                f"{n_own} and {n_neighbours}."
            )
        self.own = list(range(n_own))
        self.neighbours = list(range(n_own, n_own + n_neighbours))
        self.sides = [False] * n_own + [True] * n_neighbours

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """context: (d,) in [0, 1]. arms: those that may be chosen now; None is all of them."""
        raise NotImplementedError

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose by what was learned, without exploring, for a visit that is not learned from.

        By default as `select` does: a choice that is random for privacy stays so.
        """
        return self.select(context, arms)

    def update(self, choice: Choice, reward: float) -> None:
        """reward: in [0, 1] from an own video; a neighbour's may be noised and lie anywhere."""
        raise NotImplementedError

    def serve_many(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) own videos for (n, d) contexts of others' users, of whom nothing is learned."""
        raise NotImplementedError

    def settle(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """A second choice of one visit, `instead` of the first; both are answered as one visit."""
        return self.select(context, arms)

    def add_arm(self, *, neighbour: bool = False) -> int:
        """The number of a new own video, or of a new neighbour. Nothing is known about it yet."""
        arm = len(self.sides)
        self.sides.append(neighbour)
        (self.neighbours if neighbour else self.own).append(arm)
        return arm

    def remove_arm(self, arm: int) -> None:
        if len(self.own) + len(self.neighbours) == 1:
            raise ConfigError("The last arm stays: a policy without arms has nothing to choose.")
        if arm not in self.allowed():
            raise ConfigError(f"There is no arm {arm}: it never joined, or has left.")
        (self.neighbours if self.sides[arm] else self.own).remove(arm)

    def allowed(self, arms: Sequence[int] | None = None) -> list[int]:
        joined = [*self.own, *self.neighbours]
        if arms is None:
            return joined
        allowed = set(arms)
        if not allowed or not allowed.issubset(joined):
            raise ConfigError("The arms to choose from are one or more of those that have joined.")
        return [arm for arm in joined if arm in allowed]


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
    if not all(0 <= feature <= 1 for feature in numbers.tolist()):  # false for NaN as well
        raise DataError(
            "the context holds a number outside the cube",
            expected="every feature in [0, 1]",
            fix="Scale the features first, with public bounds.",
        )
    return numbers


def checked_reward(reward: float) -> float:
    with suppress(TypeError, ValueError):
        if -1e18 < (number := float(reward)) < 1e18:  # false for NaN as well
            return number
    raise DataError("the reward is not a finite number", expected="a number, such as 0 or 1")


class Uniform(Policy):
    """The baseline: any arm, at random. It learns nothing, so it releases nothing."""

    epsilon = 0.0

    def __init__(self, videos: int, neighbours: int, *, randomness: Source) -> None:
        super().__init__(videos, neighbours)
        self._source = randomness

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        allowed = self.allowed(arms)
        place = int(integers_below(self._source, len(allowed), 1)[0])
        return Choice(allowed[place], "explore", None, 1 / len(allowed))

    def update(self, choice: Choice, reward: float) -> None:
        checked_reward(reward)

    def serve_many(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) random own videos."""
        own = np.array(self.own)
        return np.asarray(own[integers_below(self._source, len(own), len(contexts))])


MOST_CELLS = 400
PER_CELL = 200
FEWEST = 3
FEW = 27


def slices_for(horizon: int, dimension: int, arms: int) -> int:
    """1 where there are too few visits, and too many dimensions, to tell cells apart."""
    wanted = min(horizon / (PER_CELL * arms), MOST_CELLS)
    slices = FEWEST if FEWEST**dimension <= FEW else 1
    while (slices + 1) ** dimension <= wanted:
        slices += 1
    return slices


class Grid:
    """Cells numbered from 0, the last feature first. centres: (cells, d), where they lie."""

    def __init__(self, dimension: int, slices: int) -> None:
        if dimension < 1 or slices < 1 or slices**dimension > MOST_CELLS:
            raise ConfigError(
                f"A grid has 1 to {MOST_CELLS} cells, slices to the power of the dimension; got "
                f"{slices} slices in {dimension} dimensions. Reduce the contexts first."
            )
        self.dimension = dimension
        self.slices = slices
        places = itertools.product(range(slices), repeat=dimension)
        self.centres = (np.array(list(places)) + 0.5) / slices

    def __len__(self) -> int:
        return len(self.centres)

    def number(self, context: ArrayLike) -> int:
        """Of the cell that holds this context."""
        number = 0
        for feature in checked_context(context, self.dimension).tolist():
            number = number * self.slices + min(int(feature * self.slices), self.slices - 1)
        return number

    def checked(self, cell: object) -> int:
        """The number of a choice's cell; ConfigError if it was made on another grid."""
        if type(cell) is not int or not 0 <= cell < len(self):
            raise ConfigError("This choice was made on another grid: its cell is none of this one.")
        return cell
