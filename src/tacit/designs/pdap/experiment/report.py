"""One self-contained page about vendors that learn together: curves, tables, orderings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from tacit.designs.pdap.control import regret_bound
from tacit.designs.pdap.experiment.paper import (
    Column,
    Ordering,
    PaperTable,
    columns_of,
    level,
    orderings,
    tables,
)
from tacit.designs.pdap.experiment.policies import PUBLISHED, World
from tacit.designs.pdap.experiment.simulation import Row
from tacit.evaluation.page import Cell, Figure, Mark, Page, Section, interval
from tacit.evaluation.result import Interval, Table, Verdict

_COLOURS = tuple(f"var(--p{number})" for number in range(9))
_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 4), (2, 3), (9, 3, 2, 3))
_POINTS = 12  # of a curve: a dozen is read more easily than forty


def page_of(rows: Sequence[Row], world: World, manifest: Mapping[str, Any]) -> Page:
    """Everybody at the last visit, curves, the paper's orderings and its tables."""
    columns, found = columns_of(rows), orderings(rows)
    last, seeds = max(row.arrivals for row in rows), len({row.seed for row in rows})
    key = [Mark(named(column), *_colour(number)) for number, column in enumerate(columns)]
    sections = [
        Section("Everybody, at the last visit", [_standings(rows, columns, last, seeds > 1)]),
        Section("Visit after visit", figures=list(_figures(rows, columns, world)), key=key),
    ]
    if found:
        sections.append(Section("The paper’s orderings", [_ordered(found, seeds > 1)]))
    sections += [
        Section(
            f"Table {table.number} of the paper: {table.title}",
            [_laid_out(table, seeds > 1)],
            notes=table.why,
        )
        for table in tables(rows, world)
    ]
    best = [row.best for row in rows if row.arrivals == last and row.best is not None]
    facts = {
        "world": world,
        "last": last,
        "seeds": seeds,
        "best": sum(best) / len(best) if best else None,
        "matched": [row.matched for row in rows if row.arrivals == last and row.matched],
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
    count = Counter(one.verdict for one in found)
    said = "The published policies are for comparison: their privacy claims do not hold, whatever "
    parts = [
        f"{count['not distinguished']} cannot be separated. " if count["not distinguished"] else "",
        f"{count['the reverse']} come out the other way round. " if count["the reverse"] else "",
        "With one seed nothing can be separated. " if count["one seed only"] else "",
        f"{said}their accuracy.",
    ]
    if not found:
        return Verdict("weakened", "No two policies of the paper’s tables were run", "".join(parts))
    head = f"{count['holds']} of {len(found)} of the paper’s orderings hold here"
    return Verdict("hidden" if count["holds"] == len(found) else "weakened", head, "".join(parts))


def named(column: Column) -> str:
    """`P-DAP, epsilon 0.01` of a column."""
    name, epsilon = column
    title = name.upper() if name in PUBLISHED else name.replace("-", " ")
    title = title.replace("linucb", "LinUCB")
    return title if math.isinf(epsilon) else f"{title}, ε = {epsilon:g}"


def _standings(rows: Sequence[Row], columns: Sequence[Column], last: int, ends: bool) -> Table:
    def cell(field: str, form: str) -> Callable[[Column], object]:
        return lambda column: interval(level(rows, column, field, last), form, ends=ends)

    def spent(column: Column) -> object:
        policy, epsilon = column
        here = (row for row in rows if (row.policy, row.epsilon, row.arrivals) == (*column, last))
        nats = next(here).epsilon_spent_per_visit
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


def _laid_out(table: PaperTable, ends: bool) -> Table:
    """As the paper has it, with ours beside each of its columns."""
    rows = [
        (
            f"{arrivals:,}",
            *(
                each
                for cell in cells
                for each in (f"{cell.paper:.2f}%", interval(cell.ours, ".2%", ends=ends))
            ),
        )
        for arrivals, cells in table.lines.items()
    ]
    heads = [("", 1), *((named(column), 2) for column in table.columns)]
    columns = ("arrivals", *("paper", "here") * len(table.columns))
    return Table(f"Table {table.number}", columns, rows, heads)


def _figures(rows: Sequence[Row], columns: Sequence[Column], world: World) -> Iterator[Figure]:
    wanted = [("accuracy", "Accuracy", "clicks per visit so far")]
    if all(row.regret is not None for row in rows):
        wanted = [
            ("regret", "Regret", "regret of one vendor so far"),
            ("average_regret", "Average regret", "regret per visit so far"),
            *wanted,
        ]
    for field, title, axis in wanted:
        yield _drawn(title, rows, columns, field, axis)
    dap = [row for row in rows if row.policy == "dap" and row.regret is not None]
    if dap:
        title = "DAP's regret over its bound, Theorem 3 without noise"  # below 1 where it holds
        bound = partial(regret_bound, world.setting)
        yield _drawn(title, dap, columns, "regret", "regret over its bound", bound)


def _drawn(
    title: str,
    rows: Sequence[Row],
    columns: Sequence[Column],
    field: str,
    axis: str,
    over: Callable[[int], float] = lambda _: 1.0,
) -> Figure:
    """over: of so many visits, what the field is divided by."""
    from tacit.evaluation.plots import Curve, curves

    lines = [
        Curve(named(column), *_colour(number), points)
        for number, column in enumerate(columns)
        if (points := tuple(_points(rows, column, field, over)))
    ]
    drawn = curves(lines, x_title="visits of each vendor", y_title=axis)
    said = "by visits, a line for each policy; the table above holds the last figures."
    return Figure(title, f"Line plot: {title} {said}", (("", drawn),))


def _points(
    rows: Sequence[Row], column: Column, field: str, over: Callable[[int], float]
) -> Iterator[tuple[float, float, float, float]]:
    """Visits, and the mean with its interval, where there is one."""
    bars = len({row.seed for row in rows}) > 2
    for n in _spread(sorted({row.arrivals for row in rows})):
        if (found := level(rows, column, field, n)) is not None:
            # One seed has no interval, and those of two would fill the plot: points stand alone.
            alone = not bars or math.isinf(found.low)
            low, high = (found.mean, found.mean) if alone else (found.low, found.high)
            yield float(n), found.mean / over(n), low / over(n), high / over(n)


def _spread(every: Sequence[int]) -> list[int]:
    """About a dozen of them, in equal steps, the last one included."""
    wanted = [every[-1] * step / _POINTS for step in range(1, _POINTS + 1)]
    return sorted({min(every, key=lambda n: abs(n - at)) for at in wanted})


def _colour(number: int) -> tuple[str, tuple[int, ...]]:
    turn = number // len(_COLOURS) % len(_DASHES)
    return _COLOURS[number % len(_COLOURS)], _DASHES[turn]
