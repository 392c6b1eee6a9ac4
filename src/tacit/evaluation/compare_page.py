"""The page of a comparison: tables of everybody and of each group, one for each unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.evaluation import Table
from tacit.evaluation.compare import Compared, group_of
from tacit.evaluation.page import Cell, Page, Section

_HEADINGS = {
    "ndcg": "NDCG@10",
    "recall": "recall@10",
    "mrr": "MRR@10",
    "rmse": "RMSE, stars",
    "membership_auc": "membership AUC",
    "epsilon_lower_bound": "epsilon at least",
}
"""By the metric's name before its @; others stand as they are."""
_LEAD = (
    "The same people, splits and seeds for every row. Each table has one unit and one adversary: "
    "an epsilon of one table says nothing about an epsilon of another. Small figures are 95% "
    "intervals of means over splits. Membership AUC: 0.5 is guessing; the interval is of attacked "
    "fits."
)


def page_of(compared: Compared, manifest: Mapping[str, Any]) -> Page:
    """A section of everybody, one for each kind of group, and what could not be compared."""
    sections = [
        Section(
            f"Who pays: lists by {by}" if by else "Everybody",
            [_table(*each) for each in compared.tables(by)],
        )
        for by in dict.fromkeys(group_of(row["metric"]) for row in compared.rows)
    ]
    if compared.left_out:
        notes = [f"{name}: {reason}." for name, reason in compared.left_out.items()]
        sections.append(Section("Not compared", notes=notes))
    return Page("Designs compared", sections, manifest, lead=_LEAD)


def _table(unit: str, against: str, names: Sequence[str], lines: Sequence[Sequence[str]]) -> Table:
    rows = []
    for line in lines:
        split = [cell.removesuffix(")").partition(" (") for cell in line[3:]]
        rows.append((*line[:3], *(Cell(mean, ends) for mean, _, ends in split)))
    title = unit if against == "–" else f"{unit}, against {against}"
    return Table(title, ("design", "variant", "epsilon", *map(_heading, names)), rows)


def _heading(metric: str) -> str:
    """A column's: a group's own name where the table is of groups."""
    name, _, group = metric.partition(" ")
    known = _HEADINGS.get(name.partition("@")[0], metric)
    return group.partition(":")[2] or known.replace("_auc", " AUC from lists")
