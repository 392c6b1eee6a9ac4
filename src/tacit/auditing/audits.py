"""The runner of audits: it checks claims, runs studies, and examines planted bugs."""

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
    """Run every check of a claim, and judge the claim by them.

    Args:
        claim: The claim with its checks.
        samples: Releases of each input of a pair; a check may take fewer by its own divisor.
        alpha: Largest chance that correct code is called broken. Each check gets an equal part.
    """
    results = [check(samples, alpha / len(claim.checks)) for check in claim.checks]
    highest = max(results, key=lambda result: result.lower_bound)
    return AuditResult(
        mechanism=claim.mechanism,
        unit=claim.unit,
        adjacency=claim.adjacency,
        epsilon=claim.epsilon,
        delta=claim.delta,
        exact=max(result.exact for result in results),
        lower_bound=highest.lower_bound,
        samples=highest.samples,
        alpha=alpha,
        verdict=judge(claim.epsilon, results),
        pair=highest.pair,
        pairs=tuple(results),
    )


def build_claim(name: str, make: Callable[[], AuditedClaim]) -> AuditedClaim:
    """Return the claim that `make` makes, or a claim with one failing check if `make` raises.

    `make` raises if the mechanism is too broken to make its pairs of inputs.

    Args:
        name: Name of the mechanism in the failing claim.
        make: Makes the claim.
    """
    try:
        return make()
    except Exception as error:
        failure = PairResult(
            "none",
            exact=math.inf,
            rule_bound=None,
            lower_bound=0.0,
            ideal=0.0,
            samples=0,
            failed=error_place(error),
        )
        checks = (lambda _samples, _alpha: failure,)
        return AuditedClaim(name, math.nan, checks, unit="unknown", adjacency="unknown")


def is_as_expected(claim: AuditedClaim, result: AuditResult, *, short: bool) -> bool:
    """Say whether an audit came out as expected: a `published` claim is refuted, any other holds.

    Args:
        claim: The claim.
        result: Its audit.
        short: Whether there were fewer samples than by default: then a weak audit is accepted too,
            except of a `published` claim.
    """
    if claim.published:
        return result.verdict == "violation"
    if short and result.verdict == "weak audit":
        return True
    return result.verdict == "no violation found"


def run_audits(
    plan: AuditPlan, variant: str | None, samples: int, advance: Advance, *, planted: bool
) -> tuple[dict[str, Any], list[str]]:
    """Audit every claim, run every study and, if `planted`, examine every planted bug.

    Args:
        plan: The claims, studies and bugs.
        variant: The variant for studies; None for all. The plan's claims are audited in any case.
        samples: Releases of each input.
        advance: Is called after each step.
        planted: Whether planted bugs are examined.

    Returns:
        The findings by name, and a sentence for each unexpected finding. The finding `false_alarm`
        is an upper bound of the chance that correct code has an unexpected finding on claims, in
        studies or as the repair of a planted bug. It includes neither planted bugs that are missed
        nor attacks that are too weak against a method without a claim.
    """
    short = samples < plan.samples
    unexpected_findings: list[str] = []
    findings: dict[str, Any] = {"audits": [], "refuted_as_expected": [], "false_alarm": 0.0}
    for name, makers in plan.claims.items():
        for make in makers:
            claim = build_claim(name or "unnamed", make)
            result = audit_claim(claim, samples=samples)
            findings["audits"].append(result)
            findings["false_alarm"] += result.alpha * _count_false_verdicts(claim, short=short)
            if not is_as_expected(claim, result, short=short):
                unexpected_findings += _explain_verdict(result, claim)
            elif claim.published:
                findings["refuted_as_expected"].append(result.mechanism)
            advance(1)
    for study in plan.studies:
        rows, unexpected_rows = study.run(variant, short, advance)
        findings[study.name] = rows
        unexpected_findings += unexpected_rows
        findings["false_alarm"] += study.false_alarm(rows)
    if planted:
        bug_results, repaired_results = _examine_all(plan.bugs, advance)
        findings["planted"] = bug_results
        findings["clean"] = repaired_results
        sampled_bugs = [bug for bug in plan.bugs if bug.tool == "empirical"]
        findings["false_alarm"] += ALPHA * len(sampled_bugs)
        unexpected_findings += [
            f"{result.bug}: missed" for result in bug_results if not result.caught
        ]
        unexpected_findings += [
            f"{repair.mechanism}: alarm" for repair in repaired_results if repair.alarm
        ]
    return findings, unexpected_findings


def _count_false_verdicts(claim: AuditedClaim, *, short: bool) -> int:
    """Count the unexpected verdicts that correct code gets with a chance of at most alpha each.

    They are "violation" and, in an audit that is not short, "weak audit". For a published claim the
    count is 0, because its code is not correct.
    """
    if claim.published:
        return 0
    return 1 if short else 2


def _explain_verdict(result: AuditResult, claim: AuditedClaim) -> Iterator[str]:
    """Yield the verdict on a claim, and if the claim was expected to hold, each of its faults."""
    yield f"{result.mechanism}: {result.verdict}"
    if not claim.published:
        for pair in result.pairs:
            for fault in pair.faults(result.epsilon):
                yield f"{result.mechanism}, {pair.pair}: {fault}"


def _examine_all(
    bugs: Sequence[Bug], advance: Advance
) -> tuple[list[BugResult], list[RepairedResult]]:
    """Examine every bug: the faulty code, and the correct code."""
    results = []
    repaired_results = []
    for bug in bugs:
        result, repaired_result = examine(bug)
        results.append(result)
        repaired_results.append(repaired_result)
        advance(1)
    return results, repaired_results
