"""The result of a comparison: its rows, as tables, figures, LaTeX, and a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from operator import itemgetter
from pathlib import Path
from typing import Any

from tacit.errors import ConfigError
from tacit.evaluation.accuracy_figures import Picture, format_standalone_svg, write_figures
from tacit.evaluation.comparison_page import differences_table, make_figures, make_verdict
from tacit.evaluation.latex import format_comparison
from tacit.evaluation.lists import LIST_LENGTH
from tacit.evaluation.page import Cell, Figure, Page, Section
from tacit.evaluation.result import Result, Table, group_by
from tacit.views import table as html_table

COLUMNS = ("design", "variant", "epsilon", "unit", "against", "metric", "value", "low", "high")
"""Columns of the rows of a comparison."""
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
"""Headings of metrics, by the part of their names before "@"; for other metrics, their names."""
NO_NOISE = "no noise"
"""Text for an infinite epsilon."""
_METRICS_IN_NOTEBOOKS = ("ndcg@10", "recall@10", "rmse", "membership_auc")
"""Metrics of the tables that a notebook shows."""
_NO_EPSILON = (
    "No epsilon covers this page: its means and its counts of people, items and ratings are exact, "
    "and each person's ratings change them a little. Show it only to people who may learn that."
)
"""Last sentences of the first paragraph of the page."""
_LEAD = (
    "The same people, splits and seeds for every row. Each table has one unit and one adversary: "
    "an epsilon of one table says nothing about an epsilon of another. Small numbers are 95 % "
    "intervals: over people and splits for metrics that each person has, otherwise over splits. "
    "Membership AUC: 0.5 is guessing; its interval is over the attacked fits. If a group has fewer "
    "than 20 test people, it is left out, with all groups of its kind."
)
"""First paragraph of the page, after the sentences on the protocol."""


@dataclass(frozen=True)
class UnitTable:
    """Table of all entries whose epsilons have one unit and one adversary."""

    unit: str
    """Unit of the epsilons."""
    against: str
    """Adversary against whom these epsilons hold; "–" if there is none."""
    metrics: list[str]
    """Names of the metrics in the columns after the first three."""
    lines: list[list[str]]
    """For each entry its design, variant and epsilon, then the text for each metric."""

    @property
    def title(self) -> str:
        """Title of the table on a page."""
        return self.unit if self.against == "–" else f"{self.unit}, against {self.against}"


class ComparisonResult(Result):
    """Result of a comparison: `rows` with the columns `COLUMNS`.

    Epsilon is None if no epsilon is claimed, and infinity if there is no noise. The ends of an
    interval are None if they are not known.
    """

    @property
    def excluded_designs(self) -> Mapping[str, str]:
        """Names of designs and tasks that are not compared, each with the reason."""
        return dict(self.data["left_out"])

    def tables(self, by: str = "") -> list[UnitTable]:
        """Make a table of the rows for each unit and adversary.

        Args:
            by: Kind of group whose metrics the tables have, such as "activity"; "": metrics of
                everybody.
        """
        rows = [row for row in self.rows if group_of(row["metric"]) == by]
        tables = []
        blocks = group_by(rows, itemgetter("unit", "against"))
        for (unit, against), rows_of_unit in blocks.items():
            metrics = list(dict.fromkeys(row["metric"] for row in rows_of_unit))
            lines = []
            entries = group_by(rows_of_unit, itemgetter("design", "variant", "epsilon"))
            for (design, variant, epsilon), rows_of_entry in entries.items():
                cell_by_metric = {row["metric"]: _format_mean(row) for row in rows_of_entry}
                cells = [cell_by_metric.get(metric, "–") for metric in metrics]
                lines.append([design, variant, format_epsilon(epsilon), *cells])
            tables.append(UnitTable(unit, against, metrics, lines))
        return tables

    @property
    def differences(self) -> list[dict[str, Any]]:
        """Tested differences of NDCG@10 between entries and references; empty with one split."""
        return list(self.data.get("differences", ()))

    @property
    def short_lists(self) -> list[str]:
        """Sentences about the caller's models whose lists are much shorter than the longest."""
        return list(self.data.get("short_lists", ()))

    def figures(self) -> dict[str, Figure]:
        """Draw NDCG over epsilon for each unit, and NDCG against the success of attacks.

        Returns:
            Figures by the names of their files: "accuracy", "accuracy-2" and so on for units, and
            "attacks".

        Raises:
            MissingExtra: The extra `plots` is not installed.
        """
        return make_figures(self.rows)

    def picture(self, name: str = "accuracy") -> Picture:
        """Draw one of the figures of `figures`, for a notebook.

        Args:
            name: Name of the figure.

        Raises:
            ConfigError: There is no figure of this name.
            MissingExtra: The extra `plots` is not installed.
        """
        figures = self.figures()
        if name not in figures:
            known = ", ".join(figures) or "none"
            raise ConfigError(f"This comparison has no figure '{name}'. It has {known}.")
        return Picture(format_standalone_svg(figures[name]))

    def write_figures(self, folder: str | Path) -> list[Path]:
        """Write each figure to the folder as SVG and as PNG, and return the paths of the files."""
        return write_figures(self.figures(), Path(folder))

    def to_latex(self, metrics: Sequence[str] = ("ndcg@10",)) -> str:
        """Return a LaTeX table for booktabs: designs in rows, epsilons in columns, best bold.

        Args:
            metrics: Metrics to print, each with a column for each epsilon.

        Raises:
            ConfigError: A metric is in no row.
        """
        return format_comparison(self.rows, metrics)

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: the verdict, and for each unit a table of a few metrics."""
        verdict = make_verdict(self.rows, self.differences)
        parts = []
        if verdict is not None:
            parts.append(f"<p><b>{escape(verdict.headline)}</b></p>")
            parts.append(f"<p>{escape(verdict.sentence)}</p>")
        for table in self.tables():
            shown = [metric for metric in table.metrics if metric in _METRICS_IN_NOTEBOOKS]
            lines = []
            for design, _, epsilon, *cells in table.lines:
                shown_cells = [cells[table.metrics.index(metric)] for metric in shown]
                lines.append((design, epsilon, *shown_cells))
            headings = [_format_column_heading(metric) for metric in shown]
            parts.append(html_table(table.title, ("recommender", "epsilon", *headings), lines))
        parts += [f"<p>{escape(sentence)}</p>" for sentence in self.short_lists]
        return "".join(parts)

    def page(self, manifest: Mapping[str, Any]) -> Page:
        """Make the page of the comparison.

        Its sections are: figures, metrics of each kind of group, metrics of everybody, tested
        differences, and what could not be compared. All but the first are left out if empty.

        The page shows no digest of the ratings: with it, anyone who guesses a file of ratings could
        check the guess.

        Args:
            manifest: How the result was made, as `manifest.manifest` describes it.
        """
        figures = self.figures()
        groups = list(dict.fromkeys(group_of(row["metric"]) for row in self.rows))
        sections = [Section("Accuracy and attacks", figures=list(figures.values()))]
        for group in groups:
            if group:
                tables = [_make_page_table(table, table.metrics) for table in self.tables(group)]
                sections.append(Section(f"Lists by {group}", tables))
        if "" in groups:
            tables_of_everybody: list[Table] = []
            for table in self.tables():
                tables_of_everybody += _make_page_tables(table)
            sections.append(Section("Everybody", tables_of_everybody, notes=self.short_lists))
        tested = differences_table(self.differences)
        if tested is not None:
            count = len(self.differences)
            note = (
                "Differences are paired over people and splits. Each has its own 95 % interval; p "
                f"values are corrected by Holm for {count} differences. Coloured where p is below "
                "0.05."
            )
            sections.append(Section("Which differences count", [tested], notes=[note]))
        if self.excluded_designs:
            reasons = self.excluded_designs.items()
            notes = [f"{name}: {reason.rstrip('.')}." for name, reason in reasons]
            sections.append(Section("Not compared", notes=notes))
        lead = f"{self.data.get('protocol', '')} {_LEAD} {_NO_EPSILON}".strip()
        verdict = make_verdict(self.rows, self.differences)
        shown = _leave_digest_out(manifest)
        return Page("Designs compared", sections, shown, verdict, lead=lead)


def _leave_digest_out(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest without the digest of the ratings."""
    shown = dict(manifest)
    if "data" in shown:
        shown["data"] = {key: value for key, value in shown["data"].items() if key != "sha256"}
    return shown


def group_of(metric: str) -> str:
    """Return the kind of group that a metric is of: "activity" for "ndcg@10 activity:low".

    It is "" for a metric of everybody, such as "ndcg@10".
    """
    return metric.partition(" ")[2].partition(":")[0]


def format_epsilon(value: float | None) -> str:
    """Format an epsilon for a table: "–" for None, "no noise" for infinity."""
    if value is None:
        return "–"
    return NO_NOISE if math.isinf(value) else f"{value:g}"


def _make_page_table(table: UnitTable, metrics: Sequence[str]) -> Table:
    """Make a page's table of some metrics; its first column names design, epsilon and variant.

    Args:
        table: Table of the entries of one unit.
        metrics: Names of the metrics, in the order of their columns.
    """
    rows = []
    for design, variant, epsilon, *texts in table.lines:
        cells = []
        for metric in metrics:
            text = texts[table.metrics.index(metric)]
            mean, _, ends = text.removesuffix(")").partition(" (")
            cells.append(Cell(mean, ends))
        name = design
        if epsilon != "–":
            name = f"{design}, {epsilon}" if epsilon == NO_NOISE else f"{design}, ε {epsilon}"
        rows.append((Cell(name, variant), *cells))
    headings = [_format_column_heading(metric) for metric in metrics]
    return Table(table.title, ("recommender", *headings), rows)


def _make_page_tables(table: UnitTable) -> list[Table]:
    """Divide a table for a page: metrics of lists by likes ("ndcg@10"), and all others, if any."""
    accuracy = [metric for metric in table.metrics if metric.endswith(f"@{LIST_LENGTH}")]
    others = [metric for metric in table.metrics if metric not in accuracy]
    return [_make_page_table(table, metrics) for metrics in (accuracy, others) if metrics]


def _format_column_heading(metric: str) -> str:
    """Return the heading of a metric's column.

    It is the group's name, such as "low", for "ndcg@10 activity:low"; "gender AUC from lists" for
    "gender_auc"; for other metrics, that of `_HEADINGS` or their name.
    """
    name, _, group = metric.partition(" ")
    if group:
        return group.partition(":")[2]
    heading = _HEADINGS.get(name.partition("@")[0], metric)
    return heading.replace("_auc", " AUC from lists")


def _format_mean(row: Mapping[str, Any]) -> str:
    """Format a mean with its interval, "0.251 (0.240 to 0.262)", or alone if it has none."""
    if None in (row["low"], row["high"]) or row["low"] == row["high"]:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} ({row['low']:.3f} to {row['high']:.3f})"
