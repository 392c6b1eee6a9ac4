"""Plots as SVG text for an HTML page: no script, no address, colours by the page's CSS variables.

Every plot is at most 480 pixels wide, so that a phone shows it nearly at full size. Keys are left
to the page, which escapes the data's own words; the plots hold figures only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import vl_convert


@dataclass(frozen=True)
class Curve:
    """One line of `curves`: (x, y, low, high) of each point, ends of an interval beside y.

    A single point without an x is a level: a line from side to side. dash: of the stroke, () for
    none; colour: a CSS colour.
    """

    name: str
    colour: str
    dash: tuple[int, ...]
    points: tuple[tuple[float | None, float, float, float], ...]


def curves(lines: Sequence[Curve], *, x_title: str, y_title: str) -> str:
    """Lines over one x, each point with its interval.

    An interval that reaches far beyond all points is cut at the frame.
    """
    known = sorted({x for line in lines for x, *_ in line.points if x is not None})
    rows = [
        {"line": line.name, "x": x, "y": y, "low": low, "high": high}
        for line in lines
        for given, y, low, high in line.points
        for x in ([given] if given is not None else [known[0], known[-1]])
    ]
    names = [line.name for line in lines]
    x = alt.X("x:Q").title(x_title).axis(values=known, format="~f", labelOverlap=True)
    x = x.scale(zero=False, nice=False, padding=14)
    framed = _framed([line.points for line in lines])
    y = alt.Y("y:Q").title(y_title).axis(tickCount=6)
    y = y.scale(domain=framed, zero=False, nice=False, clamp=True)
    colour = alt.Color("line:N").legend(None)
    colour = colour.scale(domain=names, range=[line.colour for line in lines])
    dash = alt.StrokeDash("line:N").legend(None)
    dash = dash.scale(domain=names, range=[list(line.dash) or [1, 0] for line in lines])
    base = alt.Chart(_data(rows)).encode(x, y, colour)
    given = {line.name for line in lines if line.points[0][0] is not None}
    marked = alt.Chart(_data([row for row in rows if row["line"] in given])).encode(x, colour)
    ends = marked.mark_rule(strokeWidth=1.5, opacity=0.45)
    return _svg(
        alt.layer(
            base.mark_line(strokeWidth=2).encode(dash),
            ends.encode(alt.Y("low:Q"), alt.Y2("high:Q")),
            marked.mark_circle(size=44, opacity=1).encode(y),
        ).properties(width=405, height=320)
    )


def _framed(lines: Sequence[Sequence[tuple[float | None, float, float, float]]]) -> list[float]:
    """Ends of the axis: all points, and intervals up to a third of the points' range beyond."""
    points = [point for line in lines for point in line]
    low, high = min(y for _, y, *_ in points), max(y for _, y, *_ in points)
    room = max((high - low) / 3, 1e-3)
    ends = [end for _, _, *both in points for end in both]
    return [max(low - room, min([low, *ends])), min(high + room, max([high, *ends]))]


def _data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def _svg(chart: alt.LayerChart | alt.FacetChart) -> str:
    dressed = chart.configure(
        background="transparent",
        aria=False,  # the page describes each plot in words
        font="system-ui, sans-serif",
        padding=4,
        view=alt.ViewConfig(stroke=None),
        axis=alt.AxisConfig(
            labelColor="var(--muted)",
            titleColor="var(--muted)",
            titleFontWeight="normal",
            titleFontSize=12,
            titlePadding=9,
            labelFontSize=11.5,
            gridColor="var(--line)",
            domainColor="var(--line)",
            tickColor="var(--line)",
        ),
    )
    drawn: str = vl_convert.vegalite_to_svg(dressed.to_dict(), allowed_base_urls=[])
    # Inside HTML an SVG needs no namespace: the page holds no address at all.
    head, body = drawn.split(">", 1)
    size = " ".join(part for part in head.split(" ") if not part.startswith("xmlns"))
    return f"{size}>{body}"
