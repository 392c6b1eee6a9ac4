"""`tacit audit`: search for violations of what mechanisms and designs claim."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import typer

from tacit import terminal
from tacit.cli.commands import command
from tacit.design import design, names, option
from tacit.errors import ConfigError
from tacit.evaluation import Result, Table
from tacit.terminal import JSON

if TYPE_CHECKING:
    from tacit.auditing.claims import AuditPlan

app = typer.Typer()

ALL = "mechanisms"


@command(app)
def audit(
    what: str | None = option("'mechanisms', the name of one, or a design.", argument="what"),
    everything: bool = option("Run all audits, one after the other.", flag="--all"),
    samples: int | None = option(
        "Releases of each neighbour; by default as many as each needs, 5,000 to 1,000,000."
    ),
    variant: str | None = option("Of designs with both: published or sound. By default all."),
    planted: bool = option("Also show that planted bugs are caught."),
    as_json: JSON = False,
) -> Result:
    """Audit by exact computation and by samples of the running code.

    Exit code 1 if a violation was found, a planted bug was missed, correct code raised an alarm, or
    an audit was weak although --samples was not below its default. Published claims that are known
    to be false are expected to be refuted: it is a failure if one is not.
    """
    if not everything and what is None:
        raise ConfigError(f"Say what to audit, such as  tacit audit {ALL}, or --all.")
    if what is not None and not everything:
        return _audit(what, samples, variant, planted=planted, quiet=as_json)
    if what is not None or variant is not None or samples is not None:
        raise ConfigError("--all audits everything as it is by default: leave out the rest.")
    return _audit_all(planted=planted, as_json=as_json)


def audits() -> tuple[str, ...]:
    """List what `--all` audits: all mechanisms, and each design with audits."""
    audited = [name for name in names() if "audit" in design(name).parts]
    return (ALL, *audited)


def _audit_all(*, planted: bool, as_json: bool) -> Result:
    """Run every audit in turn, and time it; the result fails if one of them did."""
    results: dict[str, Any] = {}
    rows = []
    failed = []
    for what in audits():
        started = time.perf_counter()
        one = _audit(what, None, None, planted=planted, quiet=as_json)
        seconds = time.perf_counter() - started
        results[what] = {"seconds": seconds, **one.data}
        rows.append((what, seconds, "FAILED" if one.failed else "as it should be"))
        if one.failed:
            failed.append(what)
        if not as_json:
            terminal.console.rule(what)
            terminal.render(one)
    total = sum(seconds for _, seconds, _ in rows)
    return Result(
        {"audits": results, "failed": failed, "seconds": total},
        (Table("", ("audit", "seconds", "result"), rows), f"{total:.0f} seconds in all."),
        failed=bool(failed),
    )


def _audit(
    what: str, samples: int | None, variant: str | None, *, planted: bool, quiet: bool
) -> Result:
    from tacit.auditing.audits import run_audits
    from tacit.auditing.claims import LEAST_SAMPLES

    whole = bench_of(what)
    if variant is not None and (what not in audits() or len(whole.claims) < 2):
        raise ConfigError(f"'{what}' has no variants to choose from: leave out --variant.")
    bench = whole.restrict_to(variant)
    drawn = bench.samples if samples is None else samples
    if drawn < LEAST_SAMPLES:
        raise ConfigError(f"--samples is at least {LEAST_SAMPLES}; got {samples}.")
    short = drawn < bench.samples
    steps = bench.steps(variant, short=short, planted=planted)
    with terminal.progress("Auditing", steps, quiet=quiet) as advance:
        result, wrong = run_audits(bench, variant, drawn, advance, planted=planted)
    shown: list[Table | str] = [*_tables(bench, result)]
    shown += _sentences(bench, result, wrong, short=short)
    after = bench.next_step if planted else f"tacit audit {what} --planted  shows what is caught."
    return Result(result, shown, after, failed=bool(wrong))


def bench_of(what: str) -> AuditPlan:
    """Make the bench of all that `tacit audit WHAT` can run.

    Raises:
        ConfigError: There is no such mechanism or design.
    """
    from tacit.auditing import planted_bugs, shipped_mechanisms
    from tacit.auditing.claims import AuditPlan
    from tacit.auditing.pairs import SAMPLES, claim_makers

    if what in audits():
        if what != ALL:
            made: AuditPlan = design(what).part("audit")()
            return made
    elif what not in shipped_mechanisms.MECHANISMS:
        known = ", ".join((*audits()[1:], *shipped_mechanisms.MECHANISMS))
        raise ConfigError(f"No mechanism or design '{what}'. Choose {ALL} or one of: {known}.")
    chosen = shipped_mechanisms.MECHANISMS
    if what != ALL:
        chosen = {what: chosen[what]}
    claims = {name: claim_makers(makes) for name, makes in chosen.items()}
    return AuditPlan(claims, planted_bugs.BUGS, SAMPLES)


def _tables(bench: AuditPlan, result: dict[str, Any]) -> Iterator[Table]:
    audits, refuted = result["audits"], result["refuted_as_expected"]
    columns: dict[str, Any] = {"mechanism": lambda one: one.mechanism}
    if len({one.unit for one in audits}) > 1:
        columns["unit"] = lambda one: one.unit
    if any(one.delta for one in audits):
        columns["delta"] = lambda one: f"{one.delta:.3g}"
    columns |= {
        "claim": lambda one: one.epsilon,
        "exact": lambda one: one.exact,
        "bound": lambda one: one.lower_bound,
        "verdict": lambda one: "refuted as expected" if one.mechanism in refuted else one.verdict,
    }
    yield Table.from_rows("", columns, audits)
    for study in bench.studies:
        if result[study.name]:
            yield Table.from_rows(study.name, study.columns, result[study.name])
    if "planted" in result:
        bugs = list(zip(result["planted"], result["clean"], strict=True))
        columns = {
            "planted bug": lambda both: both[0].bug,
            "result": lambda both: "caught" if both[0].caught else "MISSED",
            "by": lambda both: both[0].by,
            "bound": lambda both: both[0].lower_bound,
        }
        if any(bug.rules is not None for bug, _ in bugs):
            columns["rules"] = lambda both: {True: "yes", False: "no", None: None}[both[0].rules]
        columns["without it"] = lambda both: "ALARM" if both[1].alarm else "quiet"
        yield Table.from_rows("", columns, bugs)


def _sentences(
    bench: AuditPlan, result: dict[str, Any], wrong: list[str], *, short: bool
) -> Iterator[str]:
    expected = result["refuted_as_expected"]
    verdicts = [one.verdict for one in result["audits"] if one.mechanism not in expected]
    if violations := verdicts.count("violation"):
        yield f"{violations} violations found."
    yield from wrong
    if weak := verdicts.count("weak audit"):
        if short:
            yield f"{weak} weak: fewer --samples than by default cannot do better."
        else:
            yield f"{weak} weak: the auditor saw less than it should have. That is a failure."
    if not wrong:
        yield bench.conclusion
    if result["false_alarm"]:
        yield (
            "Samples call correct code wrong, or weak, with a probability of at most "
            f"{result['false_alarm']:.2g}."
        )
