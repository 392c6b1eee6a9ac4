"""A plugin of pytest: one closing line that says what was skipped, and what would run it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any


def pytest_unconfigure(config: Any) -> None:
    """After the totals. Workers of pytest-xdist say nothing."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return
    if line := closing_line(reporter.stats.get("skipped", ())):
        reporter.write_line(line)


def closing_line(reports: Iterable[Any]) -> str:
    """The reasons with their counts, most frequent first; empty where nothing was skipped."""
    reasons = Counter(_reason(report) for report in reports)
    if not reasons:
        return ""
    each = "; ".join(f"{count} because {reason}" for reason, count in reasons.most_common())
    return f"Not run: {each}."


def _reason(report: Any) -> str:
    place = report.longrepr
    text = place[2] if isinstance(place, tuple) else str(place)
    return str(text).removeprefix("Skipped: ").rstrip(".")
