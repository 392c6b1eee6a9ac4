"""`tacit audit pdap`: the paper's claims refuted, and the sound learners' audited."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from tacit.cli import audit_tables, output
from tacit.errors import ConfigError

NAME = "pdap"
VARIANTS = ("published", "sound")


def audit_pdap(samples: int | None, variant: str | None, *, planted: bool, as_json: bool) -> None:
    """variant: None for both. Exit code 1 if something is not as it should be."""
    from tacit.auditing.bugs import examine
    from tacit.designs.pdap.audit.bench import (
        LEAST_SAMPLES,
        PUBLISHED,
        SAMPLES,
        SOUND,
        as_expected,
        run,
    )
    from tacit.designs.pdap.audit.faults import BUGS

    if variant is not None and variant not in VARIANTS:
        raise ConfigError(f"--variant is one of {', '.join(VARIANTS)}; got '{variant}'.")
    if samples is not None and samples < LEAST_SAMPLES:
        raise ConfigError(f"--samples is at least {LEAST_SAMPLES}; got {samples}.")
    drawn = SAMPLES if samples is None else samples
    bench = {"published": PUBLISHED, "sound": SOUND, None: (*PUBLISHED, *SOUND)}[variant]
    wrong: list[str] = []
    result: dict[str, Any] = {"rules": [], "audits": [], "refuted_as_expected": []}
    if variant != "sound":
        result["rules"], unbounded = _rules()
        wrong += unbounded
    with output.progress("Auditing", len(bench) + len(BUGS) * planted, quiet=as_json) as advance:
        for make in bench:
            line = make()
            audit = run(line, samples=drawn)
            result["audits"].append(audit)
            if not as_expected(line, audit, short=drawn < SAMPLES):
                wrong.append(f"{audit.mechanism}: {audit.verdict}")
                if not line.published:
                    wrong += [
                        f"{audit.mechanism}, {pair.pair}: {fault}"
                        for pair in audit.pairs
                        for fault in pair.faults(audit.epsilon)
                    ]
            elif line.published:
                result["refuted_as_expected"].append(audit.mechanism)
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


def _rules() -> tuple[list[dict[str, Any]], list[str]]:
    """Every step with its bound, and published policies that the rules do bound."""
    from tacit.designs.pdap.audit.rules import INFINITE, STEPS, by_policy

    rows = [
        {"policy": one.policy, "unit": one.unit, "step": one.step, "bound": one.bound}
        for one in STEPS
    ]
    bounds = by_policy()
    wrong = [
        f"{policy}: the rules bound it" for policy in INFINITE if bounds[policy] < float("inf")
    ]
    return rows, wrong


def _show(result: dict[str, Any], wrong: list[str]) -> None:
    if result["rules"]:
        output.table(
            "Rules",
            ("policy", "unit", "step", "bound"),
            [(row["policy"], row["unit"], row["step"], row["bound"]) for row in result["rules"]],
        )
    audit_tables.lines(result, "unit")
    audit_tables.planted(result)
    for line in wrong:
        output.console.print(line)
    if not wrong:
        output.console.print(
            "Nothing is other than expected. That no violation was found is no proof."
        )
    output.next_step(
        "Next:  tacit simulate pdap  shows what privacy costs in clicks."
        if "planted" in result
        else "Next:  tacit audit pdap --planted  shows what the auditor catches."
    )
