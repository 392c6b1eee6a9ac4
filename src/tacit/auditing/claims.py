"""One line of a design's table: what is claimed, the checks made of it, and the verdict."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.auditing.empirical import ALPHA
from tacit.auditing.verdicts import Audit, Checked, judge

SAMPLES = 200_000
LEAST_SAMPLES = 1_000

Check = Callable[[int, float], Checked]
"""(samples, alpha) -> what was found on one pair of neighbours."""


@dataclass(frozen=True)
class Line:
    """epsilon, delta: the claim, nats. published: the paper's own, expected to be refuted."""

    mechanism: str
    epsilon: float
    checks: tuple[Check, ...]
    delta: float = 0.0
    published: bool = False
    unit: str = "person"
    adjacency: str = "comes or goes"


def as_expected(line: Line, audit: Audit, *, short: bool) -> bool:
    """Published lines are refuted, all others hold. short: fewer samples than by default, which
    may be too few to see much."""
    if line.published:
        return audit.verdict == "violation"
    return audit.verdict == "no violation found" or (short and audit.verdict == "weak audit")


def run(line: Line, *, samples: int = SAMPLES, alpha: float = ALPHA) -> Audit:
    """Make every check and judge; the checks share alpha."""
    found = [check(samples, alpha / len(line.checks)) for check in line.checks]
    best = max(found, key=lambda one: one.lower_bound)
    return Audit(
        line.mechanism,
        line.unit,
        line.adjacency,
        line.epsilon,
        line.delta,
        max(one.exact for one in found),
        best.lower_bound,
        best.samples,
        alpha,
        judge(line.epsilon, found),
        best.pair,
        tuple(found),
    )
