"""The runner of audits: claims, studies and planted bugs, and what is other than expected."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tacit.auditing.bugs import BugResult, RepairedResult, examine
from tacit.auditing.claims import (
    SAMPLES,
    Advance,
    AuditedClaim,
    AuditPlan,
    AuditResult,
    Bug,
    PairResult,
    error_place,
    judge,
)
from tacit.auditing.empirical import ALPHA


def audit_claim(
    claim: AuditedClaim, *, samples: int = SAMPLES, alpha: float = ALPHA
) -> AuditResult:
    """Make every check of a claim and judge; the checks share alpha.

    Args:
        claim: The claim with its checks.
        samples: Releases of each input.
        alpha: The chance that correct code is called broken.
    """
    found = [check(samples, alpha / len(claim.checks)) for check in claim.checks]
    best = max(found, key=lambda pair: pair.lower_bound)
    return AuditResult(
        mechanism=claim.mechanism,
        unit=claim.unit,
        adjacency=claim.adjacency,
        epsilon=claim.epsilon,
        delta=claim.delta,
        exact=max(pair.exact for pair in found),
        lower_bound=best.lower_bound,
        samples=best.samples,
        alpha=alpha,
        verdict=judge(claim.epsilon, found),
        pair=best.pair,
        pairs=tuple(found),
    )


def build_claim(name: str, make: Callable[[], AuditedClaim]) -> AuditedClaim:
    """Make a claim, or one that fails if the mechanism is too broken for its pairs to be made."""
    try:
        return make()
    except Exception as error:
        failed = PairResult("none", math.inf, None, 0.0, 0.0, 0, failed=error_place(error))

        checks = (lambda _samples, _alpha: failed,)
        return AuditedClaim(name, math.nan, checks, unit="unknown", adjacency="unknown")


def is_as_expected(claim: AuditedClaim, result: AuditResult, *, short: bool) -> bool:
    """Say whether a published claim was refuted, or another one held.

    Args:
        claim: The claim.
        result: Its audit.
        short: Whether there were fewer samples than by default, which may be too few to see much.
    """
    if claim.published:
        return result.verdict == "violation"
    if short and result.verdict == "weak audit":
        return True
    return result.verdict == "no violation found"


def run_audits(
    plan: AuditPlan, variant: str | None, samples: int, advance: Advance, *, planted: bool
) -> tuple[dict[str, Any], list[str]]:
    """Audit every claim, run every study and examine every planted bug.

    Args:
        plan: The claims, studies and bugs.
        variant: The variant for studies; None for all.
        samples: Releases of each input.
        advance: Is called after each step.
        planted: Whether planted bugs are examined.

    Returns:
        The findings, and sentences on what is other than expected. `false_alarm` among the
        findings is the chance that correct code makes something so: a claim is called violated or
        weak with a chance of at most alpha each. Whether planted bugs are caught is another
        question.
    """
    short = samples < plan.samples
    wrong: list[str] = []
    found: dict[str, Any] = {"audits": [], "refuted_as_expected": [], "false_alarm": 0.0}
    for name, makers in plan.claims.items():
        for make in makers:
            claim = build_claim(name or "a line", make)
            result = audit_claim(claim, samples=samples)
            found["audits"].append(result)
            found["false_alarm"] += result.alpha * _false_verdicts(claim, short=short)
            if not is_as_expected(claim, result, short=short):
                wrong += _reasons(result, claim)
            elif claim.published:
                found["refuted_as_expected"].append(result.mechanism)
            advance(1)
    for study in plan.studies:
        found[study.name], unexpected = study.run(variant, short, advance)
        wrong += unexpected
        found["false_alarm"] += study.false_alarm(found[study.name])
    if planted:
        bugs, repaired = _examine_all(plan.bugs, advance)
        found["planted"] = bugs
        found["clean"] = repaired
        found["false_alarm"] += ALPHA * sum(bug.tool == "empirical" for bug in plan.bugs)
        wrong += [f"{bug.bug}: missed" for bug in bugs if not bug.caught]
        wrong += [f"{repair.mechanism}: alarm" for repair in repaired if repair.alarm]
    return found, wrong


def _false_verdicts(claim: AuditedClaim, *, short: bool) -> int:
    """Count the verdicts on a claim that would be wrong of correct code."""
    if claim.published:
        return 0
    return 1 if short else 2


def _reasons(result: AuditResult, claim: AuditedClaim) -> Iterator[str]:
    """Yield the verdict, and the faults of a claim that was expected to hold."""
    yield f"{result.mechanism}: {result.verdict}"
    if not claim.published:
        for pair in result.pairs:
            for fault in pair.faults(result.epsilon):
                yield f"{result.mechanism}, {pair.pair}: {fault}"


def _examine_all(
    bugs: Sequence[Bug], advance: Advance
) -> tuple[list[BugResult], list[RepairedResult]]:
    """Examine every bug and the correct code beside it."""
    caught = []
    repaired = []
    for bug in bugs:
        result, repair = examine(bug)
        caught.append(result)
        repaired.append(repair)
        advance(1)
    return caught, repaired
