"""Orderings of policies by accuracy in the paper's tables, and whether they hold here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.designs.pdap.experiment.run import Protocol, Row
from tacit.designs.pdap.experiment.summary import Contender, rows_at_end_of_training, rows_of_tests
from tacit.evaluation import Interval, group_by, mean_interval

ORDERINGS: tuple[tuple[str, str], ...] = (
    ("dap", "cap"),
    ("dap", "dup"),
    ("gp-dap", "p-dap"),
    ("dap", "gp-dap"),
    ("p-dap", "cap"),
    ("p-dap", "dup"),
)
"""Pairs of policies; the accuracy of the first is above the second's in the paper."""
Outcome = Literal["holds", "not distinguished", "the reverse", "one seed only"]


@dataclass(frozen=True)
class PaperOrdering:
    """Accuracy of `above` minus that of `below`, paired over seeds.

    Attributes:
        above: the policy with the higher accuracy in the paper.
        below: the policy with the lower accuracy in the paper.
        epsilon: of the policies that have one; inf if neither has.
        protocol: which visits are counted.
        test: visits of the test; 0 for the training.
        difference: accuracy of `above` minus that of `below`, with its 95 % interval.
        verdict: whether the interval confirms the paper's order.
    """

    above: str
    below: str
    epsilon: float
    protocol: Protocol
    test: int
    difference: Interval
    verdict: Outcome


def orderings(rows: Sequence[Row]) -> list[PaperOrdering]:
    """Check the paper's orderings of the policies that were run, by each protocol and test."""
    found: list[PaperOrdering] = []
    last_rows = [*rows_at_end_of_training(rows), *rows_of_tests(rows)]
    groups = group_by(last_rows, lambda row: (row.protocol, row.test))
    for (protocol, test), rows_of_group in groups.items():
        found += _orderings_of_protocol(rows_of_group, protocol, test)
    return found


def verdict_of(difference: Interval) -> Outcome:
    """Judge an ordering by the interval of the difference in accuracy."""
    if math.isinf(difference.low):  # the interval of a single seed is unbounded
        return "one seed only"
    if difference.low > 0:
        return "holds"
    return "the reverse" if difference.high < 0 else "not distinguished"


def _orderings_of_protocol(
    rows: Sequence[Row], protocol: Protocol, test: int
) -> list[PaperOrdering]:
    """Check the paper's orderings on the rows of one protocol and size of a test."""
    accuracy_of_contender: dict[Contender, dict[int, float]] = defaultdict(dict)
    for row in rows:
        accuracy_of_contender[Contender(row.policy, row.epsilon)][row.seed] = row.accuracy
    epsilons = sorted({epsilon for _, epsilon in accuracy_of_contender if not math.isinf(epsilon)})

    def accuracy_by_seed(policy: str, epsilon: float) -> dict[int, float]:
        """Return the accuracy by seed of a policy at this epsilon.

        A policy without runs at this epsilon is judged without noise; without those, too, there is
        no accuracy.
        """
        contender = Contender(policy, epsilon)
        if contender in accuracy_of_contender:
            return accuracy_of_contender[contender]
        return accuracy_of_contender.get(Contender(policy, math.inf), {})

    found: list[PaperOrdering] = []
    for above, below in ORDERINGS:
        has_epsilon = above.endswith("p-dap") or below.endswith("p-dap")
        for epsilon in epsilons if has_epsilon else [math.inf]:
            of_above = accuracy_by_seed(above, epsilon)
            of_below = accuracy_by_seed(below, epsilon)
            if of_above and of_above.keys() == of_below.keys():
                difference = mean_interval([of_above[seed] - of_below[seed] for seed in of_above])
                verdict = verdict_of(difference)
                found.append(
                    PaperOrdering(above, below, epsilon, protocol, test, difference, verdict)
                )
    return found
