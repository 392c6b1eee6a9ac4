"""Draw the pictures of the documentation: `make figures` writes them into docs/figures.

Each has a light and a dark form. The numbers come from the records of docs/results and from the
planners; none is typed. The diagrams of who sees what are drawn from the table `PARTIES` below.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from textwrap import wrap
from typing import Any

import altair as alt
import vl_convert
from results import read_record
from tracked import ROOT

from tacit.designs.prec import planner
from tacit.designs.private.plan import plan_releases

FOLDER = ROOT / "docs" / "figures"
WIDTH, HEIGHT = 520, 300


@dataclass(frozen=True)
class Theme:
    """Colours of one of the two forms of a figure."""

    name: str
    text: str
    muted: str
    grid: str
    box: str
    lines: tuple[str, str, str, str]
    """Colours of lines and marks, the most important first."""


THEMES = (
    Theme(
        "light",
        "#1b1f24",
        "#57606a",
        "#d8dee4",
        "#f3f6f9",
        ("#0b62c4", "#b3541e", "#2d7d46", "#6e56a8"),
    ),
    Theme(
        "dark",
        "#e6edf3",
        "#9aa5b1",
        "#39424d",
        "#1c232b",
        ("#6cb0ff", "#f0a070", "#6fcf8f", "#b7a3f0"),
    ),
)


@dataclass(frozen=True)
class Point:
    """A point of a line, and the ends of its interval if it has one."""

    line: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Parties:
    """Who sees what in a design: each party, what it sees, and what crosses to the next one."""

    seen: tuple[tuple[str, str], ...]
    """(party, what it sees), from the person outwards."""
    crossing: tuple[str, ...]
    """What goes from each party to the next."""
    trusted: tuple[bool, ...]
    """Whether a person has to trust the party."""


PARTIES: Mapping[str, Parties] = {
    "private": Parties(
        (
            ("a person", "own ratings; makes the list on the device"),
            ("the platform", "all people's ratings, while it fits"),
            ("everyone else", "the model file: noisy sums"),
        ),
        ("ratings", "noisy sums"),
        (True, True, False),
    ),
    "xmap": Parties(
        (
            ("a person", "own ratings in the source domain"),
            ("the platform", "all people's ratings in both domains"),
            ("everyone else", "the model file: noisy sums"),
        ),
        ("ratings", "noisy sums"),
        (True, True, False),
    ),
    "standard-scheme": Parties(
        (
            ("a person's device", "true ratings and the attribute"),
            ("the service", "changed ratings of some items"),
            ("everyone else", "the public tables"),
        ),
        ("changed ratings", "tables of people who agreed"),
        (True, False, False),
    ),
    "sketches": Parties(
        (
            ("a person's device", "own likes"),
            ("the platform", "a few random bits of each person"),
            ("everyone else", "reports, which may be public; clusters of items"),
        ),
        ("random bits", "reports, clusters"),
        (True, False, False),
    ),
    "prec": Parties(
        (
            ("a voter", "own votes"),
            ("the curator", "all votes"),
            ("a client", "one recommendation a round"),
        ),
        ("votes", "recommendations"),
        (True, True, False),
    ),
    "pdap": Parties(
        (
            ("a visitor", "own visit and click"),
            ("the visitor's vendor", "its own visitors' visits"),
            ("the others", "noisy sums; the request, where it is forwarded"),
        ),
        ("visit, click", "noisy sums, forwarded requests"),
        (True, True, False),
    ),
}


def main() -> int:
    """Write every figure in both themes; with --check only say which are out of date."""
    parser = argparse.ArgumentParser(description="Draw the pictures of the documentation.")
    parser.add_argument(
        "--check", action="store_true", help="write nothing; 1 if one is out of date"
    )
    only_checked = parser.parse_args().check
    FOLDER.mkdir(exist_ok=True)
    stale = []
    for name, text in draw_all().items():
        file = FOLDER / name
        if not file.is_file() or file.read_text(encoding="utf-8") != text:
            stale.append(name)
            if not only_checked:
                file.write_text(text, encoding="utf-8")
    print(
        f"out of date: {', '.join(stale)}" if only_checked and stale else "The figures are current."
    )
    return 1 if only_checked and stale else 0


def draw_all() -> dict[str, str]:
    """Draw every figure in both themes.

    Returns:
        File name -> SVG.
    """
    charts: dict[str, Callable[[Theme], str]] = {
        "private-ndcg": draw_list_quality,
        "people-needed": draw_people_needed,
        "attackers": draw_attackers,
        "prec-epsilon": draw_epsilon_of_loss,
        "pdap-regret": draw_regret,
    }
    figures = {}
    for theme in THEMES:
        for name, draw in charts.items():
            figures[f"{name}-{theme.name}.svg"] = draw(theme)
        for design, parties in PARTIES.items():
            figures[f"who-sees-{design}-{theme.name}.svg"] = draw_parties(parties, theme)
    return figures


def draw_list_quality(theme: Theme) -> str:
    """Draw NDCG over epsilon, of private lists and of private popularity.

    Models without noise are horizontal lines.
    """
    rows = read_record("private-ml100k")["values"]["rows"]
    names = {"private": "private lists", "private-popularity": "private popularity"}
    points, levels = [], []
    for row in rows:
        low, high = row["low"], row["high"]
        if row["model"] in names and row["epsilon"] != "inf":
            points.append(Point(names[row["model"]], float(row["epsilon"]), row["ndcg"], low, high))
        elif row["model"] == "private":
            levels.append(Point("private lists without noise", 0, row["ndcg"]))
        elif row["model"] in ("popularity", "ease"):
            levels.append(Point(row["model"].replace("ease", "EASE"), 0, row["ndcg"]))
    return draw_lines(points, levels, theme, x="epsilon", y="NDCG@10 of held-out likes")


def draw_people_needed(theme: Theme) -> str:
    """Draw over epsilon how many people the planner wants for lists better than popular items."""
    points = []
    for items in (1_000, 10_000, 100_000):
        for epsilon in (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0):
            needed = plan_releases(2, items, epsilon).needed
            points.append(Point(f"{items:,} items", epsilon, needed))
    return draw_lines(points, [], theme, x="epsilon", y="people needed", logarithmic="y")


def draw_attackers(theme: Theme) -> str:
    """Draw each attacker's AUC, from true stars and from a release of the sound standard scheme."""
    rows = read_record("scheme-table1-sound")["values"]["rows"]
    releases = {"none": "true stars", "scheme+selection+rounding": "the release"}
    points = []
    for row in rows:
        if row["release"] in releases and row["trained_on"] == "released":
            names = {"what": releases[row["release"]], "attack": row["attack"]}
            points.append({**names, "auc": row["auc"], "low": row["low"], "high": row["high"]})
    base = alt.Chart(alt.InlineData(values=points)).encode(
        alt.Y("attack:N").title(None).axis(labelLimit=200),
        alt.YOffset("what:N").scale(domain=list(releases.values())),
        colour_of("what", list(releases.values()), theme),
    )
    shown_range = alt.Scale(domain=[0.4, 0.9])
    axis = alt.X("auc:Q", scale=shown_range).title("AUC; 0.5 is guessing")
    dots = base.mark_circle(size=70, opacity=1).encode(axis)
    ends = base.mark_rule(strokeWidth=1.5).encode(
        alt.X("low:Q", scale=shown_range), alt.X2("high:Q")
    )
    return to_svg(alt.layer(ends, dots).properties(width=WIDTH - 100, height=200), theme)


def draw_epsilon_of_loss(theme: Theme) -> str:
    """Draw epsilon over loss: that of p-REC, and lower bounds on the epsilon of any method."""
    sizes = {"objects": 2, "rounds": 1000, "diversity": 0, "radius": 0, "peers": 51, "voters": 300}
    upper, lower = [], []
    for point in planner.loss_curve(**sizes, mode="promise"):
        if point.epsilon is not None:
            upper.append(Point("p-REC", point.loss, point.epsilon))
        least = max(bound.epsilon for bound in point.bounds)
        lower.append(Point("no method can go below", point.loss, least))
    points = upper + lower
    titles = {"x": "disliked recommendations of 1,000", "y": "epsilon"}
    return draw_lines(points, [], theme, **titles, logarithmic="x", steps=True)


def draw_regret(theme: Theme) -> str:
    """Draw average regret over visits, of DAP and of P-DAP at the paper's epsilons."""
    points = []
    for row in read_record("pdap-table-3")["values"]["regret"]:
        if row["policy"] == "dap":
            name = "DAP, without noise"
        elif row["policy"] == "p-dap":
            name = f"P-DAP, epsilon {row['epsilon']:g}"
        else:
            continue
        ends = row["low"], row["high"]
        points.append(Point(name, row["arrivals"], row["average_regret"], *ends))
    return draw_lines(points, [], theme, x="visits", y="average regret of a visit")


def draw_lines(
    points: Sequence[Point],
    levels: Sequence[Point],
    theme: Theme,
    *,
    x: str,
    y: str,
    logarithmic: str = "",
    steps: bool = False,
) -> str:
    """Draw lines with bands, and dashed levels with their names on them.

    Args:
        points: Points of the lines.
        levels: Horizontal lines; their x is not used.
        theme: Colours.
        x: Title of the horizontal axis.
        y: Title of the vertical axis.
        logarithmic: The axis that is logarithmic, "x" or "y"; "" for none.
        steps: Whether a line stays at its value until the next point.
    """
    names = list(dict.fromkeys(point.line for point in points))
    rows = [vars_of(point) for point in points]
    across = alt.X("x:Q").title(x)
    upright = alt.Y("y:Q").title(y)
    if logarithmic == "x":
        across = across.scale(type="log", nice=False)
    if logarithmic == "y":
        upright = upright.scale(type="log", nice=False)
    else:
        upright = upright.scale(zero=False)
    base = alt.Chart(alt.InlineData(values=rows)).encode(across, colour_of("line", names, theme))
    line = base.mark_line(strokeWidth=2.5, interpolate="step-after" if steps else "linear")
    layers: list[Any] = [line.encode(upright)]
    if any(point.low is not None for point in points):
        layers.insert(0, base.mark_area(opacity=0.18).encode(alt.Y("low:Q"), alt.Y2("high:Q")))
    if not steps:
        layers.append(base.mark_circle(size=55, opacity=1).encode(upright))
    if levels:
        flat = alt.Chart(alt.InlineData(values=[vars_of(level) for level in levels])).encode(
            upright
        )
        layers.append(flat.mark_rule(strokeDash=[5, 4], strokeWidth=1.5, color=theme.muted))
        words = flat.mark_text(align="right", dy=-7, fontSize=12, color=theme.muted)
        layers.append(words.encode(alt.Text("line:N"), x=alt.value(WIDTH - 4)))
    return to_svg(alt.layer(*layers).properties(width=WIDTH, height=HEIGHT), theme)


def vars_of(point: Point) -> dict[str, Any]:
    """Return a point as a row of a chart."""
    return {"line": point.line, "x": point.x, "y": point.y, "low": point.low, "high": point.high}


def colour_of(field: str, names: list[str], theme: Theme) -> alt.Color:
    """Colour by a field, with a key above the chart."""
    legend = alt.Legend(
        title=None,
        orient="top",
        labelColor=theme.text,
        symbolType="stroke",
        symbolOpacity=1,
        symbolStrokeWidth=2.5,
    )
    colours = list(theme.lines[: len(names)])
    return alt.Color(f"{field}:N").legend(legend).scale(domain=names, range=colours)


def to_svg(chart: alt.LayerChart | alt.FacetChart, theme: Theme) -> str:
    """Give a chart the fonts and colours of a theme, and write it as SVG."""
    axis = alt.AxisConfig(
        labelColor=theme.muted,
        titleColor=theme.muted,
        gridColor=theme.grid,
        domainColor=theme.grid,
        tickColor=theme.grid,
        titleFontWeight="normal",
        labelFontSize=12,
        titleFontSize=13,
    )
    view = alt.ViewConfig(stroke=None)
    room = {"left": 18, "right": 8, "top": 5, "bottom": 5}  # fonts of readers differ in width
    dressed = chart.configure(
        background="transparent", font="sans-serif", axis=axis, view=view, padding=room
    )
    dressed = dressed.configure_legend(labelFontSize=12.5)
    return str(vl_convert.vegalite_to_svg(dressed.to_json())) + "\n"


def draw_parties(parties: Parties, theme: Theme) -> str:
    """Draw the parties as boxes from left to right, with arrows for the data between them."""
    box, gap, top, height = 190, 130, 14, 118
    parts = []
    for place, ((name, sees), is_trusted) in enumerate(
        zip(parties.seen, parties.trusted, strict=True)
    ):
        left = 8 + place * (box + gap)
        colour = theme.lines[2] if is_trusted else theme.lines[1]
        parts.append(
            f'<rect x="{left}" y="{top}" width="{box}" height="{height}" rx="8" '
            f'fill="{theme.box}" stroke="{colour}" stroke-width="1.5"/>'
        )
        middle = left + box / 2
        parts.append(text_at(middle, top + 26, name, theme.text, weight="bold"))
        for number, words in enumerate(wrap(f"sees {sees}", 23)):
            parts.append(text_at(middle, top + 50 + 18 * number, words, theme.text))
        word = "trusted" if is_trusted else "not trusted"
        parts.append(text_at(middle, top + height + 20, word, colour))
    for place, words in enumerate(parties.crossing):
        start = 8 + box + place * (box + gap) + 6
        end = start + gap - 12
        y = top + height / 2
        parts.append(
            f'<path d="M{start} {y}H{end}m-7 -5l7 5l-7 5" fill="none" stroke="{theme.muted}" '
            'stroke-width="1.5"/>'
        )
        lines = wrap(words, 16, break_long_words=False)
        for number, line in enumerate(lines):
            above = y - 10 - 16 * (len(lines) - 1 - number)
            parts.append(text_at((start + end) / 2, above, line, theme.muted))
    width = 16 + len(parties.seen) * box + len(parties.crossing) * gap
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {top + height + 32}" '
        f'width="{width}" font-family="sans-serif" font-size="13">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def text_at(x: float, y: float, words: str, colour: str, *, weight: str = "normal") -> str:
    """Write words, centred at a place."""
    return (
        f'<text x="{x}" y="{y}" text-anchor="middle" fill="{colour}" font-weight="{weight}">'
        f"{escape(words)}</text>"
    )


if __name__ == "__main__":
    sys.exit(main())
