"""Figures of recommenders of lists: accuracy over epsilon, and accuracy against attack success."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tacit.atomic_writes import write_whole
from tacit.evaluation.intervals import Interval
from tacit.evaluation.lines import Line, Point
from tacit.evaluation.page import Figure, Mark

NO_NOISE = ", no noise"
_COLOURS = 9
"""Number of the page's colours --p0 to --p8."""
_SIGNS = {"circle": "●", "square": "■", "diamond": "◆"}
"""Shapes of points, which tell those of one colour apart, with their signs in a key."""
_DASHES = ((), (6, 3), (2, 3))
_LIGHT = {
    "--ink": "#16202c", "--muted": "#556270", "--line": "#dde2e8",
    "--p0": "#76818d", "--p1": "#a78b2a", "--p2": "#0a6aa1", "--p3": "#c2410c", "--p4": "#7c3aed",
    "--p5": "#0b7d5c", "--p6": "#b3206b", "--p7": "#3f8fd0", "--p8": "#9a6b00",
}  # fmt: skip
"""The page's colours on white, for files that stand alone."""
_ORDER = (2, 3, 5, 4, 6, 7, 8, 1, 0)
"""Colours in the order in which they are given out: the first differ most."""


@dataclass(frozen=True)
class MeasuredEntry:
    """Figures of one recommender at one epsilon."""

    name: str
    """Name of the recommender."""
    epsilon: float | None
    """Claimed epsilon; None: none is claimed. Infinity: without noise."""
    ndcg: Interval
    """NDCG@10 of its lists."""
    membership_auc: Interval | None = None
    """AUC of the stronger membership attack; None where it was not attacked."""


def accuracy_over_epsilon(
    measured: Sequence[MeasuredEntry],
    title: str,
    unit: str,
    colours: Mapping[str, str] | None = None,
) -> Figure | None:
    """Draw NDCG over epsilon with bands; what has no epsilon, and what has no noise, as lines.

    Args:
        measured: Recommenders whose epsilons have one unit, and rivals without epsilon.
        title: Title of the figure.
        unit: Unit of the epsilons, for the axis.
        colours: Colour of each name; None: as they come.

    Returns:
        The figure; None where no recommender has two epsilons.
    """
    from tacit.evaluation.plots import curves

    lines = make_lines(measured, colours)
    if not any(_has_two_epsilons(line) for line in lines):
        return None
    drawn = curves(lines, x_title=f"epsilon: {unit}", y_title="NDCG@10", bands=True)
    names = ", ".join(line.name for line in lines)
    alt = f"NDCG@10 over epsilon of {names}; the tables below have the same figures."
    caption = (
        "Bands are 95 % intervals. What has no epsilon, or no noise, is a horizontal line; its "
        "interval is in the tables."
    )
    return Figure(title, alt, [("", drawn)], caption, _key(lines))


def _has_two_epsilons(line: Line) -> bool:
    epsilons = [epsilon for epsilon in line.means if epsilon is not None]
    return len(epsilons) > 1


def make_lines(
    measured: Sequence[MeasuredEntry], colours: Mapping[str, str] | None = None
) -> list[Line]:
    """Make a line of each recommender: over its epsilons, or across the plot where it has none."""
    means: dict[str, dict[float | None, Interval | None]] = {}
    for one in measured:
        name, place = one.name, one.epsilon
        if place is not None and math.isinf(place):
            name = f"{one.name}{NO_NOISE}"
            place = None
        means.setdefault(name, {})[place] = one.ndcg
    of_name = colours or assign_colours(list(means))
    lines = []
    for number, (name, of_line) in enumerate(means.items()):
        dash = _DASHES[1 + number % 2] if None in of_line else ()
        colour = of_name[name.removesuffix(NO_NOISE)]
        lines.append(Line(name, colour, dash, of_line))
    return lines


def accuracy_against_attack(
    measured: Sequence[MeasuredEntry], colours: Mapping[str, str]
) -> Figure | None:
    """Draw NDCG against the AUC of the membership attack; None where nothing was attacked.

    Args:
        measured: Recommenders.
        colours: Colour of each name.
    """
    from tacit.evaluation.plots import points

    marks = []
    for one in measured:
        if one.membership_auc is not None:
            label = "" if one.epsilon is None else f"ε {one.epsilon:g}"
            if one.epsilon is not None and math.isinf(one.epsilon):
                label = "no noise"
            shape = _shape_of(one.name, colours)
            marks.append(Point(label, colours[one.name], one.membership_auc, one.ndcg, shape))
    if len(marks) < 2:
        return None
    attacked = {one.name for one in measured if one.membership_auc is not None}
    drawn = points(marks, x_title="membership AUC (0.5: guessing)", y_title="NDCG@10")
    alt = "NDCG@10 of each recommender against the AUC of the stronger membership attack on it."
    caption = "Up and left is better: good lists that say little of who was learned from."
    key = []
    for name, colour in colours.items():
        if name in attacked:
            key.append(Mark(name, sign=_SIGNS[_shape_of(name, colours)], colour=colour))
    return Figure("Accuracy against attack success", alt, [("", drawn)], caption, key)


def assign_colours(names: Sequence[str]) -> dict[str, str]:
    """Give each recommender a colour of the page; "NAME, no noise" has that of NAME."""
    plain = dict.fromkeys(name.removesuffix(NO_NOISE) for name in names)
    return {name: f"var(--p{_ORDER[place % _COLOURS]})" for place, name in enumerate(plain)}


def _shape_of(name: str, colours: Mapping[str, str]) -> str:
    """Choose the shape of a recommender's points: another one each time colours begin anew."""
    shapes = list(_SIGNS)
    return shapes[list(colours).index(name) // _COLOURS % len(shapes)]


def _key(lines: Sequence[Line]) -> list[Mark]:
    return [Mark(line.name, line.colour, line.dash) for line in lines]


@dataclass(frozen=True)
class Picture:
    """A figure that stands alone, as a notebook shows it."""

    svg: str
    """The whole file."""

    def _repr_html_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"Picture({len(self.svg):,} characters of SVG)"


def write_figures(figures: Mapping[str, Figure], folder: Path) -> list[Path]:
    """Write figures as files that stand alone, each as SVG and as PNG, with its key.

    Args:
        figures: Figures by the names of their files.
        folder: Folder to write to; it is made.

    Returns:
        The files.
    """
    from tacit.evaluation.plots import to_png

    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, figure in figures.items():
        svg = stand_alone(figure)
        written = {".svg": svg.encode(), ".png": to_png(svg)}
        for ending, content in written.items():
            path = folder / f"{name}{ending}"
            write_whole(path, content)
            files.append(path)
    return files


def stand_alone(figure: Figure) -> str:
    """Write a figure of one plot as an SVG file: colours on white, the key below the plot."""
    ((_, drawn),) = figure.drawn
    size = drawn.split(">", 1)[0]
    width = float(size.split('width="')[1].split('"')[0])
    height = float(size.split('height="')[1].split('"')[0])
    line_height = 18
    whole_height = height + line_height * len(figure.key) + 8
    begin = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{whole_height:g}" '
        f'viewBox="0 0 {width:g} {whole_height:g}" font-family="sans-serif" font-size="12">'
    )
    parts = [
        begin,
        '<rect width="100%" height="100%" fill="white"/>',
        drawn,
    ]
    for number, mark in enumerate(figure.key):
        middle = height + line_height * number + 10
        parts.append(_draw_mark(mark, middle))
        name = escape(mark.name)
        parts.append(f'<text x="48" y="{middle + 4:g}" fill="var(--ink)">{name}</text>')
    text = "".join([*parts, "</svg>"])
    for variable, colour in _LIGHT.items():
        text = text.replace(f"var({variable})", colour)
    return text


def _draw_mark(mark: Mark, middle: float) -> str:
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
