"""`tacit audit private`: whole fits replayed with one person more or less, and planted bugs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from tacit.cli import audit_tables, output
from tacit.errors import ConfigError

NAME = "private"


def audit_private(samples: int | None, *, planted: bool, as_json: bool) -> None:
    """Exit code 1 if something is not as it should be."""
    from tacit.auditing.bugs import examine
    from tacit.designs.private.audit.bench import BENCH, LEAST_SAMPLES, SAMPLES, as_expected, run
    from tacit.designs.private.audit.faults import BUGS

    if samples is not None and samples < LEAST_SAMPLES:
        raise ConfigError(f"--samples is at least {LEAST_SAMPLES}; got {samples}.")
    drawn = SAMPLES if samples is None else samples
    wrong: list[str] = []
    result: dict[str, Any] = {"audits": [], "refuted_as_expected": []}
    with output.progress("Auditing", len(BENCH) + len(BUGS) * planted, quiet=as_json) as advance:
        for make in BENCH:
            line = make()
            audit = run(line, samples=drawn)
            result["audits"].append(audit)
            if not as_expected(line, audit, short=drawn < SAMPLES):
                wrong.append(f"{audit.mechanism}: {audit.verdict}")
            advance(1)
        if planted:
            found = []
            for bug in BUGS:
                found.append(examine(bug))
                advance(1)
            result["planted"] = [asdict(bug) for bug, _ in found]
            result["clean"] = [asdict(clean) for _, clean in found]
    wrong += audit_tables.complaints(result)
    output.emit(result, as_json=as_json, render=lambda result: _show(result, wrong))
    if wrong:
        raise typer.Exit(1)


def _show(result: dict[str, Any], wrong: list[str]) -> None:
    audit_tables.lines(result, "delta")
    audit_tables.planted(result)
    for line in wrong:
        output.console.print(line)
    if not wrong:
        output.console.print("No violation was found, and that is no proof.")
    output.next_step("Next:  tacit guarantee private --epsilon 1  reads what is promised.")
