"""The joint learner: it learns visits through noisy sums alone, and chooses from these sums.

Source      Kearns, Pai, Roth, Ullman: Mechanism design in large games (ITCS 2014), for joint
            privacy; Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS
            2018), for why the guarantee cannot cover the video that the visitor is shown.
Runs at     the vendor.
Sees        contexts, choices and rewards of its own users, and of logs.
Releases    the sums of `sums.py`, at the end of an epoch: one release of own visits and one of rows
            of logs. What others are shown follows from releases, public facts and fresh draws.
Guarantee   epsilon per visit, against everyone but the visitor and the vendor. Neighbouring data
            differ in whether one visit is learned; that it takes place, and its number, are public.
Order       features.py -> sums.py -> posterior.py -> here; epochs.py is the public time.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import Event
from tacit.designs.pdap.epochs import ChangeAlarm, Epochs
from tacit.designs.pdap.features import Features, Floats, largest_degree
from tacit.designs.pdap.normal_draws import NormalDraws
from tacit.designs.pdap.policies.base import (
    Choice,
    Phase,
    Policy,
    check_context,
    check_contexts,
    check_reward,
)
from tacit.designs.pdap.posterior import (
    EXPLORATION,
    ArmSet,
    Beliefs,
    Observation,
    Ranges,
    learn_epoch,
    mean_of_best_own,
    posterior_of,
    shares_at_points,
    shares_of_log,
    squared_noise_scale,
)
from tacit.designs.pdap.sums import EpochSums, Release, SumNoise
from tacit.designs.pdap.waiting_visits import WaitingVisits
from tacit.errors import ConfigError, DataError, PrivacyError, TacitError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.randomness import Source

SHARE_DRAWS = 100
"""Number of Thompson draws from which `shares` estimates the chance of each arm."""
ANSWERS_AT_ONCE = 256
"""Number of answers that are collected and then added to the sums together."""
NUMBERS_AT_ONCE = 1 << 18
"""Largest product visits x arms x terms of a block of visits in `select_many`, unless the block is
one visit."""


@dataclass(frozen=True, kw_only=True)
class JointSetting:
    """The public settings of a learner.

    Attributes:
        videos: number of own videos at the start.
        neighbours: number of neighbours at the start.
        dimension: d, number of features of a context.
        horizon: n, visits that are expected. It sets the features and the lengths of epochs.
            Learning goes on after it at the same epsilon, because each visit is in one release.
        epsilon: nats of one visit; inf adds no noise.
        neighbour_range: lowest and highest reward of a neighbour.
        degree: g of the features; None means what `features.largest_degree` chooses.
    """

    videos: int
    neighbours: int
    dimension: int
    horizon: int
    epsilon: float
    neighbour_range: tuple[float, float] = (0.0, 1.0)
    degree: int | None = None

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("dimension", self.dimension, least=1)
        check_whole("horizon", self.horizon, least=2, most=1 << 40)
        low, high = self.neighbour_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigError(f"neighbour_range is a lower and a higher number; got {low}, {high}.")

    @cached_property
    def features(self) -> Features:
        """The features of a new learner."""
        degree = self.degree
        if degree is None:
            arms = max(1, self.videos + self.neighbours)
            degree = largest_degree(
                self.dimension, horizon=self.horizon, epsilon=self.epsilon, arms=arms
            )
        return Features(self.dimension, degree)

    @property
    def noise(self) -> SumNoise:
        """The noise of a new learner."""
        return SumNoise(self.epsilon, self.features.bound_in_grains)


class JointLearner(Policy):
    """Learns from noisy sums of visits, and chooses by Thompson draws from its posterior.

    Attributes:
        setting: the public settings.
        epsilon: nats of one visit.
        features: the map from contexts to phi, fixed at the start.
        epochs: public time.
        last_release: the last release of visits for which this learner chose an arm; None if there
            was none since the start or since `resume`.
        last_log_release: the last release of rows of logs; None in the same cases.
        tag: random text; only choices that carry it are learned.
    """

    def __init__(self, setting: JointSetting, *, randomness: Source) -> None:
        """Start with nothing learned."""
        super().__init__(setting.videos, setting.neighbours)
        self.setting = setting
        self.epsilon = setting.epsilon
        self.features = setting.features
        self.epochs = Epochs(setting.horizon)
        self.last_release: Release | None = None
        self.last_log_release: Release | None = None
        self._draws = NormalDraws(randomness)
        self.tag = secrets.token_hex(16)
        self._waiting_visits = WaitingVisits()
        self._alarm = ChangeAlarm()
        self._arms = self.allowed_arms()
        """The arm of each row: arms that can be shown in this epoch, or could until they left.

        A row is a position on the first axis of the sums and of the beliefs.
        """
        self._rows = {arm: row for row, arm in enumerate(self._arms)}
        """The row of each of these arms."""
        self._beliefs = Beliefs.before_data(self.features, len(self._arms))
        self._posterior = posterior_of(self._beliefs)
        self._sums = self._new_sums()
        """Sums of the answers to visits for which this learner chose an arm."""
        self._log_sums = self._new_sums()
        """Sums of rows of logs."""
        self._answers: list[tuple[int, Any, float]] = []
        """Row, context and scaled reward of the answers that are not yet in the sums."""
        self._shown_arms = tuple(self._arms)
        """Arms that can be shown now."""

    @property
    def arrivals(self) -> int:
        """Visits so far, rows of logs included; public."""
        return self.epochs.arrivals

    @property
    def event(self) -> Event:
        """The cost of one visit."""
        return self.setting.noise.event

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose an arm for one visit by a Thompson draw, and count the visit.

        Args:
            context: (d,) in [0, 1].
            arms: the arms that may be chosen now; None is all of them. Which arms these are must
                be public.

        Raises:
            ConfigError: `arms` is empty, or has an arm that never joined or has left.
            DataError: The context does not have this form.
        """
        checked = check_context(context, self.features.dimension)
        shown = self._arms_to_show(self._sort_allowed(arms))
        return self._choose_and_count(checked[None], shown)[0]

    def select_many(self, contexts: Floats, arms: Sequence[int] | None = None) -> list[Choice]:
        """Choose an arm for each of many visits, and count them.

        They have the same distribution as if `select` were called for one visit after the other,
        without answers in between.

        Args:
            contexts: (n, d) in [0, 1].
            arms: the arms that may be chosen now; None is all of them. Which arms these are must
                be public.

        Raises:
            ConfigError: `arms` is empty, or has an arm that never joined or has left.
            DataError: `contexts` are not (n, d) numbers in [0, 1].
        """
        contexts = check_contexts(contexts, self.features.dimension)
        allowed = self._sort_allowed(arms)
        choices: list[Choice] = []
        while len(choices) < len(contexts):
            shown = self._arms_to_show(allowed)
            visits_left_in_epoch = self.epochs.ends_at - self.epochs.arrivals
            numbers_per_visit = len(self._arms) * self.features.terms
            visits_per_block = max(1, NUMBERS_AT_ONCE // numbers_per_visit)
            end = len(choices) + min(visits_left_in_epoch, visits_per_block)
            choices += self._choose_and_count(contexts[len(choices) : end], shown)
        return choices

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose the arm with the largest posterior mean, without counting or learning a visit."""
        return Choice(self._best_arm(context, self.allowed_arms(arms)), "exploit", None, None)

    def update(self, choice: Choice, reward: float) -> None:
        """Learn from the answer to one visit; see `update_many`."""
        self.update_many([choice], [reward])

    def update_many(self, choices: Sequence[Choice], rewards: Sequence[float]) -> None:
        """Learn from the answers to visits, each once and each by itself.

        An answer is ignored if it comes too late, if its arm has left and was deleted at the end of
        an epoch, or if it is the answer to a choice of `choose_again`.

        An answer that is refused changes nothing for the others: they are learned, and then the
        error is raised. If one visit could keep another from being learned, epsilon would not bound
        what releases reveal about the first one.

        Args:
            choices: what `select` returned.
            rewards: (n,) numbers, clipped to [0, 1] for own videos and to `neighbour_range` for
                neighbours.

        Raises:
            DataError: There are not as many rewards as choices, and nothing is learned; or a reward
                is not a finite number, or a choice's context is outside [0, 1].
            ConfigError: A choice has a context of another form than this learner's.
            PrivacyError: A visit was answered before, or is not a visit of this learner. If several
                answers are refused, the kind of error is that of the first one.
        """
        raise_refusals(self.learn_answers(choices, rewards), len(choices))

    def learn_answers(
        self, choices: Sequence[Choice], rewards: Sequence[float]
    ) -> dict[int, TacitError]:
        """Learn as `update_many` does, and return why answers were refused, by their position.

        Raises:
            DataError: There are not as many rewards as choices. Nothing is learned.
        """
        if len(choices) != len(rewards):
            raise DataError(
                "rewards and choices are not equally many",
                found=len(rewards),
                expected=f"{len(choices)} rewards",
            )
        refusals: dict[int, TacitError] = {}
        for position, choice in enumerate(choices):
            try:
                self._accept_answer(choice, rewards[position])
            except TacitError as error:
                refusals[position] = error
        if len(self._answers) >= ANSWERS_AT_ONCE:
            self._add_answers()
        return refusals

    def _accept_answer(self, choice: Choice, reward: float) -> None:
        """Collect the answer to one visit, or ignore or refuse it; errors as in `update_many`."""
        checked_reward = check_reward(reward)
        self._check_origin(choice)
        row = self._rows.get(choice.arm)
        is_in_time = self._waiting_visits.accept_answer(choice.visit, self.arrivals)
        can_be_learned = choice.cell is not None and choice.phase != "train"
        if is_in_time and can_be_learned and row is not None:
            scaled_reward = self._scale_reward(choice.arm, checked_reward)
            self._answers.append((row, choice.cell, scaled_reward))

    def learn_log(self, arms: Sequence[int], contexts: Floats, rewards: Sequence[float]) -> None:
        """Learn from a log of visits for which another policy chose; they count as arrivals.

        Which arms the log shows is private. So the log's visits are not counted in the public
        `Epochs.arrivals_by_set`, and the policy of the log is estimated from the release of its
        sums. The rows of one call are in one epoch: the current one, or the next one if the current
        epoch is due or an arm has joined that cannot be shown in it.

        Args:
            arms: (n,) number of the shown arm of each row.
            contexts: (n, d) in [0, 1].
            rewards: (n,) numbers, clipped as in `update_many`.

        Raises:
            ConfigError: One of the arms has not joined, or has left.
            DataError: `contexts` are not (n, d) numbers in [0, 1], or a reward is not a finite
                number.
        """
        contexts = check_contexts(contexts, self.features.dimension)
        joined = set(self.allowed_arms())
        if not joined.issuperset(arms):
            raise ConfigError("A log shows an arm that never joined, or has left.")
        if self.epochs.is_due or self._has_joining_arms():
            self._end_epoch()
        rows = [self._rows[arm] for arm in arms]
        scaled_rewards: list[float] = []
        for arm, reward in zip(arms, rewards, strict=True):
            scaled_rewards.append(self._scale_reward(arm, check_reward(reward)))
        self.epochs.count_log(len(rows))
        self._add_to_sums(self._log_sums, rows, contexts, scaled_rewards)

    def release_if_due(self) -> None:
        """Release the epoch if it has ended, without waiting for the next visitor."""
        if self.epochs.is_due:
            self._end_epoch()

    def shares(self, contexts: Floats) -> Floats:
        """Estimate the chance of each arm if `select` may choose any, for off-policy estimators.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            (n, arms) in the order of `arms_in_epoch`: the share of `SHARE_DRAWS` Thompson draws in
            which each arm is chosen.
        """
        means, deviations = self.estimate(contexts)
        times_chosen = np.zeros(means.shape)
        visits = np.arange(len(means))
        rows_that_left = [row for arm, row in self._rows.items() if arm not in self._shown_arms]
        for _ in range(SHARE_DRAWS):
            z = self._draws.generator.standard_normal(means.shape)
            drawn_means = means + EXPLORATION * deviations * z
            drawn_means[:, rows_that_left] = -np.inf
            times_chosen[visits, drawn_means.argmax(axis=1)] += 1
        return times_chosen / SHARE_DRAWS

    def choose_again(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """Choose the arm with the largest posterior mean if a visit's first choice cannot be shown.

        This is not counted as a further visit: public time must not reveal at which visits it
        happens. The answer is not learned, because the policy from which expected sums are
        computed makes no such choices.
        """
        best = self._best_arm(context, self.allowed_arms(arms))
        return Choice(best, "exploit", None, None, instead.visit, instead.learner)

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose the own video with the largest posterior mean for each of (n, d) contexts.

        If all own videos joined after this epoch began, it is the first of them.
        """
        shown = [arm for arm in self.own if arm in self._rows]
        if not shown:
            return np.full(len(contexts), self.own[0])
        rows = [self._rows[arm] for arm in shown]
        means = self._posterior.means(self.features.evaluate(contexts))[:, rows]
        return np.asarray(np.array(shown, dtype=np.int64)[means.argmax(axis=1)])

    def add_arm(self, *, neighbour: bool = False) -> int:
        """Add an arm and return its number.

        The arm can be shown from the next epoch on, or at once if this epoch has no visit yet.
        """
        arm = super().add_arm(neighbour=neighbour)
        self._show_new_arms_if_epoch_is_empty()
        return arm

    def add_own_arms(self, count: int) -> list[int]:
        """Add several own videos at once and return their numbers.

        It has the same effect as `add_arm` for each, but the posterior is computed only once.
        """
        arms = [Policy.add_arm(self) for _ in range(count)]
        if arms:
            self._show_new_arms_if_epoch_is_empty()
        return arms

    def _show_new_arms_if_epoch_is_empty(self) -> None:
        """Let arms that joined be shown in this epoch already, if it has no visit yet."""
        if self.epochs.arrivals == self.epochs.begins_at:
            self._update_rows()
            self.epochs.start_anew()

    def remove_arm(self, arm: int) -> None:
        """Stop choosing this arm at once, without waiting for the next epoch."""
        super().remove_arm(arm)
        if arm in self._rows:
            self.epochs.has_removed_arm = True
            self._shown_arms = tuple(shown for shown in self._shown_arms if shown != arm)

    def estimate(self, contexts: Floats) -> tuple[Floats, Floats]:
        """Compute the posterior of the arms' mean rewards, from releases alone.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            Posterior means and standard deviations, both (n, arms) in the order of `arms_in_epoch`.
        """
        return self._posterior.evaluate(self.features.evaluate(contexts))

    @property
    def arms_in_epoch(self) -> list[int]:
        """Arms that can be shown in this epoch, or could until they left."""
        return list(self._arms)

    def export_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state: a part that JSON can hold, and arrays. Resume from it only once.

        The arrays `exact`, `log_exact` and `unanswered` are private. Keys belong to the stored
        format.
        """
        self._add_answers()
        exact, next_epoch = self._sums.export_state()
        log_exact, next_log_epoch = self._log_sums.export_state()
        json_part = {
            "own": self.own.copy(),
            "neighbours": self.neighbours.copy(),
            "sides": [int(is_neighbour) for is_neighbour in self.is_neighbour],
            "degree": self.features.degree,
            "arms": self._arms.copy(),
            "time": self.epochs.export_state(),
            "released": [next_epoch, next_log_epoch],
            "rates": [list(rate) for rate in self._alarm.rates],
            "tag": self.tag,
            "likes_of_all": self._beliefs.likes_of_all,
            "visits_of_all": self._beliefs.visits_of_all,
        }
        arrays: dict[str, NDArray[Any]] = {
            "exact": exact,
            "log_exact": log_exact,
            "unanswered": np.packbits(self._waiting_visits.export_state()),
            **self._beliefs.arrays(),
        }
        return json_part, arrays

    def resume(self, json_part: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Restore the state that `export_state` of a learner with the same setting returned."""
        self.own = list(json_part["own"])
        self.neighbours = list(json_part["neighbours"])
        self.is_neighbour = [bool(is_neighbour) for is_neighbour in json_part["sides"]]
        self.features = Features(self.setting.dimension, json_part["degree"])
        self._arms = list(json_part["arms"])
        self._rows = {arm: row for row, arm in enumerate(self._arms)}
        allowed = set(self.allowed_arms())
        self._shown_arms = tuple(arm for arm in self._arms if arm in allowed)
        self.epochs.resume(json_part["time"])
        self._alarm.rates = [(rate, variance) for rate, variance in json_part["rates"]]
        self._beliefs = Beliefs.from_arrays(arrays)
        self._beliefs.likes_of_all = json_part["likes_of_all"]
        self._beliefs.visits_of_all = json_part["visits_of_all"]
        self._posterior = posterior_of(self._beliefs)
        self._waiting_visits.resume(np.unpackbits(arrays["unanswered"]).astype(np.bool_))
        self._answers.clear()
        self.tag = str(json_part["tag"])
        next_epoch, next_log_epoch = json_part["released"]
        self._sums = self._new_sums()
        self._sums.resume(arrays["exact"], next_epoch)
        self._log_sums = self._new_sums()
        self._log_sums.resume(arrays["log_exact"], next_log_epoch)
        self.last_release = None
        self.last_log_release = None

    def _new_sums(self) -> EpochSums:
        """Return sums of zero for the arms of this epoch."""
        noise = SumNoise(self.epsilon, self.features.bound_in_grains)
        return EpochSums(len(self._arms), self.features.terms, noise)

    def _has_joining_arms(self) -> bool:
        """Return whether an arm has joined that cannot be shown in this epoch."""
        return any(arm not in self._rows for arm in self.allowed_arms())

    def _sort_allowed(self, arms: Sequence[int] | None) -> tuple[int, ...] | None:
        """Sort the arms that may be chosen now; None, which is all of them, stays None.

        Raises:
            ConfigError: `arms` is empty, or has an arm that never joined or has left.
        """
        return None if arms is None else tuple(sorted(self.allowed_arms(arms)))

    def _arms_to_show(self, allowed: tuple[int, ...] | None) -> tuple[int, ...]:
        """Return the allowed arms that can be shown to the next visitor; None allows all.

        The epoch ends first if it is due. It also ends if it can show none of the allowed arms,
        because these have joined since it began and can only be shown in the next epoch.
        """
        if self.epochs.is_due:
            self._end_epoch()
        shown = self._allowed_arms_in_epoch(allowed)
        if not shown:
            self._end_epoch()
            shown = self._allowed_arms_in_epoch(allowed)
        return shown

    def _allowed_arms_in_epoch(self, allowed: tuple[int, ...] | None) -> tuple[int, ...]:
        """Return the allowed arms that can be shown in this epoch; None allows all."""
        if allowed is None:
            return self._shown_arms
        return tuple(arm for arm in allowed if arm in self._rows)

    def _choose_and_count(self, contexts: Floats, shown: tuple[int, ...]) -> list[Choice]:
        """Choose an arm by a Thompson draw for each of some visits, and count the visits.

        Args:
            contexts: (n, d) of the visits.
            shown: arms that can be shown.
        """
        phi = self.features.evaluate(contexts)
        means, deviations = self._posterior.evaluate(phi)
        if len(shown) < len(self._arms):
            rows = [self._rows[arm] for arm in shown]
            means = means[:, rows]
            deviations = deviations[:, rows]
        z = self._draws.take(means.size).reshape(means.shape)
        drawn_means = means + EXPLORATION * deviations * z
        chosen_columns = drawn_means.argmax(axis=1).tolist()
        best_columns = means.argmax(axis=1).tolist()
        first_visit = self.epochs.arrivals
        self.epochs.count_visits(shown, len(chosen_columns))
        choices: list[Choice] = []
        for number, context in enumerate(contexts.tolist()):
            column = chosen_columns[number]
            arm = shown[column]
            phase: Phase = "exploit" if column == best_columns[number] else "explore"
            visit = first_visit + number
            choices.append(Choice(arm, phase, tuple(context), None, visit, self.tag))
            self._waiting_visits.start_waiting(visit)
        return choices

    def _best_arm(self, context: NDArray[np.float64], allowed: list[int]) -> int:
        """Return the allowed arm with the largest posterior mean.

        Arms that joined after this epoch began have no posterior yet. If there are no others,
        return the first allowed arm.
        """
        checked = check_context(context, self.features.dimension)
        shown = [arm for arm in allowed if arm in self._rows]
        if not shown:
            return allowed[0]
        means = self._posterior.means(self.features.evaluate(checked[None]))[0]
        return max(shown, key=lambda arm: means[self._rows[arm]])

    def _add_to_sums(
        self, sums: EpochSums, rows: list[int], contexts: Any, rewards: Sequence[float]
    ) -> None:
        """Add visits to the sums of answers or to those of logs.

        Args:
            sums: the sums that are changed.
            rows: (n,) row of each visit's arm.
            contexts: (n, d) in [0, 1], an array or a sequence.
            rewards: (n,) scaled to [0, 1].
        """
        if not rows:
            return
        phi = self.features.evaluate(np.asarray(contexts, dtype=np.float64))
        sums.add(np.array(rows), phi, np.array(rewards))

    def _add_answers(self) -> None:
        """Add the collected answers to the sums. Adding them together is faster than one by one."""
        if self._answers:
            rows, contexts, scaled_rewards = zip(*self._answers, strict=True)
            self._answers.clear()
            self._add_to_sums(self._sums, list(rows), contexts, scaled_rewards)

    def _end_epoch(self) -> None:
        """Release the sums of this epoch, learn from them, and begin the next one."""
        self._add_answers()
        observations: list[Observation] = []
        forget = False
        if self.epochs.own_arrivals:
            release = self._sums.release(self.epochs.number)
            observations.append(self.make_observation(release))
            forget = self._notice_change(release)
            self.last_release = release
        if self.epochs.log_rows:
            log_release = self._log_sums.release(self.epochs.number)
            self.last_log_release = log_release
            shares = shares_of_log(log_release, self.epochs.log_rows)
            observations.append(Observation(log_release, self.epochs.log_rows, shares))
        if observations:
            self._posterior = learn_epoch(
                self._beliefs,
                observations,
                features=self.features,
                epsilon=self.epsilon,
                ranges=self._ranges(),
                forget=forget,
            )
        self._begin_next_epoch()

    def make_observation(self, release: Release) -> Observation:
        """Combine the release of this epoch with the public policy that chose in it."""
        sets: list[ArmSet] = []
        for arms, arrivals in self.epochs.arrivals_by_set.items():
            rows = [self._rows[arm] for arm in arms]
            sets.append(ArmSet(rows, arrivals))
        shares = shares_at_points(self._posterior, self.features, sets, self._draws.generator)
        return Observation(release, self.epochs.own_arrivals, shares)

    def _notice_change(self, release: Release) -> bool:
        """Give the release of this epoch to the alarm, and return whether rewards have fallen.

        An epoch in which an arm left is compared with no other epoch, and earlier epochs are
        forgotten.
        """
        if self.epochs.has_removed_arm:
            self._alarm.rates.clear()
            return False
        return self._alarm.notice(
            float(release.likes[:, 0].sum()),
            float(release.visits[:, 0].sum()),
            arrivals=self.epochs.own_arrivals,
            noise=len(self._arms) * squared_noise_scale(self.features, self.epsilon),
        )

    def _begin_next_epoch(self) -> None:
        """Begin the next epoch; arms that joined get rows, and arms that left lose theirs."""
        joined = self._has_joining_arms()
        if joined or self.epochs.has_removed_arm:
            self._update_rows()
        self.epochs.begin_next()
        if joined:
            self.epochs.start_anew()

    def _update_rows(self) -> None:
        """Add a row for each arm that has joined, and delete the rows of arms that left."""
        self._add_answers()
        allowed = set(self.allowed_arms())
        staying = [arm for arm in self._arms if arm in allowed]
        joining = sorted(allowed.difference(self._rows))
        rows = [self._rows[arm] for arm in staying]
        self._sums.keep_arms(rows, len(joining))
        self._log_sums.keep_arms(rows, len(joining))
        self._beliefs.keep_arms(rows, len(joining), self.features)
        self._arms = staying + joining
        self._rows = {arm: row for row, arm in enumerate(self._arms)}
        self._shown_arms = tuple(self._arms)
        self._set_prior_means(len(staying))
        self._posterior = posterior_of(self._beliefs)
        self._alarm.rates.clear()

    def _set_prior_means(self, first_row: int) -> None:
        """Set the prior means of arms that joined, whose rows begin at `first_row`.

        For an own video it is `Beliefs.own_mean`; for a neighbour, `mean_of_best_own`.
        """
        is_neighbour = self._ranges().is_neighbour
        is_joining = np.arange(len(self._arms)) >= first_row
        self._beliefs.prior_mean[is_joining & ~is_neighbour] = self._beliefs.own_mean
        if (is_joining & is_neighbour).any():
            own_rows = np.flatnonzero(~is_neighbour)
            best_mean = mean_of_best_own(self._beliefs, own_rows, self.features)
            self._beliefs.prior_mean[is_joining & is_neighbour] = best_mean

    def _check_origin(self, choice: Choice) -> None:
        """Refuse a choice that this learner did not make.

        Raises:
            ConfigError: The choice's context does not have the form of this learner's contexts.
            DataError: The choice's context is outside [0, 1].
            PrivacyError: The choice has the number of a visit, but not this learner's tag.
        """
        context = choice.cell
        is_context = isinstance(context, tuple) and len(context) == self.features.dimension
        if context is not None and not is_context:
            raise ConfigError("This choice was made by another learner: it is not learned here.")
        if context is not None:
            check_context(context, self.features.dimension)
        if choice.visit is not None and choice.learner != self.tag:
            raise PrivacyError(
                "This choice was made by another learner, or before this one was fitted anew. It "
                "is not learned here: each visit may enter only one release."
            )

    def _scale_reward(self, arm: int, reward: float) -> float:
        """Map a reward's public range to [0, 1]; a reward outside the range is not clipped here."""
        if not self.is_neighbour[arm]:
            return reward
        low, high = self.setting.neighbour_range
        return (reward - low) / (high - low)

    def _ranges(self) -> Ranges:
        """Return the public range of rewards of each row's arm."""
        is_neighbour = np.array([self.is_neighbour[arm] for arm in self._arms])
        low, high = self.setting.neighbour_range
        lows = np.where(is_neighbour, low, 0.0)
        widths = np.where(is_neighbour, high - low, 1.0)
        return Ranges(lows, widths, is_neighbour)


_MOST_NAMED_REFUSALS = 20
"""Most refused answers of one call that an error names by position."""


def raise_refusals(refusals: Mapping[int, TacitError], answers: int) -> None:
    """Raise an error that says which answers of one call were refused; does nothing if none was.

    Args:
        refusals: by position of the answer in the call, from 0.
        answers: number of answers of the call; visits without an answer are not counted.

    Raises:
        TacitError: The first refusal itself if the call had one answer; otherwise an error of its
            kind.
    """
    if not refusals:
        return
    first = min(refusals)
    error = refusals[first]
    if answers == 1:
        raise error
    positions = sorted(refusals)
    numbers = ", ".join(str(position + 1) for position in positions[:_MOST_NAMED_REFUSALS])
    if len(positions) > _MOST_NAMED_REFUSALS:
        numbers += f" and {len(positions) - _MOST_NAMED_REFUSALS} more"
    message = (
        f"{len(refusals)} of {answers} answers were not learned: number {numbers} of the call's "
        "visits. All others were learned or came too late: do not send those again. Visits without "
        f"an answer still wait. Number {first + 1}: {error}"
    )
    if isinstance(error, PrivacyError):
        raise PrivacyError(message) from None
    if isinstance(error, ConfigError):
        raise ConfigError(message) from None
    raise DataError(message.removesuffix(".")) from None
