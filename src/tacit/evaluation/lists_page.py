"""The page of `tacit evaluate`: a verdict, a plot of NDCG over epsilon, then the table.

The rival is a recommender without privacy: EASE in one domain, a ridge regression between two.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.evaluation.accuracy_figures import MeasuredEntry, accuracy_over_epsilon
from tacit.evaluation.intervals import Interval
from tacit.evaluation.lists import POPULARITY, ListRow
from tacit.evaluation.page import Page, Section
from tacit.evaluation.result import Table
from tacit.evaluation.verdict import Verdict

UNIT = "a person's whole profile"
"""Unit of the epsilons, for the title of the plot's axis."""


def make_lists_page(
    title: str, rows: Sequence[ListRow], table: Table, manifest: Mapping[str, Any]
) -> Page:
    """Make the page of a design whose lists were judged.

    Args:
        title: Title of the design.
        rows: Rows of popularity, the rival, and the design at its epsilons.
        table: Table of the same rows.
        manifest: How the result was made.
    """
    measured = []
    for row in rows:
        interval = Interval(row.ndcg, row.low, row.high)
        measured.append(MeasuredEntry(row.model, row.epsilon, interval))
    sections = []
    figure = accuracy_over_epsilon(measured, "Accuracy over epsilon", UNIT)
    if figure is not None:
        sections.append(Section("Accuracy", figures=[figure]))
    sections.append(Section(table.title, [table]))
    return Page(title, sections, manifest, make_verdict(rows))


def make_verdict(rows: Sequence[ListRow]) -> Verdict | None:
    """Make the verdict: what share of the rival's gain the design keeps.

    The design is judged at its epsilon nearest to 1 on a logarithmic scale. The verdict's state is
    "good" if the whole interval of the design's NDCG is above popularity's NDCG, "worse" if it is
    below, and otherwise "none".

    Args:
        rows: Rows of popularity, the rival, and the design at its epsilons, in this order.

    Returns:
        The verdict; None if no row has a finite epsilon, or the first is not popularity's.
    """
    popularity = rows[0]
    rival = rows[1]
    private = [row for row in rows if row.epsilon is not None and math.isfinite(row.epsilon)]
    if popularity.model != POPULARITY.model or not private:
        return None
    rows_of_design = [row for row in private if row.model == private[0].model]
    # Every epsilon here is above 0; `or` is for the type checker, since None was filtered out.
    judged = min(rows_of_design, key=lambda row: abs(math.log(row.epsilon or 1.0)))
    name = f"{judged.model} at epsilon {judged.epsilon:g}"
    if judged.kept is None:
        headline = f"{rival.model} gains nothing over popularity here: there is no gain to keep."
    elif judged.kept < 0:
        headline = f"{name} is below popularity here, and keeps none of {rival.model}'s gain."
    else:
        headline = f"{name} keeps {judged.kept:.0%} of {rival.model}'s gain over popularity."
    state = "none"
    if judged.low > popularity.ndcg:
        state = "good"
    elif judged.high < popularity.ndcg:
        state = "worse"
    sentence = (
        f"NDCG@10 of {name} is {judged.ndcg:.3f} [{judged.low:.3f}, {judged.high:.3f}], "
        f"of popularity {popularity.ndcg:.3f}, of {rival.model} without privacy {rival.ndcg:.3f}. "
        "Intervals are of means over splits; for tests of differences run tacit compare."
    )
    return Verdict(state, headline, sentence)
