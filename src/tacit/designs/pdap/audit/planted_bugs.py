"""Bugs that the audits must catch.

A `StreamBug` replaces methods of the joint learner by faulty ones. An `EnumeratedBug` has the exact
distribution of what a faulty forwarder, or a faulty device, would send.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from tacit.auditing.bugs import EnumeratedBug, plant
from tacit.auditing.claims import Bug, Tool, is_exceeded
from tacit.auditing.output_distributions import Distribution
from tacit.auditing.sampler_spy import laplace_loss, measure_moves
from tacit.designs.pdap.audit import joint
from tacit.designs.pdap.audit.devices import (
    EPSILON,
    LEFT,
    PAID_VISITS,
    RIGHT,
    life_distribution,
    maker_with_worst_table,
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

LIKES = 0
"""Index of the sums of likes, L, on the second axis of exact sums (K, 2, M); see `sums.py`."""
DISLIKES = 1
"""Index of the sums of dislikes, D, on the same axis."""

# The correct methods. The faulty methods below call them, and are put in their place.
_shipped_add_to = SumNoise.add_to
_shipped_add = EpochSums.add
_shipped_release = EpochSums.release
_shipped_select = JointLearner.select
_shipped_make_observation = JointLearner.make_observation
_shipped_notice = ChangeAlarm.notice


def add_no_noise_to_likes(noise: SumNoise, exact: Ints) -> Ints:
    """Add noise to dislikes, but not to likes."""
    noisy = _shipped_add_to(noise, exact)
    noisy[:, LIKES] = exact[:, LIKES]
    return noisy


def scale_noise_to_data(sums: EpochSums, epoch: int) -> Release:
    """Scale the noise to the largest L1 norm of an arm's exact sums, not to the public bound."""
    exact, _ = sums.export_state()
    largest = int(np.abs(exact).sum(axis=(1, 2)).max(initial=1))
    noise_by_public_bound = sums.noise
    sums.noise = SumNoise(noise_by_public_bound.epsilon, max(1, largest))
    release = _shipped_release(sums, epoch)
    sums.noise = noise_by_public_bound
    return release


def round_away_from_zero(sums: EpochSums, arms: Ints, phi: Floats, rewards: Floats) -> None:
    """Round likes and dislikes of each visit away from zero, and do not check the bound."""
    exact, epochs = sums.export_state()
    for arm, features, reward in zip(arms, GRAINS * phi, np.clip(rewards, 0, 1), strict=True):
        sign = np.sign(features)
        exact[arm, LIKES] += (sign * np.ceil(np.abs(features * reward))).astype(np.int64)
        exact[arm, DISLIKES] += (sign * np.ceil(np.abs(features * (1 - reward)))).astype(np.int64)
    sums.resume(exact, epochs)


def release_twice(sums: EpochSums, epoch: int) -> Release:
    """Release the sums of an epoch, and put them into the next release, too."""
    exact, _ = sums.export_state()
    release = _shipped_release(sums, epoch)
    sums.resume(exact, epoch + 1)
    return release


def add_to_two_arms(sums: EpochSums, arms: Ints, phi: Floats, rewards: Floats) -> None:
    """Add each visit also to the sums of the arm before its own; for arm 0, of the last arm."""
    _shipped_add(sums, arms, phi, rewards)
    _shipped_add(sums, arms - 1, phi, rewards)


def add_without_clipping(sums: EpochSums, arms: Ints, phi: Floats, rewards: Floats) -> None:
    """Add rewards without clipping them to their range."""
    exact, epochs = sums.export_state()
    for arm, features, reward in zip(arms, GRAINS * phi, rewards, strict=True):
        exact[arm, LIKES] += np.trunc(features * reward).astype(np.int64)
        exact[arm, DISLIKES] += np.trunc(features * (1 - reward)).astype(np.int64)
    sums.resume(exact, epochs)


def explore_by_exact_counts(policy: JointLearner, context: Any, arms: Any = None) -> Any:
    """Choose an arm that has no learned visit in this epoch, if no arms are prescribed.

    If there is no such arm, or arms are prescribed, choose correctly.
    """
    _, arrays = policy.export_state()
    # Term 0 of phi is the constant 1, so its sums of likes and of dislikes together count visits.
    visits_of_arms = arrays["exact"][:, :, 0].sum(axis=1)
    is_unexplored = visits_of_arms == 0
    if arms is None and is_unexplored.any():
        arms = [int(is_unexplored.argmax())]
    return _shipped_select(policy, context, arms)


_exact_counts: list[Floats] = [np.zeros(1)]
"""One array (K,): exact number of learned visits of each arm in the epoch released last."""
_exact_rates: list[float] = []
"""Exact mean reward of each released epoch, in the order of the releases of all learners."""


def release_and_remember(sums: EpochSums, epoch: int) -> Release:
    """Release correctly, and remember exact counts and rates for the faulty methods below."""
    exact, _ = sums.export_state()
    constant_terms = exact[:, :, 0] / GRAINS  # (K, 2): sums of likes and of dislikes
    _exact_counts[0] = constant_terms.sum(axis=1)
    likes = constant_terms[:, LIKES].sum()
    _exact_rates.append(float(likes / max(constant_terms.sum(), 1.0)))
    return _shipped_release(sums, epoch)


def observe_exact_shares(policy: JointLearner, release: Release) -> Observation:
    """Use each arm's exact share of the learned visits as the chance that the policy chose it."""
    observation = _shipped_make_observation(policy, release)
    exact_shares = _exact_counts[0] / max(_exact_counts[0].sum(), 1.0)
    points = len(observation.shares)
    return replace(observation, shares=np.repeat(exact_shares[None], points, axis=0))


def observe_learned_visits_as_arrivals(policy: JointLearner, release: Release) -> Observation:
    """Use the exact number of learned visits as the number of arrivals of an epoch."""
    observation = _shipped_make_observation(policy, release)
    return replace(observation, arrivals=int(_exact_counts[0].sum()))


def compare_exact_means(alarm: ChangeAlarm, *released: float, **public: Any) -> bool:
    """Say that rewards have fallen if the exact mean reward is below that of the epoch before."""
    _shipped_notice(alarm, *released, **public)
    return len(_exact_rates) > 1 and _exact_rates[-1] < _exact_rates[-2]


def learn_log_without_alternatives(
    policy: JointLearner, arms: Any, contexts: Floats, rewards: Any
) -> None:
    """Learn each row of a log as a visit at which only the logged arm could be shown."""
    for arm, context, reward in zip(arms, contexts, rewards, strict=True):
        choice = _shipped_select(policy, context, [arm])
        policy.update(choice, reward)
    policy.epochs.end_now()


REWARD_BEYOND_RANGE: Rows = np.array([[0.0, 2.0, 1.0, 11.0], *joint.FORWARDED[1:].tolist()])
"""A stream with a neighbour's reward of 11, outside its range of -1 to 2; it is scaled to 4."""
FRACTIONS: Rows = joint.stream((0.13, 0, 0.37))
"""A stream with a visit whose features are not whole grains, and whose reward is a fraction."""
LARGEST_NORM: Rows = joint.stream((0.5, 0, 1.0), (1.0, 1, 1.0), (0.5, 0, 0.0))
"""A stream whose second visit has features phi of a larger norm than the other learned visits."""
FALLING_REWARDS: Rows = joint.stream((1.0, 0, 1.0), (1.0, 0, 0.0), (1.0, 0, 1.0))
"""A stream whose second visit lowers the mean reward of its epoch."""
OTHER_LOG: Rows = np.array([joint.LOG[0], [0.0, 0.0, 1.0, 1.0], joint.LOG[2], joint.LOG[3]])
"""A log whose second row differs from `joint.LOG`: it has another context and another arm."""


@dataclass(frozen=True)
class StreamBug:
    """A fault in the joint learner, and two neighbouring streams that show it.

    Attributes:
        name: the fault in words.
        fault: for each class, the methods that are replaced, by name.
        rows: one of the two streams.
        visit: position of the row that is not learned in the second stream; None if `other` is set.
        tool: the kind of audit that shows the fault: "exact" computes the loss, "grey-box" looks
            for differences that the releases do not explain.
        rule_of: None, since no rule describes the joint learner; a field of `Bug`.
        epsilon: what is claimed for one visit.
        other: the second stream; None if `visit` is set.
        run_stream: runs the learner over a stream.
    """

    name: str
    fault: dict[type, dict[str, Any]]
    rows: Rows
    visit: int | None
    tool: Tool = "exact"
    rule_of: None = None
    epsilon: float = joint.EPSILON
    other: Rows | None = None
    run_stream: joint.StreamRunner = joint.run_visits

    def audit(self, *, planted: bool) -> tuple[bool, float | None]:
        """Audit the faulty learner or the correct one; see `Bug.audit`.

        Args:
            planted: whether the fault is planted.

        Returns:
            Whether the audit finds a violation, and the loss; the loss is None in a grey-box audit.
        """
        other = self.other
        if other is None:
            assert self.visit is not None
            other = unlearn_visit(self.rows, self.visit)
        with plant(self.fault if planted else {}):
            make = joint.learner_maker(joint.make_setting())
            if self.tool == "grey-box":
                differences = find_differences(make, self.rows, other, self.run_stream)
                return len(differences) > 0, None
            loss = laplace_loss(measure_moves(release_by(make, self.run_stream), self.rows, other))
        return is_exceeded(self.epsilon, loss), loss


_AGREEMENT = Agreement(features=1, slices=2, epsilon=EPSILON)
_CONTEXTS = (LEFT, RIGHT)
"""The two neighbouring contexts. Each function below takes the position of one of them, and returns
the distribution of what is sent: with the fault that it describes if `planted`, else without."""


def _randomise_for_each_neighbour(context: int, planted: bool) -> Distribution:
    """Randomise the context anew for each neighbour."""
    of_one_message = sent_distribution(_AGREEMENT, _CONTEXTS[context])
    if not planted:
        return of_one_message
    of_all_messages: dict[Hashable, Fraction] = {}
    for messages in product(of_one_message.items(), repeat=PEERS):
        contents = tuple(content for content, _ in messages)
        chances = [chance for _, chance in messages]
        of_all_messages[contents] = math.prod(chances, start=Fraction(1))
    return of_all_messages


def _ask_chosen_neighbour_only(context: int, planted: bool) -> Distribution:
    """Ask only the chosen neighbour, and nobody if an own video was chosen."""
    return sent_distribution(_AGREEMENT, _CONTEXTS[context], asks_all=not planted)


def _spend_without_budget(context: int, planted: bool) -> Distribution:
    """Draw and report at all visits of a device, although its budget does not cover all of them.

    The reward is 1 in the first context and 0 in the second.
    """
    reward = float(1 - context)
    return life_distribution(
        maker_with_worst_table(2), _CONTEXTS[context], reward, metered=not planted
    )


BUGS: tuple[Bug, ...] = (
    StreamBug(
        "noise on dislikes but not on likes",
        {SumNoise: {"add_to": add_no_noise_to_likes}},
        joint.UNEXPLORED,
        1,
    ),
    StreamBug(
        "exact counts say what to explore",
        {JointLearner: {"select": explore_by_exact_counts}},
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    StreamBug(
        "a reward that is not clipped",
        {EpochSums: {"add": add_without_clipping}},
        REWARD_BEYOND_RANGE,
        0,
    ),
    StreamBug(
        "a bound from the data",
        {EpochSums: {"release": scale_noise_to_data}},
        LARGEST_NORM,
        1,
    ),
    StreamBug(
        "grains rounded away from zero",
        {EpochSums: {"add": round_away_from_zero}},
        FRACTIONS,
        0,
    ),
    StreamBug(
        "sums of one epoch in two releases",
        {EpochSums: {"release": release_twice}},
        joint.UNEXPLORED,
        1,
    ),
    StreamBug("one visit in two arms", {EpochSums: {"add": add_to_two_arms}}, joint.UNEXPLORED, 1),
    StreamBug(
        "the policy from unreleased sums",
        {
            EpochSums: {"release": release_and_remember},
            JointLearner: {"make_observation": observe_exact_shares},
        },
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    StreamBug(
        "arrivals counted from learned visits",
        {
            EpochSums: {"release": release_and_remember},
            JointLearner: {"make_observation": observe_learned_visits_as_arrivals},
        },
        joint.UNEXPLORED,
        1,
        tool="grey-box",
    ),
    StreamBug(
        "an alarm on exact means",
        {
            EpochSums: {"release": release_and_remember},
            ChangeAlarm: {"notice": compare_exact_means},
        },
        FALLING_REWARDS,
        1,
        tool="grey-box",
    ),
    StreamBug(
        "a logged arm as a set of arms",
        {JointLearner: {"learn_log": learn_log_without_alternatives}},
        joint.LOG,
        None,
        tool="grey-box",
        other=OTHER_LOG,
        run_stream=joint.run_log,
    ),
    # The faulty method accepts every answer. Only the first visit of this stream is answered twice.
    StreamBug(
        "a visit learned twice",
        {WaitingVisits: {"accept_answer": lambda *_: True}},
        joint.ANSWERED_TWICE,
        0,
    ),
    EnumeratedBug(
        "a fresh randomisation for each neighbour", _randomise_for_each_neighbour, [(0, 1)], EPSILON
    ),
    EnumeratedBug(
        "a neighbour asked because of the cell", _ask_chosen_neighbour_only, [(0, 1)], EPSILON
    ),
    EnumeratedBug(
        "visits that nobody meters", _spend_without_budget, [(0, 1)], PAID_VISITS * EPSILON
    ),
)
