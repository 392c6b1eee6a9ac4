"""One page of an experiment across domains: figures of X-Map's paper, and words from numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from tacit.designs.xmap.experiment.contenders import (
    NAMES,
    NON_PRIVATE,
    PRIVATE,
    Comparison,
    Contender,
)
from tacit.designs.xmap.experiment.evaluation import CrossDomainTable, Point
from tacit.designs.xmap.experiment.paper_figures import PRINTED_ERRORS, PrintedErrors
from tacit.evaluation import Interval, Table, Verdict
from tacit.evaluation.figures import figure_over_setting
from tacit.evaluation.lines import Line
from tacit.evaluation.page import Cell, Mark, Page, Section, interval_cell

BASELINE = "item-average"
SOLID: tuple[int, ...] = ()
DASHED = (7, 4)
DOTTED = (2, 3)
STROKES: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    ("nx-map-ib", "published"): ("var(--nx)", SOLID),
    ("nx-map-ub", "published"): ("var(--nx)", DASHED),
    ("x-map-ib", "sound"): ("var(--sound)", SOLID),
    ("x-map-ib", "published"): ("var(--printed)", SOLID),
    ("x-map-ub", "published"): ("var(--printed)", DASHED),
    ("item-average", "baseline"): ("var(--ink)", DOTTED),
    ("user-average", "baseline"): ("var(--muted)", DOTTED),
    ("remote-user", "baseline"): ("var(--b1)", SOLID),
    ("knn-single", "baseline"): ("var(--b2)", SOLID),
    ("knn-cross", "baseline"): ("var(--b2)", DASHED),
    ("mf", "baseline"): ("var(--b3)", SOLID),
}
"""(method, variant): colour and dash of its line; popularity has no error to draw."""
SHADES = ("var(--nx)", "var(--printed)", "var(--sound)", "var(--b1)", "var(--b2)", "var(--b3)")
"""Colours of the lines of a surface, one for each epsilon."""


def page_of(table: CrossDomainTable, manifest: Mapping[str, Any]) -> Page:
    """Lay out the page: a verdict, the table of all methods, figures, what the paper prints."""
    size = table.base.profile_size
    profile = f"{size} ratings kept" if size else "cold start"
    sections = [
        Section("Everybody, side by side", [_standings(table)]),
        *_figures_over_settings(table, profile),
        *_surfaces(table, profile),
        Section("What the paper prints", [_printed_errors()]),
    ]
    return Page(
        f"From {table.source} to {table.target}",
        sections,
        manifest,
        verdict(table),
        design="X-Map",
        package=__package__,
        facts={"table": table, "profile": profile},
    )


def _standings(table: CrossDomainTable) -> Table:
    ends = len(table.seeds) > 1

    def gap(point: Point, other: str, measure: str, better: int) -> Cell | None:
        compared = find_comparison(table, point, other, measure)
        return interval_cell(compared.interval, "+.3f", better=better) if compared else None

    columns: dict[str, Callable[[Point], object]] = {
        "method": lambda point: Cell(point.contender.name, mark=_mark(point.contender)),
        "privacy": lambda point: point.contender.budget or "none",
        "k": lambda point: "–" if point.contender.k is None else point.contender.k,
        "MAE, stars": lambda point: interval_cell(point.mae, ends=ends),
        "against item averages": lambda point: gap(point, BASELINE, "mae", -1),
        "NDCG at 10": lambda point: interval_cell(point.ndcg_at_10, ends=ends),
        "against popularity": lambda point: gap(point, "popularity", "ndcg_at_10", 1),
    }
    return Table.from_rows("Table of all methods", columns, table.at_base())


def _mark(contender: Contender) -> str:
    return "plain" if contender.method in NON_PRIVATE else ""


def _figures_over_settings(table: CrossDomainTable, profile: str) -> Iterator[Section]:
    """Draw a figure of each thing that moves, with the first budget of each method and variant."""
    drawn: dict[tuple[str, str], Contender] = {}
    for point in table.points:
        if point.mae is not None:
            drawn.setdefault((point.contender.method, point.contender.variant), point.contender)
    where = table.target
    words = {
        "k": ("the number of neighbours", "neighbours, k", "Level lines have no k."),
        "overlap": ("overlap", "overlap", "The share of the training people in both who stay."),
        "profile_size": (
            "profile size",
            f"ratings in {where}",
            f"Ratings in {where} that they keep.",
        ),
        "alpha": ("the age of ratings", "alpha", "How fast old ratings lose weight."),
    }
    still = f"Else k = {table.base_k}, overlap {table.base.overlap:g}, {profile}."
    figures = []
    for name, (title, axis, note) in words.items():
        points = [point for point in table.points if {name} >= {*table.names_of_moved(point)}]
        lines = []
        for pair, contender in drawn.items():
            if name == "alpha" and not contender.has_alpha:
                continue
            means = {
                point.place[name]: point.mae
                for point in points
                if point.contender.parameters == contender.parameters
            }
            if means:
                mark = _mark(contender)
                lines.append(Line(contender.name, *STROKES[pair], means, contender.budget, mark))
        figure = figure_over_setting(
            f"Error by {title}",
            lines,
            axis=axis,
            unit="mean absolute error, stars",
            caption=f"{note} {still}",
            bars=len(table.seeds) > 2,  # intervals of two splits would fill the plot
            ends=len(table.seeds) > 1,
        )
        figures += [figure] if figure else []
    if figures:
        key = []
        for pair, contender in drawn.items():
            budget = f" ({contender.budget})" if contender.budget else ""
            key.append(Mark(contender.name + budget, *STROKES[pair]))
        yield Section("One thing at a time", figures=figures, key=key)


def _surfaces(table: CrossDomainTable, profile: str) -> Iterator[Section]:
    """Draw the privacy surface of each private method: error by ε′, a line for each ε."""
    figures = []
    epsilons: list[float] = []
    for method in PRIVATE:
        points = [point for point in table.at_base() if point.contender.method == method]
        by_epsilon: dict[float, dict[float | None, Interval | None]] = {}
        for point in points:
            contender = point.contender
            if contender.epsilon_prime is not None and contender.pnsa in (None, "printed"):
                means = by_epsilon.setdefault(contender.epsilon, {})
                means[contender.epsilon_prime] = point.mae
        drawn = {epsilon: means for epsilon, means in by_epsilon.items() if len(means) > 1}
        epsilons += [epsilon for epsilon in sorted(drawn) if epsilon not in epsilons]
        lines = [
            Line(f"ε = {epsilon:g}", _shade(epsilons.index(epsilon)), SOLID, drawn[epsilon])
            for epsilon in sorted(drawn)
        ]
        if not lines:
            continue
        figure = figure_over_setting(
            f"Error by budgets, {NAMES[method]}",
            lines,
            axis="ε′ of the recommender's step, as claimed",
            unit="mean absolute error, stars",
            caption=f"The published variant. Else k = {table.base_k}, {profile}.",
            bars=False,  # intervals of one budget would hide the others
            ends=len(table.seeds) > 1,
        )
        figures += [figure] if figure else []
    if figures:
        key = [
            Mark(f"ε = {epsilon:g}", _shade(number), SOLID)
            for number, epsilon in enumerate(epsilons)
        ]
        yield Section("Privacy surface", figures=figures, key=key)


def _shade(number: int) -> str:
    """Choose the colour of the line with this number."""
    return SHADES[number % len(SHADES)]


def _printed_errors() -> Table:
    columns: dict[str, Callable[[PrintedErrors], object]] = {
        "figure": lambda printed: printed.figure,
        "method": lambda printed: printed.method,
        "books to movies": lambda printed: printed.books_to_movies,
        "movies to books": lambda printed: printed.movies_to_books,
    }
    return Table.from_rows(
        "MAE in the paper's figures, on Amazon's ratings", columns, PRINTED_ERRORS
    )


def find_comparison(
    table: CrossDomainTable, point: Point, other: str, measure: str = "mae"
) -> Comparison | None:
    """Find a point's difference from another method; None where there is none."""
    wanted = (*point.contender.parameters, other, measure)
    for each in table.comparisons:
        own = (each.method, each.variant, each.epsilon, each.epsilon_prime, each.pnsa)
        if (*own, each.against, each.measure) == wanted:
            return each
    return None


def verdict(table: CrossDomainTable) -> Verdict:
    """Say in a headline and a sentence or two whether X-Map beats its competitors.

    The verdict is NX-Map's, with the sound X-Map's beside it; without NX-Map it is X-Map's as
    fitted. Its state is `hidden` (good), `weakened`, `open` (bad) or `none`.
    """
    points: dict[tuple[str, str], Point] = {}
    for point in table.at_base():
        # The first counts of several budgets, and of item-based and user-based.
        points.setdefault((point.contender.method[:-3], point.contender.variant), point)
    nx_map = points.get(("nx-map", "published"))
    sound = points.get(("x-map", "sound"))
    first = nx_map or sound or points.get(("x-map", "published"))
    if first is None:
        return Verdict("none", "Baselines only", "X-Map was not among the methods of this run.")
    state, headline, sentence = _describe_point(table, first)
    more = f" {_describe_point(table, sound)[2]}" if sound and nx_map else ""
    return Verdict(state, headline, sentence + more)


def _describe_point(table: CrossDomainTable, point: Point) -> tuple[str, str, str]:
    """Say state, headline and sentence of one contender, by its errors or else by its lists."""
    if point.mae is None:
        has = f"an NDCG at 10 of {point.ndcg_at_10.mean:.3f}"
        gap = find_comparison(table, point, "popularity", "ndcg_at_10")
        other = "the most rated items"
        better = 1
    else:
        has = f"a mean error of {point.mae.mean:.3f} stars"
        gap = find_comparison(table, point, BASELINE)
        other = "item averages"
        better = -1
    size = table.base.profile_size
    where = table.target
    who = f"people with {size} ratings" if size else "people who have rated nothing"
    budget = point.contender.budget or "no privacy"
    sentence = f"For {who} in {where}, {point.contender.name} ({budget}) has {has}"
    if gap is None:
        return "none", f"People new to {where}", f"{sentence}."
    if gap.low <= 0 <= gap.high:
        headline = f"No better than {other}, as far as these people show"
        return "weakened", headline, f"{sentence}, not distinguished from {other}."
    side = "above" if gap.difference > 0 else "below"
    sentence += f", {abs(gap.difference):.3f} {side} that of {other}."
    if better * gap.difference < 0:
        return "open", f"Worse than {other}", sentence
    headline = f"What people rated in {table.source} tells what they like in {where}"
    return "hidden", headline, sentence


def points(table: CrossDomainTable) -> Table:
    """Tabulate errors with intervals, and lists: the base first, then what moves."""

    def describe_moved(point: Point) -> str:
        names = table.names_of_moved(point)
        return ", ".join(f"{name.replace('_', ' ')} {point.place[name]:g}" for name in names)

    columns: dict[str, Callable[[Point], object]] = {
        "method": lambda point: point.contender.method,
        "privacy": lambda point: _privacy(point.contender),
        "at": describe_moved,
        "MAE": lambda point: _with_width(point.mae),
        "NDCG@10": lambda point: point.ndcg_at_10.mean,
    }
    base = table.at_base()
    return Table.from_rows(
        "", columns, [*base, *(each for each in table.points if each not in base)]
    )


def tables_of_alpha(table: CrossDomainTable) -> Iterator[Table]:
    """Tabulate each method with an alpha less itself at the base's."""
    rows = [
        (each.method, f"{each.alpha:g}", _with_width(each, "+.5f"))
        for each in table.comparisons
        if each.alpha is not None
    ]
    if rows:
        title = f"MAE less that at alpha {table.base.alpha:g}"
        yield Table(title, ("method", "alpha", "difference"), rows)


def tables_of_similarities(pairs: Sequence[dict[str, Any]]) -> Iterator[Table]:
    """Tabulate the pairs of items with a similarity at each overlap, if they were counted."""
    rows = [
        (
            f"{counted['overlap']:g}",
            f"{counted['adjusted_cosine']:,}",
            f"{counted['x_sim']:,}",
            f"{counted['pairs']:,}",
        )
        for counted in pairs
    ]
    if rows:
        yield Table(
            "Pairs of an item of each domain with a similarity, first split",
            ("overlap", "adjusted cosine", "X-Sim, by meta-paths", "all pairs"),
            rows,
        )


def _privacy(contender: Contender) -> str:
    if not contender.budget:
        return "none"
    if contender.epsilon_prime is not None:
        budgets = f"published {contender.epsilon:g}, {contender.epsilon_prime:g}"
        if contender.pnsa in (None, "printed"):
            return budgets
        return f"{budgets}, PNSA {contender.pnsa}"
    return f"{contender.variant} {contender.epsilon:g}"


def _with_width(estimate: Interval | Comparison | None, sign: str = ".3f") -> str:
    """Write the mean and half of its interval, which is as wide on either side."""
    if estimate is None:
        return ""
    mean, low, high = estimate if isinstance(estimate, Interval) else estimate.interval
    half = (high - low) / 2
    return f"{mean:{sign}}" + (f" ± {half:{sign.lstrip('+')}}" if math.isfinite(half) else "")
