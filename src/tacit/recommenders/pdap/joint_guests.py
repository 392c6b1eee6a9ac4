"""Serving other vendors' users from what was released, and a reward noised from the first one.

Choice   The own video believed best in the cell of the forwarded context. What is believed is made
         of released sums, so serving guests costs nothing, and needs no training of its own.
Answer   The reward, 0 or 1, by randomised response, stretched so that its mean is right. Nobody
         needs the exact one: not while exploring, and not later. It is not learned here: a
         forwarded visit is learned once, by the vendor that forwarded it.
Source   Warner: Randomized response (JASA 1965). The paper's tree per video would add the noise of
         floor(log2 T) + 1 nodes to sums that the home vendor makes itself, and noises.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event
from tacit.errors import ConfigError, DataError
from tacit.mechanisms.randomized_response import BitRelease
from tacit.randomness import Source
from tacit.recommenders.pdap.joint import Joint
from tacit.recommenders.pdap.policy import Choice


class JointGuests:
    """A policy over one's own videos that never learns; `answer` is what the other is sent.

    home: one's own learner. epsilon: of one answer, about its reward, towards the vendor that
    forwarded; inf sends rewards as they are.
    """

    name: ClassVar[str] = "sound-joint-guests"

    def __init__(self, home: Joint, *, epsilon: float, randomness: Source) -> None:
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
        return self.home.serve(context, arms)

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
