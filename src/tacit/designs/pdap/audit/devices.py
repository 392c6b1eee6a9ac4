"""Audit of the local learner, by exact distributions of what leaves a person's device.

A vendor may publish any table of means, so the audit uses the worst table: one arm is liked in one
cell, and all other arms in the other cell.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import AuditedClaim, Check
from tacit.auditing.output_distributions import (
    Distribution,
    FixedWords,
    distribution,
    distribution_check,
    response_distribution,
)
from tacit.designs.pdap.local_learner import Device, LocalLearner, LocalSetting, Report
from tacit.designs.pdap.policies.base import Choice
from tacit.randomness import Source, secure

EPSILON = 1.0
"""Epsilon that is claimed for one visit."""
LEFT = np.array([0.1])
"""A context in one cell."""
RIGHT = np.array([0.9])
"""A context in the other cell."""
PAID_VISITS = 2
"""Number of visits that a device's budget covers."""
VISITS_MADE = 3
"""Number of visits that the device's owner makes."""
_NOT_EXPLORED = (1 << 63) - 1
"""A random word whose last 20 bits are ones, so that the draw is above any chance to explore."""
MakeLearner = Callable[[Source], "TableLearner"]
"""Makes the local learner of a device; the argument is the source of the learner's randomness."""


class TableLearner(LocalLearner):
    """A local learner with a fixed table of means that a vendor may publish.

    Attributes:
        answer: the randomised answer that was sent last; None if none was sent.
    """

    def __init__(self, setting: LocalSetting, table: NDArray[np.float64], source: Source) -> None:
        """Start with nothing reported.

        Args:
            setting: the learner's settings.
            table: (cells, arms) means.
            source: the source of randomness.
        """
        self._table = table
        self.answer: int | None = None
        super().__init__(setting, randomness=source)

    def means(self) -> NDArray[np.float64]:
        """Return the vendor's table, (cells, arms), whatever was reported."""
        return self._table

    def learn(self, report: Report) -> None:
        """Store the answer of a report, and learn nothing from it."""
        self.answer = report.answer


def maker_with_worst_table(arms: int) -> MakeLearner:
    """Return a function that makes learners with the worst table for this number of arms.

    In the table, the first arm has mean 1 in the left cell, all others have mean 1 in the right
    cell, and the other means are 0. The last arm is a neighbour.
    """
    setting = LocalSetting(videos=arms - 1, neighbours=1, dimension=1, epsilon=EPSILON)
    table = np.zeros((2, arms))
    table[0, 0] = 1.0
    table[1, 1:] = 1.0
    return partial(TableLearner, setting, table)


def arm_distribution(make: MakeLearner, context: NDArray[np.float64]) -> dict[Hashable, Fraction]:
    """Compute the distribution of the arm that a device draws.

    It is a mixture: uniform with the chance to explore, otherwise by the weights.
    """
    policy = make(FixedWords(filler=_NOT_EXPLORED))
    by_weights = distribution(lambda: policy.select(context).arm)
    explore = policy.explore
    arms = len(policy.allowed_arms())
    mixture: dict[Hashable, Fraction] = {}
    for arm in range(arms):
        mixture[arm] = (1 - explore) * by_weights.get(arm, Fraction(0)) + explore / arms
    return mixture


def visit_distribution(
    make: MakeLearner, context: NDArray[np.float64], reward: float
) -> dict[Hashable, Fraction]:
    """Compute the distribution of what leaves a device at one visit: (arm, randomised answer)."""
    policy = make(secure())
    cell = policy.grid.find_cell(context)

    def report_answer(source: Source) -> Hashable:
        return make(source).report(Choice(0, "exploit", cell), reward).answer

    # Before the answer, one random word is drawn to turn the reward into a like.
    answers = response_distribution(
        report_answer, policy.response.categories, policy.response.truth, words_before=1
    )
    # The answer depends on cell and reward, not on the arm, so the chances multiply.
    pairs = product(arm_distribution(make, context).items(), answers.items())
    return {(arm, answer): p * q for (arm, p), (answer, q) in pairs}


def life_distribution(
    make: MakeLearner, context: NDArray[np.float64], reward: float, *, metered: bool = True
) -> Distribution:
    """Compute the distribution of what leaves a device in `VISITS_MADE` visits.

    Its budget covers `PAID_VISITS` of them. At the other visits, the arm is uniform and nothing is
    reported.

    Args:
        make: makes the learner.
        context: (1,) the context of all visits.
        reward: the reward of all visits.
        metered: whether the device stops reporting when its budget is spent; False is a planted
            bug.
    """
    paid_visit = visit_distribution(make, context, reward)
    policy = make(secure())
    arms = len(policy.allowed_arms())
    free_visit: Distribution = {(arm, None): Fraction(1, arms) for arm in range(arms)}
    device = Device(policy, lifetime_epsilon=PAID_VISITS * EPSILON)
    lives: dict[Any, Fraction] = {(): Fraction(1)}
    for _ in range(VISITS_MADE):
        is_paid = device.select(context).phase != "train"
        next_visit = paid_visit if is_paid or not metered else free_visit
        # The draws of a visit are independent of earlier ones, so the chances multiply.
        pairs = product(lives.items(), next_visit.items())
        lives = {(*earlier, output): p * q for (earlier, p), (output, q) in pairs}
    return lives


def simulate_life(make: MakeLearner, context: NDArray[np.float64], reward: float) -> Hashable:
    """Run `VISITS_MADE` visits of a metered device.

    Returns:
        (arm, randomised answer) of each visit; the answer is None where none is sent.
    """
    policy = make(secure())
    device = Device(policy, lifetime_epsilon=PAID_VISITS * EPSILON)
    outputs: list[tuple[int, int | None]] = []
    for _ in range(VISITS_MADE):
        policy.answer = None
        choice = device.select(context)
        device.update(choice, reward)
        outputs.append((choice.arm, policy.answer))
    return tuple(outputs)


def run_visit(policy: LocalLearner, context: NDArray[np.float64], reward: float) -> Hashable:
    """Run one visit, and return what leaves the device: (arm, randomised answer)."""
    report = policy.report(policy.select(context), reward)
    return report.arm, report.answer


def visits_claim() -> AuditedClaim:
    """Make the claim about one visit: the arm that is drawn and the report, together.

    The neighbouring visits are one on the left with a click, and one on the right without.
    """

    def check(arms: int) -> Check:
        make = maker_with_worst_table(arms)
        left_learner = make(secure())
        right_learner = make(secure())
        return distribution_check(
            f"another cell, and no click, {arms} arms",
            lambda: (visit_distribution(make, LEFT, 1.0), visit_distribution(make, RIGHT, 0.0)),
            (
                partial(run_visit, left_learner, LEFT, 1.0),
                partial(run_visit, right_learner, RIGHT, 0.0),
            ),
            sample_divisor=1 if arms == 2 else 4,  # fewer samples where each takes longer
        )

    checks = (check(2), check(10))
    return AuditedClaim("sound-context", EPSILON, checks, unit="visit", adjacency="any other")


def lives_claim() -> AuditedClaim:
    """Make the claim about `VISITS_MADE` visits, of which a budget covers `PAID_VISITS`."""
    make = maker_with_worst_table(2)
    check = distribution_check(
        f"{VISITS_MADE} visits, paid for {PAID_VISITS}",
        lambda: (life_distribution(make, LEFT, 1.0), life_distribution(make, RIGHT, 0.0)),
        (partial(simulate_life, make, LEFT, 1.0), partial(simulate_life, make, RIGHT, 0.0)),
        sample_divisor=2,
    )
    claim = PAID_VISITS * EPSILON
    return AuditedClaim(
        "sound-context, metered", claim, (check,), unit="person", adjacency="any other"
    )
