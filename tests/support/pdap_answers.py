"""Rewards that a sound neighbour reports itself: by randomised response, from the first one on.

What is shipped reports none, because home sees the clicks. Studies compare with it.
"""

from __future__ import annotations

from tacit.designs.pdap.forwarding import Host
from tacit.designs.pdap.policies.base import Choice, Policy
from tacit.errors import DataError
from tacit.mechanisms.randomized_response import BitRelease
from tacit.randomness import Source


class Answering(Host):
    """epsilon: of one answer, about its reward; inf sends it as it is."""

    def __init__(self, home: Policy, *, epsilon: float, randomness: Source) -> None:
        super().__init__(home)
        self.bit = BitRelease(epsilon)
        self._range = answer_range(epsilon)
        self._source = randomness

    def answer(self, choice: Choice, reward: float) -> float:
        """For a reward of 0 or 1, one of the two ends of `answer_range`."""
        if reward not in (0, 1):
            raise DataError("the reward of a guest is neither 0 nor 1")
        return self._range[int(self.bit([int(reward)], self._source)[0])]


def answer_range(epsilon: float) -> tuple[float, float]:
    """What is sent for a released 0 and for a released 1, so that the mean is the reward."""
    truth = float(BitRelease(epsilon).truth)
    return -(1 - truth) / (2 * truth - 1), truth / (2 * truth - 1)
