"""`tacit audit`: search for violations of what the mechanisms claim."""

from __future__ import annotations

import contextlib
import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit.cli import output
from tacit.cli.output import JSON
from tacit.errors import ConfigError

if TYPE_CHECKING:
    from tacit.auditing.bench import Subject
    from tacit.auditing.bugs import Bug

app = typer.Typer()

ALL = "mechanisms"
SKETCHES = "sketches"
EVERYTHING = (ALL, "sizes", SKETCHES, "prec", "pdap", "xmap", "private")


@app.command()
def audit(
    what: Annotated[
        str | None,
        typer.Argument(
            help="'mechanisms' for all, the name of one, a design (private, xmap, sketches, prec, "
            "pdap), or 'sizes': every released artefact at random sizes."
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Run all audits, one after the other.")
    ] = False,
    samples: Annotated[
        int | None,
        typer.Option(
            help="Releases of each neighbour; slow ones get a share. "
            "By default 1,000,000, xmap and private 200,000, sketches and prec 10,000, pdap 5,000. "
            "Of sizes: cases of each artefact."
        ),
    ] = None,
    variant: Annotated[
        str | None,
        typer.Option(help="Of prec and pdap: published or sound. By default both."),
    ] = None,
    planted: Annotated[
        bool, typer.Option("--planted", help="Also show that planted bugs are caught.")
    ] = False,
    as_json: JSON = False,
) -> None:
    """Audit the shipped mechanisms by exact computation and by samples of the running code.

    Exit code 1 if a violation was found, a planted bug was missed, correct code raised an alarm, or
    an audit was weak although --samples was not below its default. The published claims of xmap,
    prec and pdap are expected to be refuted: it is a failure if one is not. For xmap, membership
    is guessed as well. Sketches are audited through the code of the device. For prec, transcripts
    and whole views are computed.
    """
    from tacit.cli import audit_pdap, audit_prec

    if everything:
        if what is not None or variant is not None or samples is not None:
            raise ConfigError("--all audits everything as it is by default: leave out the rest.")
        audit_all(planted=planted, as_json=as_json)
        return
    if what is None:
        raise ConfigError(f"Say what to audit, such as  tacit audit {ALL}, or --all.")
    if variant is not None and what not in (audit_prec.NAME, audit_pdap.NAME):
        raise ConfigError(f"--variant is for prec and pdap; '{what}' has none to choose.")
    _audit(what, samples, variant, planted=planted, as_json=as_json)


def audit_all(*, planted: bool, as_json: bool) -> None:
    """Every audit in turn, and how long it took; exit code 1 if one of them failed."""
    results, failed, began = {}, [], time.perf_counter()
    for what in EVERYTHING:
        if not as_json:
            output.console.rule(what)
        started, said = time.perf_counter(), io.StringIO()
        try:
            with contextlib.redirect_stdout(said) if as_json else contextlib.nullcontext():
                _audit(what, None, None, planted=planted, as_json=as_json)
        except typer.Exit:
            failed.append(what)
        found = json.loads(said.getvalue()) if as_json else {}
        results[what] = {"seconds": time.perf_counter() - started, **found}
    result = {"audits": results, "failed": failed, "seconds": time.perf_counter() - began}
    output.emit(result, as_json=as_json, render=_show_all)
    if failed:
        raise typer.Exit(1)


def _show_all(result: dict[str, Any]) -> None:
    output.table(
        "",
        ("audit", "seconds", "result"),
        [
            (what, one["seconds"], "FAILED" if what in result["failed"] else "as it should be")
            for what, one in result["audits"].items()
        ],
    )
    output.console.print(f"{result['seconds']:.0f} seconds in all.")


def _audit(
    what: str, samples: int | None, variant: str | None, *, planted: bool, as_json: bool
) -> None:
    from tacit.cli import audit_pdap, audit_prec, audit_private, audit_sizes, audit_xmap

    if what == audit_prec.NAME:
        audit_prec.audit_prec(samples, variant, planted=planted, as_json=as_json)
    elif what == audit_pdap.NAME:
        audit_pdap.audit_pdap(samples, variant, planted=planted, as_json=as_json)
    elif what == audit_xmap.NAME:
        audit_xmap.audit_xmap(samples, planted=planted, as_json=as_json)
    elif what == audit_private.NAME:
        audit_private.audit_private(samples, planted=planted, as_json=as_json)
    elif what == audit_sizes.NAME:
        audit_sizes.audit_sizes(samples, planted=planted, as_json=as_json)
    elif what == SKETCHES:
        _audit_sketches(samples, planted=planted, as_json=as_json)
    else:
        _audit_mechanisms(what, samples, planted=planted, as_json=as_json)


def _audit_mechanisms(what: str, asked: int | None, *, planted: bool, as_json: bool) -> None:
    from tacit.auditing.planted import BUGS
    from tacit.auditing.shipped import BENCH, SAMPLES

    if what != ALL and what not in BENCH:
        raise ConfigError(f"No mechanism '{what}'. Choose {ALL} or one of: {', '.join(BENCH)}.")
    subjects = [(name, make) for name in BENCH if what in (ALL, name) for make in BENCH[name]]
    _run(ALL, subjects, BUGS if planted else None, asked, SAMPLES, as_json=as_json)


def _audit_sketches(asked: int | None, *, planted: bool, as_json: bool) -> None:
    from tacit.designs.sketches.audit.bench import BENCH, SAMPLES
    from tacit.designs.sketches.audit.faults import BUGS

    subjects = [(SKETCHES, make) for make in BENCH]
    _run(SKETCHES, subjects, BUGS if planted else None, asked, SAMPLES, as_json=as_json)


def _run(
    what: str,
    subjects: Sequence[tuple[str, Callable[[], Subject]]],
    bugs: Sequence[Bug] | None,
    asked: int | None,
    enough: int,
    *,
    as_json: bool,
) -> None:
    """Audit each, examine the bugs, show it all; bugs: None where none are asked for."""
    from tacit.auditing.bench import LEAST_SAMPLES, attempt
    from tacit.auditing.bugs import examine

    samples = enough if asked is None else asked
    if samples < LEAST_SAMPLES:
        raise ConfigError(f"--samples is at least {LEAST_SAMPLES}; got {samples}.")
    result: dict[str, Any] = {"audits": []}
    with output.progress("Auditing", len(subjects) + len(bugs or ()), quiet=as_json) as advance:
        for name, make in subjects:
            result["audits"].append(attempt(name, make, samples=samples))
            advance(1)
        if bugs is not None:
            found = []
            for bug in bugs:
                found.append(examine(bug))
                advance(1)
            result["planted"] = [asdict(bug) for bug, _ in found]
            result["clean"] = [asdict(clean) for _, clean in found]
    short = samples < enough
    output.emit(result, as_json=as_json, render=lambda result: _show(result, short, what))
    if not _well(result, short):
        raise typer.Exit(1)


def _well(result: dict[str, Any], short: bool) -> bool:
    return (
        all(audit.verdict != "violation" for audit in result["audits"])
        and (short or not _weak(result))
        and all(bug["caught"] for bug in result.get("planted", []))
        and not any(clean["alarm"] for clean in result.get("clean", []))
    )


def _weak(result: dict[str, Any]) -> int:
    return sum(audit.verdict == "weak audit" for audit in result["audits"])


def _show(result: dict[str, Any], short: bool, what: str) -> None:
    output.table(
        "",
        ("mechanism", "unit", "claim", "exact", "bound", "tight", "verdict"),
        [
            (
                audit.mechanism,
                audit.unit,
                audit.epsilon,
                audit.exact,
                audit.lower_bound,
                audit.tightness,
                audit.verdict,
            )
            for audit in result["audits"]
        ],
    )
    violations = sum(audit.verdict == "violation" for audit in result["audits"])
    output.console.print(
        f"{violations} violations found." if violations else "No violation found. That is no proof."
    )
    for audit in result["audits"]:
        for pair in audit.pairs:
            for fault in pair.faults(audit.epsilon):
                output.console.print(f"{audit.mechanism}, {pair.pair}: {fault}")
    if weak := _weak(result):
        output.console.print(
            f"{weak} weak: fewer --samples than by default cannot do better."
            if short
            else f"{weak} weak: the auditor saw less than it should have. That is a failure."
        )
    if "planted" not in result:
        output.next_step(f"Next:  tacit audit {what} --planted  shows what the auditor catches.")
        return
    rows = [
        (
            bug["bug"],
            "caught" if bug["caught"] else "MISSED",
            bug["by"],
            bug["lower_bound"],
            {True: "yes", False: "no", None: None}[bug["rules"]],
            "ALARM" if clean["alarm"] else "quiet",
        )
        for bug, clean in zip(result["planted"], result["clean"], strict=True)
    ]
    output.table("", ("planted bug", "result", "by", "bound", "rules", "without it"), rows)
    design = "sketches --epsilon 1" if what == SKETCHES else "standard-scheme"
    output.next_step(f"Next:  tacit guarantee {design}  reads what a design promises.")
