"""Figures of NDCG over epsilon and against the success of attacks, and files of figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tacit.atomic_writes import write_whole
from tacit.evaluation.intervals import Interval
from tacit.evaluation.lines import Line, Point
from tacit.evaluation.page import Figure, Mark, Plot

NO_NOISE = ", no noise"
"""End of the name of a recommender's line without noise."""
_COLOUR_COUNT = 9
"""Number of the page's colours, --p0 to --p8."""
_SIGNS = {"circle": "●", "square": "■", "diamond": "◆"}
"""Shapes of points, each with the sign that stands for it in a key. When all colours are used, they
are used again with the next shape."""
_DASHES = ((6, 3), (2, 3))
"""Dashes of horizontal lines, by the line's number; a curve over epsilon is unbroken."""
_COLOURS_ON_WHITE = {
    "--ink": "#16202c", "--muted": "#556270", "--line": "#dde2e8",
    "--p0": "#76818d", "--p1": "#a78b2a", "--p2": "#0a6aa1", "--p3": "#c2410c", "--p4": "#7c3aed",
    "--p5": "#0b7d5c", "--p6": "#b3206b", "--p7": "#3f8fd0", "--p8": "#9a6b00",
}  # fmt: skip
"""Values of the page's CSS variables on white, for files that do not belong to a page."""
_COLOUR_ORDER = (2, 3, 5, 4, 6, 7, 8, 1, 0)
"""Numbers of the colours in the order of their use: the first ones differ most."""


@dataclass(frozen=True)
class MeasuredEntry:
    """Figures of one recommender at one epsilon."""

    name: str
    """Name of the recommender."""
    epsilon: float | None
    """Claimed epsilon; None: no epsilon is claimed; infinity: there is no noise."""
    ndcg: Interval
    """NDCG@10 of the recommender's lists."""
    membership_auc: Interval | None = None
    """AUC of the stronger membership attack; None if the recommender was not attacked."""


def accuracy_over_epsilon(
    measured: Sequence[MeasuredEntry],
    title: str,
    unit: str,
    colours: Mapping[str, str] | None = None,
) -> Figure | None:
    """Draw NDCG over epsilon, with a band for each interval.

    A recommender that claims no epsilon, or has no noise, is a horizontal line without a band.

    Args:
        measured: Recommenders whose epsilons all have one unit, and recommenders without epsilon.
        title: Title of the figure.
        unit: Unit of the epsilons, for the axis.
        colours: CSS colour of each name; None: as `assign_colours` assigns them.

    Returns:
        The figure; None if no recommender was measured at two finite epsilons or more.
    """
    from tacit.evaluation.plots import curves

    lines = make_lines(measured, colours)
    if not any(_has_two_epsilons(line) for line in lines):
        return None
    plot = curves(lines, x_title=f"epsilon: {unit}", y_title="NDCG@10", bands=True)
    names = ", ".join(line.name for line in lines)
    alt = f"NDCG@10 over epsilon of {names}; the tables below have the same figures."
    caption = (
        "Bands are 95 % intervals. A recommender without epsilon, or without noise, is a "
        "horizontal line; its interval is in the tables."
    )
    return Figure(title, alt, [Plot(plot)], caption, _make_key(lines))


def _has_two_epsilons(line: Line) -> bool:
    """Return whether a line has means at two epsilons or more."""
    epsilons = [epsilon for epsilon in line.means if epsilon is not None]
    return len(epsilons) > 1


def make_lines(
    measured: Sequence[MeasuredEntry], colours: Mapping[str, str] | None = None
) -> list[Line]:
    """Make a line for each recommender: over its epsilons, or horizontal if it has none.

    A recommender that was measured without noise (at epsilon infinity) has a second, horizontal
    line with the name "NAME, no noise".

    Args:
        measured: Recommenders at their epsilons.
        colours: CSS colour of each name; None: as `assign_colours` assigns them.
    """
    means_by_name: dict[str, dict[float | None, Interval | None]] = {}
    for entry in measured:
        name = entry.name
        epsilon = entry.epsilon
        if epsilon is not None and math.isinf(epsilon):
            name = f"{entry.name}{NO_NOISE}"
            epsilon = None
        means_by_name.setdefault(name, {})[epsilon] = entry.ndcg
    colour_by_name = colours or assign_colours(list(means_by_name))
    lines = []
    for number, (name, means) in enumerate(means_by_name.items()):
        is_horizontal = None in means
        dash = _DASHES[number % len(_DASHES)] if is_horizontal else ()
        colour = colour_by_name[name.removesuffix(NO_NOISE)]
        lines.append(Line(name, colour, dash, means))
    return lines


def accuracy_against_attack(
    measured: Sequence[MeasuredEntry], colours: Mapping[str, str]
) -> Figure | None:
    """Draw NDCG against the AUC of the membership attack.

    Args:
        measured: Recommenders at their epsilons; those that were not attacked are not drawn.
        colours: CSS colour of each name.

    Returns:
        The figure; None if there are fewer than two points to draw.
    """
    from tacit.evaluation.plots import points

    attacked_names = set()
    marks = []
    for entry in measured:
        if entry.membership_auc is None:
            continue
        attacked_names.add(entry.name)
        marks.append(
            Point(
                _format_point_label(entry.epsilon),
                colours[entry.name],
                x=entry.membership_auc,
                y=entry.ndcg,
                shape=_choose_shape(entry.name, colours),
            )
        )
    if len(marks) < 2:
        return None
    plot = points(marks, x_title="membership AUC (0.5: guessing)", y_title="NDCG@10")
    alt = "NDCG@10 of each recommender against the AUC of the stronger membership attack on it."
    caption = "Up and left is better: good lists that reveal little about who was trained on."
    key = []
    for name, colour in colours.items():
        if name in attacked_names:
            key.append(Mark(name, sign=_SIGNS[_choose_shape(name, colours)], colour=colour))
    return Figure("Accuracy against attack success", alt, [Plot(plot)], caption, key)


def _format_point_label(epsilon: float | None) -> str:
    """Return the text beside a point: its epsilon, "no noise", or "" without epsilon."""
    if epsilon is None:
        return ""
    return "no noise" if math.isinf(epsilon) else f"ε {epsilon:g}"


def assign_colours(names: Sequence[str]) -> dict[str, str]:
    """Assign a CSS colour of the page to each recommender, in the order of the names.

    "NAME, no noise" counts as NAME. After nine recommenders the colours begin again.
    """
    recommenders = dict.fromkeys(name.removesuffix(NO_NOISE) for name in names)
    colours = {}
    for number, name in enumerate(recommenders):
        colours[name] = f"var(--p{_COLOUR_ORDER[number % _COLOUR_COUNT]})"
    return colours


def _choose_shape(name: str, colours: Mapping[str, str]) -> str:
    """Return the shape of a recommender's points; every nine recommenders share one shape.

    Args:
        name: Name of the recommender.
        colours: Colours of all recommenders, in their order.
    """
    shapes = list(_SIGNS)
    times_all_colours_used = list(colours).index(name) // _COLOUR_COUNT
    return shapes[times_all_colours_used % len(shapes)]


def _make_key(lines: Sequence[Line]) -> list[Mark]:
    """Make the entries of a figure's key, one for each line."""
    return [Mark(line.name, line.colour, line.dash) for line in lines]


@dataclass(frozen=True)
class Picture:
    """A figure for a notebook."""

    svg: str
    """Content of a whole SVG file."""

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG)"


def write_figures(figures: Mapping[str, Figure], folder: Path) -> list[Path]:
    """Write each figure with its key as an SVG file and as a PNG file.

    Args:
        figures: Figures by the names of their files.
        folder: Folder to write to; it is made if it does not exist.

    Returns:
        Paths of the files.
    """
    from tacit.evaluation.plots import to_png

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, figure in figures.items():
        svg = format_standalone_svg(figure)
        content_by_ending = {".svg": svg.encode(), ".png": to_png(svg)}
        for ending, content in content_by_ending.items():
            path = folder / f"{name}{ending}"
            write_whole(path, content)
            files.append(path)
    return files


def format_standalone_svg(figure: Figure) -> str:
    """Return a figure of one plot as a whole SVG file, on white, with the key below the plot."""
    (plot,) = figure.plots
    plot_tag = plot.svg.split(">", 1)[0]
    width = float(plot_tag.split('width="')[1].split('"')[0])
    height = float(plot_tag.split('height="')[1].split('"')[0])
    line_height = 18  # pixels
    bottom_margin = 8  # pixels
    whole_height = height + line_height * len(figure.key) + bottom_margin
    opening_tag = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{whole_height:g}" '
        f'viewBox="0 0 {width:g} {whole_height:g}" font-family="sans-serif" font-size="12">'
    )
    parts = [opening_tag, '<rect width="100%" height="100%" fill="white"/>', plot.svg]
    for number, mark in enumerate(figure.key):
        middle = height + line_height * number + 10
        parts.append(_draw_mark(mark, middle))
        name = escape(mark.name)
        parts.append(f'<text x="48" y="{middle + 4:g}" fill="var(--ink)">{name}</text>')
    text = "".join([*parts, "</svg>"])
    for variable, colour in _COLOURS_ON_WHITE.items():
        text = text.replace(f"var({variable})", colour)
    return text


def _draw_mark(mark: Mark, middle: float) -> str:
    """Draw an entry of the key, without its text, as SVG: its sign, or a piece of its line.

    Args:
        mark: The entry.
        middle: Vertical position of the middle of the entry, in pixels from the top.
    """
    if mark.sign:
        return (
            f'<text x="26" y="{middle + 4:g}" text-anchor="middle" fill="{mark.colour}">'
            f"{mark.sign}</text>"
        )
    dash = ""
    if mark.dash:
        dash = f' stroke-dasharray="{" ".join(map(str, mark.dash))}"'
    return (
        f'<line x1="10" x2="42" y1="{middle:g}" y2="{middle:g}" stroke="{mark.colour}" '
        f'stroke-width="2.5"{dash}/>'
    )
