"""A page of what an experiment found, beside the orderings that the paper found.

The paper's accuracies are on data that are not public, with settings that it does not give: its
levels cannot be compared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tacit.designs.pdap.control import regret_bound
from tacit.designs.pdap.experiment import Column, Row, columns_of, level
from tacit.designs.pdap.experiment.policies import PUBLISHED, World
from tacit.evaluation import Interval, Table, Verdict, mean_interval
from tacit.evaluation.page import Cell, Figure, Line, Mark, Page, Section, interval

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
    last = max(row.arrivals for row in rows)
    ended = {
        (row.policy, row.epsilon, row.seed): row.accuracy for row in rows if row.arrivals == last
    }
    epsilons = sorted({epsilon for _, epsilon, _ in ended if not math.isinf(epsilon)})

    def at(name: str, epsilon: float, seed: int) -> float:
        return ended.get((name, epsilon, seed), ended.get((name, math.inf, seed), math.nan))

    found = []
    for above, below in ORDERINGS:
        private = above.endswith("p-dap") or below.endswith("p-dap")
        for epsilon in epsilons if private else [math.inf]:
            seeds = dict.fromkeys(seed for name, _, seed in ended if name == above)
            gaps = [at(above, epsilon, seed) - at(below, epsilon, seed) for seed in seeds]
            if gaps and not any(map(math.isnan, gaps)):
                difference = mean_interval(gaps)
                found.append(Ordering(above, below, epsilon, difference, verdict_of(difference)))
    return found


def verdict_of(difference: Interval) -> Outcome:
    """Whether the first is better, by the interval of the difference."""
    if math.isinf(difference.low):
        return "one seed only"
    if difference.low > 0:
        return "holds"
    return "the reverse" if difference.high < 0 else "not distinguished"


def page_of(rows: Sequence[Row], world: World, manifest: Mapping[str, Any]) -> Page:
    """Everybody at the last visit, curves, and the paper's orderings."""
    columns, found = columns_of(rows), orderings(rows)
    last, seeds = max(row.arrivals for row in rows), len({row.seed for row in rows})
    key = [Mark(named(column), *_ink(number)) for number, column in enumerate(columns)]
    sections = [
        Section("Everybody, at the last visit", [_standings(rows, columns, last, seeds > 1)]),
        Section("Visit after visit", figures=list(_figures(rows, columns, world)), key=key),
    ]
    if found:
        sections.append(Section("The paper’s orderings", [_ordered(found, seeds > 1)]))
    ended = [row for row in rows if row.arrivals == last]
    facts = {
        "world": world,
        "last": last,
        "seeds": seeds,
        "best": sum(row.best for row in ended) / len(ended),
    }
    return Page(
        "Vendors that learn together",
        sections,
        manifest,
        verdict(found),
        design="P-DAP",
        package=__package__,
        facts=facts,
    )


def verdict(found: Sequence[Ordering]) -> Verdict:
    """How many of the paper's orderings hold."""
    count = Counter[str](one.verdict for one in found)
    said = {
        "not distinguished": f"{count['not distinguished']} cannot be separated. ",
        "the reverse": f"{count['the reverse']} come out the other way round. ",
        "one seed only": "With one seed nothing can be separated. ",
    }
    sentence = "".join(text for outcome, text in said.items() if count[outcome])
    sentence += "The published policies are for comparison: their privacy claims do not hold, "
    sentence += "whatever their accuracy."
    if not found:
        return Verdict("weakened", "No two policies of the paper’s tables were run", sentence)
    head = f"{count['holds']} of {len(found)} of the paper’s orderings hold here"
    return Verdict("hidden" if count["holds"] == len(found) else "weakened", head, sentence)


def named(column: Column) -> str:
    """`P-DAP, epsilon 0.01` of a column."""
    name, epsilon = column
    title = name.upper() if name in PUBLISHED else name.replace("-", " ")
    return title if math.isinf(epsilon) else f"{title}, ε = {epsilon:g}"


def _standings(rows: Sequence[Row], columns: Sequence[Column], last: int, ends: bool) -> Table:
    def cell(field: str, form: str) -> Callable[[Column], object]:
        return lambda column: interval(level(rows, column, field, last), form, ends=ends)

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
        "average regret": cell("average_regret", ".4f"),
        "forwarded": cell("forwarded", ".2%"),
        "ε spent per visit": spent,
    }
    return Table.of("Table of all policies", shown, columns)


def _ordered(found: Sequence[Ordering], ends: bool) -> Table:
    def points(one: Ordering) -> object:
        return interval(Interval(*(100 * each for each in one.difference)), "+.2f", ends=ends)

    tones = {"holds": "better", "the reverse": "worse"}
    columns: dict[str, Callable[[Ordering], object]] = {
        "in the paper": lambda one: f"{one.above.upper()} above {one.below.upper()}",
        "ε": lambda one: None if math.isinf(one.epsilon) else f"{one.epsilon:g}",
        "difference, percentage points": points,
        "here": lambda one: Cell(one.verdict, tone=tones.get(one.verdict, "")),
    }
    return Table.of("Table of orderings", columns, found)


def _figures(rows: Sequence[Row], columns: Sequence[Column], world: World) -> Iterator[Figure]:
    """Regret, that of DAP over its bound, and accuracy."""
    from tacit.evaluation.plots import curves

    many = len({row.seed for row in rows}) > 2  # intervals over two seeds would fill the plot
    visits = sorted({row.arrivals for row in rows})

    def drawn(title: str, shown: Sequence[Column], field: str, axis: str, bound: bool) -> Figure:
        lines = []
        for column in shown:
            means: dict[float | None, Interval | None] = {}
            for n in visits:
                if (found := level(rows, column, field, n)) is not None:
                    over = regret_bound(world.setting, n) if bound else 1.0
                    means[float(n)] = Interval(*(each / over for each in found))
            if means:
                lines.append(Line(named(column), *_ink(columns.index(column)), means))
        plot = curves(lines, x_title="visits of each vendor", y_title=axis, bars=many)
        said = "by visits, a line for each policy; the table above holds the last figures."
        return Figure(title, f"Line plot: {title} {said}", (("", plot),))

    yield drawn("Regret", columns, "regret", "regret of one vendor so far", False)
    if DAP in columns:  # below 1 where the bound holds
        title = "DAP's regret over its bound, Theorem 3 without noise"
        yield drawn(title, [DAP], "regret", "regret over its bound", True)
    yield drawn("Accuracy", columns, "accuracy", "clicks per visit so far", False)


def _ink(number: int) -> tuple[str, tuple[int, ...]]:
    """Colour and dash of a line."""
    turn, place = divmod(number, len(_COLOURS))
    return _COLOURS[place], _DASHES[turn % len(_DASHES)]
