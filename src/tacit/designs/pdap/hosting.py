"""Serving other vendors' users without learning from them, and a reward noised from the first one.

Choice   Whatever `serve_many` of one's own learner says. A forwarded visit is learned once, by the
         vendor that forwarded it.
Answer   The reward, 0 or 1, by randomised response, stretched so that its mean is right. Nobody
         needs the exact one: not while exploring, and not later.
Source   Warner: Randomized response (JASA 1965).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event
from tacit.designs.pdap.partition import Cell
from tacit.designs.pdap.policy import Choice
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.randomized_response import BitRelease
from tacit.randomness import Source


class Serves(Protocol):
    """A learner that can show guests what it knows."""

    @property
    def n_own(self) -> int: ...

    def serve_many(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """(n,) own videos for (n, d) contexts of others' users."""


class Host:
    """A policy over one's own videos that never learns; `answer` is what the other is sent.

    home: one's own learner. epsilon: of one answer, about its reward; inf sends it as it is.
    """

    name: ClassVar[str] = "host"

    def __init__(self, home: Serves, *, epsilon: float, randomness: Source) -> None:
        self.home = home
        self.epsilon = epsilon
        self._bit = BitRelease(epsilon)
        self._range = answer_range(epsilon)
        self._source = randomness

    @property
    def n_own(self) -> int:
        return self.home.n_own

    @property
    def n_neighbours(self) -> int:
        return 0

    @property
    def answer_event(self) -> Event:
        """What one answer costs."""
        return self._bit.event

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """arms: refused, for what is shown is the learner's to say."""
        if arms is not None:
            raise ConfigError("ForwardedUsers are shown what the vendor's own learner has.")
        return Choice(int(self.home.serve_many(context[None, :])[0]), "exploit", Cell(0, ()))

    def update(self, choice: Choice, reward: float) -> None:
        self.answer(choice, reward)

    def answer(self, choice: Choice, reward: float) -> float:
        """For a reward of 0 or 1, one of the two ends of `answer_range`."""
        if reward not in (0, 1):
            raise DataError("the reward of a guest is neither 0 nor 1")
        return self._range[int(self._bit([int(reward)], self._source)[0])]

    def add_arm(self, *, neighbour: bool = False) -> int:
        raise ConfigError("Videos join the vendor's own learner; guests are shown what it has.")

    def remove_arm(self, arm: int) -> None:
        raise ConfigError("Videos leave the vendor's own learner; guests are shown what it has.")


def answer_range(epsilon: float) -> tuple[float, float]:
    """What is sent for a released 0 and for a released 1, so that the mean is the reward."""
    truth = float(BitRelease(epsilon).truth)
    return -(1 - truth) / (2 * truth - 1), truth / (2 * truth - 1)
