"""Tables and a page with the results of an experiment, compared with the paper's.

The paper's data and settings are not public, so orderings are compared, not accuracies.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.designs.pdap.experiment.bounds import Bound
from tacit.designs.pdap.experiment.claims import Claim
from tacit.designs.pdap.experiment.orderings import PaperOrdering
from tacit.designs.pdap.experiment.paper_figures import accuracies_of_paper
from tacit.designs.pdap.experiment.policy_names import PUBLISHED
from tacit.designs.pdap.experiment.run import Protocol, Row
from tacit.designs.pdap.experiment.summary import Contender, RegretPoint, SummaryRow, contenders_of
from tacit.designs.pdap.experiment.world import World
from tacit.designs.pdap.regret_bounds import regret_bound
from tacit.evaluation import Interval, Table, Verdict, group_by, mean_interval
from tacit.evaluation.lines import Line
from tacit.evaluation.page import Cell, Figure, Mark, Page, Plot, Section, interval_cell

DAP = Contender("dap", math.inf)
TABLE_POINTS = 6
"""Largest number of checkpoints in the table of regret over time."""
PROTOCOLS: Mapping[Protocol, str] = {
    "cumulative": "training, from a cold start",
    "train-then-test": "test of what was learned",
    "train-then-continue": "test while it goes on",
}
"""Titles of the protocols."""
COLOURS = tuple(f"var(--p{number})" for number in range(9))
"""Colours of lines, as variables of the page's style sheet."""
DASHES: tuple[tuple[int, ...], ...] = ((), (6, 4), (2, 3), (9, 3, 2, 3))
"""Dash patterns of lines: lengths of strokes and gaps in turn; a solid line first."""


@dataclass(frozen=True)
class Findings:
    """All results of an experiment.

    Attributes:
        runs: rows of all runs, at all checkpoints and tests.
        rows: means over seeds, at the end of the training and in tests.
        regret: average regret at each checkpoint.
        orderings: the paper's orderings of accuracy.
        claims: the paper's claims about regret.
        bounds: the paper's bounds, on regret, on noise and on the level of a cell.
    """

    runs: Sequence[Row]
    rows: Sequence[SummaryRow]
    regret: Sequence[RegretPoint]
    orderings: Sequence[PaperOrdering]
    claims: Sequence[Claim]
    bounds: Sequence[Bound]


def tables_of(findings: Findings) -> list[Table]:
    """Make the tables that a terminal shows, without empty ones.

    Of the bounds on one cell, a terminal shows only those on the whole cube.
    """
    bounds_of_whole_cube = [bound for bound in findings.bounds if bound.level in (None, 0)]
    tables = [
        policy_table(findings.rows, "cumulative"),
        policy_table(findings.rows, "train-then-test"),
        policy_table(findings.rows, "train-then-continue"),
        regret_table(findings.regret),
        claim_table(findings.claims),
        ordering_table(findings.orderings),
        bound_table(bounds_of_whole_cube),
    ]
    return [table for table in tables if table.rows]


def page_of(findings: Findings, world: World, manifest: Mapping[str, Any]) -> Page:
    """Make the page: all policies, curves, and the paper's orderings, claims and bounds."""
    contenders = contenders_of(findings.runs)
    key = [  # colour and dashes of each policy, the same in all figures
        Mark(title_of(contender), *_line_style(number))
        for number, contender in enumerate(contenders)
    ]
    test_protocols: list[Protocol] = ["train-then-test", "train-then-continue"]
    test_tables = [policy_table(findings.rows, protocol) for protocol in test_protocols]
    sections = [
        Section("All policies, at the last visit", [policy_table(findings.rows, "cumulative")]),
        Section("Visit after visit", figures=list(_training_figures(findings, world)), key=key),
        Section("Average regret over time", [regret_table(findings.regret)]),
    ]
    if any(table.rows for table in test_tables):
        figures = [_test_figure(findings, protocol) for protocol in test_protocols]
        sections.append(Section("Tests after the training", test_tables, figures=figures, key=key))
    for title, table in (
        ("What the paper says of regret", claim_table(findings.claims)),
        ("The paper’s orderings", ordering_table(findings.orderings)),
        ("The paper’s bounds", bound_table(findings.bounds)),
    ):
        if table.rows:
            sections.append(Section(title, [table]))

    training = [row for row in findings.rows if row.protocol == "cumulative"]
    facts = {  # for the page's template
        "world": world,
        "last": training[0].arrivals,
        "seeds": training[0].seeds,
        "best": sum(row.best for row in training) / len(training),
    }
    return Page(
        "Vendors that learn together",
        sections,
        manifest,
        verdict(findings.orderings),
        design="P-DAP",
        package=__package__,
        facts=facts,
    )


def verdict(orderings: Sequence[PaperOrdering]) -> Verdict:
    """Make the page's verdict: how many comparisons come out as in the paper.

    A comparison is one of the paper's orderings at one epsilon and one size of the test. Tests of
    what was learned are counted; if no comparison was made in them, those of the training.
    """
    judged = [ordering for ordering in orderings if ordering.protocol == "train-then-test"]
    if not judged:
        judged = [ordering for ordering in orderings if ordering.protocol == "cumulative"]
    counts = Counter[str](ordering.verdict for ordering in judged)
    sentence_of_outcome = {
        "not distinguished": f"{counts['not distinguished']} cannot be separated. ",
        "the reverse": f"{counts['the reverse']} come out the other way round. ",
        "one seed only": "With one seed nothing can be separated. ",
    }
    text = ""
    for outcome, sentence in sentence_of_outcome.items():
        if counts[outcome] > 0:
            text += sentence
    text += "The published policies are for comparison: their privacy claims do not hold, "
    text += "whatever their accuracy."
    if not judged:
        return Verdict("none", "No two policies of the paper’s tables were run", text)
    headline = f"{counts['holds']} of {len(judged)} comparisons come out as in the paper"
    all_hold = counts["holds"] == len(judged)
    return Verdict("good" if all_hold else "none", headline, text)


def title_of(contender: Contender) -> str:
    """Format a policy and its epsilon, as `P-DAP, ε = 0.01`."""
    name = contender.policy
    epsilon = contender.epsilon
    title = name.upper() if name in PUBLISHED else name.replace("-", " ")
    return title if math.isinf(epsilon) else f"{title}, ε = {epsilon:g}"


def policy_table(rows: Sequence[SummaryRow], protocol: Protocol) -> Table:
    """Make the table of all policies by one protocol, with means and intervals over seeds.

    A table of tests has N, the size of the test, and the paper's accuracy, but no epsilon spent.
    """
    rows_of_protocol = [row for row in rows if row.protocol == protocol]

    def accuracy(row: SummaryRow) -> object:
        value = Interval(row.accuracy, row.low, row.high)
        return interval_cell(value, ".2%", ends=row.seeds > 1)

    def regret(row: SummaryRow) -> object:
        return interval_cell(row.average_regret, ".4f", ends=row.seeds > 1)

    def accuracy_of_paper(row: SummaryRow) -> object:
        accuracies = accuracies_of_paper(row.policy, row.epsilon, row.test)
        texts: list[str] = []
        for table, value in accuracies.items():
            number = table.removeprefix("Table ")
            texts.append(f"{number}: {100 * value:.2f} %")
        return ", ".join(texts) if texts else None

    columns: dict[str, Callable[[SummaryRow], object]] = {
        "policy": lambda row: title_of(Contender(row.policy, row.epsilon)),
        "N": lambda row: f"{row.test:,}",
        "accuracy": accuracy,
        "the paper's, by table": accuracy_of_paper,
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
        if rows_of_protocol:
            title = f"After {rows_of_protocol[0].arrivals:,} visits of each vendor"
    else:
        del columns["ε spent per visit"]
    return Table.from_rows(title, columns, rows_of_protocol)


def regret_table(points: Sequence[RegretPoint]) -> Table:
    """Make the table of each policy's average regret at up to `TABLE_POINTS` checkpoints.

    If there are more checkpoints, it shows every second or every third and so on, counted back
    from the last.
    """
    checkpoints = sorted({point.arrivals for point in points})
    step = math.ceil(len(checkpoints) / TABLE_POINTS)
    columns = sorted(checkpoints[::-1][::step])
    rows: list[list[str]] = []
    points_of_contender = group_by(points, lambda point: Contender(point.policy, point.epsilon))
    for contender, its_points in points_of_contender.items():
        regret_at = {point.arrivals: point.average_regret for point in its_points}
        numbers = [f"{regret_at[arrivals]:.4f}" for arrivals in columns]
        rows.append([title_of(contender), *numbers])
    titles = ["average regret"] + [f"{arrivals:,}" for arrivals in columns]
    return Table("Average regret so far, by visits of each vendor", titles, rows)


def claim_table(claims: Sequence[Claim]) -> Table:
    """Make the table of the paper's claims about regret, each with the measured value."""

    def allowed_values(claim: Claim) -> str:
        if math.isinf(claim.most):
            return f"{claim.least:g} or more"
        return f"{claim.most:g} or less"

    def measured_value(claim: Claim) -> object:
        return interval_cell(claim.measured, ".4f", ends=math.isfinite(claim.measured.low))

    tones = {"holds": "better", "does not hold": "worse"}
    columns: dict[str, Callable[[Claim], object]] = {
        "figure": lambda claim: claim.item,
        "policy": lambda claim: title_of(Contender(claim.policy, claim.epsilon)),
        "in the paper": lambda claim: claim.claim,
        "is": allowed_values,
        "here": measured_value,
        "": lambda claim: Cell(claim.verdict, tone=tones.get(claim.verdict, "")),
    }
    return Table.from_rows("What the paper says of regret", columns, claims)


def ordering_table(orderings: Sequence[PaperOrdering]) -> Table:
    """Make the table of the paper's orderings of accuracy, each with the measured difference."""

    def policies(ordering: PaperOrdering) -> str:
        return f"{ordering.above.upper()} above {ordering.below.upper()}"

    def epsilon(ordering: PaperOrdering) -> str | None:
        return None if math.isinf(ordering.epsilon) else f"{ordering.epsilon:g}"

    def percentage_points(ordering: PaperOrdering) -> object:
        mean, low, high = ordering.difference
        has_interval = math.isfinite(low)
        in_percent = Interval(100 * mean, 100 * low, 100 * high)
        return interval_cell(in_percent, "+.2f", ends=has_interval)

    tones = {"holds": "better", "the reverse": "worse"}
    columns: dict[str, Callable[[PaperOrdering], object]] = {
        "in the paper": policies,
        "ε": epsilon,
        "by": lambda ordering: PROTOCOLS[ordering.protocol],
        "N": lambda ordering: f"{ordering.test:,}" if ordering.test else None,
        "difference, percentage points": percentage_points,
        "here": lambda ordering: Cell(ordering.verdict, tone=tones.get(ordering.verdict, "")),
    }
    return Table.from_rows("The paper's orderings", columns, orderings)


def bound_table(bounds: Sequence[Bound]) -> Table:
    """Make the table of the paper's bounds, printed and corrected, each with the measured value."""

    def policy(bound: Bound) -> str:
        level = "" if bound.level is None else f", level {bound.level}"
        return title_of(Contender(bound.policy, bound.epsilon)) + level

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
    return Table.from_rows("The paper's bounds, for one vendor", columns, bounds)


def _cell_of_spending(row: SummaryRow) -> object:
    """Format the proved epsilon of a visit; if it is infinite, with the reason."""
    nats = row.epsilon_spent_per_visit
    if not math.isinf(nats):
        return f"{nats:.3g}"
    if math.isinf(row.epsilon):
        return Cell("∞", "no privacy")
    if row.policy in PUBLISHED:
        return Cell("∞", f"refuted: claims {row.epsilon:g}")
    return Cell("∞", "no noise")


def _training_figures(findings: Findings, world: World) -> Iterator[Figure]:
    """Plot regret, average regret, DAP's regret divided by its bound, and accuracy, by visits."""
    training = [row for row in findings.runs if row.protocol == "cumulative"]
    contenders = contenders_of(training)
    x_title = "visits of each vendor"

    def lines_of(
        value: Callable[[Row], float], contenders_shown: Sequence[Contender]
    ) -> list[Line]:
        return _lines(training, contenders, contenders_shown, lambda row: row.arrivals, value)

    regret = lines_of(lambda row: row.regret, contenders)
    yield _figure("Regret", regret, x_title, "regret of one vendor so far", findings)
    average = lines_of(lambda row: row.average_regret, contenders)
    yield _figure("Average regret", average, x_title, "regret per visit so far", findings)
    if DAP in contenders:  # below 1 where the bound holds
        setting = world.setting
        ratio = lines_of(lambda row: row.regret / regret_bound(setting, row.arrivals), [DAP])
        title = "DAP's regret over its bound, Theorem 3 without noise"
        yield _figure(title, ratio, x_title, "regret over its bound", findings)
    accuracy = lines_of(lambda row: row.accuracy, contenders)
    yield _figure("Accuracy", accuracy, x_title, "clicks per visit so far", findings)


def _test_figure(findings: Findings, protocol: Protocol) -> Figure:
    """Plot accuracy by the size of the test, for one protocol of tests."""
    rows = [row for row in findings.runs if row.protocol == protocol]
    contenders = contenders_of(findings.runs)
    lines = _lines(rows, contenders, contenders, lambda row: row.test, lambda row: row.accuracy)
    title = f"Accuracy, {PROTOCOLS[protocol]}"
    return _figure(title, lines, "visits of the test", "clicks per visit", findings)


def _lines(
    rows: Sequence[Row],
    contenders: Sequence[Contender],
    contenders_shown: Sequence[Contender],
    x_value: Callable[[Row], int],
    y_value: Callable[[Row], float],
) -> list[Line]:
    """Make a line for each policy in `contenders_shown`, with means over seeds.

    Args:
        rows: the rows from which the values are taken.
        contenders: all policies of the page; a policy's position in this list determines its colour
            and dashes.
        contenders_shown: the policies that get a line.
        x_value: returns the x value of a row.
        y_value: returns the y value of a row.
    """
    lines: list[Line] = []
    for contender in contenders_shown:
        rows_of_policy = [row for row in rows if (row.policy, row.epsilon) == contender]
        means: dict[float | None, Interval | None] = {}
        for x, rows_at_x in group_by(rows_of_policy, x_value).items():
            means[float(x)] = mean_interval([y_value(row) for row in rows_at_x])
        lines.append(Line(title_of(contender), *_line_style(contenders.index(contender)), means))
    return lines


def _figure(
    title: str, lines: Sequence[Line], x_title: str, y_title: str, findings: Findings
) -> Figure:
    """Plot lines, with intervals if there are more than two seeds."""
    from tacit.evaluation.plots import curves

    seeds = len({row.seed for row in findings.runs})
    # Intervals over two seeds would fill the plot.
    plot = curves(lines, x_title=x_title, y_title=y_title, intervals=seeds > 2)
    alt = f"Line plot: {title} by {x_title}, a line for each policy."
    return Figure(title, alt, [Plot(plot)])


def _line_style(number: int) -> tuple[str, tuple[int, ...]]:
    """Return the colour and dashes of the policy with this number, from 0.

    After the last colour, the colours are used again with the next dashes.
    """
    dashes, colour = divmod(number, len(COLOURS))
    return COLOURS[colour], DASHES[dashes % len(DASHES)]
