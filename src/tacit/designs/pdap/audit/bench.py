"""P-DAP on the audit's bench: what the paper claims, and what this library claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tacit.auditing.claims import Advance, Bench, Line, Study
from tacit.designs.pdap.audit import faults, joint, local, published, rules

SAMPLES = 5_000
PUBLISHED: tuple[Callable[[], Line], ...] = published.LINES
SOUND: tuple[Callable[[], Line], ...] = (*local.LINES, *joint.LINES)


def audit() -> Bench:
    """Both variants, and what the rules say about every published step."""
    return Bench(
        {"published": PUBLISHED, "sound": SOUND},
        faults.BUGS,
        SAMPLES,
        (Study("rules", _COLUMNS, lambda *_: 0, _rules),),
        "Nothing is other than expected. That no violation was found is no proof.",
        "tacit simulate pdap  shows what privacy costs in clicks.",
    )


_COLUMNS: dict[str, Callable[[Any], object]] = {
    name: lambda row, name=name: row[name]  # type: ignore[misc]
    for name in ("policy", "unit", "step", "bound")
}


def _rules(variant: str | None, _: bool, __: Advance) -> tuple[list[Any], list[str]]:
    """Every step with its bound, and published policies that the rules do bound."""
    if variant == "sound":
        return [], []
    rows = [
        {"policy": one.policy, "unit": one.unit, "step": one.step, "bound": one.bound}
        for one in rules.STEPS
    ]
    bounds = rules.by_policy()
    wrong = [f"{name}: the rules bound it" for name in rules.INFINITE if bounds[name] < math.inf]
    return rows, wrong
