"""Any policy with the words of bandit libraries: fit, partial_fit, predict; `PDap` has the sound
one.

Arms are named by whatever is hashable, contexts are rows of numbers in [0, 1]. Rewards lie in
[0, 1]. What is learned from a log is charged like a visit: a policy that meters visits counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.designs.pdap import guarantees
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.policy import Learns, checked_context
from tacit.errors import ConfigError, DataError, NotFittedError
from tacit.privacy import Guarantee
from tacit.randomness import secure


class Bandit:
    """arms: their names, in the order of the policy's own videos; no neighbours.

    make: gives a fresh policy with so many own videos. It is asked again at every `fit`.
    """

    def __init__(self, arms: Sequence[Hashable], make: Callable[[int], Learns]) -> None:
        if not arms or len(set(arms)) < len(arms):
            raise ConfigError("A bandit has one or more arms, each named once.")
        self._make = make
        self._numbers = {arm: number for number, arm in enumerate(arms)}
        self._policy: Learns | None = None

    @property
    def arms(self) -> list[Hashable]:
        return list(self._numbers)

    @property
    def policy(self) -> Learns:
        """The one underneath; NotFittedError before `fit`."""
        if self._policy is None:
            raise NotFittedError("Nothing was learned yet: call fit, with empty lists if need be.")
        return self._policy

    def fit(self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike) -> Bandit:
        """Start anew and learn from a log. decisions: (n,) arms; rewards: (n,); contexts: (n, d).

        A logged decision is learned as if this policy had made it.
        """
        policy = self._make(len(self._numbers))
        if policy.n_neighbours:
            raise ConfigError("A bandit has arms of its own only: make a policy with 0 neighbours.")
        self._policy = policy
        self._numbers = {arm: number for number, arm in enumerate(self._numbers)}
        return self.partial_fit(decisions, rewards, contexts)

    def partial_fit(
        self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike
    ) -> Bandit:
        """Go on learning. All of the log is checked before any of it is learned."""
        policy = self.policy
        numbers = _numbers(rewards, "rewards")
        if numbers.ndim != 1:
            raise DataError("rewards are no list of numbers", found=numbers.shape, expected="(n,)")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
            raise DataError("a reward is out of range", expected="0 to 1")
        arms = [self._number(arm) for arm in decisions]
        rows = _rows(contexts)
        if not len(arms) == len(numbers) == len(rows):
            raise DataError("decisions, rewards and contexts are not equally many")
        for arm, reward, context in zip(arms, numbers.tolist(), rows, strict=True):
            policy.update(policy.select(context, [arm]), reward)
        return self

    def predict(self, contexts: ArrayLike) -> list[Hashable]:
        """An arm for each row. A visit each: its outcome may be passed to partial_fit."""
        names = {number: arm for arm, number in self._numbers.items()}
        return [names[self.policy.select(context).arm] for context in _rows(contexts)]

    def add_arm(self, arm: Hashable) -> None:
        if arm in self.arms:
            raise ConfigError(f"There is an arm {arm!r} already.")
        self._numbers[arm] = len(self.arms) if self._policy is None else self._policy.add_arm()

    def remove_arm(self, arm: Hashable) -> None:
        if arm not in self.arms:
            raise ConfigError(f"There is no arm {arm!r}: it never joined, or has left.")
        if self._policy is not None:
            self._policy.remove_arm(self._numbers[arm])
        del self._numbers[arm]

    def _number(self, arm: Hashable) -> int:
        number = self._numbers.get(arm) if isinstance(arm, Hashable) else None
        if number is None:
            raise DataError("a logged decision is none of the arms", found=arm)
        return number


class PDap(Bandit):
    """fit, partial_fit, predict. arms: names of the videos, in their order.

    epsilon: nats of one visit. dimension: features of a context, each in [0, 1]. horizon: visits
    that are learned from; those after them are only served. ConfigError for settings that
    `JointSetting` refuses.
    """

    def __init__(
        self,
        arms: Sequence[Hashable],
        *,
        epsilon: float = 1.0,
        dimension: int = 2,
        horizon: int = 200_000,
    ) -> None:
        self.epsilon, self.dimension, self.horizon = epsilon, dimension, horizon
        super().__init__(arms, lambda videos: Joint(self._of(videos), randomness=secure()))
        self._of(len(arms))  # refuses bad settings before there is a log

    def _of(self, videos: int) -> JointSetting:
        return JointSetting(
            videos=videos,
            neighbours=0,
            dimension=self.dimension,
            horizon=self.horizon,
            epsilon=self.epsilon,
        )

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Of the learner, for one visit."""
        return (guarantees.joint(self._of(len(self.arms))),)

    def __repr__(self) -> str:
        return f"PDap({len(self.arms)} arms, epsilon={self.epsilon:g}, dimension={self.dimension})"


def _rows(contexts: ArrayLike) -> NDArray[np.float64]:
    """(n, d) in [0, 1]; no rows at all may come without their d."""
    rows = _numbers(contexts, "contexts")
    if rows.ndim != 2 and rows.shape != (0,):
        raise DataError("contexts are no table", found=rows.shape, expected="(n, d)")
    for row in rows:
        checked_context(row, rows.shape[1])
    return rows


def _numbers(given: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} are not numbers, or rows differ in length") from None
