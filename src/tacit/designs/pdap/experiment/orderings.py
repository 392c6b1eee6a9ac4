"""The order of policies in the paper's tables, and whether it is so here."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tacit.designs.pdap.experiment.run import Protocol, Row
from tacit.designs.pdap.experiment.summary import Column, rows_at_end_of_training, tests
from tacit.evaluation import Interval, group_by, mean_interval

ORDERINGS: tuple[tuple[str, str], ...] = (
    ("dap", "cap"),
    ("dap", "dup"),
    ("gp-dap", "p-dap"),
    ("dap", "gp-dap"),
    ("p-dap", "cap"),
    ("p-dap", "dup"),
)
"""The first is above the second in the paper, at each epsilon."""
Outcome = Literal["holds", "not distinguished", "the reverse", "one seed only"]


@dataclass(frozen=True)
class PaperOrdering:
    """Accuracy of `above` minus that of `below`, paired over seeds.

    Attributes:
        above, below: policies.
        epsilon: of those of the two that have one; inf if neither has.
        protocol: which visits are counted.
        test: visits of the test; 0 for the training.
        difference: with its 95 % interval.
        verdict: what the interval says of the paper's order.
    """

    above: str
    below: str
    epsilon: float
    protocol: Protocol
    test: int
    difference: Interval
    verdict: Outcome


def orderings(rows: Sequence[Row]) -> list[PaperOrdering]:
    """Compare the policies that were run, by each protocol and size of a test."""
    compared = []
    ended = [*rows_at_end_of_training(rows), *tests(rows)]
    for (protocol, test), some in group_by(ended, lambda row: (row.protocol, row.test)).items():
        compared += _orderings_of_one(some, protocol, test)
    return compared


def verdict_of(difference: Interval) -> Outcome:
    """Whether the first is better, by the interval of the difference."""
    if math.isinf(difference.low):
        return "one seed only"
    if difference.low > 0:
        return "holds"
    return "the reverse" if difference.high < 0 else "not distinguished"


def _orderings_of_one(rows: Sequence[Row], protocol: Protocol, test: int) -> list[PaperOrdering]:
    accuracy: dict[Column, dict[int, float]] = defaultdict(dict)
    for row in rows:
        accuracy[row.policy, row.epsilon][row.seed] = row.accuracy
    epsilons = sorted({epsilon for _, epsilon in accuracy if not math.isinf(epsilon)})

    compared = []
    for above, below in ORDERINGS:
        private = above.endswith("p-dap") or below.endswith("p-dap")
        for epsilon in epsilons if private else [math.inf]:
            first = accuracy.get((above, epsilon)) or accuracy.get((above, math.inf), {})
            second = accuracy.get((below, epsilon)) or accuracy.get((below, math.inf), {})
            if first and first.keys() == second.keys():
                difference = mean_interval([first[seed] - second[seed] for seed in first])
                verdict = verdict_of(difference)
                compared.append(
                    PaperOrdering(above, below, epsilon, protocol, test, difference, verdict)
                )
    return compared
