"""`tacit audit sizes`: every released artefact at random sizes, and the bugs planted for it."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from typing import Any

import typer

from tacit.cli import output
from tacit.errors import ConfigError

NAME = "sizes"


def audit_sizes(cases: int | None, *, planted: bool, as_json: bool) -> None:
    """cases: of each artefact; None: as many as by default."""
    from tacit.auditing.random_sizes import examine
    from tacit.designs.random_sizes.bench import BENCH
    from tacit.designs.random_sizes.faults import FAULTS

    if cases is not None and cases < 1:
        raise ConfigError(f"--samples of sizes is a number of cases, at least 1; got {cases}.")
    seed, faults = secrets.randbits(32), FAULTS if planted else ()
    found, caught = [], []
    with output.progress("Auditing", len(BENCH) + len(faults), quiet=as_json) as advance:
        for profile in BENCH:
            found.append(examine(profile, seed=seed, cases=cases))
            advance(1)
        for fault in faults:
            caught.append((fault, fault.found(seed)))
            advance(1)
    result: dict[str, Any] = {
        "seed": seed,
        "artefacts": [asdict(one) | {"violation": one.violation} for one in found],
    }
    if planted:
        result["planted"] = [
            {"bug": fault.name, "kind": fault.kind, "caught": one.violation and not one.failed}
            | asdict(one)
            for fault, one in caught
        ]
    output.emit(result, as_json=as_json, render=_show)
    missed = any(not one["caught"] for one in result.get("planted", ()))
    if missed or any(one.violation for one in found):
        raise typer.Exit(1)


def _show(result: dict[str, Any]) -> None:
    output.table(
        f"loss over claim, worst of random cases (seed {result['seed']})",
        ("artefact", "cases", "worst", "seconds", "verdict"),
        [
            (
                one["artefact"],
                one["cases"],
                one["worst"],
                one["seconds"],
                (one["failed"] or "violation") if one["violation"] else "no violation found",
            )
            for one in result["artefacts"]
        ],
    )
    if "planted" not in result:
        output.next_step("Next:  tacit audit sizes --planted  shows what is caught.")
        return
    output.table(
        "",
        ("planted bug", "kind", "artefact", "result", "at case", "loss over claim"),
        [
            (
                one["bug"],
                one["kind"],
                one["artefact"],
                "caught" if one["caught"] else "MISSED",
                one["cases"],
                one["worst"],
            )
            for one in result["planted"]
        ],
    )
