"""Any arm at random: the baseline."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.base import Choice, Policy, check_reward
from tacit.randomness import Source, integers_below


class Uniform(Policy):
    """Chooses each arm with the same probability. It learns nothing, so it releases nothing."""

    epsilon = 0.0

    def __init__(self, videos: int, neighbours: int, *, randomness: Source) -> None:
        super().__init__(videos, neighbours)
        self._source = randomness

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose an arm uniformly among `arms`, or among all arms; the context is not used."""
        allowed = self.allowed_arms(arms)
        index = int(integers_below(self._source, len(allowed), 1)[0])
        return Choice(allowed[index], "explore", None, 1 / len(allowed))

    def update(self, choice: Choice, reward: float) -> None:
        """Check the reward and forget it."""
        check_reward(reward)

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose an own video uniformly for each of (n, d) contexts, which are not used."""
        own = np.array(self.own)
        return np.asarray(own[integers_below(self._source, len(own), len(contexts))])
