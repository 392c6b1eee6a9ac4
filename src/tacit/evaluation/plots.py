"""Plots as SVG text for an HTML page: no script, no address, colours by the page's CSS variables.

Every plot is at most 480 pixels wide, so that a phone shows it nearly at full size. Keys are left
to the page, which escapes the data's own words; the plots hold figures and names of attacks only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np
import vl_convert
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from tacit.evaluation.page import MixPoint

ATTACK_COLOURS = ("var(--a1)", "var(--a2)", "var(--a3)", "var(--a4)")
ATTACK_SHAPES = ("circle", "square", "triangle-up", "diamond")
TENTHS = 10
_INKS = ("#0b6e99", "#c2410c", "#4d4d4d", "#6a3fa0", "#2f7d32", "#9a6b00", "#a3195b")
_DASHES = ([1, 0], [6, 4], [2, 3])


def tradeoff(points: Sequence[MixPoint], names: Mapping[str, str]) -> str:
    """RMSE (x) against AUC (y), one line per attack of `names`, points labelled with their mix."""
    rows = [
        {"rmse": point.rmse, "auc": area, "attack": names[attack], "mix": point.mix}
        for point in points
        for attack, area in point.aucs.items()
    ]
    labels = [
        {"rmse": p.rmse, "auc": max(p.aucs.values()), "label": f"{p.mix:.0%}"} for p in points
    ]
    areas = [area for point in points for area in point.aucs.values()]
    x = alt.X("rmse:Q").title("error of predicted ratings, RMSE in stars")
    x = x.scale(zero=False, nice=False, padding=24).axis(tickCount=5)
    y = alt.Y("auc:Q").title("AUC of each attacker").axis(format=".2f", tickCount=6)
    y = y.scale(domain=_padded([*areas, 0.5], 0.05), nice=False, zero=False)
    order = list(names.values())
    colour = alt.Color("attack:N").legend(None)
    colour = colour.scale(domain=order, range=_cycle(ATTACK_COLOURS, order))
    shape = alt.Shape("attack:N").legend(None)
    shape = shape.scale(domain=order, range=_cycle(ATTACK_SHAPES, order))
    lines = alt.Chart(_data(rows)).encode(x, y, colour)
    above = alt.Chart(_data(labels)).mark_text(dy=-13, fill="var(--ink)", fontWeight=600)
    return _svg(
        alt.layer(
            _guessing(y),
            lines.mark_line(strokeWidth=2).encode(alt.Order("mix:Q")),
            lines.mark_point(filled=True, size=70, opacity=1).encode(shape),
            above.encode(x, y, alt.Text("label:N")),
        ).properties(width=405, height=320)
    )


def fold_spread(groups: Sequence[tuple[str, str, str, Sequence[float]]]) -> str:
    """One strip per attack and group: a dot per fold, a bar at their mean, a line from end to end.

    groups: (attack, group, colour, AUC of every fold), in the order from top to bottom.
    """
    rows = [
        {"attack": attack, "group": group, "auc": area}
        for attack, group, _, areas in groups
        for area in areas
    ]
    attacks = list(dict.fromkeys(attack for attack, *_ in groups))
    longest = max(map(len, attacks))  # in characters: the reader's font may be a wide one
    colours = {group: colour for _, group, colour, _ in groups}
    y = alt.Y("attack:N").title(None).sort(attacks)
    y = y.axis(ticks=False, domain=False, labelPadding=8, minExtent=7 * longest)
    y = y.scale(paddingInner=0.3, paddingOuter=0.1)
    strip = alt.YOffset("group:N").sort(list(colours)).scale(domain=list(colours))
    colour = alt.Color("group:N").legend(None)
    colour = colour.scale(domain=list(colours), range=list(colours.values()))
    domain = _padded([0.5, *(area for *_, areas in groups for area in areas)], 0.02)
    x = alt.X("auc:Q").title("AUC in one fold").scale(domain=domain, nice=False, zero=False)
    base = alt.Chart(_data(rows)).encode(y, strip, colour)
    ends = base.mark_rule(strokeWidth=1, opacity=0.7)
    mean = base.mark_tick(thickness=3, size=15).encode(alt.X("mean(auc):Q"))
    return _svg(
        alt.layer(
            _guessing(x),
            ends.encode(alt.X("min(auc):Q"), alt.X2("max(auc):Q")),
            base.mark_circle(size=34, opacity=0.6).encode(x),
            mean,
        ).properties(width=320, height=max(120, 48 * len(attacks)))
    )


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


def curves(lines: Sequence[Curve], *, x_title: str, y_title: str, log: bool = False) -> str:
    """Lines over one x, each point with its interval; log: x on a logarithmic axis.

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
    x = x.scale(type="log" if log else "linear", zero=False, nice=False, padding=14)
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


def _inked(names: Sequence[str], legend: bool) -> tuple[alt.Color, alt.StrokeDash]:
    """A colour and a dash for each name; lines that lie upon each other are both seen."""
    key = alt.Legend(orient="top", columns=3) if legend else None
    inks, dashes = _cycle(_INKS, names), [_DASHES[n % len(_DASHES)] for n in range(len(names))]
    colour = alt.Color("line:N").title(None).scale(domain=list(names), range=inks).legend(key)
    dash = alt.StrokeDash("line:N").title(None).scale(domain=list(names), range=dashes)
    return colour, dash.legend(key)


def _file(chart: alt.LayerChart | alt.FacetChart | alt.VConcatChart) -> str:
    """SVG that needs no page around it."""
    dressed = chart.configure(background="white", font="system-ui, sans-serif")
    drawn: str = vl_convert.vegalite_to_svg(dressed.to_dict(), allowed_base_urls=[])
    return drawn


def _framed(lines: Sequence[Sequence[tuple[float | None, float, float, float]]]) -> list[float]:
    """Ends of the axis: all points, and intervals up to a third of the points' range beyond."""
    points = [point for line in lines for point in line]
    low, high = min(y for _, y, *_ in points), max(y for _, y, *_ in points)
    room = max((high - low) / 3, 1e-3)
    ends = [end for _, _, *both in points for end in both]
    return [max(low - room, min([low, *ends])), min(high + room, max([high, *ends]))]


def tenths(labels: ArrayLike, scores: ArrayLike, target: int) -> NDArray[np.float64]:
    """(2, 10) share of the others, and of those labelled `target`, in each tenth of all scores.

    Ranks, ties at their mean, so that scores of any unit compare. Rows add up to 1.
    """
    ranks = rankdata(np.asarray(scores, dtype=np.float64))
    tenth = np.minimum((ranks - 0.5) / len(ranks) * TENTHS, TENTHS - 1).astype(np.int64)
    targets = np.asarray(labels) == target
    counts = [np.bincount(tenth[who], minlength=TENTHS) for who in (~targets, targets)]
    shares: NDArray[np.float64] = np.stack([c / max(1, c.sum()) for c in counts])
    return shares


def score_bars(shares: NDArray[np.float64], highest: float) -> str:
    """What `tenths` counted, as pairs of bars, the axis ending at `highest`."""
    rows = [
        {"tenth": int(tenth) + 1, "who": who, "share": float(share)}
        for who, row in enumerate(shares)
        for tenth, share in enumerate(row)
    ]
    x = alt.X("tenth:O").title("tenth of all people, by the attacker's score")
    y = alt.Y("share:Q").title("share of each group").axis(format=".0%", tickCount=5)
    y = y.scale(domain=[0, highest], nice=False)
    colour = alt.Color("who:O").legend(None).scale(domain=[0, 1], range=["var(--v1)", "var(--v2)"])
    bars = (
        alt.Chart(_data(rows))
        .mark_bar()
        .encode(x.axis(labelAngle=0).scale(paddingInner=0.22), y, alt.XOffset("who:O"), colour)
    )
    flat = alt.Chart(_data([{"share": 1 / TENTHS}])).mark_rule(
        stroke="var(--ink)", strokeDash=[5, 4]
    )
    return _svg(alt.layer(bars, flat.encode(alt.Y("share:Q"))).properties(width=390, height=210))


def _data(rows: Sequence[dict[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=list(rows))


def _cycle(values: Sequence[str], keys: Sequence[str]) -> list[str]:
    return [values[number % len(values)] for number in range(len(keys))]


def _padded(values: Sequence[float], pad: float) -> list[float]:
    """Ends of an axis of AUCs, in hundredths."""
    low, high = min(values) - pad / 2, max(values) + pad
    return [max(0.0, math.floor(low * 100) / 100), min(1.05, math.ceil(high * 100) / 100)]


def _guessing(channel: alt.X | alt.Y) -> alt.Chart:
    """The line where an attacker only guesses."""
    rule = alt.Chart(_data([{"auc": 0.5}])).mark_rule(stroke="var(--ink)", strokeDash=[5, 4])
    line: alt.Chart = rule.encode(channel)
    return line


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
