"""The class that a user meets: the sound learner as a bandit with fit, partial_fit and predict."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.designs.pdap import guarantees
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.policies.base import check_context
from tacit.errors import ConfigError, DataError, NotFittedError
from tacit.privacy import Guarantee
from tacit.randomness import secure


class PDap:
    """A contextual bandit that releases each visit once, with noise.

    Attributes:
        epsilon: nats of one visit, of a log as well.
        dimension: features of a context, each in [0, 1].
        horizon: visits of one period of learning.
    """

    def __init__(
        self,
        arms: Sequence[Hashable],
        *,
        epsilon: float = 1.0,
        dimension: int = 2,
        horizon: int = 200_000,
    ) -> None:
        """Take arms and settings; nothing is learned before `fit`.

        Args:
            arms: names of the videos, hashable, in their order.
            epsilon: nats of one visit.
            dimension: features of a context.
            horizon: visits of one period of learning.

        Raises:
            ConfigError: Bad settings, no arm, or an arm named twice.
        """
        if not arms or len(set(arms)) < len(arms):
            raise ConfigError("A bandit has one or more arms, each named once.")
        self.epsilon, self.dimension, self.horizon = epsilon, dimension, horizon
        self._numbers = {arm: number for number, arm in enumerate(arms)}
        self._policy: Joint | None = None
        self._fits = 0
        self._setting = JointSetting(
            videos=len(arms), neighbours=0, dimension=dimension, horizon=horizon, epsilon=epsilon
        )

    @property
    def arms(self) -> list[Hashable]:
        """Names of the arms that may be predicted."""
        return list(self._numbers)

    @property
    def policy(self) -> Joint:
        """The learner underneath; NotFittedError before `fit`."""
        if self._policy is None:
            raise NotFittedError("Nothing was learned yet: call fit, with empty lists if need be.")
        return self._policy

    def fit(self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike) -> PDap:
        """Start anew and learn from a log, as if this policy had made its decisions.

        A visit of an earlier `fit` may be in this log, too, so the card adds all fits up that
        had a log. A new object counts from its own first fit.

        Args:
            decisions: (n,) arms that were shown.
            rewards: (n,) in [0, 1].
            contexts: (n, d) in [0, 1].

        Returns:
            This bandit.

        Raises:
            DataError: The log is not of this form.
        """
        setting = replace(self._setting, videos=len(self._numbers))
        self._policy = Joint(setting, randomness=secure())
        self._numbers = {arm: number for number, arm in enumerate(self._numbers)}
        self._fits += len(decisions) > 0
        return self.partial_fit(decisions, rewards, contexts)

    def partial_fit(
        self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike
    ) -> PDap:
        """Go on learning from a log, all of which is checked before any of it is learned.

        Args and errors are those of `fit`.

        Raises:
            NotFittedError: `fit` was not called.
        """
        policy = self.policy
        numbers = _numbers(rewards, "rewards")
        if numbers.ndim != 1:
            raise DataError("rewards are no list of numbers", found=numbers.shape, expected="(n,)")
        if numbers.size and not (numbers.min() >= 0 and numbers.max() <= 1):
            raise DataError("a reward is out of range", expected="0 to 1")
        for arm in decisions:
            if not isinstance(arm, Hashable) or arm not in self._numbers:
                raise DataError("a logged decision is none of the arms", found=arm)
        rows = self._rows(contexts)
        if not len(decisions) == len(numbers) == len(rows):
            raise DataError("decisions, rewards and contexts are not equally many")
        for arm, reward, context in zip(decisions, numbers.tolist(), rows, strict=True):
            policy.update(policy.select(context, [self._numbers[arm]]), reward)
        return self

    def predict(self, contexts: ArrayLike) -> list[Hashable]:
        """Choose an arm for each of (n, d) contexts.

        Each is a visit: its outcome may be passed to `partial_fit`.

        Raises:
            NotFittedError: `fit` was not called.
        """
        names = {number: arm for arm, number in self._numbers.items()}
        return [names[self.policy.select(context).arm] for context in self._rows(contexts)]

    def add_arm(self, arm: Hashable) -> None:
        """Add an arm of which nothing is known; ConfigError if there is one of this name."""
        if arm in self._numbers:
            raise ConfigError(f"There is an arm {arm!r} already.")
        joined = len(self._numbers) if self._policy is None else self._policy.add_arm()
        self._numbers[arm] = joined

    def remove_arm(self, arm: Hashable) -> None:
        """Never predict this arm again; ConfigError if there is none of this name."""
        if arm not in self._numbers:
            raise ConfigError(f"There is no arm {arm!r}: it never joined, or has left.")
        if self._policy is not None:
            self._policy.remove_arm(self._numbers[arm])
        del self._numbers[arm]

    def guarantees(self) -> tuple[Guarantee, ...]:
        """The card of the learner, for one visit in every fit of this object."""
        return (guarantees.joint(self._setting, fits=max(self._fits, 1)),)

    def _rows(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Read contexts as (n, d) in [0, 1]; no rows at all may come without their d."""
        rows = _numbers(contexts, "contexts")
        if rows.ndim != 2 and rows.shape != (0,):
            raise DataError("contexts are no table", found=rows.shape, expected="(n, d)")
        for row in rows:
            check_context(row, self.dimension)
        return rows

    def __repr__(self) -> str:
        epsilon = self._setting.epsilon
        return f"PDap({len(self.arms)} arms, epsilon={epsilon:g}, dimension={self.dimension})"


def _numbers(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """Read numbers; DataError naming `what` they are."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} are not numbers, or rows differ in length") from None
