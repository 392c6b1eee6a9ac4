"""The tables of an experiment across domains, narrow enough for a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tacit.cli import output
from tacit.designs.xmap.experiment.compare import Comparison
from tacit.designs.xmap.experiment.experiment import CrossDomainTable, Point
from tacit.designs.xmap.experiment.methods import PAPERS_BUDGETS, Contender
from tacit.designs.xmap.experiment.verdict import BASELINE, against
from tacit.evaluation.intervals import Interval


def everybody(table: CrossDomainTable) -> None:
    """All methods at the base: errors with intervals, the paired difference, lists."""
    output.table(
        "",
        ("method", "privacy", "MAE", "less item averages", "NDCG@10"),
        [
            (
                point.contender.method,
                _privacy(point.contender),
                _with_width(point.mae),
                _with_width(_gap(against(table, point, BASELINE)), "+.3f"),
                point.ndcg_at_10.mean,
            )
            for point in table.at_base()
        ],
    )


def moved(table: CrossDomainTable) -> None:
    """A table of errors for each thing that moves: the paper's figures in numbers."""
    at_k = [point for point in table.points if point.k in (None, table.base_k)]
    for title, points, x_of in (
        ("MAE by k", [p for p in table.points if p.setting == table.base], _k),
        (
            "MAE by overlap",
            [p for p in at_k if p.setting.profile_size == table.base.profile_size],
            _overlap,
        ),
        (
            f"MAE by ratings kept in {table.target}",
            [p for p in at_k if p.setting.overlap == table.base.overlap],
            _profile,
        ),
    ):
        _figure(title, points, x_of)


def price(table: CrossDomainTable) -> None:
    """Error of the sound variant on generated people, and the share of the gain it keeps."""
    found = table.price
    if found is None:
        return
    output.table(
        "On generated people: MAE, and the share of the gain that is kept",
        ("people", "NX-Map", "inf", *(f"epsilon {epsilon:g}" for epsilon in found.epsilons)),
        [
            (
                f"{size:,}",
                found.nx_mean("mae", size),
                found.mean("mae", size, math.inf),
                *(
                    f"{found.mean('mae', size, epsilon):.3f}, "
                    f"{found.mean('kept', size, epsilon):.0%}"
                    for epsilon in found.epsilons
                ),
            )
            for size in found.users
        ],
    )


def _figure(title: str, points: Sequence[Point], x_of: Callable[[Point], float | None]) -> None:
    columns = sorted({x for point in points if (x := x_of(point)) is not None})
    if len(columns) < 2:
        return
    found: dict[Contender, dict[float | None, float]] = {}
    for point in points:
        if point.mae is not None:
            found.setdefault(point.contender, {})[x_of(point)] = point.mae.mean
    rows = [
        (contender.method, _privacy(contender), *(known.get(x, known.get(None)) for x in columns))
        for contender, known in found.items()
        if len(known) > 1 or None in known
    ]
    output.table(title, ("method", "privacy", *(f"{x:g}" for x in columns)), rows)


def _k(point: Point) -> float | None:
    return point.k


def _overlap(point: Point) -> float | None:
    return point.setting.overlap


def _profile(point: Point) -> float | None:
    return point.setting.profile_size


def _privacy(contender: Contender) -> str:
    if contender.method not in PAPERS_BUDGETS:
        return "none"
    if contender.epsilon_prime is not None:
        return f"published {contender.epsilon:g}, {contender.epsilon_prime:g}"
    return f"{contender.variant} {contender.epsilon:g}"


def _gap(gap: Comparison | None) -> Interval | None:
    return None if gap is None else Interval(gap.difference, gap.low, gap.high)


def _with_width(interval: Interval | None, sign: str = ".3f") -> str:
    """The mean and half of its interval, which is as wide on either side."""
    if interval is None:
        return ""
    half = (interval.high - interval.low) / 2
    return f"{interval.mean:{sign}}" + (f" ± {half:.3f}" if math.isfinite(half) else "")
