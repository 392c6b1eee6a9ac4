"""`tacit audit`: searches for violations of what mechanisms and designs claim."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import typer

from tacit import terminal
from tacit.cli.commands import command
from tacit.design import design, names, option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.auditing.bugs import BugResult, RepairedResult
    from tacit.auditing.claims import AuditPlan, AuditResult

app = typer.Typer()

ALL_MECHANISMS = "mechanisms"
"""Name of the audit of all mechanisms. (The option --all also audits the designs.)"""


@command(app)
def audit(
    what: str | None = option("'mechanisms', the name of one, or a design.", argument="what"),
    everything: bool = option("Run all audits, one after the other.", flag="--all"),
    samples: int | None = option(
        "Releases drawn of each of two neighbouring inputs; by default as many as the audit needs, "
        "5,000 to 1,000,000."
    ),
    variant: str | None = option("Variant of a design: published or sound. By default all."),
    planted: bool = option("Also check that planted bugs are caught."),
    as_json: JSON = False,
) -> Result:
    """Audit by exact computation and by samples of the running code.

    Published claims that are known to be false are expected to be refuted. Exit code 1 if one of
    them was not refuted, if any other claim was violated, if a planted bug was missed, if correct
    code raised an alarm, or if an audit was weak although --samples was not below its default.
    """
    if not everything and what is None:
        raise ConfigError(f"Say what to audit, such as  tacit audit {ALL_MECHANISMS}, or --all.")
    if what is not None and not everything:
        return _audit(what, samples, variant, planted=planted, quiet=as_json)
    if what is not None or variant is not None or samples is not None:
        raise ConfigError(
            "--all runs each audit with its defaults: leave out the name, --variant and --samples."
        )
    return _audit_all(planted=planted, as_json=as_json)


def list_audits() -> tuple[str, ...]:
    """List the audits that --all runs: of all mechanisms, and of each design that has an audit."""
    designs = [name for name in names() if "audit" in design(name).parts]
    return (ALL_MECHANISMS, *designs)


def _audit_all(*, planted: bool, as_json: bool) -> Result:
    """Run and time every audit, one after the other; the result fails if one of them failed."""
    results: dict[str, Any] = {}
    rows = []
    failed = []
    for what in list_audits():
        started = time.perf_counter()
        result = _audit(what, None, None, planted=planted, quiet=as_json)
        seconds = time.perf_counter() - started
        results[what] = {"seconds": seconds, **result.data}
        rows.append((what, seconds, "FAILED" if result.failed else "as it should be"))
        if result.failed:
            failed.append(what)
        if not as_json:
            terminal.console().rule(what)
            terminal.render(result)
    total = sum(result["seconds"] for result in results.values())
    return Result(
        {"audits": results, "failed": failed, "seconds": total},
        (Table("", ("audit", "seconds", "result"), rows), f"{total:.0f} seconds in all."),
        failed=bool(failed),
    )


def _audit(
    what: str, samples: int | None, variant: str | None, *, planted: bool, quiet: bool
) -> Result:
    """Audit one mechanism, all of them, or a design.

    Args:
        what: Name of a mechanism or a design, or `ALL_MECHANISMS`.
        samples: Releases drawn of each of two neighbouring inputs; None: as many as the audit
            needs.
        variant: Variant of a design; None: all variants.
        planted: Whether planted bugs are audited, too.
        quiet: Whether progress is hidden.

    Raises:
        ConfigError: There is no such mechanism, design or variant, or there are too few samples.
    """
    from tacit.auditing.audits import run_audits
    from tacit.auditing.claims import LEAST_SAMPLES

    plan = plan_audit(what)
    if variant is not None and (what not in list_audits() or len(plan.claims) < 2):
        raise ConfigError(f"'{what}' has no variants to choose from: leave out --variant.")
    plan = plan.restrict_to(variant)
    n_samples = plan.samples if samples is None else samples
    if n_samples < LEAST_SAMPLES:
        raise ConfigError(f"--samples is at least {LEAST_SAMPLES}; got {samples}.")
    has_fewer_samples = n_samples < plan.samples
    steps = plan.steps(variant, short=has_fewer_samples, planted=planted)
    with terminal.progress("Auditing", steps, quiet=quiet) as advance:
        result, failures = run_audits(plan, variant, n_samples, advance, planted=planted)
    shown: list[Table | str] = [*_make_tables(plan, result)]
    shown += _conclude(plan, result, failures, has_fewer_samples=has_fewer_samples)
    after = plan.next_step if planted else f"tacit audit {what} --planted  shows what is caught."
    return Result(result, shown, after, failed=bool(failures))


def plan_audit(what: str) -> AuditPlan:
    """Make the plan of `tacit audit WHAT`: the claims, planted bugs and studies that it can run.

    Args:
        what: Name of a mechanism or a design, or `ALL_MECHANISMS`.

    Raises:
        ConfigError: There is no such mechanism or design.
    """
    from tacit.auditing import planted_bugs, shipped_mechanisms
    from tacit.auditing.claims import AuditPlan
    from tacit.auditing.pairs import SAMPLES, claim_makers

    designs = list_audits()[1:]  # the first audit is that of all mechanisms
    if what in designs:
        plan_of_design: AuditPlan = design(what).part("audit")()
        return plan_of_design
    mechanisms = shipped_mechanisms.MECHANISMS
    if what != ALL_MECHANISMS:
        if what not in mechanisms:
            known = ", ".join((*designs, *mechanisms))
            raise ConfigError(
                f"No mechanism or design '{what}'. Choose {ALL_MECHANISMS} or one of: {known}."
            )
        mechanisms = {what: mechanisms[what]}
    claims = {name: claim_makers(makers) for name, makers in mechanisms.items()}
    return AuditPlan(claims, planted_bugs.BUGS, SAMPLES)


def _make_tables(plan: AuditPlan, result: dict[str, Any]) -> Iterator[Table]:
    """Yield the tables of an audit: of claims, of each study with results, and of planted bugs.

    Args:
        plan: The audit's plan.
        result: What the audit found. It has "planted" only if planted bugs were audited.
    """
    audits = result["audits"]
    refuted = result["refuted_as_expected"]

    def describe_verdict(claim: AuditResult) -> str:
        """Return the verdict on a claim; another text where it was refuted as expected."""
        return "refuted as expected" if claim.mechanism in refuted else claim.verdict

    columns: dict[str, Any] = {"mechanism": lambda claim: claim.mechanism}
    if len({claim.unit for claim in audits}) > 1:
        columns["unit"] = lambda claim: claim.unit
    if any(claim.delta for claim in audits):
        columns["delta"] = lambda claim: f"{claim.delta:.3g}"
    columns |= {
        "claim": lambda claim: claim.epsilon,
        "exact": lambda claim: claim.exact,
        "bound": lambda claim: claim.lower_bound,
        "verdict": describe_verdict,
    }
    yield Table.from_rows("", columns, audits)
    for study in plan.studies:
        if result[study.name]:
            yield Table.from_rows(study.name, study.columns, result[study.name])
    if "planted" in result:
        yield _make_table_of_bugs(result["planted"], result["clean"])


def _make_table_of_bugs(bugs: Sequence[BugResult], repairs: Sequence[RepairedResult]) -> Table:
    """Make the table of planted bugs.

    Args:
        bugs: The audit's result on the code with each bug.
        repairs: The audit's result on the same code without the bug, in the same order.
    """
    headings = ["planted bug", "result", "by", "bound"]
    shows_rules = any(bug.rules is not None for bug in bugs)
    if shows_rules:
        headings.append("rules")
    headings.append("without it")
    caught_by_rules = {True: "yes", False: "no", None: None}  # None: no rule describes the code
    rows = []
    for bug, repair in zip(bugs, repairs, strict=True):
        cells = [bug.bug, "caught" if bug.caught else "MISSED", bug.by, bug.lower_bound]
        if shows_rules:
            cells.append(caught_by_rules[bug.rules])
        cells.append("ALARM" if repair.alarm else "quiet")
        rows.append(cells)
    return Table("", headings, rows)


def _conclude(
    plan: AuditPlan, result: dict[str, Any], failures: list[str], *, has_fewer_samples: bool
) -> Iterator[str]:
    """Yield the sentences that conclude an audit.

    Args:
        plan: The audit's plan.
        result: What the audit found.
        failures: A sentence for each reason why the audit failed.
        has_fewer_samples: Whether fewer samples were drawn than by default.
    """
    expected = result["refuted_as_expected"]
    verdicts = [claim.verdict for claim in result["audits"] if claim.mechanism not in expected]
    violations = verdicts.count("violation")
    if violations:
        yield f"{violations} violations found."
    yield from failures
    weak = verdicts.count("weak audit")
    if weak and has_fewer_samples:
        yield f"{weak} weak: fewer --samples than by default show too little."
    elif weak:
        yield f"{weak} weak: the audit showed less than it should have. That is a failure."
    if not failures:
        yield plan.conclusion
    if result["false_alarm"]:
        yield (
            "Samples call correct code wrong, or its audit weak, with a probability of at most "
            f"{result['false_alarm']:.2g}."
        )
