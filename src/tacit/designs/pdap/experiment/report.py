"""Tables and a page of what an experiment found, beside the orderings that the paper found.

The paper's data and settings are not public: its levels cannot be compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.designs.pdap.experiment.bounds import Bound
from tacit.designs.pdap.experiment.claims import Claim
from tacit.designs.pdap.experiment.network import PUBLISHED
from tacit.designs.pdap.experiment.orderings import PaperOrdering
from tacit.designs.pdap.experiment.paper_figures import accuracy_beside
from tacit.designs.pdap.experiment.run import Protocol, Row
from tacit.designs.pdap.experiment.summary import Column, RegretPoint, SummaryRow, columns_of
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.regret_bounds import regret_bound
from tacit.evaluation import Interval, Table, Verdict, group_by, mean_interval
from tacit.evaluation.lines import Line
from tacit.evaluation.page import Cell, Figure, Mark, Page, Section, interval_cell

DAP = ("dap", math.inf)
TABLE_POINTS = 6
"""Columns of the table of regret over time, at most."""
PROTOCOLS: Mapping[Protocol, str] = {
    "cumulative": "training, from a cold start",
    "train-then-test": "test of what was learned",
    "train-then-continue": "test while it goes on",
}
COLOURS = tuple(f"var(--p{number})" for number in range(9))
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 4), (2, 3), (9, 3, 2, 3))


@dataclass(frozen=True)
class Findings:
    """All that an experiment found; each part is explained where it is made."""

    runs: Sequence[Row]
    rows: Sequence[SummaryRow]
    regret: Sequence[RegretPoint]
    orderings: Sequence[PaperOrdering]
    claims: Sequence[Claim]
    bounds: Sequence[Bound]


def tables_of(found: Findings) -> list[Table]:
    """The tables that a terminal shows: those with rows, and of bounds those of the whole cube."""
    tables = [
        standings(found.rows, "cumulative"),
        standings(found.rows, "train-then-test"),
        standings(found.rows, "train-then-continue"),
        regret_table(found.regret),
        claim_table(found.claims),
        ordering_table(found.orderings),
        bound_table([bound for bound in found.bounds if not bound.level]),
    ]
    return [table for table in tables if table.rows]


def page_of(found: Findings, world: World, manifest: Mapping[str, Any]) -> Page:
    """All policies, curves, and the paper's orderings, claims and bounds."""
    columns = columns_of(found.runs)
    key = [Mark(title_of(column), *_stroke(number)) for number, column in enumerate(columns)]
    tests: list[Protocol] = ["train-then-test", "train-then-continue"]
    tested = [standings(found.rows, protocol) for protocol in tests]
    sections = [
        Section("All policies, at the last visit", [standings(found.rows, "cumulative")]),
        Section("Visit after visit", figures=list(_training_figures(found, world)), key=key),
        Section("Average regret over time", [regret_table(found.regret)]),
    ]
    if any(table.rows for table in tested):
        figures = [_test_figure(found, protocol) for protocol in tests]
        sections.append(Section("Tests after the training", tested, figures=figures, key=key))
    for title, table in (
        ("What the paper says of regret", claim_table(found.claims)),
        ("The paper’s orderings", ordering_table(found.orderings)),
        ("The paper’s bounds", bound_table(found.bounds)),
    ):
        if table.rows:
            sections.append(Section(title, [table]))

    ended = [row for row in found.rows if row.protocol == "cumulative"]
    facts = {
        "world": world,
        "last": ended[0].arrivals,
        "seeds": ended[0].seeds,
        "best": sum(row.best for row in ended) / len(ended),
    }
    return Page(
        "Vendors that learn together",
        sections,
        manifest,
        verdict(found.orderings),
        design="P-DAP",
        package=__package__,
        facts=facts,
    )


def verdict(compared: Sequence[PaperOrdering]) -> Verdict:
    """How many of the paper's orderings hold, by the paper's protocol where it was run."""
    tested = [ordering for ordering in compared if ordering.protocol == "train-then-test"]
    judged = tested or [ordering for ordering in compared if ordering.protocol == "cumulative"]
    count = Counter[str](ordering.verdict for ordering in judged)
    sentences = {
        "not distinguished": f"{count['not distinguished']} cannot be separated. ",
        "the reverse": f"{count['the reverse']} come out the other way round. ",
        "one seed only": "With one seed nothing can be separated. ",
    }
    sentence = "".join(text for outcome, text in sentences.items() if count[outcome])
    sentence += "The published policies are for comparison: their privacy claims do not hold, "
    sentence += "whatever their accuracy."
    if not judged:
        return Verdict("weakened", "No two policies of the paper’s tables were run", sentence)
    head = f"{count['holds']} of {len(judged)} of the paper’s orderings hold here"
    return Verdict("hidden" if count["holds"] == len(judged) else "weakened", head, sentence)


def title_of(column: Column) -> str:
    """`P-DAP, ε = 0.01` of a policy and its epsilon."""
    name, epsilon = column
    title = name.upper() if name in PUBLISHED else name.replace("-", " ")
    return title if math.isinf(epsilon) else f"{title}, ε = {epsilon:g}"


def standings(rows: Sequence[SummaryRow], protocol: Protocol) -> Table:
    """All policies by one protocol, means and intervals over seeds."""
    shown = [row for row in rows if row.protocol == protocol]

    def accuracy(row: SummaryRow) -> object:
        value = Interval(row.accuracy, row.low, row.high)
        return interval_cell(value, ".2%", ends=row.seeds > 1)

    def regret(row: SummaryRow) -> object:
        return interval_cell(row.average_regret, ".4f", ends=row.seeds > 1)

    def paper(row: SummaryRow) -> object:
        figures = accuracy_beside(row.policy, row.epsilon, row.test)
        texts = [f"{table[6:]}: {100 * value:.2f} %" for table, value in figures.items()]
        return ", ".join(texts) or None

    columns: dict[str, Callable[[SummaryRow], object]] = {
        "policy": lambda row: title_of((row.policy, row.epsilon)),
        "N": lambda row: f"{row.test:,}",
        "accuracy": accuracy,
        "the paper's, by table": paper,
        "average regret": regret,
        "explored": lambda row: f"{row.explored:.1%}",
        "trained": lambda row: f"{row.trained:.1%}",
        "exploited": lambda row: f"{row.exploited:.1%}",
        "forwarded": lambda row: f"{row.forwarded:.1%}",
        "ε spent per visit": _cell_of_spending,
    }
    title = PROTOCOLS[protocol].capitalize()
    if protocol == "cumulative":
        del columns["N"], columns["the paper's, by table"]
        title = f"After {shown[0].arrivals:,} visits of each vendor" if shown else title
    else:
        del columns["ε spent per visit"]
    return Table.from_rows(title, columns, shown)


def regret_table(points: Sequence[RegretPoint]) -> Table:
    """Average regret of each policy at up to `TABLE_POINTS` numbers of visits."""
    visits = sorted({point.arrivals for point in points})
    step = math.ceil(len(visits) / TABLE_POINTS)
    chosen = visits[::-1][::step][::-1]
    rows = []
    for column, some in group_by(points, lambda point: (point.policy, point.epsilon)).items():
        at = {point.arrivals: point.average_regret for point in some}
        figures = [f"{at[number]:.4f}" for number in chosen]
        rows.append([title_of(column), *figures])
    heads = ["average regret"] + [f"{number:,}" for number in chosen]
    return Table("Average regret so far, by visits of each vendor", heads, rows)


def claim_table(claims: Sequence[Claim]) -> Table:
    """The paper's claims about regret, and what was measured."""

    def allowed_regret(claim: Claim) -> str:
        if math.isinf(claim.most):
            return f"{claim.least:g} or more"
        return f"{claim.most:g} or less"

    def measured_regret(claim: Claim) -> object:
        return interval_cell(claim.measured, ".4f", ends=math.isfinite(claim.measured.low))

    tones = {"holds": "better", "does not hold": "worse"}
    columns: dict[str, Callable[[Claim], object]] = {
        "figure": lambda claim: claim.item,
        "policy": lambda claim: title_of((claim.policy, claim.epsilon)),
        "in the paper": lambda claim: claim.claim,
        "is": allowed_regret,
        "here": measured_regret,
        "": lambda claim: Cell(claim.verdict, tone=tones.get(claim.verdict, "")),
    }
    return Table.from_rows("What the paper says of regret", columns, claims)


def ordering_table(compared: Sequence[PaperOrdering]) -> Table:
    """The paper's orderings of accuracy, and what was found of them here."""

    def points(ordering: PaperOrdering) -> object:
        mean, low, high = ordering.difference
        several = math.isfinite(low)
        return interval_cell(Interval(100 * mean, 100 * low, 100 * high), "+.2f", ends=several)

    tones = {"holds": "better", "the reverse": "worse"}
    columns: dict[str, Callable[[PaperOrdering], object]] = {
        "in the paper": lambda one: f"{one.above.upper()} above {one.below.upper()}",
        "ε": lambda one: None if math.isinf(one.epsilon) else f"{one.epsilon:g}",
        "by": lambda one: PROTOCOLS[one.protocol],
        "N": lambda one: f"{one.test:,}" if one.test else None,
        "difference, percentage points": points,
        "here": lambda one: Cell(one.verdict, tone=tones.get(one.verdict, "")),
    }
    return Table.from_rows("The paper's orderings", columns, compared)


def bound_table(bounds: Sequence[Bound]) -> Table:
    """The paper's bounds, printed and corrected, beside what was measured."""

    def policy(bound: Bound) -> str:
        level = "" if bound.level is None else f", level {bound.level}"
        return title_of((bound.policy, bound.epsilon)) + level

    tones = {"holds": "better", "refuted": "worse"}
    columns: dict[str, Callable[[Bound], object]] = {
        "item": lambda bound: bound.item,
        "policy": policy,
        "of": lambda bound: bound.quantity,
        "printed": lambda bound: f"{bound.printed:.4g}",
        "corrected": lambda bound: f"{bound.corrected:.4g}",
        "measured": lambda bound: f"{bound.measured:.4g}",
        "": lambda bound: Cell(bound.verdict, tone=tones.get(bound.verdict, "")),
    }
    return Table.from_rows("The paper's bounds on regret, of one vendor", columns, bounds)


def _cell_of_spending(row: SummaryRow) -> object:
    nats = row.epsilon_spent_per_visit
    if not math.isinf(nats):
        return f"{nats:.3g}"
    if math.isinf(row.epsilon):
        return Cell("∞", "no privacy")
    refuted = f"refuted: claims {row.epsilon:g}"
    return Cell("∞", refuted if row.policy in PUBLISHED else "no noise")


def _training_figures(found: Findings, world: World) -> Iterator[Figure]:
    """Regret, average regret, DAP's regret over its bound, and accuracy."""
    training = [row for row in found.runs if row.protocol == "cumulative"]
    columns = columns_of(training)
    axis = "visits of each vendor"

    def curves_of(value: Callable[[Row], float], shown: Sequence[Column]) -> list[Line]:
        return _lines(training, columns, shown, lambda row: row.arrivals, value)

    regret = curves_of(lambda row: row.regret, columns)
    yield _figure("Regret", regret, axis, "regret of one vendor so far", found)
    average = curves_of(lambda row: row.average_regret, columns)
    yield _figure("Average regret", average, axis, "regret per visit so far", found)
    if DAP in columns:  # below 1 where the bound holds
        setting = world.setting
        ratio = curves_of(lambda row: row.regret / regret_bound(setting, row.arrivals), [DAP])
        title = "DAP's regret over its bound, Theorem 3 without noise"
        yield _figure(title, ratio, axis, "regret over its bound", found)
    accuracy = curves_of(lambda row: row.accuracy, columns)
    yield _figure("Accuracy", accuracy, axis, "clicks per visit so far", found)


def _test_figure(found: Findings, protocol: Protocol) -> Figure:
    """Accuracy by the size of the test."""
    tested = [row for row in found.runs if row.protocol == protocol]
    columns = columns_of(found.runs)
    lines = _lines(tested, columns, columns, lambda row: row.test, lambda row: row.accuracy)
    title = f"Accuracy, {PROTOCOLS[protocol]}"
    return _figure(title, lines, "visits of the test", "clicks per visit", found)


def _lines(
    rows: Sequence[Row],
    columns: Sequence[Column],
    shown: Sequence[Column],
    place: Callable[[Row], int],
    value: Callable[[Row], float],
) -> list[Line]:
    """One line for each policy shown, in the colour that it has among all columns."""
    lines = []
    for column in shown:
        ours = [row for row in rows if (row.policy, row.epsilon) == column]
        means: dict[float | None, Interval | None] = {}
        for number, some in group_by(ours, place).items():
            means[float(number)] = mean_interval([value(row) for row in some])
        lines.append(Line(title_of(column), *_stroke(columns.index(column)), means))
    return lines


def _figure(
    title: str, lines: Sequence[Line], x_title: str, y_title: str, found: Findings
) -> Figure:
    from tacit.evaluation.plots import curves

    seeds = len({row.seed for row in found.runs})
    # Intervals over two seeds would fill the plot.
    plot = curves(lines, x_title=x_title, y_title=y_title, bars=seeds > 2)
    alt = f"Line plot: {title} by {x_title}, a line for each policy; a table holds the figures."
    return Figure(title, alt, (("", plot),))


def _stroke(number: int) -> tuple[str, tuple[int, ...]]:
    """Colour and dashes of the policy with this number."""
    turn, place = divmod(number, len(COLOURS))
    return COLOURS[place], DASHES[turn % len(DASHES)]
