"""Orderings of policies by accuracy in the paper's tables, and whether they hold here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.designs.pdap.experiment.policy_names import WITH_EPSILON
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
"""Pairs of policies: in the paper, the accuracy of the first is above that of the second."""
Outcome = Literal["holds", "not distinguished", "the reverse", "one seed only"]


@dataclass(frozen=True)
class PaperOrdering:
    """Accuracy of `above` minus that of `below`, paired over seeds.

    Attributes:
        above: the policy with the higher accuracy in the paper.
        below: the policy with the lower accuracy in the paper.
        epsilon: epsilon of the policies that have noise; inf if neither has noise.
        protocol: which visits are counted.
        test: number of visits of the test; 0 for the training.
        difference: accuracy of `above` minus that of `below`, with its 95 % interval.
        verdict: whether the interval confirms the paper's ordering.
    """

    above: str
    below: str
    epsilon: float
    protocol: Protocol
    test: int
    difference: Interval
    verdict: Outcome


def check_orderings(rows: Sequence[Row]) -> list[PaperOrdering]:
    """Check the paper's orderings of the policies that were run.

    Each is checked by each protocol, at each test size and, if a policy has noise, at each epsilon.

    Args:
        rows: the rows of all runs, at all checkpoints.
    """
    checked: list[PaperOrdering] = []
    final_rows = [*rows_at_end_of_training(rows), *rows_of_tests(rows)]
    groups = group_by(final_rows, lambda row: (row.protocol, row.test))
    for (protocol, test), rows_of_group in groups.items():
        checked += _check_orderings_of_protocol(rows_of_group, protocol, test)
    return checked


def judge_ordering(difference: Interval) -> Outcome:
    """Judge an ordering by the difference in accuracy, of `above` minus `below`."""
    if math.isinf(difference.low):  # the interval of a single seed is unbounded
        return "one seed only"
    if difference.low > 0:
        return "holds"
    return "the reverse" if difference.high < 0 else "not distinguished"


def _check_orderings_of_protocol(
    rows: Sequence[Row], protocol: Protocol, test: int
) -> list[PaperOrdering]:
    """Check the paper's orderings on the rows of one protocol and one test size."""
    accuracy_of_contender: dict[Contender, dict[int, float]] = defaultdict(dict)
    for row in rows:
        accuracy_of_contender[Contender(row.policy, row.epsilon)][row.seed] = row.accuracy
    epsilons = sorted({epsilon for _, epsilon in accuracy_of_contender if not math.isinf(epsilon)})

    def accuracy_by_seed(policy: str, epsilon: float) -> dict[int, float]:
        """Return the accuracy by seed of a policy at this epsilon.

        If the policy was not run at this epsilon, return its accuracy without noise; if it was not
        run without noise either, return an empty dict.
        """
        contender = Contender(policy, epsilon)
        if contender in accuracy_of_contender:
            return accuracy_of_contender[contender]
        return accuracy_of_contender.get(Contender(policy, math.inf), {})

    checked: list[PaperOrdering] = []
    for above, below in ORDERINGS:
        has_epsilon = above in WITH_EPSILON or below in WITH_EPSILON
        for epsilon in epsilons if has_epsilon else [math.inf]:
            above_by_seed = accuracy_by_seed(above, epsilon)
            below_by_seed = accuracy_by_seed(below, epsilon)
            if not above_by_seed or above_by_seed.keys() != below_by_seed.keys():
                continue  # one of the policies was not run, or only with other seeds
            differences = [above_by_seed[seed] - below_by_seed[seed] for seed in above_by_seed]
            difference = mean_interval(differences)
            verdict = judge_ordering(difference)
            checked.append(
                PaperOrdering(above, below, epsilon, protocol, test, difference, verdict)
            )
    return checked
