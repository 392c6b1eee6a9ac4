"""The baseline: any arm, at random. It learns nothing, so it tells nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.partition import Cell
from tacit.designs.pdap.policy import Arms, Choice, checked_reward
from tacit.randomness import Source, integers_below


class Uniform:
    """A policy. Own videos and neighbours are equally likely, and so are videos for guests."""

    name: ClassVar[str] = "uniform"
    epsilon = 0.0

    def __init__(self, videos: int, neighbours: int, *, randomness: Source) -> None:
        self._arms = Arms(videos, neighbours)
        self._source = randomness

    @property
    def n_own(self) -> int:
        return len(self._arms.own)

    @property
    def n_neighbours(self) -> int:
        return len(self._arms.neighbours)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        own, neighbours = self._arms.among(arms)
        allowed = own + neighbours
        place = int(integers_below(self._source, len(allowed), 1)[0])
        return Choice(allowed[place], "explore", Cell(0, ()), 1 / len(allowed))

    def update(self, choice: Choice, reward: float) -> None:
        checked_reward(reward)

    def serve_many(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) random own videos."""
        own = np.array(self._arms.own)
        return np.asarray(own[integers_below(self._source, len(own), len(contexts))])

    def add_arm(self, *, neighbour: bool = False) -> int:
        return self._arms.add(neighbour=neighbour)

    def remove_arm(self, arm: int) -> None:
        self._arms.remove(arm)
