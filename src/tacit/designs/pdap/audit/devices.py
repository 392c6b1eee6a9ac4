"""Distributions of what leaves a person's device with the local learner.

A vendor may publish any table, so the worst is taken: one arm liked in one cell, and all others in
the other.
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
"""Claimed for one visit."""
LEFT, RIGHT = np.array([0.1]), np.array([0.9])
"""Two contexts in two cells."""
VISITS = 2
"""Visits that a device's limit covers, of the `COMES` that its owner makes."""
COMES = 3
_NOT_EXPLORED = (1 << 63) - 1  # its last 20 bits are ones: above any chance to explore
Make = Callable[[Source], "TableDevice"]


class TableDevice(LocalLearner):
    """A device with any table that a vendor may publish, (cells, arms).

    Attributes:
        answer: what it sent last; None if nothing.
    """

    def __init__(self, setting: LocalSetting, table: NDArray[np.float64], source: Source) -> None:
        self._table = table
        self.answer: int | None = None
        super().__init__(setting, randomness=source)

    def means(self) -> NDArray[np.float64]:
        """Return the vendor's table, (cells, arms), whatever was reported."""
        return self._table

    def learn(self, report: Report) -> None:
        """Keep the answer of a report, and learn nothing from it."""
        self.answer = report.answer


def worst_table(arms: int) -> Make:
    """Make devices with the worst table: the first arm is liked on the left, all others right.

    The last arm is a neighbour.
    """
    setting = LocalSetting(videos=arms - 1, neighbours=1, dimension=1, epsilon=EPSILON)
    table = np.zeros((2, arms))
    table[0, 0] = table[1, 1:] = 1.0
    return partial(TableDevice, setting, table)


def shown_distribution(make: Make, context: NDArray[np.float64]) -> dict[Hashable, Fraction]:
    """Distribution of the arm that a device asks for."""
    policy = make(FixedWords(rest=_NOT_EXPLORED))
    drawn = distribution(lambda: policy.select(context).arm)
    explored, arms = policy.explore, len(policy.allowed_arms())
    return {
        arm: (1 - explored) * drawn.get(arm, Fraction(0)) + explored / arms for arm in range(arms)
    }


def visit_distribution(
    make: Make, context: NDArray[np.float64], reward: float
) -> dict[Hashable, Fraction]:
    """Distribution of all that leaves a device at one visit: the arm, and the randomised answer."""
    still = make(secure())
    cell, truth = still.grid.number(context), still.response.truth

    def report_answer(source: Source) -> Hashable:
        return make(source).report(Choice(0, "exploit", cell), reward).answer

    # One word turns a reward into a click, before those of the answer.
    answers = response_distribution(report_answer, still.response.categories, truth, before=1)
    shown = shown_distribution(make, context)
    return {
        (arm, answer): p * q for (arm, p), (answer, q) in product(shown.items(), answers.items())
    }


def life_distribution(
    make: Make, context: NDArray[np.float64], reward: float, *, metered: bool = True
) -> Distribution:
    """Distribution of all that leaves a device in `COMES` visits, of which it pays for `VISITS`.

    The shipped device says which ones; metered=False forgets to ask it.
    """
    one, policy = visit_distribution(make, context, reward), make(secure())
    arms = len(policy.allowed_arms())
    free: Distribution = {(arm, None): Fraction(1, arms) for arm in range(arms)}
    device = Device(policy, lifetime_epsilon=VISITS * EPSILON)
    lives: dict[Any, Fraction] = {(): Fraction(1)}
    for _ in range(COMES):
        now = one if device.select(context).phase != "train" or not metered else free
        lives = {(*seen, new): p * q for (seen, p), (new, q) in product(lives.items(), now.items())}
    return lives


def live(make: Make, context: NDArray[np.float64], reward: float) -> Hashable:
    """Live one such life: the arm of each visit, and the answer where one is sent."""
    policy = make(secure())
    device, sent = Device(policy, lifetime_epsilon=VISITS * EPSILON), []
    for _ in range(COMES):
        policy.answer = None
        choice = device.select(context)
        device.update(choice, reward)
        sent.append((choice.arm, policy.answer))
    return tuple(sent)


def run_visit(policy: LocalLearner, context: NDArray[np.float64], reward: float) -> Hashable:
    """Run one visit, and return all that leaves the device."""
    report = policy.report(policy.select(context), reward)
    return report.arm, report.answer


def visits_claim() -> AuditedClaim:
    """Claim of draw and report together: a context liked on the left, and one not on the right."""

    def check(arms: int) -> Check:
        make = worst_table(arms)
        left, right = make(secure()), make(secure())
        return distribution_check(
            f"another cell, and no click, {arms} arms",
            lambda: (visit_distribution(make, LEFT, 1.0), visit_distribution(make, RIGHT, 0.0)),
            (partial(run_visit, left, LEFT, 1.0), partial(run_visit, right, RIGHT, 0.0)),
            share=1 if arms == 2 else 4,
        )

    checks = (check(2), check(10))
    return AuditedClaim("sound-context", EPSILON, checks, unit="visit", adjacency="any other")


def lives_claim() -> AuditedClaim:
    """Claim of three visits of a person whose device pays for two."""
    make = worst_table(2)
    check = distribution_check(
        f"{COMES} visits, paid for {VISITS}",
        lambda: (life_distribution(make, LEFT, 1.0), life_distribution(make, RIGHT, 0.0)),
        (partial(live, make, LEFT, 1.0), partial(live, make, RIGHT, 0.0)),
        share=2,
    )
    claim = VISITS * EPSILON
    return AuditedClaim(
        "sound-context, metered", claim, (check,), unit="person", adjacency="any other"
    )
