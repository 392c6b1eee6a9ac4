"""`tacit audit xmap`: the paper's claims refuted, the library's audited, membership guessed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from tacit.cli import audit_tables, output
from tacit.errors import ConfigError

NAME = "xmap"


def audit_xmap(samples: int | None, *, planted: bool, as_json: bool) -> None:
    """Exit code 1 if something is not as it should be; a refuted published line is."""
    from tacit.auditing.bugs import examine
    from tacit.designs.xmap.audit.bench import BENCH, LEAST_SAMPLES, SAMPLES, as_expected, run
    from tacit.designs.xmap.audit.faults import BUGS
    from tacit.designs.xmap.audit.membership import FITS, GAMES, control_works, play

    if samples is not None and samples < LEAST_SAMPLES:
        raise ConfigError(f"--samples is at least {LEAST_SAMPLES}; got {samples}.")
    drawn = SAMPLES if samples is None else samples
    short = drawn < SAMPLES
    fits = 2 if short else FITS
    steps = len(BENCH) + len(GAMES) * fits + len(BUGS) * planted
    wrong: list[str] = []
    result: dict[str, Any] = {"audits": [], "refuted_as_expected": [], "membership": []}
    with output.progress("Auditing", steps, quiet=as_json) as advance:
        for make in BENCH:
            line = make()
            audit = run(line, samples=drawn)
            result["audits"].append(audit)
            if not as_expected(line, audit, short=short):
                wrong.append(f"{audit.mechanism}: {audit.verdict}")
            elif line.published:
                result["refuted_as_expected"].append(audit.mechanism)
            advance(1)
        for game in GAMES:
            result["membership"] += play(game, fits=fits, progress=advance)
        if planted:
            found = []
            for bug in BUGS:
                found.append(examine(bug))
                advance(1)
            result["planted"] = [asdict(bug) for bug, _ in found]
            result["clean"] = [asdict(clean) for _, clean in found]
    wrong += audit_tables.complaints(result)
    wrong += [
        f"{row.method}, {row.attack}: membership guessed beyond the claim"
        for row in result["membership"]
        if row.verdict == "violation"
    ]
    if not (short or control_works(result["membership"])):
        wrong.append("no attack works on the control, so that it fails elsewhere says nothing")
    output.emit(result, as_json=as_json, render=lambda result: _show(result, wrong))
    if wrong:
        raise typer.Exit(1)


def _show(result: dict[str, Any], wrong: list[str]) -> None:
    audit_tables.lines(result, "delta")
    output.table(
        "Membership",
        ("recommender", "attack", "claim", "AUC", "95 %", "bound", "verdict"),
        [
            (
                row.method,
                row.attack,
                row.epsilon,
                row.auc,
                f"{row.low:.3f} to {row.high:.3f}",
                row.lower_bound,
                row.verdict,
            )
            for row in result["membership"]
        ],
    )
    audit_tables.planted(result)
    for line in wrong:
        output.console.print(line)
    if not wrong:
        output.console.print(
            "The paper's claims are refuted. No violation of the library's was found, and that is "
            "no proof."
        )
    output.next_step("Next:  tacit guarantee xmap  reads what each variant promises.")
