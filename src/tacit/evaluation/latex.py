"""Tables of LaTeX with booktabs, as papers print them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.errors import ConfigError
from tacit.evaluation.result import group_by, write_latex_cell

_SMALLER_IS_BETTER = ("rmse", "mae", "gini", "membership_auc", "epsilon_lower_bound")
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


@dataclass(frozen=True)
class ColumnGroup:
    """Columns of one metric: one for each epsilon, and one for what has none."""

    metric: str
    """Name of the metric."""
    epsilons: tuple[float | None, ...]
    """Epsilon of each column; infinity: no noise; None: none is claimed."""


def write_comparison(rows: Sequence[Mapping[str, Any]], metrics: Sequence[str]) -> str:
    """Write a comparison: designs in rows, epsilons in columns, best bold, intervals small.

    Epsilons of one unit and adversary stand below one line that names them; the best of each
    column is bold within them. Recommenders without epsilon have a column of their own.

    Args:
        rows: Rows of a comparison.
        metrics: Metrics to print, each with its columns.

    Raises:
        ConfigError: A metric is in no row.
    """
    known = list(dict.fromkeys(row["metric"] for row in rows))
    for metric in metrics:
        if metric not in known:
            raise ConfigError(
                f"No metric '{metric}' in this comparison. It has {', '.join(known)}."
            )
    epsilons = _columns_of(rows)
    groups = [ColumnGroup(metric, epsilons) for metric in metrics]
    width = len(epsilons) * len(metrics)
    lines = [rf"\begin{{tabular}}{{l{'r' * width}}}", r"\toprule", *_write_heads(groups)]
    for (unit, against), own in group_by(rows, lambda row: (row["unit"], row["against"])).items():
        title = unit if against == "–" else f"{unit}, against {against}"
        cell = write_latex_cell(title)
        lines += [r"\midrule", rf"\multicolumn{{{width + 1}}}{{l}}{{\emph{{{cell}}}}} \\"]
        lines += _write_rows(own, groups)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _columns_of(rows: Sequence[Mapping[str, Any]]) -> tuple[float | None, ...]:
    """List epsilons in rising order, then no noise, then none claimed."""
    found = {row["epsilon"] for row in rows}
    numbers: list[float | None] = [*sorted(each for each in found if each is not None)]
    return tuple(numbers + [None] * (None in found))


def _write_heads(groups: Sequence[ColumnGroup]) -> list[str]:
    """Write two lines: metrics with a rule below each, and epsilons."""
    names = [""]
    rules = []
    numbers = [r"$\varepsilon$"]
    first = 2
    for group in groups:
        width = len(group.epsilons)
        heading = _HEADINGS.get(group.metric.partition("@")[0], write_latex_cell(group.metric))
        names.append(rf"\multicolumn{{{width}}}{{c}}{{{heading}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + width - 1}}}")
        numbers += [_write_epsilon(epsilon) for epsilon in group.epsilons]
        first += width
    return [" & ".join(names) + r" \\", " ".join(rules), " & ".join(numbers) + r" \\"]


def _write_epsilon(epsilon: float | None) -> str:
    if epsilon is None:
        return "none"
    return r"$\infty$" if math.isinf(epsilon) else f"{epsilon:g}"


def _write_rows(rows: Sequence[Mapping[str, Any]], groups: Sequence[ColumnGroup]) -> list[str]:
    by_cell = {}
    designs: dict[str, None] = {}
    for row in rows:
        name = row["design"]
        if row["variant"] == "published":
            name = f"{name} ({row['variant']})"
        designs[name] = None
        by_cell[name, row["metric"], row["epsilon"]] = row
    best = {}
    for group in groups:
        for epsilon in group.epsilons:
            places = [(design, group.metric, epsilon) for design in designs]
            found = [by_cell[place]["value"] for place in places if place in by_cell]
            if len(found) > 1:
                is_small = group.metric.startswith(_SMALLER_IS_BETTER)
                best[group.metric, epsilon] = min(found) if is_small else max(found)
    lines = []
    for design in designs:
        cells = [write_latex_cell(design)]
        for group in groups:
            for epsilon in group.epsilons:
                cell_row = by_cell.get((design, group.metric, epsilon))
                cells.append(_write_cell(cell_row, best.get((group.metric, epsilon))))
        lines.append(" & ".join(cells) + r" \\")
    return lines


def _write_cell(row: Mapping[str, Any] | None, best: float | None) -> str:
    """Write a figure without the zero before the point, its interval small; bold if it is best."""
    if row is None:
        return ""
    text = _write_number(row["value"])
    if best is not None and row["value"] == best:
        text = rf"\textbf{{{text}}}"
    if None in (row["low"], row["high"]) or row["low"] == row["high"]:
        return text
    ends = f"[{_write_number(row['low'])}, {_write_number(row['high'])}]"
    return rf"{text} {{\scriptsize {ends}}}"


def _write_number(value: float) -> str:
    text = f"{value:.3f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and text != "0.000" else text
