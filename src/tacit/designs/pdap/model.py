"""The class for users: the joint learner as a bandit with fit, choose, learn and predict."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.designs.pdap import guarantees
from tacit.designs.pdap.joint import JointLearner, JointSetting, raise_refusals
from tacit.designs.pdap.policies.base import Choice, check_context
from tacit.errors import ConfigError, DataError, NotFittedError, TacitError
from tacit.privacy import Guarantee
from tacit.randomness import secure


@dataclass(frozen=True)
class Visits:
    """Visits for which arms were chosen. Each can be answered once.

    Attributes:
        arms: (n,) names of the chosen arms.
        choices: (n,) the same decisions in the form that `PDap.learn` needs.
    """

    arms: list[Hashable]
    choices: tuple[Choice, ...] = field(repr=False)


class _CheckedLog(NamedTuple):
    """A log of n visits after its form was checked.

    Attributes:
        positions: (n,) positions of the shown arms in `PDap.arms`.
        contexts: (n, d) in [0, 1].
        rewards: (n,) in [0, 1].
    """

    positions: list[int]
    contexts: NDArray[np.float64]
    rewards: list[float]


class PDap:
    """A contextual bandit that learns each visit once, through sums with noise.

    Visits are grouped in epochs. The sums of an epoch are released when it ends, and later choices
    use what was learned through released sums alone.

    Attributes:
        epsilon: nats of one visit, also of one row of a log.
        dimension: number of features of a context, each in [0, 1].
        horizon: number of visits that are expected.
    """

    def __init__(
        self,
        arms: Sequence[Hashable],
        *,
        epsilon: float = 1.0,
        dimension: int = 2,
        horizon: int = 200_000,
    ) -> None:
        """Set the arms and the settings; call `fit` before anything else.

        Args:
            arms: names of the videos, hashable.
            epsilon: nats of one visit.
            dimension: number of features of a context. Scale them so that contexts fill the cube
                [0, 1]^d.
            horizon: number of visits that are expected, those of logs included. Learning goes on
                after them.

        Raises:
            ConfigError: Bad settings, no arm, or an arm named twice.
        """
        if not arms or len(set(arms)) < len(arms):
            raise ConfigError("A bandit has one or more arms, each named once.")
        self.epsilon = epsilon
        self.dimension = dimension
        self.horizon = horizon
        self._numbers = {arm: number for number, arm in enumerate(arms)}
        """The learner's number of each arm."""
        self._policy: JointLearner | None = None
        self._earlier_fits = 0
        """Number of fits before this one that learned something, from their log or afterwards."""
        self._has_learned = False
        """Whether something was learned in or since the last `fit`."""
        self._setting = JointSetting(
            videos=len(arms), neighbours=0, dimension=dimension, horizon=horizon, epsilon=epsilon
        )

    @property
    def arms(self) -> list[Hashable]:
        """Names of the arms that may be chosen."""
        return list(self._numbers)

    @property
    def policy(self) -> JointLearner:
        """The learner that does the work; NotFittedError before `fit`."""
        if self._policy is None:
            raise NotFittedError("fit was not called yet: call it first, without a log if need be.")
        return self._policy

    def fit(
        self,
        decisions: Sequence[Hashable] = (),
        rewards: ArrayLike = (),
        contexts: ArrayLike = (),
    ) -> PDap:
        """Start anew, from nothing or from a log of another policy.

        The log is an epoch of its own, which is released before the next visit is served. The same
        visit may be learned again after each `fit`, so the card adds up the epsilons of all fits
        of this object in which, or after which, anything was learned.

        Args:
            decisions: (n,) arms that were shown.
            rewards: (n,) in [0, 1].
            contexts: (n, d) in [0, 1].

        Returns:
            This bandit.

        Raises:
            ConfigError: All arms were removed.
            DataError: The log does not have this form.
        """
        setting = replace(self._setting, videos=len(self._numbers))
        policy = JointLearner(setting, randomness=secure())
        log = self._check_log(decisions, rewards, contexts)
        self._policy = policy
        # The new learner numbers the arms from 0.
        self._numbers = {arm: number for number, arm in enumerate(self._numbers)}
        if self._has_learned:
            self._earlier_fits += 1
        self._has_learned = False
        self._learn_log(policy, log)
        if policy.arrivals:
            policy.epochs.end_now()
        return self

    def partial_fit(
        self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike
    ) -> PDap:
        """Learn from another log, all of which is checked before any of it is learned.

        Use `learn` for answers to visits of `choose`: it also uses how likely each choice was.

        Args:
            decisions: (n,) arms that were shown.
            rewards: (n,) in [0, 1].
            contexts: (n, d) in [0, 1].

        Returns:
            This bandit.

        Raises:
            DataError: The log does not have this form.
            NotFittedError: `fit` was not called.
        """
        policy = self.policy
        log = self._check_log(decisions, rewards, contexts)
        self._learn_log(policy, log)
        return self

    def choose(self, contexts: ArrayLike) -> Visits:
        """Choose an arm for a visit with each of these contexts; pass the answers to `learn`.

        Args:
            contexts: (n, d) in [0, 1].

        Raises:
            DataError: `contexts` do not have this form.
            NotFittedError: `fit` was not called.
        """
        policy = self.policy
        choices = policy.select_many(self._check_contexts(contexts))
        names = {number: arm for arm, number in self._numbers.items()}
        return Visits([names[choice.arm] for choice in choices], tuple(choices))

    def learn(self, visits: Visits, rewards: ArrayLike) -> PDap:
        """Learn the answers to visits, each once and each by itself.

        An answer that is refused keeps no other from being learned: the error is raised after all
        others were learned. Do not pass those again.

        Args:
            visits: what `choose` returned.
            rewards: (n,) in [0, 1]; NaN for a visit without an answer, whose answer can be learned
                in a later call.

        Returns:
            This bandit.

        Raises:
            DataError: There are not as many rewards as visits, or the rewards cannot be converted
                to numbers, and nothing is learned; or a reward is outside [0, 1].
            PrivacyError: A visit was answered before, or was chosen before the last `fit` or by
                another bandit. If several answers are refused, the kind of error is that of the
                first one.
            NotFittedError: `fit` was not called.
        """
        reward_array = _to_floats(rewards, "rewards")
        if reward_array.shape != (len(visits.choices),):
            raise DataError("rewards and visits are not equally many", found=reward_array.shape)
        policy = self.policy  # before `fit` this raises, and nothing was learned
        refusals: dict[int, TacitError] = {}
        positions: list[int] = []
        answered = np.flatnonzero(~np.isnan(reward_array)).tolist()
        for position in answered:
            if 0 <= reward_array[position] <= 1:
                positions.append(position)
            else:
                refusals[position] = DataError("a reward is out of range", expected="0 to 1")
        if positions:
            self._has_learned = True
        choices = [visits.choices[position] for position in positions]
        refused_choices = policy.learn_answers(choices, reward_array[positions].tolist())
        for number, error in refused_choices.items():
            refusals[positions[number]] = error
        raise_refusals(refusals, len(answered))
        return self

    def predict(self, contexts: ArrayLike) -> list[Hashable]:
        """Choose an arm, as `choose` does, for visits that will not be answered.

        They are counted as visits, too.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            (n,) names of arms.

        Raises:
            DataError: `contexts` do not have this form.
            NotFittedError: `fit` was not called.
        """
        return self.choose(contexts).arms

    def add_arm(self, arm: Hashable) -> None:
        """Add an arm without any visits.

        It can be chosen from the next epoch on, or at once if this epoch has no visit yet or `fit`
        was not called.

        Raises:
            ConfigError: There is an arm of this name already.
        """
        if arm in self._numbers:
            raise ConfigError(f"There is an arm {arm!r} already.")
        if self._policy is None:
            self._numbers[arm] = len(self._numbers)
        else:
            self._numbers[arm] = self._policy.add_arm()

    def remove_arm(self, arm: Hashable) -> None:
        """Never choose this arm again.

        Raises:
            ConfigError: There is no arm of this name, or, after `fit`, it is the last arm.
        """
        if arm not in self._numbers:
            raise ConfigError(f"There is no arm {arm!r}: it never joined, or has left.")
        if self._policy is not None:
            self._policy.remove_arm(self._numbers[arm])
        del self._numbers[arm]

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the card of the learner, for a visit that may have been learned in each fit."""
        fits = max(self._earlier_fits + int(self._has_learned), 1)
        return (guarantees.joint_card(self._setting, fits=fits),)

    def _check_log(
        self, decisions: Sequence[Hashable], rewards: ArrayLike, contexts: ArrayLike
    ) -> _CheckedLog:
        """Check and convert a log, with arguments as in `fit`.

        Raises:
            DataError: The log does not have the form that `fit` describes.
        """
        reward_array = _to_floats(rewards, "rewards")
        if reward_array.ndim != 1:
            raise DataError(
                "rewards are not a list of numbers", found=reward_array.shape, expected="(n,)"
            )
        _check_range(reward_array)
        for arm in decisions:
            if not isinstance(arm, Hashable) or arm not in self._numbers:
                raise DataError("a logged decision is not an arm of this bandit", found=arm)
        rows = self._check_contexts(contexts)
        if not len(decisions) == len(reward_array) == len(rows):
            raise DataError("decisions, rewards and contexts are not equally many")
        position_of = {arm: position for position, arm in enumerate(self._numbers)}
        positions = [position_of[arm] for arm in decisions]
        return _CheckedLog(positions, rows, reward_array.tolist())

    def _learn_log(self, policy: JointLearner, log: _CheckedLog) -> None:
        """Let the learner learn a log; an empty log changes nothing."""
        if log.rewards:
            self._has_learned = True
            numbers = list(self._numbers.values())
            arms = [numbers[position] for position in log.positions]
            policy.learn_log(arms, log.contexts, log.rewards)

    def _check_contexts(self, contexts: ArrayLike) -> NDArray[np.float64]:
        """Convert contexts to (n, d) numbers in [0, 1]; an empty list gives (0, d).

        Raises:
            DataError: They do not have this form.
        """
        rows = _to_floats(contexts, "contexts")
        if rows.shape == (0,):
            return np.empty((0, self.dimension))
        if rows.ndim != 2:
            raise DataError("contexts are not a table", found=rows.shape, expected="(n, d)")
        if len(rows):
            check_context(rows[0], self.dimension)
        is_in_cube = rows.min(initial=0) >= 0 and rows.max(initial=0) <= 1  # False for NaN
        if not is_in_cube:
            for row in rows:
                check_context(row, self.dimension)
        return rows

    def __repr__(self) -> str:
        epsilon = self._setting.epsilon
        return f"PDap({len(self.arms)} arms, epsilon={epsilon:g}, dimension={self.dimension})"


def _check_range(rewards: NDArray[np.float64]) -> None:
    """Raise DataError if a reward is outside [0, 1], or NaN."""
    if rewards.size and not (rewards.min() >= 0 and rewards.max() <= 1):
        raise DataError("a reward is out of range", expected="0 to 1")


def _to_floats(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Convert values to an array of floats.

    Args:
        values: numbers, or rows of numbers.
        name: what the error calls the values.

    Raises:
        DataError: The values are not numbers, or rows differ in length.
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"{name} are not numbers, or rows differ in length") from None
