"""Rows of a comparison, as tables for a terminal and for a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError
from tacit.evaluation.accuracy_figures import Picture, stand_alone, write_figures
from tacit.evaluation.comparison_page import differences_table, make_figures, make_verdict
from tacit.evaluation.latex import write_comparison
from tacit.evaluation.lists import LIST_LENGTH
from tacit.evaluation.page import Cell, Figure, Page, Section
from tacit.evaluation.result import Result, Table, group_by
from tacit.views import table as html_table

COLUMNS = ("design", "variant", "epsilon", "unit", "against", "metric", "value", "low", "high")
_HEADINGS = {
    "ndcg": "NDCG@10",
    "recall": "recall@10",
    "mrr": "MRR@10",
    "precision": "precision@10",
    "map": "MAP@10",
    "hit_rate": "hit rate@10",
    "gini": "Gini",
    "rmse": "RMSE, stars",
    "mae": "MAE, stars",
    "membership_auc": "membership AUC",
    "epsilon_lower_bound": "epsilon at least",
}
"""Headings by the metric's name before its @; other metrics stand as they are."""
NO_NOISE = "no noise"
_IN_NOTEBOOKS = ("ndcg@10", "recall@10", "rmse", "membership_auc")
_LEAD = (
    "The same people, splits and seeds for every row. Each table has one unit and one adversary: "
    "an epsilon of one table says nothing about an epsilon of another. Small figures are 95% "
    "intervals, over people and splits where each person has a figure. Membership AUC: 0.5 is "
    "guessing; the interval is of attacked fits."
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

    @property
    def differences(self) -> list[dict[str, Any]]:
        """Tested differences of NDCG@10 to references; none with a single split."""
        return list(self.data.get("differences", ()))

    @property
    def short_lists(self) -> list[str]:
        """Sentences about own models whose lists are shorter than they could be."""
        return list(self.data.get("short_lists", ()))

    def figures(self) -> dict[str, Figure]:
        """Draw NDCG over epsilon for each unit, and NDCG against attack success.

        Returns:
            Figures by names for their files: "accuracy", "accuracy-2" and so on, "attacks".

        Raises:
            MissingExtra: The extra `plots` is not installed.
        """
        return make_figures(self.rows)

    def picture(self, name: str = "accuracy") -> Picture:
        """Draw one of `figures`, for a notebook.

        Raises:
            ConfigError: There is no figure of this name.
        """
        figures = self.figures()
        if name not in figures:
            has = ", ".join(figures) or "none"
            raise ConfigError(f"This comparison has no figure '{name}'. It has {has}.")
        return Picture(stand_alone(figures[name]))

    def write_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure as SVG and as PNG, and return the files."""
        return write_figures(self.figures(), Path(folder))

    def to_latex(self, metrics: Sequence[str] = ("ndcg@10",)) -> str:
        """Write a booktabs table: designs in rows, epsilons in columns, best bold.

        Args:
            metrics: Metrics to print, each with a column for each epsilon.

        Raises:
            ConfigError: A metric is in no row.
        """
        return write_comparison(self.rows, metrics)

    def _repr_html_(self) -> str:
        """Return a table of a few metrics for each unit, and the verdict, for a notebook."""
        verdict = make_verdict(self.rows, self.differences)
        parts = [] if verdict is None else [f"<p><b>{escape(verdict.headline)}</b></p>"]
        if verdict is not None:
            parts.append(f"<p>{escape(verdict.sentence)}</p>")
        for table in self.tables():
            shown = [metric for metric in table.metrics if metric in _IN_NOTEBOOKS]
            places = [3 + table.metrics.index(metric) for metric in shown]
            chosen = itemgetter(0, 2, *places)
            lines = [chosen(line) for line in table.lines]
            headings = [_column_heading(metric) for metric in shown]
            parts.append(html_table(table.title, ("recommender", "epsilon", *headings), lines))
        parts += [f"<p>{escape(sentence)}</p>" for sentence in self.short_lists]
        return "".join(parts)

    def page(self, manifest: Mapping[str, Any]) -> Page:
        """Make a page: everybody, each kind of group, and what could not be compared.

        Args:
            manifest: How the result was made.
        """
        figures = self.figures()
        groups = list(dict.fromkeys(group_of(row["metric"]) for row in self.rows))
        sections = [Section("Accuracy and attacks", figures=list(figures.values()))]
        for by in sorted(groups, key=lambda by: not by):
            title = f"Who pays: lists by {by}" if by else "Everybody"
            tables: list[Table] = []
            for table in self.tables(by):
                tables += [_page_table(table, table.metrics)] if by else _page_tables(table)
            sections.append(Section(title, tables, notes=[] if by else self.short_lists))
        tested = differences_table(self.differences)
        if tested is not None:
            count = len(self.differences)
            note = (
                "Paired over people and splits; intervals of 95 % for each difference alone; p "
                f"values corrected by Holm for {count} differences. Coloured where p is below 0.05."
            )
            sections.append(Section("Which differences count", [tested], notes=[note]))
        if self.excluded_designs:
            notes = [f"{name}: {reason}." for name, reason in self.excluded_designs.items()]
            sections.append(Section("Not compared", notes=notes))
        lead = f"{self.data.get('protocol', '')} {_LEAD}".strip()
        verdict = make_verdict(self.rows, self.differences)
        return Page("Designs compared", sections, manifest, verdict, lead=lead)


def group_of(metric: str) -> str:
    """Return the kind of group of a metric: `activity` of `ndcg@10 activity:low`, "" for all."""
    return metric.partition(" ")[2].partition(":")[0]


def write_epsilon(value: float | None) -> str:
    """Write an epsilon for people."""
    if value is None:
        return "–"
    return NO_NOISE if math.isinf(value) else f"{value:g}"


def _page_table(table: UnitTable, metrics: Sequence[str]) -> Table:
    """Make a table whose first column names design, epsilon and variant, for a narrow screen."""
    places = [3 + table.metrics.index(metric) for metric in metrics]
    rows = []
    for line in table.lines:
        cells = []
        for text in (line[place] for place in places):
            mean, _, ends = text.removesuffix(")").partition(" (")
            cells.append(Cell(mean, ends))
        design, variant, epsilon = line[:3]
        name = design
        if epsilon != "–":
            name = f"{design}, {epsilon}" if epsilon == NO_NOISE else f"{design}, ε {epsilon}"
        rows.append((Cell(name, variant), *cells))
    headings = [_column_heading(metric) for metric in metrics]
    return Table(table.title, ("recommender", *headings), rows)


def _page_tables(table: UnitTable) -> list[Table]:
    """Cut a table of all metrics in two: accuracy of each person's list, and all others."""
    of_people = [metric for metric in table.metrics if metric.endswith(f"@{LIST_LENGTH}")]
    others = [metric for metric in table.metrics if metric not in of_people]
    return [_page_table(table, metrics) for metrics in (of_people, others) if metrics]


def _column_heading(metric: str) -> str:
    """Name a column: by the metric, or by the group where the table is of groups."""
    name, _, group = metric.partition(" ")
    heading = _HEADINGS.get(name.partition("@")[0], metric)
    return group.partition(":")[2] or heading.replace("_auc", " AUC from lists")


def _write_mean(row: Mapping[str, Any]) -> str:
    if None in (row["low"], row["high"]) or row["low"] == row["high"]:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
