"""A page of what an experiment found, beside the orderings that the paper found.

The paper's data and settings are not public: its levels cannot be compared.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tacit.designs.pdap.control import regret_bound
from tacit.designs.pdap.experiment import Row
from tacit.designs.pdap.experiment.policies import PUBLISHED, World
from tacit.evaluation import Interval, Table, Verdict, group_by, mean_interval
from tacit.evaluation.lines import Line
from tacit.evaluation.page import Cell, Figure, Mark, Page, Section, interval_cell

Column = tuple[str, float]
"""A policy, and its epsilon: inf for those without."""
DAP = ("dap", math.inf)
ORDERINGS: tuple[tuple[str, str], ...] = (
    ("dap", "cap"),
    ("dap", "dup"),
    ("gp-dap", "p-dap"),
    ("dap", "gp-dap"),
    ("p-dap", "cap"),
    ("p-dap", "dup"),
)
"""The first is above the second in the paper, at each epsilon."""
_COLOURS = tuple(f"var(--p{number})" for number in range(9))
_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 4), (2, 3), (9, 3, 2, 3))
Outcome = Literal["holds", "not distinguished", "the reverse", "one seed only"]


@dataclass(frozen=True)
class Ordering:
    """Paired over seeds, at the last visit: accuracy of `above` minus that of `below`."""

    above: str
    below: str
    epsilon: float
    difference: Interval
    verdict: Outcome


def orderings(rows: Sequence[Row]) -> list[Ordering]:
    """Those between policies that were run."""
    accuracy: dict[Column, dict[int, float]] = defaultdict(dict)
    for row in _ended(rows):
        accuracy[row.policy, row.epsilon][row.seed] = row.accuracy
    epsilons = sorted({epsilon for _, epsilon in accuracy if not math.isinf(epsilon)})

    compared = []
    for above, below in ORDERINGS:
        private = above.endswith("p-dap") or below.endswith("p-dap")
        for epsilon in epsilons if private else [math.inf]:
            one, other = (
                accuracy.get((name, epsilon)) or accuracy.get((name, math.inf), {})
                for name in (above, below)
            )
            if one and one.keys() == other.keys():
                difference = mean_interval([one[seed] - other[seed] for seed in one])
                outcome = verdict_of(difference)
                compared.append(Ordering(above, below, epsilon, difference, outcome))
    return compared


def verdict_of(difference: Interval) -> Outcome:
    """Whether the first is better, by the interval of the difference."""
    if math.isinf(difference.low):
        return "one seed only"
    if difference.low > 0:
        return "holds"
    return "the reverse" if difference.high < 0 else "not distinguished"


def page_of(rows: Sequence[Row], world: World, manifest: Mapping[str, Any]) -> Page:
    """All policies at the last visit, curves, and the paper's orderings."""
    columns, compared, ended = _columns(rows), orderings(rows), _ended(rows)
    key = [Mark(named(column), *_ink(number)) for number, column in enumerate(columns)]
    sections = [
        Section("All policies, at the last visit", [standings(rows)]),
        Section("Visit after visit", figures=list(_figures(rows, columns, world)), key=key),
    ]
    if compared:
        sections.append(Section("The paper’s orderings", [ordered(compared)]))
    facts = {
        "world": world,
        "last": ended[0].arrivals,
        "seeds": len({row.seed for row in rows}),
        "best": sum(row.best for row in ended) / len(ended),
    }
    return Page(
        "Vendors that learn together",
        sections,
        manifest,
        verdict(compared),
        design="P-DAP",
        package=__package__,
        facts=facts,
    )


def verdict(compared: Sequence[Ordering]) -> Verdict:
    """How many of the paper's orderings hold."""
    count = Counter[str](one.verdict for one in compared)
    sentences = {
        "not distinguished": f"{count['not distinguished']} cannot be separated. ",
        "the reverse": f"{count['the reverse']} come out the other way round. ",
        "one seed only": "With one seed nothing can be separated. ",
    }
    sentence = "".join(text for outcome, text in sentences.items() if count[outcome])
    sentence += "The published policies are for comparison: their privacy claims do not hold, "
    sentence += "whatever their accuracy."
    if not compared:
        return Verdict("weakened", "No two policies of the paper’s tables were run", sentence)
    head = f"{count['holds']} of {len(compared)} of the paper’s orderings hold here"
    return Verdict("hidden" if count["holds"] == len(compared) else "weakened", head, sentence)


def named(column: Column) -> str:
    """`P-DAP, epsilon 0.01` of a column."""
    name, epsilon = column
    title = name.upper() if name in PUBLISHED else name.replace("-", " ")
    return title if math.isinf(epsilon) else f"{title}, ε = {epsilon:g}"


def _columns(rows: Sequence[Row]) -> list[Column]:
    """In the order they were run."""
    return list(dict.fromkeys((row.policy, row.epsilon) for row in rows))


def _ended(rows: Sequence[Row]) -> list[Row]:
    last = max(row.arrivals for row in rows)
    return [row for row in rows if row.arrivals == last]


def _level(rows: Sequence[Row], column: Column, field: str) -> Interval | None:
    """A figure of rows after equally many visits, with its interval over seeds; None if unknown."""
    values = [getattr(row, field) for row in rows if (row.policy, row.epsilon) == column]
    return mean_interval(values) if values and None not in values else None


def standings(rows: Sequence[Row]) -> Table:
    """All policies at the last visit, means and intervals over seeds."""
    ended, several = _ended(rows), len({row.seed for row in rows}) > 1

    def cell(field: str, form: str) -> Callable[[Column], object]:
        return lambda column: interval_cell(_level(ended, column, field), form, ends=several)

    def spent(column: Column) -> object:
        policy, epsilon = column
        nats = next(r.epsilon_spent_per_visit for r in rows if (r.policy, r.epsilon) == column)
        if not math.isinf(nats):
            return f"{nats:.3g}"
        if math.isinf(epsilon):
            return Cell("∞", "no privacy")
        return Cell("∞", f"refuted: claims {epsilon:g}" if policy in PUBLISHED else "no noise")

    shown: dict[str, Callable[[Column], object]] = {
        "policy": named,
        "accuracy": cell("accuracy", ".2%"),
        "tested": cell("test_accuracy", ".2%"),
        "average regret": cell("average_regret", ".4f"),
        "forwarded": cell("forwarded", ".2%"),
        "ε spent per visit": spent,
    }
    if all(row.test_accuracy is None for row in ended):
        del shown["tested"]
    title = f"After {ended[0].arrivals:,} visits of each vendor"
    return Table.from_rows(title, shown, _columns(rows))


def ordered(compared: Sequence[Ordering]) -> Table:
    """The paper's orderings, and what was found of them here."""

    def points(one: Ordering) -> object:
        several = math.isfinite(one.difference.low)
        return interval_cell(
            Interval(*(100 * each for each in one.difference)), "+.2f", ends=several
        )

    tones = {"holds": "better", "the reverse": "worse"}
    columns: dict[str, Callable[[Ordering], object]] = {
        "in the paper": lambda one: f"{one.above.upper()} above {one.below.upper()}",
        "ε": lambda one: None if math.isinf(one.epsilon) else f"{one.epsilon:g}",
        "difference, percentage points": points,
        "here": lambda one: Cell(one.verdict, tone=tones.get(one.verdict, "")),
    }
    return Table.from_rows("The paper's orderings", columns, compared)


def _figures(rows: Sequence[Row], columns: Sequence[Column], world: World) -> Iterator[Figure]:
    """Regret, that of DAP over its bound, and accuracy."""
    from tacit.evaluation.plots import curves

    many = len({row.seed for row in rows}) > 2  # intervals over two seeds would fill the plot
    visits = group_by(rows, lambda row: row.arrivals)

    def drawn(title: str, shown: Sequence[Column], field: str, axis: str, bound: bool) -> Figure:
        lines = []
        for column in shown:
            means: dict[float | None, Interval | None] = {}
            for n, some in visits.items():
                if (figure := _level(some, column, field)) is not None:
                    over = regret_bound(world.setting, n) if bound else 1.0
                    means[float(n)] = Interval(*(each / over for each in figure))
            if means:
                lines.append(Line(named(column), *_ink(columns.index(column)), means))
        plot = curves(lines, x_title="visits of each vendor", y_title=axis, bars=many)
        alt = f"Line plot: {title} by visits, a line for each policy; the table above holds the "
        return Figure(title, f"{alt}last figures.", (("", plot),))

    yield drawn("Regret", columns, "regret", "regret of one vendor so far", False)
    if DAP in columns:  # below 1 where the bound holds
        title = "DAP's regret over its bound, Theorem 3 without noise"
        yield drawn(title, [DAP], "regret", "regret over its bound", True)
    yield drawn("Accuracy", columns, "accuracy", "clicks per visit so far", False)


def _ink(number: int) -> tuple[str, tuple[int, ...]]:
    turn, place = divmod(number, len(_COLOURS))
    return _COLOURS[place], _DASHES[turn % len(_DASHES)]
