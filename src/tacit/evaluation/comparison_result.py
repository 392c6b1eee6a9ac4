"""Rows of a comparison, as tables for a terminal and for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from tacit.evaluation.page import Cell, Page, Section
from tacit.evaluation.result import Result, Table, group_by

COLUMNS = ("design", "variant", "epsilon", "unit", "against", "metric", "value", "low", "high")
_HEADINGS = {
    "ndcg": "NDCG@10",
    "recall": "recall@10",
    "mrr": "MRR@10",
    "rmse": "RMSE, stars",
    "membership_auc": "membership AUC",
    "epsilon_lower_bound": "epsilon at least",
}
"""Headings by the metric's name before its @; other metrics stand as they are."""
_LEAD = (
    "The same people, splits and seeds for every row. Each table has one unit and one adversary: "
    "an epsilon of one table says nothing about an epsilon of another. Small figures are 95% "
    "intervals of means over splits. Membership AUC: 0.5 is guessing; the interval is of attacked "
    "fits."
)


@dataclass(frozen=True)
class UnitTable:
    """Lines of all entries whose epsilons have one unit and one adversary."""

    unit: str
    """Unit of the epsilons."""
    against: str
    """Adversary that they hold against; "–" for none."""
    metrics: list[str]
    """Metrics, one for each column after the first three."""
    lines: list[list[str]]
    """Design, variant, epsilon, then a cell for each metric."""

    @property
    def title(self) -> str:
        """Title on a page."""
        return self.unit if self.against == "–" else f"{self.unit}, against {self.against}"


class ComparisonResult(Result):
    """Rows with `COLUMNS`. An epsilon of None: none is claimed; infinity: no noise."""

    @property
    def excluded_designs(self) -> Mapping[str, str]:
        """Designs that do not fit the data, and why."""
        return dict(self.data["left_out"])

    def tables(self, by: str = "") -> list[UnitTable]:
        """Make a table for each unit and adversary.

        Args:
            by: "" for metrics of everybody, else those of groups that begin so, as "activity".
        """
        rows = [row for row in self.rows if group_of(row["metric"]) == by]
        tables = []
        for (unit, against), own in group_by(rows, itemgetter("unit", "against")).items():
            metrics = list(dict.fromkeys(row["metric"] for row in own))
            lines = []
            entries = group_by(own, itemgetter("design", "variant", "epsilon"))
            for (design, variant, epsilon), of_entry in entries.items():
                cells = {row["metric"]: _write_mean(row) for row in of_entry}
                line = [cells.get(metric, "–") for metric in metrics]
                lines.append([design, variant, write_epsilon(epsilon), *line])
            tables.append(UnitTable(unit, against, metrics, lines))
        return tables

    def page(self, manifest: Mapping[str, Any]) -> Page:
        """Make a page: everybody, each kind of group, and what could not be compared.

        Args:
            manifest: How the result was made.
        """
        sections = []
        for by in dict.fromkeys(group_of(row["metric"]) for row in self.rows):
            title = f"Who pays: lists by {by}" if by else "Everybody"
            sections.append(Section(title, [_page_table(table) for table in self.tables(by)]))
        if self.excluded_designs:
            notes = [f"{name}: {reason}." for name, reason in self.excluded_designs.items()]
            sections.append(Section("Not compared", notes=notes))
        return Page("Designs compared", sections, manifest, lead=_LEAD)


def group_of(metric: str) -> str:
    """Return the kind of group of a metric: `activity` of `ndcg@10 activity:low`, "" for all."""
    return metric.partition(" ")[2].partition(":")[0]


def write_epsilon(value: float | None) -> str:
    """Write an epsilon for people."""
    if value is None:
        return "–"
    return "no noise" if math.isinf(value) else f"{value:g}"


def _page_table(table: UnitTable) -> Table:
    rows = []
    for line in table.lines:
        cells = []
        for text in line[3:]:
            mean, _, ends = text.removesuffix(")").partition(" (")
            cells.append(Cell(mean, ends))
        rows.append((*line[:3], *cells))
    headings = [_column_heading(metric) for metric in table.metrics]
    return Table(table.title, ("design", "variant", "epsilon", *headings), rows)


def _column_heading(metric: str) -> str:
    """Name a column: by the metric, or by the group where the table is of groups."""
    name, _, group = metric.partition(" ")
    heading = _HEADINGS.get(name.partition("@")[0], metric)
    return group.partition(":")[2] or heading.replace("_auc", " AUC from lists")


def _write_mean(row: Mapping[str, Any]) -> str:
    if None in (row["low"], row["high"]) or row["low"] == row["high"]:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
