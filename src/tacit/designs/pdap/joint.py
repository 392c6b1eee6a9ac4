"""Joint privacy: only noisy sums keep anything of a visit, and all choices are made from them.

Source      Kearns, Pai, Roth, Ullman: Mechanism design in large games (ITCS 2014), for joint
            privacy; Shariff, Sheffet: Differentially private contextual linear bandits (NeurIPS
            2018), for why the visitor's own video has to be excepted.
Runs at     the vendor.
Sees        contexts, choices and rewards of its own users.
Releases    the sums of `sums.py`, once an epoch; everything else follows from them.
Guarantee   epsilon per visit, learned or not, against all others. Neighbouring data differ in one
            visit's content: that it took place, and its number, are public.
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
    Beliefs,
    Observation,
    Ranges,
    learn_epoch,
    mean_of_best_own,
    posterior_of,
    shares_at_points,
    shares_of_log,
)
from tacit.designs.pdap.sums import EpochSums, Release, SumNoise
from tacit.designs.pdap.waiting_visits import WaitingVisits
from tacit.errors import ConfigError, PrivacyError
from tacit.mechanisms.checks import check_epsilon, check_whole
from tacit.randomness import Source

SHARE_DRAWS = 100
"""Draws of the policy from which its chances are known where an estimate needs them."""
ANSWERS_AT_ONCE = 256
"""Answers that wait to be added to the sums together."""
NUMBERS_AT_ONCE = 1 << 18
"""Numbers (visits, arms, terms) that are computed at once."""


@dataclass(frozen=True, kw_only=True)
class JointSetting:
    """The choices of a learner; public.

    Attributes:
        videos: own videos at the start.
        neighbours: at the start.
        dimension: d, features of a context.
        horizon: n, visits that are expected. It sets the features and the lengths of epochs;
            learning goes on after it, and a visit is in one release however long that is.
        epsilon: nats of one visit; inf adds no noise.
        neighbour_range: lowest and highest reward of a neighbour.
        degree: g of the features; None: the largest that the horizon and epsilon can carry.
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


class Joint(Policy):
    """The sound learner.

    Attributes:
        setting: its choices.
        epsilon: nats of one visit.
        features: of contexts; they stay what they were at the start.
        epochs: public time.
        released: the last release of one's own visits; None before the first.
        released_log: the last release of rows of logs, likewise.
        tag: drawn at random; only choices that carry it are learned.
    """

    def __init__(self, setting: JointSetting, *, randomness: Source) -> None:
        """Start with nothing learned."""
        super().__init__(setting.videos, setting.neighbours)
        self.setting = setting
        self.epsilon = setting.epsilon
        self.features = setting.features
        self.epochs = Epochs(setting.horizon)
        self.released: Release | None = None
        self.released_log: Release | None = None
        self._draws = NormalDraws(randomness)
        self.tag = secrets.token_hex(16)
        self._waiting_visits = WaitingVisits()
        self._alarm = ChangeAlarm()
        self._arms = self.allowed_arms()
        """Arms that can be shown in this epoch, or could until they left, by their rows."""
        self._rows = {arm: row for row, arm in enumerate(self._arms)}
        self._beliefs = Beliefs.before_data(self.features, len(self._arms))
        self._posterior = posterior_of(self._beliefs)
        self._sums = self._new_sums()
        self._log_sums = self._new_sums()
        self._answers: list[tuple[int, Any, float]] = []
        """Row, context and share of the range of answers that are not yet in the sums."""
        self._shown_arms = tuple(self._arms)

    @property
    def arrivals(self) -> int:
        """Visits so far; public."""
        return self.epochs.arrivals

    @property
    def event(self) -> Event:
        """The cost of one visit."""
        return self.setting.noise.event

    def select(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose by a Thompson draw for one visit; see `Policy`. Which `arms` must be public."""
        return self.select_many(check_context(context, self.features.dimension)[None], arms)[0]

    def select_many(self, contexts: Floats, arms: Sequence[int] | None = None) -> list[Choice]:
        """Choose for many visits, one after another, which all are answered later.

        Args:
            contexts: (n, d) in [0, 1].
            arms: as of `select`.

        Raises:
            DataError: A context is not of this form.
        """
        contexts = check_contexts(contexts, self.features.dimension)
        wanted = None if arms is None else tuple(sorted(super().allowed_arms(arms)))
        choices: list[Choice] = []
        while len(choices) < len(contexts):
            shown = self._arms_to_show(wanted)
            left = self.epochs.ends - self.epochs.arrivals
            block = max(1, NUMBERS_AT_ONCE // (len(self._arms) * self.features.terms))
            part = contexts[len(choices) : len(choices) + min(left, block)]
            choices += self._choose(part, shown)
        return choices

    def exploit(self, context: NDArray[np.float64], arms: Sequence[int] | None = None) -> Choice:
        """Choose the arm believed best. It is no visit: no time passes, nothing is released."""
        return Choice(self._best(context, self.allowed_arms(arms)), "exploit", None, None)

    def update(self, choice: Choice, reward: float) -> None:
        """Learn from a visit; each once, and not too late."""
        self.update_many([choice], [reward])

    def update_many(self, choices: Sequence[Choice], rewards: Sequence[float]) -> None:
        """Learn from visits, all of which are checked first.

        Args:
            choices: what `select` gave.
            rewards: (n,) as of `update`.

        Raises:
            PrivacyError: One was answered before, or is none of this learner. Those before it are
                learned.
        """
        numbers = [check_reward(reward) for reward in rewards]
        for choice, number in zip(choices, numbers, strict=True):
            row = self._rows.get(choice.arm)
            self._check_origin(choice)
            is_in_time = self._waiting_visits.end_one(choice.visit, self.arrivals)
            is_learned = choice.cell is not None and choice.phase != "train"
            if is_in_time and is_learned and row is not None:
                share = self._share_of_range(choice.arm, number)
                self._answers.append((row, choice.cell, share))
        if len(self._answers) >= ANSWERS_AT_ONCE:
            self._add_answers()

    def learn_log(self, arms: Sequence[int], contexts: Floats, rewards: Sequence[float]) -> None:
        """Learn from visits that another policy served, each once; they count as arrivals.

        Which arms the log shows is private: it never becomes a set of arms, and what its policy
        did is known from the release alone. The rows of one call are in one epoch.

        Args:
            arms: (n,) numbers of arms that have joined.
            contexts: (n, d) in [0, 1].
            rewards: (n,) in the arms' public ranges.

        Raises:
            ConfigError: One of the arms has not joined, or has left.
            DataError: A context is not of this form.
        """
        contexts = check_contexts(contexts, self.features.dimension)
        known = set(self.allowed_arms())
        if not known.issuperset(arms):
            raise ConfigError("A log shows an arm that never joined, or has left.")
        if self.epochs.is_due or self._has_joining():
            self._end_epoch()
        rows = [self._rows[arm] for arm in arms]
        shares: list[float] = []
        for arm, reward in zip(arms, rewards, strict=True):
            shares.append(self._share_of_range(arm, check_reward(reward)))
        self.epochs.count_log(len(rows))
        self._add(self._log_sums, rows, contexts, shares)

    def release_if_due(self) -> None:
        """Release an epoch that has ended now, and not when the next visitor comes."""
        if self.epochs.is_due:
            self._end_epoch()

    def shares(self, contexts: Floats) -> Floats:
        """Compute the chance of each arm that can be shown, for estimates of what it is worth.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            (n, arms) in the order of `arms_in_epoch`: shares of `SHARE_DRAWS` draws.
        """
        means, spreads = self.estimate(contexts)
        chosen = np.zeros(means.shape)
        places = np.arange(len(means))
        closed = [row for arm, row in self._rows.items() if arm not in self._shown_arms]
        for _ in range(SHARE_DRAWS):
            z = self._draws.generator.standard_normal(means.shape)
            drawn = means + EXPLORATION * spreads * z
            drawn[:, closed] = -np.inf
            chosen[places, drawn.argmax(axis=1)] += 1
        return chosen / SHARE_DRAWS

    def settle(
        self, context: NDArray[np.float64], arms: Sequence[int], *, instead: Choice
    ) -> Choice:
        """Choose the arm believed best for a visit whose choice came to nothing; see `Policy`.

        It is no visit of its own, for public time must not tell whose choice came to nothing, and
        it is not learned from: the public policy does not know of it.
        """
        best = self._best(context, self.allowed_arms(arms))
        return Choice(best, "exploit", None, None, instead.visit, instead.learner)

    def serve_forwarded(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Choose the own videos believed best for (n, d) contexts of others' users."""
        shown = [arm for arm in self.own if arm in self._rows]
        if not shown:
            return np.full(len(contexts), self.own[0])
        rows = [self._rows[arm] for arm in shown]
        means = self._posterior.means(self.features.evaluate(contexts))[:, rows]
        return np.asarray(np.array(shown, dtype=np.int64)[means.argmax(axis=1)])

    def add_arm(self, *, neighbour: bool = False) -> int:
        """Add an arm, which can be shown from the next epoch on, and return its number."""
        arm = super().add_arm(neighbour=neighbour)
        if self.epochs.arrivals == self.epochs.began:
            self._renew_arms()
            self.epochs.start_anew()
        return arm

    def remove_arm(self, arm: int) -> None:
        """Stop choosing this arm at once, without waiting for the next epoch."""
        super().remove_arm(arm)
        if arm in self._rows:
            self.epochs.has_removed_arm = True
            self._shown_arms = tuple(kept for kept in self._shown_arms if kept != arm)

    def estimate(self, contexts: Floats) -> tuple[Floats, Floats]:
        """Estimate mean rewards, from releases alone.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            Means and standard deviations (n, arms), in the order of `arms_in_epoch`.
        """
        return self._posterior.evaluate(self.features.evaluate(contexts))

    @property
    def arms_in_epoch(self) -> list[int]:
        """Arms that can be shown in this epoch, or could until they left."""
        return list(self._arms)

    def export_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return numbers that JSON can hold, and arrays, to go on from once.

        `exact` and `log_exact` are private, and so is `unanswered`.
        """
        self._add_answers()
        exact, epochs = self._sums.export_state()
        log_exact, log_epochs = self._log_sums.export_state()
        numbers = {
            "own": self.own.copy(),
            "neighbours": self.neighbours.copy(),
            "sides": [int(side) for side in self.is_neighbour],
            "degree": self.features.degree,
            "arms": self._arms.copy(),
            "time": self.epochs.export_state(),
            "released": [epochs, log_epochs],
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
        return numbers, arrays

    def resume(self, numbers: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Go on from what `export_state` gave, of a learner of the same setting."""
        self.own, self.neighbours = list(numbers["own"]), list(numbers["neighbours"])
        self.is_neighbour = [bool(side) for side in numbers["sides"]]
        self.features = Features(self.setting.dimension, numbers["degree"])
        self._arms = list(numbers["arms"])
        self._rows = {arm: row for row, arm in enumerate(self._arms)}
        here = set(self.allowed_arms())
        self._shown_arms = tuple(arm for arm in self._arms if arm in here)
        self.epochs.resume(numbers["time"])
        self._alarm.rates = [(rate, variance) for rate, variance in numbers["rates"]]
        self._beliefs = Beliefs.from_arrays(arrays)
        self._beliefs.likes_of_all = numbers["likes_of_all"]
        self._beliefs.visits_of_all = numbers["visits_of_all"]
        self._posterior = posterior_of(self._beliefs)
        self._waiting_visits.resume(np.unpackbits(arrays["unanswered"]).astype(np.bool_))
        self._answers.clear()
        self.tag = str(numbers["tag"])
        epochs, log_epochs = numbers["released"]
        self._sums, self._log_sums = self._new_sums(), self._new_sums()
        self._sums.resume(arrays["exact"], epochs)
        self._log_sums.resume(arrays["log_exact"], log_epochs)
        self.released = None
        self.released_log = None

    def _new_sums(self) -> EpochSums:
        noise = SumNoise(self.epsilon, self.features.bound_in_grains)
        return EpochSums(len(self._arms), self.features.terms, noise)

    def _has_joining(self) -> bool:
        """Whether an arm has joined that cannot be shown in this epoch."""
        return any(arm not in self._rows for arm in self.allowed_arms())

    def _arms_to_show(self, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
        """End the epoch if it is due, and return the arms that can be shown now.

        Where none of those wanted could be shown before the next epoch, it begins here.
        """
        if self.epochs.is_due:
            self._end_epoch()
        shown = self._arms_of_set(wanted)
        if not shown:
            self._end_epoch()
            shown = self._arms_of_set(wanted)
        return shown

    def _arms_of_set(self, wanted: tuple[int, ...] | None) -> tuple[int, ...]:
        if wanted is None:
            return self._shown_arms
        return tuple(arm for arm in wanted if arm in self._rows)

    def _choose(self, contexts: Floats, shown: tuple[int, ...]) -> list[Choice]:
        """Choose for visits of this epoch among these arms, and count them."""
        phi = self.features.evaluate(contexts)
        means, spreads = self._posterior.evaluate(phi)
        if len(shown) < len(self._arms):
            rows = [self._rows[arm] for arm in shown]
            means, spreads = means[:, rows], spreads[:, rows]
        z = self._draws.take(means.size).reshape(means.shape)
        drawn = (means + EXPLORATION * spreads * z).argmax(axis=1).tolist()
        best = means.argmax(axis=1).tolist()
        first = self.epochs.arrivals
        self.epochs.count_visits(shown, len(drawn))
        choices: list[Choice] = []
        for number, context in enumerate(contexts.tolist()):
            place = drawn[number]
            phase: Phase = "exploit" if place == best[number] else "explore"
            cell = tuple(context)
            choices.append(Choice(shown[place], phase, cell, None, first + number, self.tag))
            self._waiting_visits.begin_one(first + number)
        return choices

    def _best(self, context: NDArray[np.float64], allowed: list[int]) -> int:
        """The arm with the largest mean; the first one if nothing is known of any yet."""
        numbers = check_context(context, self.features.dimension)
        shown = [arm for arm in allowed if arm in self._rows]
        if not shown:
            return allowed[0]
        means = self._posterior.means(self.features.evaluate(numbers[None]))[0]
        return max(shown, key=lambda arm: means[self._rows[arm]])

    def _add(
        self, sums: EpochSums, rows: list[int], contexts: Any, rewards: Sequence[float]
    ) -> None:
        if not rows:
            return
        phi = self.features.evaluate(np.asarray(contexts, dtype=np.float64))
        sums.add(np.array(rows), phi, np.array(rewards))

    def _add_answers(self) -> None:
        """Add the answers that wait to the sums: many at once take a fraction of the time."""
        if self._answers:
            rows, contexts, shares = zip(*self._answers, strict=True)
            self._answers.clear()
            self._add(self._sums, list(rows), contexts, shares)

    def _end_epoch(self) -> None:
        """Release the sums of this epoch, learn from them, and begin the next one."""
        self._add_answers()
        observations: list[Observation] = []
        forget = False
        if self.epochs.own_arrivals:
            release = self._sums.release(self.epochs.number)
            observations.append(self.observe(release))
            forget = self._notice_change(release)
            self.released = release
        if self.epochs.logged:
            of_log = self._log_sums.release(self.epochs.number)
            self.released_log = of_log
            shares = shares_of_log(of_log, self.epochs.logged)
            observations.append(Observation(of_log, self.epochs.logged, shares))
        if observations:
            self._posterior = learn_epoch(
                self._beliefs,
                observations,
                features=self.features,
                epsilon=self.epsilon,
                ranges=self._ranges(),
                forget=forget,
            )
        self._renew_arms_and_time()

    def observe(self, release: Release) -> Observation:
        """Put the public policy of this epoch beside what was released of it."""
        sets: list[tuple[list[int], int]] = []
        for arms, arrivals in self.epochs.sets.items():
            rows = [self._rows[arm] for arm in arms]
            sets.append((rows, arrivals))
        shares = shares_at_points(self._posterior, self.features, sets, self._draws.generator)
        return Observation(release, self.epochs.own_arrivals, shares)

    def _notice_change(self, release: Release) -> bool:
        if self.epochs.has_removed_arm:
            self._alarm.rates.clear()
            return False
        noise = 0.0 if math.isinf(self.epsilon) else (self.features.bound / self.epsilon) ** 2
        return self._alarm.notice(
            float(release.likes[:, 0].sum()),
            float(release.visits[:, 0].sum()),
            arrivals=self.epochs.own_arrivals,
            noise=len(self._arms) * noise,
        )

    def _renew_arms_and_time(self) -> None:
        """Let arms that joined be shown, forget those that left, and begin the next epoch."""
        joined = self._has_joining()
        if joined or self.epochs.has_removed_arm:
            self._renew_arms()
        self.epochs.begin_next()
        if joined:
            self.epochs.start_anew()

    def _renew_arms(self) -> None:
        """Keep a row for each arm that is here, and none for others."""
        self._add_answers()
        present = sorted(self.allowed_arms())
        kept = [arm for arm in self._arms if arm in present]
        joining = [arm for arm in present if arm not in self._rows]
        rows = [self._rows[arm] for arm in kept]
        self._sums.keep_arms(rows, len(joining))
        self._log_sums.keep_arms(rows, len(joining))
        self._beliefs.keep_arms(rows, len(joining), self.features)
        self._arms = kept + joining
        self._rows = {arm: row for row, arm in enumerate(self._arms)}
        self._shown_arms = tuple(self._arms)
        self._start_joining(len(kept))
        self._posterior = posterior_of(self._beliefs)
        self._alarm.rates.clear()

    def _start_joining(self, first: int) -> None:
        """Let arms that joined, from this row on, start at the public mean of their kind."""
        theirs = self._ranges().is_neighbour
        joining = np.arange(len(self._arms)) >= first
        self._beliefs.start[joining & ~theirs] = self._beliefs.own_mean
        if (joining & theirs).any():
            best = mean_of_best_own(self._beliefs, np.flatnonzero(~theirs), self.features)
            self._beliefs.start[joining & theirs] = best

    def _check_origin(self, choice: Choice) -> None:
        """Refuse a choice of another learner, and a context that is none."""
        context = choice.cell
        is_context = isinstance(context, tuple) and len(context) == self.features.dimension
        if context is not None and not is_context:
            raise ConfigError("This choice was made by another learner: it is not learned here.")
        if context is not None:
            check_context(context, self.features.dimension)
        if choice.visit is not None and choice.learner != self.tag:
            raise PrivacyError(
                "This choice was made by another learner, or before this one was fitted anew: it "
                "is not learned here, for a visit is in one release. Nothing was learned."
            )

    def _share_of_range(self, arm: int, reward: float) -> float:
        """The place of a reward in its arm's public range: 0 is its lowest, 1 its highest."""
        if not self.is_neighbour[arm]:
            return reward
        low, high = self.setting.neighbour_range
        return (reward - low) / (high - low)

    def _ranges(self) -> Ranges:
        theirs = np.array([self.is_neighbour[arm] for arm in self._arms])
        low, high = self.setting.neighbour_range
        return Ranges(np.where(theirs, low, 0.0), np.where(theirs, high - low, 1.0), theirs)
