"""One page of an experiment across domains: figures of X-Map's paper, and words from numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from tacit.designs.xmap.experiment import CrossDomainTable, Point
from tacit.designs.xmap.experiment.judging import Comparison
from tacit.designs.xmap.experiment.methods import (
    NAMES,
    PAPERS_BUDGETS,
    STROKES,
    Contender,
    budget,
    named,
)
from tacit.evaluation import Interval, Table, Verdict
from tacit.evaluation.page import Cell, Figure, Line, Mark, Page, Section, Tile, interval, moving


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


BASELINE = "item-average"
_what = attrgetter("against", "measure")


def verdict(table: CrossDomainTable) -> Verdict:
    """One headline and a few plain sentences. state: hidden (good), weakened, open (bad), none."""
    judged = judged_without_privacy(table) or _of_any_variant(table)
    if judged is None:
        return Verdict("none", "Baselines only", "X-Map was not among the methods of this run.")
    if judged.mae is None:
        return _of_lists(table, judged)
    gap = against(table, judged, BASELINE)
    parts = [_opening(table, judged, gap), _rivals(table, judged), _privacy(table, judged)]
    return Verdict(*_state(table, gap), " ".join(part for part in parts if part))


def judged_without_privacy(table: CrossDomainTable) -> Point | None:
    """NX-Map at the base, item-based if it was measured."""
    return _first(table, "nx-map")


def judged_with_privacy(table: CrossDomainTable) -> Point | None:
    """X-Map, sound, at the base and its first epsilon, item-based if it was measured."""
    return _first(table, "x-map", "sound")


def against(
    table: CrossDomainTable, point: Point, other: str, measure: str = "mae"
) -> Comparison | None:
    """How a contender at the base compares with another method."""
    named = attrgetter("method", "variant", "epsilon", "epsilon_prime")
    wanted = (*named(point.contender), other, measure)
    found = (each for each in table.comparisons if (*named(each), *_what(each)) == wanted)
    return next(found, None)


def _of_lists(table: CrossDomainTable, judged: Point) -> Verdict:
    """Of a contender that makes lists and predicts no stars."""
    found = against(table, judged, "popularity", "ndcg_at_10")
    paid = f"{named(judged.contender)} ({budget(judged.contender)})"
    if found is None or found.low <= 0 <= found.high:
        state, side = ("none", "") if found is None else ("weakened", "not distinguished from")
    else:
        state, side = ("hidden", "better than") if found.low > 0 else ("open", "worse than")
    gap = f", {side} the most rated items for everybody" if side else ""
    return Verdict(
        state,
        f"Lists of {table.target} for people new to it",
        f"{paid} has an NDCG at 10 of {judged.ndcg_at_10.mean:.3f}{gap}. It predicts no stars: "
        "that takes --stars, and a share of its budget.",
    )


def _first(table: CrossDomainTable, family: str, variant: str = "published") -> Point | None:
    found = [
        point
        for point in table.at_base()
        if point.contender.method in (f"{family}-ib", f"{family}-ub")
        and point.contender.variant == variant
    ]
    return min(found, key=lambda point: point.contender.method, default=None)


def _of_any_variant(table: CrossDomainTable) -> Point | None:
    """X-Map where NX-Map was not measured: sound if it was, else as it was fitted."""
    found = (_first(table, "x-map", variant) for variant in ("sound", "constant", "published"))
    return next((point for point in found if point is not None), None)


def _state(table: CrossDomainTable, gap: Comparison | None) -> tuple[str, str]:
    if gap is None:
        return "none", f"Stars of people new to {table.target}"
    if gap.high < 0:
        text = f"What people rated in {table.source} tells what they like in {table.target}"
        return "hidden", text
    if gap.low > 0:
        return "open", "Worse than the item averages"
    return "weakened", "No better than the item averages, as far as these people show"


def _opening(table: CrossDomainTable, judged: Point, gap: Comparison | None) -> str:
    kept = table.base.profile_size
    who = (
        f"For people who have rated nothing in {table.target}"
        if kept == 0
        else f"For people with {kept} ratings in {table.target}"
    )
    assert judged.mae is not None
    paid = budget(judged.contender)
    with_what = f"({paid})" if paid else "without privacy"
    error = (
        f"{who}, {named(judged.contender)} {with_what} predicts stars with a mean error "
        f"of {judged.mae.mean:.3f}"
    )
    return f"{error}, {_compared(gap, 'that of item averages')}." if gap else f"{error}."


def _compared(gap: Comparison, other: str) -> str:
    if gap.low <= 0 <= gap.high:
        return f"which these people do not tell apart from {other}"
    side = "below" if gap.difference < 0 else "above"
    return f"{abs(gap.difference):.3f} {side} {other}"


def _rivals(table: CrossDomainTable, judged: Point) -> str:
    """knn-single is left out of a cold start: without a rating in the target it falls back
    on item averages, and would be the same rival twice."""
    cold = table.base.profile_size == 0
    rivals = [
        (name, each)
        for name in ("remote-user", "knn-single", "knn-cross", "mf")
        if (each := against(table, judged, name)) is not None
    ]
    same = cold and any(name == "knn-single" for name, _ in rivals)
    rivals = [each for each in rivals if not (cold and each[0] == "knn-single")]
    beaten = [NAMES[name] for name, each in rivals if each.high < 0]
    lost = [NAMES[name] for name, each in rivals if each.low > 0]
    parts = [f"It has a smaller error than {_and(beaten)}." if beaten else ""]
    parts += [f"It has a larger error than {_and(lost)}." if lost else ""]
    if same:
        parts.append(
            "Item kNN (target only) knows nothing of these people: it falls back on "
            "item averages and is no rival of its own."
        )
    lists = against(table, judged, "popularity", "ndcg_at_10")
    if lists is not None and not lists.low <= 0 <= lists.high:
        side = "better" if lists.difference > 0 else "worse"
        parts.append(f"Its lists of 10 are {side} than the most rated items for everybody.")
    return " ".join(part for part in parts if part)


def _privacy(table: CrossDomainTable, judged: Point) -> str:
    private = judged_with_privacy(table)
    if private is None or private == judged or math.isinf(private.contender.epsilon):
        return ""
    contender = private.contender
    text = (
        f"With privacy for a person’s whole profile (sound, ε = {contender.epsilon:g}, "
        f"δ = {contender.delta:g}) "
    )
    if private.mae is None:
        return f"{text}the NDCG at 10 of lists is {private.ndcg_at_10.mean:.3f}."
    text = f"{text}the error is {private.mae.mean:.3f}"
    gap = against(table, private, BASELINE)
    return f"{text}, {_compared(gap, 'that of item averages')}." if gap else f"{text}."


def _and(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
