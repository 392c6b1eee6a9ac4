"""Format a comparison as a LaTeX table with the package booktabs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import ConfigError
from tacit.evaluation.result import format_latex_cell, group_by

_SMALLER_IS_BETTER = ("rmse", "mae", "gini", "epsilon_lower_bound")
"""Beginnings of the names of metrics of which the smallest figure is the best, as it is of all AUCs
of attackers."""
_HEADINGS = {
    "ndcg": "NDCG@10",
    "recall": "Recall@10",
    "precision": "Precision@10",
    "mrr": "MRR@10",
    "map": "MAP@10",
    "hit_rate": "Hit rate@10",
    "rmse": "RMSE",
    "mae": "MAE",
    "membership_auc": "Membership AUC",
    "epsilon_lower_bound": r"$\varepsilon$ at least",
}
"""Headings of metrics, by the part of their names before "@"; for other metrics, their names."""


@dataclass(frozen=True)
class ColumnGroup:
    """Columns of one metric."""

    metric: str
    """Name of the metric."""
    epsilons: tuple[float | None, ...]
    """Epsilon of each column; infinity: no noise; None: recommenders that claim no epsilon."""


def format_comparison(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> str:
    """Format a comparison: designs in rows, epsilons in columns, best bold, intervals small.

    Rows with the same unit and adversary are a block, below a line that names both. In each block
    the best figure of each column is bold, if the column has several. Recommenders without epsilon
    share a last column.

    Args:
        rows: Rows of a comparison.
        metrics: Metrics to print, each with its columns.

    Raises:
        ConfigError: A metric is in no row.
    """
    known_metrics = list(dict.fromkeys(row["metric"] for row in rows))
    for metric in metrics:
        if metric not in known_metrics:
            raise ConfigError(
                f"No metric '{metric}' in this comparison. It has {', '.join(known_metrics)}."
            )
    epsilons = _list_columns(rows)
    groups = [ColumnGroup(metric, epsilons) for metric in metrics]
    width = len(epsilons) * len(metrics)
    lines = [rf"\begin{{tabular}}{{l{'r' * width}}}", r"\toprule", *_format_heads(groups)]
    blocks = group_by(rows, lambda row: (row["unit"], row["against"]))
    for (unit, against), rows_of_block in blocks.items():
        title = unit if against == "–" else f"{unit}, against {against}"
        cell = format_latex_cell(title)
        lines += [r"\midrule", rf"\multicolumn{{{width + 1}}}{{l}}{{\emph{{{cell}}}}} \\"]
        lines += _format_rows(rows_of_block, groups)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _list_columns(rows: Sequence[Mapping[str, Any]]) -> tuple[float | None, ...]:
    """Return the epsilons of the rows in rising order, and None last if a row has no epsilon."""
    epsilons = {row["epsilon"] for row in rows}
    columns: list[float | None] = [*sorted(epsilon for epsilon in epsilons if epsilon is not None)]
    if None in epsilons:
        columns.append(None)
    return tuple(columns)


def _format_heads(groups: Sequence[ColumnGroup]) -> list[str]:
    """Return three lines: the headings of metrics, a rule below each of them, and the epsilons."""
    metrics = [""]
    rules = []
    epsilons = [r"$\varepsilon$"]
    first_column = 2  # LaTeX counts from 1; column 1 names the designs
    for group in groups:
        width = len(group.epsilons)
        last_column = first_column + width - 1
        heading = _HEADINGS.get(group.metric.partition("@")[0], format_latex_cell(group.metric))
        metrics.append(rf"\multicolumn{{{width}}}{{c}}{{{heading}}}")
        rules.append(rf"\cmidrule(lr){{{first_column}-{last_column}}}")
        epsilons += [_format_epsilon(epsilon) for epsilon in group.epsilons]
        first_column = last_column + 1
    return [" & ".join(metrics) + r" \\", " ".join(rules), " & ".join(epsilons) + r" \\"]


def _format_epsilon(epsilon: float | None) -> str:
    """Format an epsilon as the heading of a column."""
    if epsilon is None:
        return "none"
    return r"$\infty$" if math.isinf(epsilon) else f"{epsilon:g}"


def _format_rows(rows: Sequence[Mapping[str, Any]], groups: Sequence[ColumnGroup]) -> list[str]:
    """Format the lines of one block: one for each design, and one for each published variant."""
    row_by_cell: dict[tuple[str, str, float | None], Mapping[str, Any]] = {}
    designs: dict[str, None] = {}
    values_of_column: dict[tuple[str, float | None], list[float]] = {}
    for row in rows:
        name = row["design"]
        if row["variant"] == "published":
            name = f"{name} (published)"
        designs[name] = None
        row_by_cell[name, row["metric"], row["epsilon"]] = row
    for (_, metric, epsilon), row in row_by_cell.items():
        values_of_column.setdefault((metric, epsilon), []).append(row["value"])
    best = {}
    for (metric, epsilon), values in values_of_column.items():
        if len(values) > 1:
            is_auc = metric.partition(" ")[0].endswith("_auc")
            smallest_is_best = is_auc or metric.startswith(_SMALLER_IS_BETTER)
            best[metric, epsilon] = min(values) if smallest_is_best else max(values)
    lines = []
    for design in designs:
        cells = [format_latex_cell(design)]
        for group in groups:
            for epsilon in group.epsilons:
                cell_row = row_by_cell.get((design, group.metric, epsilon))
                cells.append(_format_cell(cell_row, best.get((group.metric, epsilon))))
        lines.append(" & ".join(cells) + r" \\")
    return lines


def _format_cell(row: Mapping[str, Any] | None, best: float | None) -> str:
    """Format a cell: a figure, bold if it is the best, and its interval in small print.

    Args:
        row: Row of the comparison; None for an empty cell.
        best: Best figure of the column; None: no figure is bold.
    """
    if row is None:
        return ""
    text = _format_number(row["value"])
    if best is not None and row["value"] == best:
        text = rf"\textbf{{{text}}}"
    if None in (row["low"], row["high"]) or row["low"] == row["high"]:
        return text
    ends = f"[{_format_number(row['low'])}, {_format_number(row['high'])}]"
    return rf"{text} {{\scriptsize {ends}}}"


def _format_number(value: float) -> str:
    """Format a number with three decimals: 0.25 as .250, 1.5 as 1.500, 0 and -0.0001 as 0.000."""
    text = f"{value:.3f}"
    if text in ("0.000", "-0.000"):
        return "0.000"
    if abs(value) >= 1:
        return text
    return text.replace("0.", ".", 1)
