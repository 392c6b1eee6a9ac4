"""Parts of the page of a comparison: figures, the verdict, and the table of differences."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.evaluation.accuracy_figures import (
    MeasuredEntry,
    accuracy_against_attack,
    accuracy_over_epsilon,
    assign_colours,
)
from tacit.evaluation.intervals import Interval
from tacit.evaluation.page import Cell, Figure
from tacit.evaluation.result import Table, group_by
from tacit.evaluation.verdict import Verdict

NDCG = "ndcg@10"
"""Metric of the figures and of the verdict."""

_NAMES = {"ease": "EASE", "ridge": "the ridge regression", "popularity": "popularity"}
"""Names of references inside a sentence."""
_STATES = {"better": "good", "tie": "none", "worse": "worse"}
"""State of the verdict by the outcome of the test against popularity."""
Rows = Sequence[Mapping[str, Any]]
"""Rows of a comparison, or of its tested differences."""


def measured_entries(rows: Rows) -> dict[str, list[MeasuredEntry]]:
    """Return the NDCG and the membership AUC of each entry, by the unit of its epsilon."""
    rows_of_entry = group_by(rows, lambda row: (row["unit"], row["design"], row["epsilon"]))
    entries_by_unit: dict[str, list[MeasuredEntry]] = {}
    for (unit, design, epsilon), entry_rows in rows_of_entry.items():
        by_metric = {row["metric"]: _read_interval(row) for row in entry_rows}
        if NDCG in by_metric:
            membership_auc = by_metric.get("membership_auc")
            entry = MeasuredEntry(design, epsilon, by_metric[NDCG], membership_auc)
            entries_by_unit.setdefault(unit, []).append(entry)
    return entries_by_unit


def _read_interval(row: Mapping[str, Any]) -> Interval:
    """Return a row's interval; an unknown end (None) is replaced by the mean."""
    mean = row["value"]
    low = mean if row["low"] is None else row["low"]
    high = mean if row["high"] is None else row["high"]
    return Interval(mean, low, high)


def make_figures(rows: Rows) -> dict[str, Figure]:
    """Draw the figures of a comparison, and return them by the names of their files."""
    entries_by_unit = measured_entries(rows)
    all_entries: list[MeasuredEntry] = []
    for entries in entries_by_unit.values():
        all_entries += entries
    without_epsilon = [entry for entry in all_entries if entry.epsilon is None]
    with_epsilon = [entry for entry in all_entries if entry.epsilon is not None]
    # Entries with an epsilon come first: the first colours differ most.
    colours = assign_colours([entry.name for entry in (*with_epsilon, *without_epsilon)])
    figures: dict[str, Figure] = {}
    for unit, entries in entries_by_unit.items():
        entries_of_unit = [entry for entry in entries if entry.epsilon is not None]
        drawn_entries = [*entries_of_unit, *without_epsilon]
        name = "accuracy" if not figures else f"accuracy-{len(figures) + 1}"
        figure = accuracy_over_epsilon(drawn_entries, f"Accuracy: {unit}", unit, colours)
        if figure is not None:
            figures[name] = figure
    attack_figure = accuracy_against_attack(all_entries, colours)
    if attack_figure is not None:
        figures["attacks"] = attack_figure
    return figures


def make_verdict(rows: Rows, differences: Rows) -> Verdict | None:
    """Make the verdict on one recommender, which `_choose_judged` chooses.

    Args:
        rows: Rows of a comparison.
        differences: The tested differences; empty if there is a single split.

    Returns:
        The verdict; None if there is no recommender to judge, or nothing to compare it with:
        popularity and its rival, EASE or the ridge regression.
    """
    judged = _choose_judged(rows)
    popularity = _find_ndcg(rows, "popularity")
    rival = _find_ndcg(rows, "ease") or _find_ndcg(rows, "ridge")
    if judged is None or popularity is None or rival is None:
        return None
    name = _name(judged)
    rival_name = _NAMES[rival["design"]]
    rival_gain = rival["value"] - popularity["value"]
    test_of_rival = _find_test(differences, rival, "popularity")
    is_not_better = test_of_rival is not None and test_of_rival["outcome"] != "better"
    if rival_gain <= 0 or is_not_better:
        headline = f"{rival_name} is not better than popularity here: there is no gain to keep"
    elif judged["value"] < popularity["value"]:
        headline = f"{name} is below popularity here, and keeps none of {rival_name}'s gain"
    else:
        share_of_gain = (judged["value"] - popularity["value"]) / rival_gain
        verb = "keeps" if judged["epsilon"] is not None else "reaches"
        headline = f"{name} {verb} {share_of_gain:.0%} of {rival_name}'s gain over popularity"
    sentences = [f"NDCG@10 of {name} is {_format_figure(judged['value'])}."]
    state = "none"
    for reference in ("popularity", rival["design"]):
        test = _find_test(differences, judged, reference)
        if test is None:
            sentences.append("With one split no difference is tested.")
            break
        if reference == "popularity":
            state = _STATES[test["outcome"]]
        sentences.append(_describe_difference(test, _NAMES[reference]))
    return Verdict(state, _capitalise(headline) + ".", " ".join(sentences))


def _choose_judged(rows: Rows) -> Mapping[str, Any] | None:
    """Return the row with the NDCG of the recommender that the verdict is about.

    It is the caller's first model, own or saved. Without one it is the first design with a finite
    epsilon, at its epsilon nearest to 1 on a logarithmic scale. Return None if there is neither.
    """
    ndcg_rows = [row for row in rows if row["metric"] == NDCG]
    models_of_caller = [row for row in ndcg_rows if row["variant"] in ("own model", "saved model")]
    if models_of_caller:
        return models_of_caller[0]
    with_epsilon = [row for row in ndcg_rows if row["epsilon"] is not None]
    private = [row for row in with_epsilon if math.isfinite(row["epsilon"])]
    first_design = [row for row in private if row["design"] == private[0]["design"]]
    return min(first_design, key=lambda row: abs(math.log(row["epsilon"])), default=None)


def _find_ndcg(rows: Rows, design: str) -> Mapping[str, Any] | None:
    """Return the first row with the NDCG of a design; None if there is none."""
    for row in rows:
        if row["design"] == design and row["metric"] == NDCG:
            return row
    return None


def _find_test(
    differences: Rows, entry: Mapping[str, Any], reference: str
) -> Mapping[str, Any] | None:
    """Return the tested difference between an entry and a reference; None if there is none.

    Args:
        differences: The tested differences.
        entry: A row of the entry.
        reference: Name of the reference.
    """
    for row in differences:
        is_of_entry = all(row[key] == entry[key] for key in ("design", "variant", "epsilon"))
        if is_of_entry and row["reference"] == reference:
            return row
    return None


def _describe_difference(test: Mapping[str, Any], reference: str) -> str:
    """Return a sentence on a tested difference: its size, interval, outcome and p value."""
    ends = f"[{_format_figure(test['low'], sign=True)}, {_format_figure(test['high'], sign=True)}]"
    sentence = (
        f"The difference to {reference} is {_format_figure(test['difference'], sign=True)} {ends}"
    )
    outcome = "not distinguished" if test["outcome"] == "tie" else test["outcome"]
    return f"{sentence}: {outcome}, p {_format_p(test)}."


def _format_p(test: Mapping[str, Any]) -> str:
    """Format the corrected p value of a test with its sign of comparison, such as "= .012"."""
    p_value = test["corrected_p_value"]
    return "< .001" if p_value < 0.001 else f"= {_format_figure(p_value)}"


def _format_figure(value: float, *, sign: bool = False) -> str:
    """Format a figure with three decimals and without a zero before the point.

    Args:
        value: The figure.
        sign: Whether a positive figure has a plus sign.
    """
    text = f"{abs(value):.3f}".removeprefix("0")
    if value < 0:
        return f"\N{MINUS SIGN}{text}"
    return f"+{text}" if sign else text


def _name(row: Mapping[str, Any]) -> str:
    """Return the name of a row's recommender, with its epsilon if it has one."""
    epsilon = row["epsilon"]
    return row["design"] if epsilon is None else f"{row['design']} at epsilon {epsilon:g}"


def _capitalise(text: str) -> str:
    """Capitalise a sentence if it begins with "the"; a recommender's name is not changed."""
    return text[:1].upper() + text[1:] if text.startswith("the ") else text


def differences_table(differences: Rows) -> Table | None:
    """Make a table of tested differences: a row for each entry, a column for each reference.

    A cell holds the entry's NDCG@10 minus the reference's. Return None if no difference was tested.
    """
    if not differences:
        return None
    references = list(dict.fromkeys(row["reference"] for row in differences))
    entries = group_by(differences, lambda row: (row["design"], row["variant"], row["epsilon"]))
    rows = []
    for (design, _, epsilon), entry_rows in entries.items():
        cell_by_reference = {row["reference"]: _make_difference_cell(row) for row in entry_rows}
        epsilon_text = "–"
        if epsilon is not None:
            epsilon_text = "no noise" if math.isinf(epsilon) else f"{epsilon:g}"
        cells = [cell_by_reference.get(reference) for reference in references]
        rows.append((design, epsilon_text, *cells))
    headings = [f"minus {reference}" for reference in references]
    return Table("Differences of NDCG@10", ("recommender", "epsilon", *headings), rows)


def _make_difference_cell(row: Mapping[str, Any]) -> Cell:
    """Make a cell with a difference, its interval and p value, coloured unless it is a tie."""
    ends = f"{_format_figure(row['low'], sign=True)} to {_format_figure(row['high'], sign=True)}"
    is_tie = row["outcome"] == "tie"
    tone = "" if is_tie else row["outcome"]
    spoken = "not distinguished" if is_tie else row["outcome"]
    mean = _format_figure(row["difference"], sign=True)
    return Cell(mean, f"{ends}, p {_format_p(row)}", tone=tone, spoken=spoken)
