"""The page of a comparison: what is listed for everybody and for each group, by epsilon."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.evaluation import Table
from tacit.evaluation.compare import NOBODY, Compared, group_of
from tacit.evaluation.lists import LIST_LENGTH
from tacit.evaluation.page import Cell, Figure, Mark, Page, Section

HEADINGS = {
    "ndcg": "NDCG@10",
    "recall": "recall@10",
    "mrr": "MRR@10",
    "rmse": "RMSE, stars",
    "membership_auc": "membership AUC",
    "epsilon_lower_bound": "epsilon at least",
}
"""Of the page, by the metric's name before its @; others stand as they are."""
_INKS = ("var(--a1)", "var(--a2)", "var(--a3)", "var(--a4)")
_LEAD = (
    "The same people, splits and seeds for every row. Each table has one unit and one adversary: "
    "an epsilon of one table says nothing about an epsilon of another. Small figures are 95% "
    "intervals of means over splits. Membership AUC: 0.5 is guessing; the interval is of attacked "
    "fits."
)


def page_of(found: Compared, manifest: Mapping[str, Any]) -> Page:
    """A section of everybody, one for each kind of group, and what could not be compared."""
    plots = _plots(found)
    sections = [
        Section(
            f"Who pays: lists by {by}" if by else "Everybody",
            figures=[
                _figure(*table, *(plots.get(table[:2], ("", ())) if not by else ("", ())))
                for table in found.tables(by)
            ],
        )
        for by in dict.fromkeys(group_of(row["metric"]) for row in found.rows)
    ]
    if found.left_out:
        notes = [f"{name}: {reason}." for name, reason in found.left_out.items()]
        sections.append(Section("Not compared", notes=notes))
    return Page("Designs compared", sections, manifest, lead=_LEAD)


def _figure(
    unit: str,
    against: str,
    names: Sequence[str],
    lines: Sequence[Sequence[str]],
    plot: str,
    key: Sequence[Mark],
) -> Figure:
    title = unit if against == "–" else f"{unit}, against {against}"
    rows = []
    for line in lines:
        split = [cell.removesuffix(")").partition(" (") for cell in line[3:]]
        rows.append((*line[:3], *(Cell(mean, ends) for mean, _, ends in split)))
    table = Table(unit, ("design", "variant", "epsilon", *map(_heading, names)), rows)
    alt = f"Line plot: NDCG by epsilon for {unit}; the table holds the same figures."
    return Figure(title, alt, (("", plot),) if plot else (), key=key, table=table)


def _heading(metric: str) -> str:
    """A column's: a group's own name where the table is of groups."""
    name, _, group = metric.partition(" ")
    known = HEADINGS.get(name.partition("@")[0], metric)
    return group.partition(":")[2] or known.replace("_auc", " AUC from lists")


def _plots(found: Compared) -> dict[tuple[str, str], tuple[str, list[Mark]]]:
    """NDCG by epsilon, one plot for each unit and adversary, with its key.

    Baselines are levels: the popular items, and the best of the others.
    """
    from tacit.evaluation.plots import Curve, curves

    name = f"ndcg@{LIST_LENGTH}"
    points = [row for row in found.rows if row["metric"] == name]
    levels = [row for row in points if row["unit"] == NOBODY]
    rivals = [row for row in levels if row["design"] != "popularity"]
    best = [max(rivals, key=lambda row: float(row["value"]))] if rivals else []
    drawn: dict[tuple[str, str], dict[str, list[Mapping[str, Any]]]] = {}
    for row in points:
        if row["epsilon"] is not None and math.isfinite(row["epsilon"]):
            lines = drawn.setdefault((row["unit"], row["against"]), {})
            lines.setdefault(f"{row['design']}, {row['variant']}", []).append(row)
    figures = {}
    for unit, lines in drawn.items():
        if max(map(len, lines.values())) < 2:
            continue
        for row in [*(row for row in levels if row["design"] == "popularity"), *best]:
            lines[row["design"]] = [row]
        inks = [_INKS[place % len(_INKS)] for place in range(len(lines))]
        plot = curves(
            [
                Curve(f"line {place}", ink, (), tuple(map(_point, rows)))
                for place, (ink, rows) in enumerate(zip(inks, lines.values(), strict=True))
            ],
            x_title="epsilon, for the unit above",
            y_title=HEADINGS["ndcg"],
            log=True,
        )
        figures[unit] = (
            plot,
            [Mark(name, ink, sign="●") for ink, name in zip(inks, lines, strict=True)],
        )
    return figures


def _point(row: Mapping[str, Any]) -> tuple[float | None, float, float, float]:
    middle = row["value"]
    low, high = (middle if row[end] is None else row[end] for end in ("low", "high"))
    return row["epsilon"], middle, low, high
