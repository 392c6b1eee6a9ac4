"""One self-contained page of an experiment: a template of its design, filled and written whole.

At the end the rows of numbers that experiments hand to `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.container import check_writable, write_whole
from tacit.evaluation.result import Table, Verdict


def write_page(page: str, path: str | Path) -> None:
    """Write the whole page or none: what was there stays until the new page is on disk."""
    check_writable(path)
    # A file name on the command line need not be Unicode; the rest of the page still counts.
    write_whole(path, page.encode("utf-8", errors="backslashreplace"))


def fill(
    package: str,
    facts: Mapping[str, Any],
    filters: Mapping[str, Callable[..., Any]],
    template: str = "page.html",
) -> str:
    """A template of a package with its facts: every word of the data escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package, ""), PackageLoader("tacit.evaluation")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(filters)
    return environment.get_template(template).render(facts)


def write_result(
    title: str,
    verdict: Verdict,
    tables: Sequence[Table],
    manifest: Mapping[str, Any],
    path: str | Path,
) -> None:
    """The page of an experiment that has no page of its own."""
    facts = {
        "title": title,
        "verdict": verdict,
        "tables": tables,
        "manifest": list(flat(manifest)),
        "date": manifest.get("date"),
    }
    write_page(fill("tacit.evaluation", facts, {}, "result.html"), path)


def flat(content: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """A manifest's lines: names of nested entries joined by dots."""
    for key, value in content.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


@dataclass(frozen=True)
class MixPoint:
    """Frozen attacks and error when a share of the ratings is obfuscated.

    auc_ranges, rmse_range: ends of the 95 % intervals over folds.
    """

    mix: float
    aucs: dict[str, float]
    rmse: float
    auc_ranges: dict[str, tuple[float, float]]
    rmse_range: tuple[float, float]


@dataclass(frozen=True)
class Needs:
    """What is varied, and people by method; lower bounds are NOBODY_BELOW and FIXED_QUESTIONS.

    Bounds are known for the unit 'user' alone; for others there is no such line. at: the value
    that was planned for. lines: name to (value, people) pairs, infinite ones left out.
    """

    varied: str
    at: float
    lines: dict[str, tuple[tuple[float, float], ...]]
