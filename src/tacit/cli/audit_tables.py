"""Tables that audits of several designs have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tacit.cli import output

_COLUMNS: Mapping[str, Callable[[Any], Any]] = {
    "unit": lambda audit: audit.unit,
    "delta": lambda audit: f"{audit.delta:.3g}",
}


def lines(result: Mapping[str, Any], *columns: str) -> None:
    """Each audited line with its verdict. columns: of `_COLUMNS`, to stand beside the claim."""
    refuted = result["refuted_as_expected"]
    output.table(
        "",
        ("mechanism", *columns, "claim", "exact", "bound", "verdict"),
        [
            (
                audit.mechanism,
                *(_COLUMNS[column](audit) for column in columns),
                audit.epsilon,
                audit.exact,
                audit.lower_bound,
                "refuted as expected" if audit.mechanism in refuted else audit.verdict,
            )
            for audit in result["audits"]
        ],
    )


def planted(result: Mapping[str, Any]) -> None:
    """Each planted bug and the same code without it, if they were tried."""
    if "planted" not in result:
        return
    output.table(
        "",
        ("planted bug", "result", "by", "bound", "without it"),
        [
            (
                bug["bug"],
                "caught" if bug["caught"] else "MISSED",
                bug["by"],
                bug["lower_bound"],
                "ALARM" if clean["alarm"] else "quiet",
            )
            for bug, clean in zip(result["planted"], result["clean"], strict=True)
        ],
    )


def complaints(result: Mapping[str, Any]) -> list[str]:
    """Planted bugs that were missed, and correct code that raised an alarm."""
    missed = [f"{bug['bug']}: missed" for bug in result.get("planted", []) if not bug["caught"]]
    alarms = [f"{clean['mechanism']}: alarm" for clean in result.get("clean", []) if clean["alarm"]]
    return missed + alarms
