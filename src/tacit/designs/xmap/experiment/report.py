"""Page of an experiment across domains: a verdict, tables, and figures as in X-Map's paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tacit.designs.xmap.experiment.contenders import NAMES, NX_MAP_METHODS, X_MAP_METHODS, Contender
from tacit.designs.xmap.experiment.evaluation import CrossDomainTable, Point
from tacit.designs.xmap.experiment.judgements import Comparison
from tacit.designs.xmap.experiment.paper_figures import PRINTED_ERRORS, PrintedErrors
from tacit.evaluation import Interval, Table, Verdict
from tacit.evaluation.figures import figure_over_setting
from tacit.evaluation.lines import Line
from tacit.evaluation.page import Cell, Mark, Page, Section, interval_cell

BASELINE = "item-average"
"""The method from which differences of errors are shown."""
# Lengths of a line's dashes and gaps, in pixels
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
"""Colour and dashes of the line of each (method, variant). Popularity has no MAE, so no line."""
SHADES = ("var(--nx)", "var(--printed)", "var(--sound)", "var(--b1)", "var(--b2)", "var(--b3)")
"""Colours of the lines of a surface, for its epsilons in turn."""


def page_of(table: CrossDomainTable, manifest: Mapping[str, Any]) -> Page:
    """Make the page: a verdict, the table of all methods, figures, and the paper's errors.

    Args:
        table: The results.
        manifest: Description of the command's run, for the foot of the page.
    """
    size = table.base.profile_size
    profile = f"{size} ratings kept" if size else "cold start"
    sections = [
        Section("Everybody, side by side", [_table_of_methods(table)]),
        *_figures_over_settings(table, profile),
        *_surfaces(table, profile),
        Section("What the paper prints", [_table_of_printed_errors()]),
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


def _table_of_methods(table: CrossDomainTable) -> Table:
    """Tabulate all methods at the base values, and their differences from simple baselines."""
    has_intervals = len(table.seeds) > 1

    def difference(point: Point, other: str, measure: str, better_sign: int) -> Cell | None:
        """Make the cell of the difference from a method; None if they were not compared.

        Args:
            point: The point of the row.
            other: The other method.
            measure: `mae` or `ndcg_at_10`.
            better_sign: 1 if a positive difference is better, -1 if a negative one is.
        """
        comparison = find_comparison(table, point, other, measure)
        if comparison is None:
            return None
        return interval_cell(comparison.interval, "+.3f", better=better_sign)

    columns: dict[str, Callable[[Point], object]] = {
        "method": lambda point: Cell(point.contender.name, mark=_mark(point.contender)),
        "privacy": lambda point: point.contender.budget or "none",
        "k": lambda point: "–" if point.contender.k is None else point.contender.k,
        "MAE, stars": lambda point: interval_cell(point.mae, ends=has_intervals),
        "against item averages": lambda point: difference(point, BASELINE, "mae", -1),
        "NDCG at 10": lambda point: interval_cell(point.ndcg_at_10, ends=has_intervals),
        "against popularity": lambda point: difference(point, "popularity", "ndcg_at_10", 1),
    }
    return Table.from_rows("Table of all methods", columns, table.at_base())


def _mark(contender: Contender) -> str:
    """Return the mark of a method's row and line on the page: "plain" for NX-Map, else ""."""
    return "plain" if contender.method in NX_MAP_METHODS else ""


def _figures_over_settings(table: CrossDomainTable, profile: str) -> Iterator[Section]:
    """Yield the section of figures that vary one value each: k, overlap, profile size, alpha.

    Each method and variant has a line, for the first of its budgets. Nothing is yielded if no value
    was varied.

    Args:
        table: The results.
        profile: The base value of the profile size in words.
    """
    contender_of: dict[tuple[str, str], Contender] = {}  # by (method, variant)
    for point in table.points:
        if point.mae is not None:
            contender = point.contender
            contender_of.setdefault((contender.method, contender.variant), contender)
    figures = []
    for words in _words_of_figures(table.target):
        lines = []
        for method_and_variant, contender in contender_of.items():
            maes = _maes_over(table, words.name, contender)
            if maes:
                colour, dashes = STROKES[method_and_variant]
                mark = _mark(contender)
                lines.append(Line(contender.name, colour, dashes, maes, contender.budget, mark))
        figure = figure_over_setting(
            f"Error by {words.title}",
            lines,
            axis=words.axis,
            unit="mean absolute error, stars",
            caption=f"{words.note} {_describe_base(table, profile, words.name)}",
            intervals=len(table.seeds) > 2,  # intervals of two splits would fill the plot
            ends=len(table.seeds) > 1,
        )
        if figure:
            figures.append(figure)
    if figures:
        key = []
        for method_and_variant, contender in contender_of.items():
            budget = f" ({contender.budget})" if contender.budget else ""
            key.append(Mark(contender.name + budget, *STROKES[method_and_variant]))
        yield Section("One thing at a time", figures=figures, key=key)


def _describe_base(table: CrossDomainTable, profile: str, varied: str | None = None) -> str:
    """Write the sentence of a caption with the base values that a figure keeps.

    Args:
        table: The results.
        profile: The base value of the profile size in words.
        varied: Name in `base_values` of the value on the figure's axis, which is left out; None if
            the axis has another quantity.
    """
    words_of_values = {
        "k": f"k = {table.base_k}",
        "overlap": f"overlap {table.base.overlap:g}",
        "profile_size": profile,
        "alpha": f"alpha {table.base.alpha:g}",
    }
    kept = [words for name, words in words_of_values.items() if name != varied]
    return f"At {', '.join(kept)}."


class _FigureWords(NamedTuple):
    """Texts of a figure that varies one value."""

    name: str
    """Name of the value in `Point.varied_values`."""
    title: str
    """What is varied, in the figure's title."""
    axis: str
    """Label of the axis."""
    note: str
    """Sentence of the caption."""


def _words_of_figures(target: str) -> tuple[_FigureWords, ...]:
    """Return the texts of the four figures."""
    return (
        _FigureWords(
            "k",
            "the number of neighbours",
            "neighbours, k",
            "Methods with a level line have no k.",
        ),
        _FigureWords(
            "overlap",
            "overlap",
            "overlap",
            "Share of the training people with ratings in both domains who are kept for training.",
        ),
        _FigureWords(
            "profile_size",
            "profile size",
            f"ratings in {target}",
            f"Number of ratings in {target} that are not held out for a test person.",
        ),
        _FigureWords("alpha", "the age of ratings", "alpha", "How fast old ratings lose weight."),
    )


def _maes_over(
    table: CrossDomainTable, name: str, contender: Contender
) -> dict[float | None, Interval | None]:
    """Collect a contender's MAE by one varied value, while the others have their base values.

    The result is empty for alpha and a contender without alpha. A contender without k has one MAE,
    by None, if k is varied.
    """
    if name == "alpha" and not contender.has_alpha:
        return {}
    maes = {}
    for point in table.points:
        varies_only_this = set(table.names_of_varied(point)) <= {name}
        if varies_only_this and point.contender.parameters == contender.parameters:
            maes[point.varied_values[name]] = point.mae
    return maes


def _surfaces(table: CrossDomainTable, profile: str) -> Iterator[Section]:
    """Yield the section of privacy surfaces: for each private method, the error by ε and ε′.

    A surface is drawn as a line over ε′ for each ε that was measured with several ε′. Nothing is
    yielded if there is no such ε.

    Args:
        table: The results.
        profile: The base value of the profile size in words.
    """
    figures = []
    epsilons: list[float] = []
    for method in X_MAP_METHODS:
        maes_by_epsilon: dict[float, dict[float | None, Interval | None]] = {}
        for point in table.at_base():
            contender = point.contender
            is_printed = contender.pnsa in (None, "printed")
            if contender.method != method or contender.epsilon_prime is None or not is_printed:
                continue
            maes = maes_by_epsilon.setdefault(contender.epsilon, {})
            maes[contender.epsilon_prime] = point.mae
        lines = []
        for epsilon, maes in sorted(maes_by_epsilon.items()):
            if len(maes) < 2:
                continue
            if epsilon not in epsilons:
                epsilons.append(epsilon)
            colour = _shade(epsilons.index(epsilon))
            lines.append(Line(f"ε = {epsilon:g}", colour, SOLID, maes))
        if not lines:
            continue
        figure = figure_over_setting(
            f"Error by budgets, {NAMES[method]}",
            lines,
            axis="ε′ of the recommender's step, as claimed",
            unit="mean absolute error, stars",
            caption=f"The published variant. {_describe_base(table, profile)}",
            intervals=False,  # intervals of one budget would hide the others
            ends=len(table.seeds) > 1,
        )
        if figure:
            figures.append(figure)
    if figures:
        key = [
            Mark(f"ε = {epsilon:g}", _shade(number), SOLID)
            for number, epsilon in enumerate(epsilons)
        ]
        yield Section("Privacy surface", figures=figures, key=key)


def _shade(number: int) -> str:
    """Choose the colour of the line with this number."""
    return SHADES[number % len(SHADES)]


def _table_of_printed_errors() -> Table:
    """Tabulate the errors in the paper's figures."""
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
    """Find the comparison of a point's contender with another method; None if there is none.

    Args:
        table: The results.
        point: A point with base values.
        other: The other method.
        measure: `mae` or `ndcg_at_10`.
    """
    for comparison in table.comparisons:
        parameters = (
            comparison.method,
            comparison.variant,
            comparison.epsilon,
            comparison.epsilon_prime,
            comparison.pnsa,
        )
        is_of_pair = parameters == point.contender.parameters and comparison.against == other
        if is_of_pair and comparison.measure == measure:
            return comparison
    return None


def verdict(table: CrossDomainTable) -> Verdict:
    """Make the verdict on whether X-Map beats simple baselines: a headline and a sentence or two.

    The verdict is about NX-Map, with a sentence about the sound X-Map. If NX-Map was not run, it is
    about the sound X-Map, or else about the published one. Its state is `good` (better), `poor`
    (worse) or `none` (no difference is shown, or there is nothing to compare).
    """
    point_of: dict[tuple[str, str], Point] = {}
    for point in table.at_base():
        # The first of several budgets is taken, and item-based before user-based.
        method = point.contender.method.removesuffix("-ib").removesuffix("-ub")
        point_of.setdefault((method, point.contender.variant), point)
    nx_map = point_of.get(("nx-map", "published"))
    sound = point_of.get(("x-map", "sound"))
    judged = nx_map or sound or point_of.get(("x-map", "published"))
    if judged is None:
        return Verdict("none", "Baselines only", "X-Map was not among the methods of this run.")
    result = _describe_point(table, judged)
    if nx_map is None or sound is None:
        return result
    about_sound = _describe_point(table, sound).sentence
    return Verdict(result.state, result.headline, f"{result.sentence} {about_sound}")


def _describe_point(table: CrossDomainTable, point: Point) -> Verdict:
    """Make the verdict on one contender, by its errors, or by its lists if it predicts no stars."""
    if point.mae is None:
        score = f"an NDCG at 10 of {point.ndcg_at_10.mean:.3f}"
        comparison = find_comparison(table, point, "popularity", "ndcg_at_10")
        other = "the most rated items"
        better_sign = 1
    else:
        score = f"a mean error of {point.mae.mean:.3f} stars"
        comparison = find_comparison(table, point, BASELINE)
        other = "item averages"
        better_sign = -1
    size = table.base.profile_size
    target = table.target
    people = f"people with {size} ratings" if size else "people who have rated nothing"
    budget = point.contender.budget or "no privacy"
    sentence = f"For {people} in {target}, {point.contender.name} ({budget}) has {score}"
    if comparison is None:
        return Verdict("none", f"People new to {target}", f"{sentence}.")
    if comparison.low <= 0 <= comparison.high:
        headline = f"No better than {other}, as far as these people show"
        return Verdict("none", headline, f"{sentence}, not distinguished from {other}.")
    side = "above" if comparison.difference > 0 else "below"
    sentence += f", {abs(comparison.difference):.3f} {side} that of {other}."
    if better_sign * comparison.difference < 0:
        return Verdict("poor", f"Worse than {other}", sentence)
    headline = f"What people rated in {table.source} tells what they like in {target}"
    return Verdict("good", headline, sentence)


def table_of_points(table: CrossDomainTable) -> Table:
    """Tabulate errors with intervals and NDCG: points with base values first, then the others."""

    def describe_varied(point: Point) -> str:
        """List the values that differ from the base values, such as "overlap 0.5"."""
        values = point.varied_values
        names = table.names_of_varied(point)
        return ", ".join(f"{name.replace('_', ' ')} {values[name]:g}" for name in names)

    columns: dict[str, Callable[[Point], object]] = {
        "method": lambda point: point.contender.method,
        "privacy": lambda point: _privacy(point.contender),
        "at": describe_varied,
        "MAE": lambda point: _with_half_width(point.mae),
        "NDCG@10": lambda point: point.ndcg_at_10.mean,
    }
    base_points = table.at_base()
    other_points = [point for point in table.points if point not in base_points]
    return Table.from_rows("", columns, base_points + other_points)


def tables_of_alpha(table: CrossDomainTable) -> Iterator[Table]:
    """Yield the table of differences: a method's MAE with an alpha minus its MAE with the base one.

    Nothing is yielded if alpha was not varied.
    """
    rows = [
        (comparison.method, f"{comparison.alpha:g}", _with_half_width(comparison.interval, "+.5f"))
        for comparison in table.comparisons
        if comparison.alpha is not None
    ]
    if rows:
        title = f"MAE minus that at alpha {table.base.alpha:g}"
        yield Table(title, ("method", "alpha", "difference"), rows)


def tables_of_similarities(pair_counts: Sequence[dict[str, Any]]) -> Iterator[Table]:
    """Yield the table of pairs of items with a similarity, if pairs were counted.

    Args:
        pair_counts: For each overlap the result of `count_similarities`, and the overlap itself.
    """
    rows = [
        (
            f"{counts['overlap']:g}",
            f"{counts['adjusted_cosine']:,}",
            f"{counts['x_sim']:,}",
            f"{counts['pairs']:,}",
        )
        for counts in pair_counts
    ]
    if rows:
        yield Table(
            "Pairs of a source and a target item that have a similarity, first split",
            ("overlap", "adjusted cosine", "X-Sim, by meta-paths", "all pairs"),
            rows,
        )


def _privacy(contender: Contender) -> str:
    """Describe a contender's variant and budget briefly, for the terminal."""
    if not contender.budget:
        return "none"
    if contender.epsilon_prime is not None:
        budgets = f"published {contender.epsilon:g}, {contender.epsilon_prime:g}"
        if contender.pnsa in (None, "printed"):
            return budgets
        return f"{budgets}, PNSA {contender.pnsa}"
    return f"{contender.variant} {contender.epsilon:g}"


def _with_half_width(interval: Interval | None, mean_format: str = ".3f") -> str:
    """Format a mean with half the width of its interval, such as "0.700 ± 0.010"; "" for None.

    Args:
        interval: The mean and its interval, which is symmetric.
        mean_format: Format of the mean. The half width has the same format without a "+".
    """
    if interval is None:
        return ""
    mean = f"{interval.mean:{mean_format}}"
    half_width = (interval.high - interval.low) / 2
    if not math.isfinite(half_width):
        return mean
    width_format = mean_format.lstrip("+")
    return f"{mean} ± {half_width:{width_format}}"
