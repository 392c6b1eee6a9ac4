"""One self-contained page of an experiment across domains: the figures of X-Map's paper."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.designs.xmap.experiment.experiment import CrossDomainTable, Point
from tacit.designs.xmap.experiment.methods import (
    NAMES,
    PAPERS_BUDGETS,
    STROKES,
    Contender,
    budget,
    named,
)
from tacit.designs.xmap.experiment.verdict import (
    BASELINE,
    against,
    judged_with_privacy,
    judged_without_privacy,
    verdict,
)
from tacit.evaluation.page import fill, flat, write_page
from tacit.evaluation.result import Interval


@dataclass(frozen=True)
class Surface:
    """MAE of the published variant over both budgets: rows ε, columns ε′. worst, best: of cells."""

    name: str
    non_private: Interval | None
    epsilons: tuple[float, ...]
    cells: dict[tuple[float, float], float]

    def level(self, value: float) -> int:
        """0 for the smallest error to 5 for the largest: the colour of a cell."""
        low, high = min(self.cells.values()), max(self.cells.values())
        return 0 if high == low else min(5, int(6 * (value - low) / (high - low)))


def write_report(table: CrossDomainTable, manifest: Mapping[str, Any], path: str | Path) -> None:
    """Render the page and write it."""
    write_page(render(table, manifest), path)


def render(table: CrossDomainTable, manifest: Mapping[str, Any]) -> str:
    """The page as HTML: no script, no address, every word of the data escaped."""
    signed: Callable[[float], str] = lambda value: f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")  # noqa: E731
    facts = {
        "table": table,
        "verdict": verdict(table),
        "tiles": _tiles(table),
        "standings": _standings(table),
        "figures": _figures(table),
        "key": _key(table),
        "surfaces": _surfaces(table),
        "manifest": list(flat(manifest)),
        "date": manifest.get("date"),
    }
    return fill(__package__, facts, {"signed": signed})


def _tiles(table: CrossDomainTable) -> list[tuple[str, str, Interval]]:
    """(what, with which budget, error): the baseline, without and with privacy."""
    baseline = [p for p in table.at_base() if p.contender.method == BASELINE]
    chosen = [*baseline, judged_without_privacy(table), judged_with_privacy(table)]
    return [
        (named(point.contender), budget(point.contender) or "no privacy", point.mae)
        for point in chosen
        if point is not None and point.mae is not None
    ]


def _standings(table: CrossDomainTable) -> list[dict[str, Any]]:
    """Lines of the first table."""
    return [
        {
            "name": named(point.contender),
            "budget": budget(point.contender),
            "k": point.k,
            "mae": point.mae,
            "gap": against(table, point, BASELINE),
            "ndcg": point.ndcg_at_10,
            "lists": against(table, point, "popularity", "ndcg_at_10"),
            "non_private": _non_private(point.contender),
        }
        for point in table.at_base()
        if not _on_surface(point.contender)
    ]


def _non_private(contender: Contender) -> bool:
    return contender.method.startswith("nx-map")


def _on_surface(contender: Contender) -> bool:
    """Whether a budget is not the paper's own: its cell stands in the surface alone."""
    budgets = (contender.epsilon, contender.epsilon_prime)
    return contender.epsilon_prime is not None and budgets != PAPERS_BUDGETS[contender.method]


def _drawn(table: CrossDomainTable) -> list[Contender]:
    """One budget of each method and variant: the first."""
    found: dict[tuple[str, str], Contender] = {}
    for point in table.points:
        if point.mae is not None:
            found.setdefault((point.contender.method, point.contender.variant), point.contender)
    return list(found.values())


def _figures(table: CrossDomainTable) -> list[dict[str, Any]]:
    """One for each thing that moves."""
    at_k, overlap = f"k = {table.base_k}", f"overlap {table.base.overlap:g}"
    kept = table.base.profile_size
    profile = "cold start" if kept == 0 else f"{kept} ratings kept"
    words = [
        (
            "Error by the number of neighbours",
            f"Methods without neighbours are level lines. {profile.capitalize()}, {overlap}.",
            "neighbours, k",
        ),
        (
            "Error by overlap",
            f"The share of the training people in both domains who stay. {at_k}, {profile}.",
            "overlap",
        ),
        (
            "Error by profile size",
            f"Ratings in {table.target} that test people keep; 0: cold start. {at_k}, {overlap}.",
            f"ratings in {table.target}",
        ),
        (
            "Error by the age of ratings",
            f"How fast old ratings lose weight; 0: not at all. {at_k}, {profile}, {overlap}.",
            "alpha",
        ),
    ]
    bars = len(table.seeds) > 2  # intervals of two splits would fill the plot
    moved = zip(words, table.figures(), strict=True)
    figures = (_figure(_drawn(table), *each, *points, bars) for each, points in moved)
    return [figure for figure in figures if figure]


def _figure(
    drawn: Sequence[Contender],
    title: str,
    text: str,
    axis: str,
    points: Sequence[Point],
    x_of: Callable[[Point], float | None],
    bars: bool,
) -> dict[str, Any]:
    """A plot and its table; nothing where only one column is known."""
    from tacit.evaluation.plots import Curve, curves

    columns = sorted({x for point in points if (x := x_of(point)) is not None})
    if len(columns) < 2:
        return {}
    shown = {point.contender for point in points}
    found = {
        contender: {x_of(point): point.mae for point in points if point.contender == contender}
        for contender in drawn
        if contender in shown
    }
    lines = [
        Curve(
            f"line {number}",
            *STROKES[contender.method, contender.variant],
            tuple(
                (x, *(mae if bars else (mae[0],) * 3))
                for x, mae in sorted(known.items(), key=_by_x)
                if mae is not None
            ),
        )
        for number, (contender, known) in enumerate(found.items())
    ]
    rows = [
        (
            *(named(contender), budget(contender)),
            tuple(known.get(x, known.get(None)) for x in columns),
            _non_private(contender),
        )
        for contender, known in found.items()
    ]
    plot = curves(lines, x_title=axis, y_title="mean absolute error, stars")
    heads = tuple(f"{x:g}" for x in columns)
    return {"title": title, "text": text, "drawn": plot, "columns": heads, "lines": rows}


def _by_x(entry: tuple[float | None, Interval | None]) -> float:
    return -1.0 if entry[0] is None else entry[0]


def _key(table: CrossDomainTable) -> list[tuple[str, str, str, str]]:
    """(name, budget, colour, dash) of every line that is drawn."""
    return [
        (named(c), budget(c), colour, " ".join(map(str, dash)))
        for c in _drawn(table)
        for colour, dash in [STROKES[c.method, c.variant]]
    ]


def _surfaces(table: CrossDomainTable) -> list[Surface]:
    grid = table.surface
    found = []
    for method in PAPERS_BUDGETS if grid else ():
        errors = {
            (point.contender.epsilon, point.contender.epsilon_prime): point.mae.mean
            for point in table.at_base()
            if (point.contender.method, point.contender.variant) == (method, "published")
            and point.mae is not None
        }
        cells = {pair: errors[pair] for pair in itertools.product(grid, grid) if pair in errors}
        non_private = [p.mae for p in table.at_base() if p.contender.method == f"n{method}"]
        if cells:
            found.append(
                Surface(NAMES[method], non_private[0] if non_private else None, grid, cells)
            )
    return found
