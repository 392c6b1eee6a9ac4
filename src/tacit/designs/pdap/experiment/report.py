"""One self-contained page about vendors that learn together: curves, tables, orderings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tacit.designs.pdap.experiment.policies import PUBLISHED, World
from tacit.designs.pdap.experiment.simulation import Row
from tacit.designs.pdap.experiment.tables import Column, columns_of, level, orderings, tables
from tacit.designs.pdap.policies.published.control import regret_bound
from tacit.evaluation.page import fill, flat, write_page
from tacit.evaluation.result import Interval

_COLOURS = tuple(f"var(--p{number})" for number in range(9))
_DASHES: tuple[tuple[int, ...], ...] = ((), (6, 4), (2, 3), (9, 3, 2, 3))
_POINTS = 12  # of a curve: a dozen is read more easily than forty


def write_report(
    rows: Sequence[Row], world: World, manifest: Mapping[str, Any], path: str | Path
) -> None:
    """Render the page and write it."""
    write_page(render(rows, world, manifest), path)


def render(rows: Sequence[Row], world: World, manifest: Mapping[str, Any]) -> str:
    """The page as HTML: no script, no address, every word of the data escaped."""
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
            for verdict in ("holds", "not told apart", "the reverse", "one seed only")
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
        title = "DAP's regret over its bound, Theorem 3 without noise"
        drawn.append({"title": title, "drawn": _over_bound(dap, world)})
    return drawn


def _over_bound(rows: Sequence[Row], world: World) -> str:
    """Below 1 where the bound holds."""
    from tacit.evaluation.plots import Curve, curves

    column, bars = ("dap", math.inf), len({row.seed for row in rows}) > 2
    points: list[tuple[float, float, float, float]] = []
    for visits in _spread(sorted({row.arrivals for row in rows})):
        found = level(rows, column, "regret", visits)
        if found is not None:
            bound = regret_bound(world.setting, visits)
            mean, low, high = _bounded(found, bars)
            points.append((float(visits), mean / bound, low / bound, high / bound))
    line = Curve(named(column), *_colour(0), tuple(points))
    return curves([line], x_title="visits of each vendor", y_title="regret over its bound")


def _drawn(rows: Sequence[Row], columns: Sequence[Column], field: str, axis: str) -> str:
    from tacit.evaluation.plots import Curve, curves

    every = sorted({row.arrivals for row in rows})
    chosen = _spread(every)
    bars = len({row.seed for row in rows}) > 2
    lines = []
    for number, column in enumerate(columns):
        points = [(n, level(rows, column, field, n)) for n in chosen]
        drawn = tuple(
            (float(n), *_bounded(found, bars)) for n, found in points if found is not None
        )
        if drawn:
            lines.append(Curve(named(column), *_colour(number), drawn))
    return curves(lines, x_title="visits of each vendor", y_title=axis)


def _bounded(found: Interval, bars: bool) -> tuple[float, float, float]:
    """One seed has no interval, and those of two would fill the plot: the point stands alone."""
    if not bars or math.isinf(found.low):
        return (found.mean,) * 3
    return found.mean, found.low, found.high


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
