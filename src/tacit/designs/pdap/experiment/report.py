"""One self-contained page about vendors that learn together: curves, tables, orderings.

Tables II, III and IV are as the paper lays them out, its figures beside ours: accuracies in %, on
data that are not public, with settings that it does not give. Levels cannot be compared; orderings
can.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tacit.designs.pdap import theory
from tacit.designs.pdap.experiment.policies import PUBLISHED, World
from tacit.designs.pdap.experiment.simulation import Row
from tacit.designs.pdap.policies.published.control import regret_bound
from tacit.evaluation.result import Interval, mean_interval

_COLOURS = tuple(f"var(--p{number})" for number in range(9))
_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 4), (2, 3), (9, 3, 2, 3))
_POINTS = 12  # of a curve: a dozen is read more easily than forty


def write_report(
    rows: Sequence[Row], world: World, manifest: Mapping[str, Any], path: str | Path
) -> None:
    """Render the page and write it."""
    from tacit.evaluation.page import write_page

    write_page(render(rows, world, manifest), path)


def render(rows: Sequence[Row], world: World, manifest: Mapping[str, Any]) -> str:
    """The page as HTML: no script, no address, every word of the data escaped."""
    from tacit.evaluation.page import fill

    filters = {
        "percent": lambda value: f"{value:.2%}",
        "signed": lambda value: f"{100 * value:+.2f}".replace("-", "\N{MINUS SIGN}"),
        "named": named,
    }
    return fill(__package__, _facts(rows, world, manifest), filters)


def named(column: Column) -> str:
    """`P-DAP, epsilon 0.01` of a column."""
    name, epsilon = column
    title = name.upper() if name in PUBLISHED else name.replace("-", " ")
    title = title.replace("linucb", "LinUCB")
    return title if math.isinf(epsilon) else f"{title}, ε = {epsilon:g}"


def _facts(rows: Sequence[Row], world: World, manifest: Mapping[str, Any]) -> dict[str, Any]:
    from tacit.evaluation.page import flat

    columns = columns_of(rows)
    last = max(row.arrivals for row in rows)
    found = orderings(rows)
    known = all(row.regret is not None for row in rows)
    best = [row.best for row in rows if row.arrivals == last and row.best is not None]
    return {
        "world": world,
        "last": last,
        "seeds": sorted({row.seed for row in rows}),
        "standings": [_standing(rows, column, last) for column in columns],
        "orderings": found,
        "counts": {
            verdict: sum(one.verdict == verdict for one in found)
            for verdict in ("holds", "not distinguished", "the reverse", "one seed only")
        },
        "tables": tables(rows, world),
        "figures": _figures(rows, columns, known, world),
        "key": [(named(column), *_stroke(number)) for number, column in enumerate(columns)],
        "best": sum(best) / len(best) if best else None,
        "matched": [row.matched for row in rows if row.arrivals == last and row.matched],
        "manifest": list(flat(manifest)),
        "date": manifest.get("date"),
    }


def _standing(rows: Sequence[Row], column: Column, last: int) -> dict[str, Any]:
    here = [row for row in rows if (row.policy, row.epsilon, row.arrivals) == (*column, last)]
    spent = here[0].epsilon_spent_per_visit
    return {
        "name": named(column),
        "accuracy": level(rows, column, "accuracy", last),
        "regret": level(rows, column, "average_regret", last),
        "forwarded": level(rows, column, "forwarded", last),
        "spent": None if math.isinf(spent) else spent,
        "claimed": None if math.isinf(column[1]) else column[1],
        "published": column[0] in PUBLISHED,
    }


def _figures(
    rows: Sequence[Row], columns: Sequence[Column], known: bool, world: World
) -> list[dict[str, str]]:
    wanted = [("accuracy", "Accuracy", "clicks per visit so far")]
    if known:
        wanted = [
            ("regret", "Regret", "regret of one vendor so far"),
            ("average_regret", "Average regret", "regret per visit so far"),
            *wanted,
        ]
    drawn = [
        {"title": title, "drawn": _drawn(rows, columns, field, axis)}
        for field, title, axis in wanted
    ]
    dap = [row for row in rows if row.policy == "dap" and row.regret is not None]
    if dap:
        title = "DAP's regret over its bound, Theorem 3 without noise"  # below 1 where it holds
        axis, bound = "regret over its bound", partial(regret_bound, world.setting)
        drawn.append({"title": title, "drawn": _drawn(dap, [_DAP], "regret", axis, bound)})
    return drawn


def _drawn(
    rows: Sequence[Row],
    columns: Sequence[Column],
    field: str,
    axis: str,
    over: Callable[[int], float] = lambda _: 1.0,
) -> str:
    """over: of so many visits, what the field is divided by."""
    from tacit.evaluation.plots import Curve, curves

    lines = [
        Curve(named(column), *_colour(number), points)
        for number, column in enumerate(columns)
        if (points := tuple(_points(rows, column, field, over)))
    ]
    return curves(lines, x_title="visits of each vendor", y_title=axis)


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


def _stroke(number: int) -> tuple[str, str]:
    colour, dash = _colour(number)
    return colour, " ".join(map(str, dash))


Column = tuple[str, float]
"""A policy, and its epsilon: inf for those without."""
_DAP = ("dap", math.inf)

_HERE = (5000, 10000, 20000, 50000)
PAPER: Mapping[str, tuple[str, tuple[int, ...], Mapping[Column, tuple[float, ...]]]] = {
    "II": (
        "without privacy",
        _HERE,
        {
            ("cap", math.inf): (70.32, 75.36, 76.88, 77.34),
            ("dup", math.inf): (73.32, 74.52, 74.78, 75.08),
            _DAP: (87.34, 90.21, 91.02, 92.17),
        },
    ),
    "III": (
        "P-DAP",
        _HERE,
        {
            ("p-dap", 0.01): (77.54, 78.75, 79.92, 80.12),
            ("p-dap", 0.1): (77.78, 79.35, 80.34, 81.16),
            ("p-dap", 1.0): (78.96, 79.24, 81.06, 82.12),
            _DAP: (86.84, 89.28, 90.23, 91.56),
        },
    ),
    "IV": (
        "GP-DAP",
        (5000, 10000, 15000, 20000, 25000, 30000),
        {
            ("gp-dap", 0.01): (82.44, 84.36, 85.23, 86.74, 87.33, 88.17),
            ("p-dap", 0.01): (77.31, 77.87, 78.42, 79.14, 80.06, 81.64),
        },
    ),
}
"""Title, visits of the rows, and the column of each policy, in %."""
ORDERINGS: tuple[tuple[str, str], ...] = (
    ("dap", "cap"),
    ("dap", "dup"),
    ("gp-dap", "p-dap"),
    ("dap", "gp-dap"),
    ("p-dap", "cap"),
    ("p-dap", "dup"),
)
"""The first is above the second in the paper, at each epsilon."""
_LEVELS = (
    "Levels depend on how often people click at all, which the paper does not tell: compare the "
    "order of the columns."
)
Verdict = Literal["holds", "not distinguished", "the reverse", "one seed only"]


@dataclass(frozen=True)
class Cell:
    """paper: in %; ours: an Interval of accuracy over seeds, None where it was not run."""

    paper: float
    ours: Interval | None


@dataclass(frozen=True)
class Table:
    """One table. lines: arrivals to cells, by column. why: what keeps it from being reproduced."""

    number: str
    title: str
    columns: tuple[Column, ...]
    lines: Mapping[int, tuple[Cell, ...]]
    why: tuple[str, ...]


@dataclass(frozen=True)
class Ordering:
    """Paired over seeds, at the last visit: accuracy of `above` minus that of `below`."""

    above: str
    below: str
    epsilon: float
    difference: Interval
    verdict: Verdict


def tables(rows: Sequence[Row], world: World) -> list[Table]:
    """Those of which at least one column was run; figures are means over seeds."""
    found = []
    for number, (title, arrivals, paper) in PAPER.items():
        columns = tuple(paper)
        lines = {
            n: tuple(Cell(paper[one][row], level(rows, one, "accuracy", n)) for one in columns)
            for row, n in enumerate(arrivals)
        }
        if any(cell.ours for line in lines.values() for cell in line):
            found.append(Table(number, title, columns, lines, _why(number, columns, world)))
    return found


def orderings(rows: Sequence[Row]) -> list[Ordering]:
    """Those between policies that were run."""
    last = max(row.arrivals for row in rows)
    ended = {
        (row.policy, row.epsilon, row.seed): row.accuracy for row in rows if row.arrivals == last
    }
    epsilons = sorted({epsilon for _, epsilon, _ in ended if not math.isinf(epsilon)})
    found = []
    for above, below in ORDERINGS:
        private = above.endswith("p-dap") or below.endswith("p-dap")
        for epsilon in epsilons if private else [math.inf]:
            seeds = [seed for name, _, seed in ended if name == above]
            pairs = [
                (_of(ended, above, epsilon, seed), _of(ended, below, epsilon, seed))
                for seed in dict.fromkeys(seeds)
            ]
            gaps = [one - other for one, other in pairs if one is not None and other is not None]
            if gaps and not any(math.isnan(gap) for gap in gaps):
                difference = mean_interval(gaps)
                found.append(Ordering(above, below, epsilon, difference, verdict_of(difference)))
    return found


def level(rows: Sequence[Row], column: Column, field: str, arrivals: int) -> Interval | None:
    """A figure of the rows, with its interval over seeds; None where there is none."""
    values = [
        getattr(row, field)
        for row in rows
        if (row.policy, row.epsilon, row.arrivals) == (*column, arrivals)
    ]
    known = [value for value in values if value is not None and math.isfinite(value)]
    return mean_interval(known) if known else None


def columns_of(rows: Sequence[Row]) -> list[Column]:
    """Policies and their epsilons, in the order they were run."""
    return list(dict.fromkeys((row.policy, row.epsilon) for row in rows))


def _of(
    ended: Mapping[tuple[str, float, int], float], name: str, epsilon: float, seed: int
) -> float | None:
    return ended.get((name, epsilon, seed), ended.get((name, math.inf, seed)))


def verdict_of(difference: Interval) -> Verdict:
    """Whether the first is better, by the interval of the difference."""
    if math.isinf(difference.low):
        return "one seed only"
    if difference.low > 0:
        return "holds"
    return "the reverse" if difference.high < 0 else "not distinguished"


def _why(number: str, columns: Sequence[Column], world: World) -> tuple[str, ...]:
    """Why the printed levels cannot come from the printed mechanisms at these epsilons."""
    if number == "II":
        return (_LEVELS,)
    s = world.setting
    said = []
    for name, epsilon in columns:
        if math.isinf(epsilon) or (name, number) == ("p-dap", "IV"):
            continue
        scale = theory.noise_scale("tree", s.horizon, s.neighbours + 1, s.videos, epsilon)
        share = math.exp(epsilon / (2 * theory.spread(s.lipschitz, s.slices, s.smoothness, 0)))
        said.append(
            f"{name} at epsilon {epsilon:g}: in the whole cube the best own video is at most "
            f"{share:.4g} times as likely as the worst, and the noise of one node of a tree has "
            f"scale {scale:,.0f} where clicks are 0 or 1. " + _waits(epsilon, world)
        )
    said.append(
        "So the printed figures can come only from videos that are clicked often whichever is "
        "shown, or from a Delta u far below what protects anybody."
    )
    return tuple(said)


def _waits(epsilon: float, world: World) -> str:
    s = world.setting
    if s.neighbours == 0:
        return "Here nobody has neighbours: own videos are all there is."
    asked = theory.gamma(s.horizon, s.neighbours + 1, epsilon, 0.05) / 4
    reach = "more than there are" if asked > s.horizon else f"of {s.horizon:,}"
    said = f"Lemma 5 asks {asked:,.0f} visits of each neighbour before it is exploited, {reach}"
    gamma = world.private.get("gamma")
    return f"{said}." if gamma is None else f"{said}; Gamma was set to {gamma:g} here."
