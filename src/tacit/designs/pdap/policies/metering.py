"""Limits to what is spent on one person: on their device, or by the vendor that learns of them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event, PrivacyFilter, PureAccountant
from tacit.designs.pdap.policies.base import Choice
from tacit.designs.pdap.policies.joint.learner import Joint
from tacit.designs.pdap.policies.local.context import Context
from tacit.errors import PrivacyError
from tacit.mechanisms.grid import check_whole


class Metered:
    """A learner with joint privacy that serves a person after so many visits, and learns no more.

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


class Device:
    """Meters one person's visits: each spends before anything is drawn, until nothing is left.

    Then arms are uniform and nothing is reported, which costs nothing. When that happens depends
    on the number of visits alone. lifetime_epsilon: what they spend in their life.
    """

    def __init__(self, policy: Context, *, lifetime_epsilon: float) -> None:
        self._policy = policy
        self._budget = PrivacyFilter(PureAccountant, epsilon=lifetime_epsilon)
        self._open: dict[int, Choice] = {}

    @property
    def spent(self) -> float:
        """Nats so far."""
        return self._budget.spent

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        if not self._budget.affords(self._policy.event):
            return self._policy.uniform(context, arms)
        self._budget.spend(self._policy.event)
        choice = self._policy.select(context, arms)
        self._open[id(choice)] = choice  # kept, so that its id stays its own
        return choice

    def update(self, choice: Choice, reward: float) -> None:
        """Report a visit that was paid for, once."""
        if choice.phase == "train":
            return
        if self._open.get(id(choice)) is not choice:
            raise PrivacyError("This visit was reported already, or was not made on this device.")
        del self._open[id(choice)]
        self._policy.update(choice, reward)
