"""The class that a user meets: the sound learner as a bandit; fit, choose, learn, predict."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.designs.pdap import guarantees
from tacit.designs.pdap.joint import Joint, JointSetting
from tacit.designs.pdap.policies.base import Choice, check_context
from tacit.errors import ConfigError, DataError, NotFittedError
from tacit.privacy import Guarantee
from tacit.randomness import secure


@dataclass(frozen=True)
class Visits:
    """Visits that were served, and can be answered once.

    Attributes:
        arms: (n,) names of what was chosen.
        choices: (n,) of the learner, as `PDap.learn` takes them.
    """

    arms: list[Hashable]
    choices: tuple[Choice, ...] = field(repr=False)


class PDap:
    """A contextual bandit that releases each visit once, with noise.

    Attributes:
        epsilon: nats of one visit, of a log as well.
        dimension: features of a context, each in [0, 1].
        horizon: visits that are expected.
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
            dimension: features of a context. They are scaled so that contexts fill the cube.
            horizon: visits that are expected, a log included; learning goes on after them.

        Raises:
            ConfigError: Bad settings, no arm, or an arm named twice.
        """
        if not arms or len(set(arms)) < len(arms):
            raise ConfigError("A bandit has one or more arms, each named once.")
        self.epsilon, self.dimension, self.horizon = epsilon, dimension, horizon
        self._numbers = {arm: number for number, arm in enumerate(arms)}
        self._policy: Joint | None = None
        self._earlier_lives = 0
        """Lives in which something was learned, before the last `fit`."""
        self._has_learned = False
        self._setting = JointSetting(
            videos=len(arms), neighbours=0, dimension=dimension, horizon=horizon, epsilon=epsilon
        )

    @property
    def arms(self) -> list[Hashable]:
        """Names of the arms that may be chosen."""
        return list(self._numbers)

    @property
    def policy(self) -> Joint:
        """The learner underneath; NotFittedError before `fit`."""
        if self._policy is None:
            raise NotFittedError("Nothing was learned yet: call fit, with empty lists if need be.")
        return self._policy

    def fit(
        self,
        decisions: Sequence[Hashable] = (),
        rewards: ArrayLike = (),
        contexts: ArrayLike = (),
    ) -> PDap:
        """Start anew, with nothing or with a log of another policy, which is released at once.

        A visit that was learned before may be in this log, too, so the card adds up all lives from
        one `fit` to the next in which anything was learned. A new object counts from its own
        first fit.

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
        policy = Joint(setting, randomness=secure())
        numbers = {arm: number for number, arm in enumerate(self._numbers)}
        log = self._check_log(decisions, rewards, contexts)
        self._policy, self._numbers = policy, numbers
        self._earlier_lives += self._has_learned
        self._has_learned = False
        self._learn_log(policy, *log)
        if policy.arrivals:
            policy.epochs.end_now()
        return self

    def partial_fit(
        self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike
    ) -> PDap:
        """Go on learning from a log, all of which is checked before any of it is learned.

        For answers to what `choose` showed, `learn` knows more: the policy that chose.

        Args and errors are those of `fit`.

        Raises:
            NotFittedError: `fit` was not called.
        """
        policy = self.policy
        self._learn_log(policy, *self._check_log(decisions, rewards, contexts))
        return self

    def choose(self, contexts: ArrayLike) -> Visits:
        """Serve a visit for each of (n, d) contexts; `learn` takes the answers.

        Raises:
            NotFittedError: `fit` was not called.
        """
        policy = self.policy
        choices = policy.select_many(self._rows(contexts))
        names = {number: arm for arm, number in self._numbers.items()}
        return Visits([names[choice.arm] for choice in choices], tuple(choices))

    def learn(self, visits: Visits, rewards: ArrayLike) -> PDap:
        """Learn the answers to visits, each once: a second one is a PrivacyError.

        Args:
            visits: of `choose`.
            rewards: (n,) in [0, 1]; NaN where no answer came, which may still come later.

        Returns:
            This bandit.

        Raises:
            DataError: There are not as many rewards as visits, or one is out of range.
        """
        numbers = _numbers(rewards, "rewards")
        if numbers.shape != (len(visits.choices),):
            raise DataError("rewards and visits are not equally many", found=numbers.shape)
        answered = np.flatnonzero(~np.isnan(numbers)).tolist()
        given = numbers[answered]
        _check_range(given)
        self._has_learned = self._has_learned or bool(answered)
        self.policy.update_many([visits.choices[place] for place in answered], given.tolist())
        return self

    def predict(self, contexts: ArrayLike) -> list[Hashable]:
        """Choose an arm for each of (n, d) contexts, for visits that are not answered here.

        Raises:
            NotFittedError: `fit` was not called.
        """
        return self.choose(contexts).arms

    def add_arm(self, arm: Hashable) -> None:
        """Add an arm of which nothing is known; it is chosen from the next epoch on.

        Raises:
            ConfigError: There is one of this name.
        """
        if arm in self._numbers:
            raise ConfigError(f"There is an arm {arm!r} already.")
        joined = len(self._numbers) if self._policy is None else self._policy.add_arm()
        self._numbers[arm] = joined

    def remove_arm(self, arm: Hashable) -> None:
        """Never choose this arm again; ConfigError if there is none of this name."""
        if arm not in self._numbers:
            raise ConfigError(f"There is no arm {arm!r}: it never joined, or has left.")
        if self._policy is not None:
            self._policy.remove_arm(self._numbers[arm])
        del self._numbers[arm]

    def guarantees(self) -> tuple[Guarantee, ...]:
        """The card of the learner, for one visit in every fit of this object."""
        fits = max(self._earlier_lives + self._has_learned, 1)
        return (guarantees.joint(self._setting, fits=fits),)

    def _check_log(
        self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike
    ) -> tuple[list[int], NDArray[np.float64], list[float]]:
        """Read a log as numbers of arms, contexts and rewards; DataError for what is none."""
        numbers = _numbers(rewards, "rewards")
        if numbers.ndim != 1:
            raise DataError("rewards are no list of numbers", found=numbers.shape, expected="(n,)")
        _check_range(numbers)
        for arm in decisions:
            if not isinstance(arm, Hashable) or arm not in self._numbers:
                raise DataError("a logged decision is none of the arms", found=arm)
        rows = self._rows(contexts)
        if not len(decisions) == len(numbers) == len(rows):
            raise DataError("decisions, rewards and contexts are not equally many")
        places = {arm: number for number, arm in enumerate(self._numbers)}
        return [places[arm] for arm in decisions], rows, numbers.tolist()

    def _learn_log(
        self,
        policy: Joint,
        places: list[int],
        contexts: NDArray[np.float64],
        rewards: list[float],
    ) -> None:
        """Learn rows that were checked. places: of the arms among `arms`."""
        if rewards:
            self._has_learned = True
            arms = list(self._numbers.values())
            policy.learn_log([arms[place] for place in places], contexts, rewards)

    def _rows(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Read contexts as (n, d) in [0, 1]; no rows at all may come without their d."""
        rows = _numbers(contexts, "contexts")
        if rows.shape == (0,):
            return np.empty((0, self.dimension))
        if rows.ndim != 2:
            raise DataError("contexts are no table", found=rows.shape, expected="(n, d)")
        for row in rows[:1]:
            check_context(row, self.dimension)
        if not (rows.min(initial=0) >= 0 and rows.max(initial=0) <= 1):
            for row in rows:
                check_context(row, self.dimension)
        return rows

    def __repr__(self) -> str:
        epsilon = self._setting.epsilon
        return f"PDap({len(self.arms)} arms, epsilon={epsilon:g}, dimension={self.dimension})"


def _check_range(rewards: NDArray[np.float64]) -> None:
    """Refuse rewards outside [0, 1], and what is no number."""
    if rewards.size and not (rewards.min() >= 0 and rewards.max() <= 1):
        raise DataError("a reward is out of range", expected="0 to 1")


def _numbers(given: ArrayLike, what: str) -> NDArray[np.float64]:
    """Read numbers; DataError naming `what` they are."""
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{what} are not numbers, or rows differ in length") from None
