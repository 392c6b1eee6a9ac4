"""`tacit audit prec`: the paper's claim refuted without peers, the gated variant's audited."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import typer

from tacit.cli import audit_tables, output
from tacit.errors import ConfigError

NAME = "prec"
VARIANTS = ("published", "sound")


def audit_prec(samples: int | None, variant: str | None, *, planted: bool, as_json: bool) -> None:
    """Exit code 1 if something is not as it should be; a refuted published line is."""
    from tacit.auditing.bugs import examine
    from tacit.designs.prec import PRec
    from tacit.designs.prec.audit import bench, exact, faults

    if variant not in (None, *VARIANTS):
        raise ConfigError(f"The variant is one of: {', '.join(VARIANTS)}; got '{variant}'.")
    if samples is not None and samples < bench.LEAST_SAMPLES:
        raise ConfigError(f"--samples is at least {bench.LEAST_SAMPLES}; got {samples}.")
    drawn = bench.SAMPLES if samples is None else samples
    short = drawn < bench.SAMPLES
    lines = [
        make for name, makes in bench.BENCH.items() if variant in (None, name) for make in makes
    ]
    checks = exact.checks(published=variant != "sound", sound=variant != "published", short=short)
    bugs = faults.BUGS if planted else ()
    wrong: list[str] = []
    result: dict[str, Any] = {"audits": [], "refuted_as_expected": [], "computed": []}
    with output.progress("Auditing", len(lines) + len(checks) + len(bugs), quiet=as_json) as step:
        for make in lines:
            line = make()
            audit = bench.run(line, samples=drawn)
            result["audits"].append(audit)
            if not bench.as_expected(line, audit, short=short):
                wrong.append(f"{audit.mechanism}: {audit.verdict}")
            elif line.published:
                result["refuted_as_expected"].append(audit.mechanism)
            step(1)
        for check in checks:
            result["computed"] += [asdict(one) | {"verdict": one.verdict} for one in check(PRec)]
            step(1)
        if planted:
            found = []
            for bug in bugs:
                found.append(examine(bug))
                step(1)
            result["planted"] = [asdict(bug) for bug, _ in found]
            result["clean"] = [asdict(clean) for _, clean in found]
    wrong += [
        f"{one['check']}: {one['verdict']}"
        for one in result["computed"]
        if one["verdict"] != "held"
    ]
    wrong += audit_tables.complaints(result)
    output.emit(result, as_json=as_json, render=lambda result: _show(result, wrong))
    if wrong:
        raise typer.Exit(1)


def _show(result: dict[str, Any], wrong: list[str]) -> None:
    audit_tables.lines(result, "delta")
    output.table(
        "Computed",
        ("check", "pairs", "largest", "allowed", "verdict"),
        [
            (
                one["check"],
                one["instances"],
                f"{one['largest']:.4g}",
                f"{one['allowed']:.4g}",
                one["verdict"],
            )
            for one in result["computed"]
        ],
    )
    audit_tables.planted(result)
    for line in wrong:
        output.console.print(line)
    if not wrong:
        output.console.print(
            "Everything is as it should be. No violation of the sound variant was found, and that "
            "is no proof."
            if any(audit.mechanism == "p-rec-sound" for audit in result["audits"])
            else "The paper's claim is refuted where its promise is broken, and holds where kept."
        )
    output.next_step(
        "Next:  tacit plan prec --objects 2 --rounds 1000 --peers 50 --voters 300  says what it "
        "costs."
    )
