"""Bugs that the audits must catch: each replaces one step of the shipped code."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tacit.auditing.bugs import EnumeratedBug, plant
from tacit.auditing.claims import Bug, Tool, exceeds
from tacit.auditing.output_distributions import (
    Distribution,
)
from tacit.auditing.sampler_spy import laplace_loss, moves
from tacit.designs.pdap.audit import joint
from tacit.designs.pdap.audit.devices import (
    EPSILON,
    LEFT,
    RIGHT,
    VISITS,
    life_distribution,
    worst_table,
)
from tacit.designs.pdap.audit.forwarded_messages import PEERS, sent_distribution
from tacit.designs.pdap.audit.joint import Rows, find_differences, release_by, unlearn_visit
from tacit.designs.pdap.epochs import ChangeAlarm
from tacit.designs.pdap.features import GRAINS, Floats, Ints
from tacit.designs.pdap.forwarding import Agreement
from tacit.designs.pdap.joint import JointLearner
from tacit.designs.pdap.posterior import Observation
from tacit.designs.pdap.sums import EpochSums, Release, SumNoise
from tacit.designs.pdap.waiting_visits import WaitingVisits

_shipped_add_to = SumNoise.add_to
_shipped_add = EpochSums.add
_shipped_release = EpochSums.release
_shipped_select = JointLearner.select
_shipped_observe = JointLearner.observe
_shipped_notice = ChangeAlarm.notice


def no_noise_on_likes(noise: SumNoise, exact: Ints) -> Ints:
    """Add noise to dislikes, and none to likes."""
    noisy = _shipped_add_to(noise, exact)
    noisy[:, 0] = exact[:, 0]  # of a pair (likes, dislikes)
    return noisy


def bound_from_data(sums: EpochSums, epoch: int) -> Release:
    """Scale the noise to what this epoch's visits really added, and not to the public bound."""
    largest = int(np.abs(sums.export_state()[0]).sum(axis=(1, 2)).max(initial=1))
    public = sums.noise
    sums.noise = SumNoise(public.epsilon, max(1, largest))
    release = _shipped_release(sums, epoch)
    sums.noise = public
    return release


def rounded_away_from_zero(sums: EpochSums, arms: Ints, phi: Floats, rewards: Floats) -> None:
    """Round both halves of a visit away from zero, and look at no bound."""
    exact, epochs = sums.export_state()
    for arm, row, reward in zip(arms, GRAINS * phi, np.clip(rewards, 0, 1), strict=True):
        for part, share in ((0, reward), (1, 1 - reward)):
            exact[arm, part] += (np.sign(row) * np.ceil(np.abs(row * share))).astype(np.int64)
    sums.resume(exact, epochs)


def release_twice(sums: EpochSums, epoch: int) -> Release:
    """Release the sums of an epoch, and keep them for the next release."""
    exact, _ = sums.export_state()
    release = _shipped_release(sums, epoch)
    sums.resume(exact, epoch + 1)
    return release


def added_to_two_arms(sums: EpochSums, arms: Ints, phi: Floats, rewards: Floats) -> None:
    """Let a visit teach something of the arm before, too."""
    _shipped_add(sums, arms, phi, rewards)
    _shipped_add(sums, arms - 1, phi, rewards)


def reward_not_clipped(sums: EpochSums, arms: Ints, phi: Floats, rewards: Floats) -> None:
    """Add what a neighbour reports as it is."""
    exact, epochs = sums.export_state()
    for arm, row, reward in zip(arms, GRAINS * phi, rewards, strict=True):
        exact[arm, 0] += np.trunc(row * reward).astype(np.int64)
        exact[arm, 1] += np.trunc(row * (1 - reward)).astype(np.int64)
    sums.resume(exact, epochs)


def exploring_by_exact_counts(policy: JointLearner, context: Any, arms: Any = None) -> Any:
    """Try an arm that was not tried in this epoch, whatever the noisy sums say."""
    exact_counts = policy.export_state()[1]["exact"][:, :, 0].sum(axis=1)
    if arms is None and (exact_counts == 0).any():
        arms = [int((exact_counts == 0).argmax())]
    return _shipped_select(policy, context, arms)


_exact_counts: list[Floats] = [np.zeros(1)]
_exact_rates: list[float] = []


def release_and_look(sums: EpochSums, epoch: int) -> Release:
    """Release as shipped, and remember the exact sums for the faults below."""
    exact = sums.export_state()[0][:, :, 0] / GRAINS
    _exact_counts[0] = exact.sum(axis=1)
    _exact_rates.append(float(exact[:, 0].sum() / max(exact.sum(), 1.0)))
    return _shipped_release(sums, epoch)


def policy_from_unreleased_sums(policy: JointLearner, release: Release) -> Observation:
    """Take the policy of an epoch from how often each arm was really learned."""
    shipped = _shipped_observe(policy, release)
    shares = _exact_counts[0] / max(_exact_counts[0].sum(), 1.0)
    return replace(shipped, shares=np.repeat(shares[None], len(shipped.shares), axis=0))


def arrivals_from_learned_visits(policy: JointLearner, release: Release) -> Observation:
    """Count as arrivals of an epoch those that were learned."""
    shipped = _shipped_observe(policy, release)
    return replace(shipped, arrivals=int(_exact_counts[0].sum()))


def alarm_on_exact_means(alarm: ChangeAlarm, *released: float, **public: Any) -> bool:
    """Compare the exact mean reward of this epoch with that of the one before."""
    _shipped_notice(alarm, *released, **public)
    return len(_exact_rates) > 1 and _exact_rates[-1] < _exact_rates[-2]


def log_as_sets(policy: JointLearner, arms: Any, contexts: Floats, rewards: Any) -> None:
    """Learn a log by visits at which only the logged arm could be shown."""
    for arm, context, reward in zip(arms, contexts, rewards, strict=True):
        policy.update(_shipped_select(policy, context, [arm]), reward)
    policy.epochs.end_now()


BEYOND: Rows = np.array([[0.0, 2.0, 1.0, 11.0], *joint.FORWARDED[1:].tolist()])
"""A neighbour's reward of four times its range."""
CORNER: Rows = joint.stream((0.13, 0, 0.37))
"""A visit whose numbers are no whole grains, with a reward between."""
LONGEST: Rows = joint.stream((0.5, 0, 1.0), (1.0, 1, 1.0), (0.5, 0, 0.0))
"""The second visit has longer features than the others."""
FALLING: Rows = joint.stream((1.0, 0, 1.0), (1.0, 0, 0.0), (1.0, 0, 1.0))
"""The second visit lowers the mean of its epoch."""
OTHER_LOG: Rows = np.array([joint.LOG[0], [0.0, 0.0, 1.0, 1.0], joint.LOG[2], joint.LOG[3]])
"""The second row shows another arm."""


@dataclass(frozen=True)
class StreamBug:
    """A fault in the joint learner, and the visit that shows it.

    Attributes:
        name: in words.
        fault: attributes of classes that are replaced.
        rows: of the stream.
        visit: the row that is not learned in the neighbouring stream; None if `other` is that.
        other: the neighbouring stream.
        follow: runs the learner over a stream.
        tool: how the fault is shown.
        epsilon: claimed for one visit.
    """

    name: str
    fault: dict[type, dict[str, Any]]
    rows: Rows
    visit: int | None
    tool: Tool = "exact"
    rule_of: None = None
    epsilon: float = joint.EPSILON
    other: Rows | None = None
    follow: joint.Follow = joint.follow_visits

    def alarm(self, bug: bool) -> tuple[bool, float | None]:
        """Whether an audit is alarmed, and the loss it found. bug: whether the fault is planted."""
        other = self.other
        if other is None:
            assert self.visit is not None
            other = unlearn_visit(self.rows, self.visit)
        with plant(self.fault if bug else {}):
            learner = joint.joint(joint.setting())
            if self.tool == "grey-box":
                return bool(find_differences(learner, self.rows, other, self.follow)), None
            loss = laplace_loss(moves(release_by(learner, self.follow), self.rows, other))
        return exceeds(self.epsilon, loss), loss


_AGREED = Agreement(1, 2, EPSILON)
_SIDES = (LEFT, RIGHT)


def _randomise_for_each(side: int, bug: bool) -> Distribution:
    """Give every neighbour a randomisation of its own."""
    once = sent_distribution(_AGREED, _SIDES[side])
    if not bug:
        return once
    answers: dict[Hashable, Fraction] = {}
    for seen in product(once.items(), repeat=PEERS):
        got = tuple(name for name, _ in seen)
        answers[got] = math.prod((chance for _, chance in seen), start=Fraction(1))
    return answers


def _ask_chosen_only(side: int, bug: bool) -> Distribution:
    """Ask only the neighbour that was chosen, and nobody where an own video was."""
    return sent_distribution(_AGREED, _SIDES[side], asks_all=not bug)


def _live_unmetered(side: int, bug: bool) -> Distribution:
    """Live three visits without asking the limit, which is for two."""
    return life_distribution(worst_table(2), _SIDES[side], float(1 - side), metered=not bug)


BUGS: tuple[Bug, ...] = (
    StreamBug(
        "noise on dislikes but not on likes",
        {SumNoise: {"add_to": no_noise_on_likes}},
        joint.UNEXPLORED,
        1,
    ),
    StreamBug(
        "exact counts say what to explore",
        {JointLearner: {"select": exploring_by_exact_counts}},
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    StreamBug("a reward that is not clipped", {EpochSums: {"add": reward_not_clipped}}, BEYOND, 0),
    StreamBug(
        "a bound from the data",
        {EpochSums: {"release": bound_from_data}},
        LONGEST,
        1,
    ),
    StreamBug(
        "grains rounded away from zero",
        {EpochSums: {"add": rounded_away_from_zero}},
        CORNER,
        0,
    ),
    StreamBug(
        "sums of one epoch in two releases",
        {EpochSums: {"release": release_twice}},
        joint.UNEXPLORED,
        1,
    ),
    StreamBug(
        "one visit in two arms", {EpochSums: {"add": added_to_two_arms}}, joint.UNEXPLORED, 1
    ),
    StreamBug(
        "the policy from unreleased sums",
        {
            EpochSums: {"release": release_and_look},
            JointLearner: {"observe": policy_from_unreleased_sums},
        },
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    StreamBug(
        "arrivals counted from learned visits",
        {
            EpochSums: {"release": release_and_look},
            JointLearner: {"observe": arrivals_from_learned_visits},
        },
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    StreamBug(
        "an alarm on exact means",
        {
            EpochSums: {"release": release_and_look},
            ChangeAlarm: {"notice": alarm_on_exact_means},
        },
        FALLING,
        1,
        tool="grey-box",
    ),
    StreamBug(
        "a logged arm as a set of arms",
        {JointLearner: {"learn_log": log_as_sets}},
        joint.LOG,
        None,
        tool="grey-box",
        other=OTHER_LOG,
        follow=joint.follow_log,
    ),
    # A visit is learned as often as it is answered, if others are not.
    StreamBug(
        "a visit learned twice", {WaitingVisits: {"accept_answer": lambda *_: True}}, joint.AGAIN, 0
    ),
    EnumeratedBug(
        "a fresh randomisation for each neighbour", _randomise_for_each, [(0, 1)], EPSILON
    ),
    EnumeratedBug("a neighbour asked because of the cell", _ask_chosen_only, [(0, 1)], EPSILON),
    EnumeratedBug("visits that nobody meters", _live_unmetered, [(0, 1)], VISITS * EPSILON),
)
