"""Draw plots as SVG text for an HTML page, without scripts and addresses.

Colours are the page's CSS variables. Every plot is at most 480 pixels wide, so that a phone shows
it nearly at full size. Names of lines are not drawn: the page writes them into a key and escapes
them. Points are drawn with their labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.errors import MissingExtra
from tacit.evaluation.lines import Line, Point

try:
    import altair as alt
    import vl_convert
except ImportError:
    raise MissingExtra("altair", "plots") from None


def curves(
    lines: Sequence[Line],
    *,
    x_title: str,
    y_title: str,
    intervals: bool = True,
    bands: bool = False,
) -> str:
    """Draw lines over one setting, as SVG.

    A mean under the key None is drawn as a horizontal line across the plot. An interval that
    reaches far beyond all points is cut at the frame.

    Args:
        lines: Lines to draw; at least one has a mean at some setting.
        x_title: Title of the horizontal axis.
        y_title: Title of the vertical axis.
        intervals: Whether intervals are drawn.
        bands: Whether they are drawn as bands; otherwise as bars. Horizontal lines have neither.
    """
    settings: set[float] = set()
    for line in lines:
        settings |= {x for x, mean in line.means.items() if x is not None and mean is not None}
    ticks = sorted(settings)
    names = [str(number) for number in range(len(lines))]
    rows: list[dict[str, Any]] = []
    horizontal_lines: set[str] = set()
    for name, line in zip(names, lines, strict=True):
        for setting, mean in line.means.items():
            if mean is None:
                continue
            low, high = (mean.low, mean.high) if intervals else (mean.mean, mean.mean)
            point = {"line": name, "y": mean.mean, "low": low, "high": high}
            if setting is None:
                horizontal_lines.add(name)
                rows += [point | {"x": ticks[0]}, point | {"x": ticks[-1]}]
            else:
                rows.append(point | {"x": setting})
    x = alt.X("x:Q").title(x_title).axis(values=ticks, format="~g", labelOverlap=True)
    x = x.scale(zero=False, nice=False, padding=14)
    y = alt.Y("y:Q").title(y_title).axis(tickCount=6)
    y = y.scale(domain=_compute_axis_ends(rows), zero=False, nice=False, clamp=True)
    colour = alt.Color("line:N").legend(None)
    colour = colour.scale(domain=names, range=[line.colour for line in lines])
    dash = _encode_dashes(names, lines)
    base = alt.Chart(alt.InlineData(values=rows)).encode(x, y, colour)
    points_of_curves = [row for row in rows if row["line"] not in horizontal_lines]
    dots = alt.Chart(alt.InlineData(values=points_of_curves)).encode(x, colour)
    layers: list[alt.Chart] = []
    if bands:
        band = alt.Chart(alt.InlineData(values=points_of_curves)).mark_area(opacity=0.16)
        layers.append(band.encode(x, colour, alt.Y("low:Q"), alt.Y2("high:Q")))
    layers.append(base.mark_line(strokeWidth=2).encode(dash))
    if not bands:
        bar = dots.mark_rule(strokeWidth=1.5, opacity=0.45)
        layers.append(bar.encode(alt.Y("low:Q"), alt.Y2("high:Q")))
    layers.append(dots.mark_circle(size=44, opacity=1).encode(y))
    return _draw_svg(alt.layer(*layers).properties(width=405, height=320))


def points(marks: Sequence[Point], *, x_title: str, y_title: str) -> str:
    """Draw points with the intervals of both figures, as SVG.

    Args:
        marks: Points to draw.
        x_title: Title of the horizontal axis.
        y_title: Title of the vertical axis.
    """
    rows = []
    for number, mark in enumerate(marks):
        row: dict[str, Any] = {"point": str(number), "label": mark.label}
        row |= {"x": mark.x.mean, "left": mark.x.low, "right": mark.x.high}
        row |= {"y": mark.y.mean, "low": mark.y.low, "high": mark.y.high}
        rows.append(row)
    x = alt.X("x:Q").title(x_title).axis(tickCount=5).scale(zero=False, nice=True, padding=14)
    y = alt.Y("y:Q").title(y_title).axis(tickCount=6)
    y = y.scale(domain=_compute_axis_ends(rows), zero=False, nice=True, clamp=True)
    names = [str(number) for number in range(len(marks))]
    colour = alt.Color("point:N").legend(None)
    colour = colour.scale(domain=names, range=[mark.colour for mark in marks])
    shape = alt.Shape("point:N").legend(None)
    shape = shape.scale(domain=names, range=[mark.shape for mark in marks])
    base = alt.Chart(alt.InlineData(values=rows)).encode(x, y, colour)
    bar = alt.Chart(alt.InlineData(values=rows)).encode(colour)
    bar = bar.mark_rule(strokeWidth=1.2, opacity=0.45)
    layers = [
        bar.encode(x, alt.Y("low:Q"), alt.Y2("high:Q")),
        bar.encode(y, alt.X("left:Q"), alt.X2("right:Q")),
        base.mark_point(size=70, opacity=1, filled=True).encode(shape),
        base.mark_text(align="left", dx=7, dy=-7, fontSize=11).encode(alt.Text("label:N")),
    ]
    return _draw_svg(alt.layer(*layers).properties(width=405, height=320))


def steps(
    lines: Sequence[Line], *, x_title: str, y_title: str, transitions: Sequence[float]
) -> str:
    """Draw step functions over a logarithmic x axis, as SVG; y may be 0.

    Args:
        lines: Lines with means at values of x that are above 0. Each mean holds until the next x;
            means of None are left out.
        x_title: Title of the x axis.
        y_title: Title of the y axis.
        transitions: Values of x at which vertical lines are drawn.
    """
    rows = []
    highest_of_lines = []
    for number, line in enumerate(lines):
        heights = []
        for x_value, mean in line.means.items():
            if mean is not None and x_value is not None:
                rows.append({"line": str(number), "x": x_value, "y": mean.mean})
                heights.append(mean.mean)
        highest_of_lines.append(max(heights, default=0.0))
    names = [str(number) for number in range(len(lines))]
    # The y axis is linear near 0, up to a tenth of the highest point of the lowest line, and
    # logarithmic above, so that low lines can be read as well.
    linear_to = min((height for height in highest_of_lines if height > 0), default=1.0) / 10
    x = alt.X("x:Q").title(x_title).scale(type="log").axis(format="~g", tickCount=5)
    y = alt.Y("y:Q").title(y_title).scale(type="symlog", constant=linear_to)
    y = y.axis(format="~g", tickCount=6)
    colour = alt.Color("line:N").legend(None)
    colour = colour.scale(domain=names, range=[line.colour for line in lines])
    chart = alt.Chart(alt.InlineData(values=rows))
    curve = chart.encode(x, y, colour, _encode_dashes(names, lines))
    curve = curve.mark_line(strokeWidth=2, interpolate="step-after")
    vertical = alt.Chart(alt.InlineData(values=[{"x": value} for value in transitions]))
    vertical = vertical.mark_rule(strokeDash=[2, 3], color="var(--muted)").encode(alt.X("x:Q"))
    return _draw_svg(alt.layer(curve, vertical).properties(width=405, height=320))


def _encode_dashes(names: Sequence[str], lines: Sequence[Line]) -> alt.StrokeDash:
    """Encode the dashes of each line; [1, 0], a stroke without gap, is an unbroken line.

    Args:
        names: Names of the lines in the data of the plot.
        lines: The lines, in the same order.
    """
    dashes = [list(line.dash) or [1, 0] for line in lines]
    return alt.StrokeDash("line:N").legend(None).scale(domain=list(names), range=dashes)


def to_png(svg: str) -> bytes:
    """Return an SVG as PNG, three times as wide and as high in pixels."""
    return bytes(vl_convert.svg_to_png(svg, scale=3))


def _compute_axis_ends(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the lower and upper end of the y axis.

    The axis holds every point. If intervals reach farther, it is longer, but at each end by at most
    a third of the range of the points, or by 0.001 if that is more.

    Args:
        rows: Points with "y" and the ends "low" and "high" of their intervals.
    """
    values = [row["y"] for row in rows]
    low = min(values)
    high = max(values)
    most_added = max((high - low) / 3, 1e-3)
    lowest_end = min(low, min(row["low"] for row in rows))
    highest_end = max(high, max(row["high"] for row in rows))
    return [max(low - most_added, lowest_end), min(high + most_added, highest_end)]


def _draw_svg(chart: alt.LayerChart | alt.FacetChart) -> str:
    """Draw a chart in the style of the page, as SVG without a namespace."""
    styled = chart.configure(
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
    svg: str = vl_convert.vegalite_to_svg(styled.to_dict(), allowed_base_urls=[])
    # Inside HTML an SVG needs no namespace, and without it the page holds no address at all.
    tag, content = svg.split(">", 1)
    tag_without_namespace = " ".join(
        part for part in tag.split(" ") if not part.startswith("xmlns")
    )
    return f"{tag_without_namespace}>{content}"
