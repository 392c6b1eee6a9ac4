"""One self-contained page of an experiment across domains: the figures of X-Map's paper."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from tacit.designs.xmap.experiment.experiment import CrossDomainTable, Point
from tacit.designs.xmap.experiment.judging import Comparison
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
from tacit.evaluation.page import Cell, Figure, Line, Mark, Page, Section, Tile, interval, moving
from tacit.evaluation.result import Interval, Table


def page_of(table: CrossDomainTable, manifest: Mapping[str, Any]) -> Page:
    """Everybody at the base, then what moves, then both budgets of the paper."""
    sections = [Section("Everybody, side by side", [_standings(table)])]
    if figures := list(_figures(table)):
        sections.append(Section("One thing at a time", figures=figures, key=_key(table)))
    if surfaces := list(_surfaces(table)):
        sections.append(Section("Both budgets of the published variant", figures=surfaces))
    return Page(
        f"From {table.source} to {table.target}",
        sections,
        manifest,
        verdict(table),
        list(_tiles(table)),
        design="X-Map",
        package=__package__,
        facts={"table": table, "profile": _profile(table)},
    )


def _ends(table: CrossDomainTable) -> bool:
    return len(table.seeds) > 1


def _profile(table: CrossDomainTable) -> str:
    kept = table.base.profile_size
    return f"{kept} ratings kept" if kept else "cold start"


def _tiles(table: CrossDomainTable) -> Iterator[Tile]:
    """Errors of the baseline, without and with privacy."""
    baseline = [p for p in table.at_base() if p.contender.method == BASELINE]
    for point in (*baseline, judged_without_privacy(table), judged_with_privacy(table)):
        if point is not None and (mae := point.mae) is not None:
            note = budget(point.contender) or "no privacy"
            if _ends(table):
                note += f"; 95% interval {mae.low:.3f} to {mae.high:.3f}"
            yield Tile(named(point.contender), f"{mae.mean:.3f}", "stars of error", note)


def _standings(table: CrossDomainTable) -> Table:
    """The published variant at the paper's own budgets alone: others stand in the surface."""
    columns: dict[str, Callable[[Point], object]] = {
        "method": lambda point: Cell(named(point.contender), mark=_mark(point.contender)),
        "privacy": lambda point: budget(point.contender) or "none",
        "k": lambda point: "–" if point.k is None else point.k,
        "MAE, stars": lambda point: interval(point.mae, ends=_ends(table)),
        "against item averages": lambda point: _gap(against(table, point, BASELINE), -1),
        "NDCG at 10": lambda point: interval(point.ndcg_at_10, ends=_ends(table)),
        "against popularity": lambda point: _gap(
            against(table, point, "popularity", "ndcg_at_10"), 1
        ),
    }
    shown = [
        point
        for point in table.at_base()
        if point.contender.epsilon_prime is None
        or (point.contender.epsilon, point.contender.epsilon_prime)
        == PAPERS_BUDGETS[point.contender.method]
    ]
    return Table.of("Table of all methods", columns, shown)


def _gap(found: Comparison | None, better: int) -> Cell | None:
    if found is None:
        return None
    between = Interval(found.difference, found.low, found.high)
    return interval(between, "+.3f", better=better)


def _mark(contender: Contender) -> str:
    return "plain" if contender.method.startswith("nx-map") else ""


def _drawn(table: CrossDomainTable) -> list[Contender]:
    """One budget of each method and variant: the first."""
    found: dict[tuple[str, str], Contender] = {}
    for point in table.points:
        if point.mae is not None:
            found.setdefault((point.contender.method, point.contender.variant), point.contender)
    return list(found.values())


def _key(table: CrossDomainTable) -> list[Mark]:
    return [
        Mark(f"{named(c)} ({budget(c)})" if budget(c) else named(c), *STROKES[c.method, c.variant])
        for c in _drawn(table)
    ]


def _figures(table: CrossDomainTable) -> Iterator[Figure]:
    """One for each thing that moves."""
    at_k, overlap, profile = (
        f"k = {table.base_k}",
        f"overlap {table.base.overlap:g}",
        _profile(table),
    )
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
    for (title, caption, axis), (points, x_of) in zip(words, table.figures(), strict=True):
        figure = moving(
            title,
            list(_lines(table, points, x_of)),
            axis=axis,
            value="mean absolute error, stars",
            form=".3f",
            caption=caption,
            bars=len(table.seeds) > 2,  # intervals of two splits would fill the plot
            ends=_ends(table),
        )
        if figure is not None:
            yield figure


def _lines(
    table: CrossDomainTable, points: Sequence[Point], x_of: Callable[[Point], float | None]
) -> Iterator[Line]:
    for each in _drawn(table):
        means = {x_of(point): point.mae for point in points if point.contender == each}
        if means:
            stroke = STROKES[each.method, each.variant]
            yield Line(named(each), *stroke, means, budget(each), _mark(each))


def _surfaces(table: CrossDomainTable) -> Iterator[Figure]:
    """MAE of the published variant over both budgets: rows ε, columns ε′."""
    grid = table.surface
    for method in PAPERS_BUDGETS if grid else ():
        errors = {
            (point.contender.epsilon, point.contender.epsilon_prime): point.mae.mean
            for point in table.at_base()
            if (point.contender.method, point.contender.variant) == (method, "published")
            and point.mae is not None
        }
        cells = {pair: errors[pair] for pair in itertools.product(grid, grid) if pair in errors}
        if not cells:
            continue
        rows: list[tuple[object, ...]] = [
            (f"{first:g}", *(_heat(cells[first, second], cells.values()) for second in grid))
            for first in grid
        ]
        for point in table.at_base():
            if point.contender.method == f"n{method}" and point.mae is not None:
                said = f"{point.mae.mean:.3f} without privacy"
                rows.append((Cell("NX-Map", mark="plain"), Cell(said, span=len(grid))))
        heads = ("ε ↓ ε′ →", *(f"{second:g}" for second in grid))
        yield Figure(NAMES[method], "", table=Table("", heads, rows))


def _heat(error: float, among: Collection[float]) -> Cell:
    """0 for the smallest error to 5 for the largest."""
    low, high = min(among), max(among)
    level = 0 if high == low else min(5, int(6 * (error - low) / (high - low)))
    return Cell(f"{error:.3f}", level=level)
