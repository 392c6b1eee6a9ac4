"""The page of a comparison: a verdict, pictures, who pays, then tables."""

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
from tacit.evaluation.page import Cell, Figure, Verdict
from tacit.evaluation.result import Table, group_by

NDCG = "ndcg@10"
RIVALS = ("ease", "ridge")
_NAMES = {"ease": "EASE", "ridge": "the ridge regression", "popularity": "popularity"}
_STATES = {"better": "good", "tie": "none", "worse": "worse"}
Rows = Sequence[Mapping[str, Any]]


def measured_entries(rows: Rows) -> dict[str, list[MeasuredEntry]]:
    """Collect the figures that pictures show, by the unit of the epsilons."""
    entries = group_by(rows, lambda row: (row["unit"], row["design"], row["epsilon"]))
    found: dict[str, list[MeasuredEntry]] = {}
    for (unit, design, epsilon), own in entries.items():
        by_metric = {row["metric"]: _interval(row) for row in own}
        if NDCG in by_metric:
            attacked = by_metric.get("membership_auc")
            one = MeasuredEntry(design, epsilon, by_metric[NDCG], attacked)
            found.setdefault(unit, []).append(one)
    return found


def _interval(row: Mapping[str, Any]) -> Interval:
    """Read a row's interval; one without ends is a point."""
    mean = row["value"]
    ends = [mean if row[end] is None else row[end] for end in ("low", "high")]
    return Interval(mean, *ends)


def make_figures(rows: Rows) -> dict[str, Figure]:
    """Draw the pictures of a comparison, by the names of their files."""
    by_unit = measured_entries(rows)
    without_epsilon = []
    for of_unit in by_unit.values():
        without_epsilon += [one for one in of_unit if one.epsilon is None]
    everyone = [one for of_unit in by_unit.values() for one in of_unit]
    in_order = sorted(everyone, key=lambda one: one.epsilon is None)
    colours = assign_colours([one.name for one in in_order])
    figures: dict[str, Figure] = {}
    for unit, of_unit in by_unit.items():
        own = [one for one in of_unit if one.epsilon is not None]
        name = "accuracy" if not figures else f"accuracy-{len(figures) + 1}"
        figure = accuracy_over_epsilon([*own, *without_epsilon], f"Accuracy: {unit}", unit, colours)
        if figure is not None:
            figures[name] = figure
    attacked = accuracy_against_attack(everyone, colours)
    if attacked is not None:
        figures["attacks"] = attacked
    return figures


def make_verdict(rows: Rows, differences: Rows) -> Verdict | None:
    """Judge one recommender in two sentences; None where there is none to judge.

    It is the first own model, else the first design with an epsilon, at the epsilon nearest to 1.
    """
    judged = _choose_judged(rows)
    popular = _choose(rows, "popularity")
    rival = next((found for name in RIVALS if (found := _choose(rows, name))), None)
    if judged is None or popular is None or rival is None:
        return None
    name = _name(judged)
    rival_name = _NAMES[rival["design"]]
    gain = rival["value"] - popular["value"]
    of_rival = _find_test(differences, rival, "popularity")
    if gain <= 0 or (of_rival is not None and of_rival["outcome"] != "better"):
        headline = f"{rival_name} is not better than popularity here: there is no gain to keep"
    else:
        kept = (judged["value"] - popular["value"]) / gain
        verb = "keeps" if judged["epsilon"] is not None else "reaches"
        headline = f"{name} {verb} {kept:.0%} of {rival_name}'s gain over popularity"
    sentences = [f"NDCG@10 of {name} is {_write(judged['value'])}."]
    state = "none"
    for reference in ("popularity", rival["design"]):
        test = _find_test(differences, judged, reference)
        if test is None:
            sentences.append("With one split no difference is tested.")
            break
        if reference == "popularity":
            state = _STATES[test["outcome"]]
        sentences.append(_write_difference(test, _NAMES[reference]))
    return Verdict(state, _capitalise(headline) + ".", " ".join(sentences))


def _choose_judged(rows: Rows) -> Mapping[str, Any] | None:
    ndcg = [row for row in rows if row["metric"] == NDCG]
    own = [row for row in ndcg if row["variant"] in ("own model", "saved model")]
    if own:
        return own[0]
    finite = [row for row in ndcg if row["epsilon"] is not None and math.isfinite(row["epsilon"])]
    first = [row for row in finite if row["design"] == finite[0]["design"]]
    return min(first, key=lambda row: abs(math.log(row["epsilon"])), default=None)


def _choose(rows: Rows, design: str) -> Mapping[str, Any] | None:
    found = (row for row in rows if row["design"] == design and row["metric"] == NDCG)
    return next(found, None)


def _find_test(
    differences: Rows, judged: Mapping[str, Any], reference: str
) -> Mapping[str, Any] | None:
    for row in differences:
        same = all(row[key] == judged[key] for key in ("design", "variant", "epsilon"))
        if same and row["reference"] == reference:
            return row
    return None


def _write_difference(test: Mapping[str, Any], reference: str) -> str:
    ends = f"[{_write(test['low'], sign=True)}, {_write(test['high'], sign=True)}]"
    sentence = f"The difference to {reference} is {_write(test['difference'], sign=True)} {ends}"
    if test["outcome"] == "tie":
        return f"{sentence}: not distinguished, p {_write_p(test)}."
    return f"{sentence}: {test['outcome']}, p {_write_p(test)}."


def _write_p(test: Mapping[str, Any]) -> str:
    p_value = test["corrected_p_value"]
    return "< .001" if p_value < 0.001 else f"= {_write(p_value)}"


def _write(value: float, *, sign: bool = False) -> str:
    """Write a figure with three decimals and no zero before the point."""
    text = f"{abs(value):.3f}".removeprefix("0")
    if value < 0:
        return f"\N{MINUS SIGN}{text}"
    return f"+{text}" if sign else text


def _name(row: Mapping[str, Any]) -> str:
    epsilon = row["epsilon"]
    return row["design"] if epsilon is None else f"{row['design']} at epsilon {epsilon:g}"


def _capitalise(text: str) -> str:
    return text[:1].upper() + text[1:] if text.startswith("the ") else text


def differences_table(differences: Rows) -> Table | None:
    """Make a table of tested differences: a row for each entry, a column for each reference."""
    if not differences:
        return None
    references = list(dict.fromkeys(row["reference"] for row in differences))
    entries = group_by(differences, lambda row: (row["design"], row["variant"], row["epsilon"]))
    rows = []
    for (design, _, epsilon), own in entries.items():
        cells = {row["reference"]: _difference_cell(row) for row in own}
        written = "–"
        if epsilon is not None:
            written = "no noise" if math.isinf(epsilon) else f"{epsilon:g}"
        rows.append((design, written, *[cells.get(reference) for reference in references]))
    headings = [f"less {reference}" for reference in references]
    return Table("Differences of NDCG@10", ("recommender", "epsilon", *headings), rows)


def _difference_cell(row: Mapping[str, Any]) -> Cell:
    ends = f"{_write(row['low'], sign=True)} to {_write(row['high'], sign=True)}"
    tone = "" if row["outcome"] == "tie" else row["outcome"]
    spoken = "not distinguished" if row["outcome"] == "tie" else row["outcome"]
    mean = _write(row["difference"], sign=True)
    return Cell(mean, f"{ends}, p {_write_p(row)}", tone=tone, spoken=spoken)
