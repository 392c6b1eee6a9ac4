"""A limit to what is learned of one person: after so many visits they are served, and "
"not learned."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event
from tacit.designs.pdap.joint import Joint
from tacit.designs.pdap.policy import Choice
from tacit.mechanisms.parameters import check_whole


class Metered:
    """A learner with joint privacy, and who was learned from how often.

    visits: of one person that are learned, at most; `event` is what all of them cost together.
    Whether a visit is learned depends on that person's own earlier visits alone. So one visit less
    of a person beyond their limit lets a later one of theirs in, and costs as much as one replaced.
    """

    def __init__(self, policy: Joint, *, visits: int) -> None:
        check_whole("visits", visits, least=1)
        self.policy = policy
        self.visits = visits
        self._learned: dict[Hashable, int] = {}

    @property
    def event(self) -> Event:
        """What one person costs, whatever they do."""
        return self.policy.setting.noise.event_of(self.visits)

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        return self.policy.select(context, arms)

    def update(self, choice: Choice, reward: float, *, person: Hashable) -> bool:
        """Whether it was learned. person: an id that stays at the vendor, and is no release."""
        so_far = self._learned.get(person, 0)
        if so_far >= self.visits:
            return False
        self.policy.update(choice, reward)
        self._learned[person] = so_far + 1
        return True
