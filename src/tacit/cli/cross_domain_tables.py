"""The tables of an experiment across domains, narrow enough for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.cli import output
from tacit.evaluation.cross_domain import CrossDomainTable, Point
from tacit.evaluation.cross_domain_compare import Comparison
from tacit.evaluation.cross_domain_methods import PAPERS_BUDGETS, Contender
from tacit.evaluation.cross_domain_verdict import YARDSTICK, against
from tacit.evaluation.intervals import Interval


def everybody(table: CrossDomainTable) -> None:
    """All methods at the base: errors with intervals, the paired difference, lists."""
    points = table.at_base()
    output.table(
        "",
        ("method", "privacy", "MAE", "95 %", "less item averages", "NDCG@10"),
        [
            (
                point.contender.method,
                _privacy(point.contender),
                None if point.mae is None else point.mae.mean,
                _ends(point.mae),
                _gap(against(table, point, YARDSTICK)),
                point.ndcg_at_10.mean,
            )
            for point in points
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
    return f"sound {contender.epsilon:g}"


def _ends(interval: Interval | None) -> str:
    if interval is None or interval.low == float("-inf"):
        return ""
    return f"{interval.low:.3f}-{interval.high:.3f}"


def _gap(gap: Comparison | None) -> str:
    return "" if gap is None else f"{gap.difference:+.3f} ({gap.low:+.3f} to {gap.high:+.3f})"
