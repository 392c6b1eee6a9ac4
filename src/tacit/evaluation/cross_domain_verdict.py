"""What an experiment across domains found, in words computed from its numbers."""

from __future__ import annotations

import math

from tacit.evaluation.cross_domain import CrossDomainTable, Point
from tacit.evaluation.cross_domain_compare import Comparison
from tacit.evaluation.cross_domain_names import NAMES
from tacit.evaluation.verdict import Verdict

YARDSTICK = "item-average"


def verdict(table: CrossDomainTable) -> Verdict:
    """One headline and a few plain sentences. state: hidden (good), weakened, open (bad), none."""
    plain = judged_without_privacy(table)
    if plain is None or plain.mae is None:
        return Verdict("none", "Yardsticks only", "X-Map was not among the methods of this run.")
    gap = against(table, plain, YARDSTICK)
    parts = [_opening(table, plain, gap), _rivals(table, plain), _privacy(table, plain)]
    return Verdict(*_state(table, gap), " ".join(part for part in parts if part))


def judged_without_privacy(table: CrossDomainTable) -> Point | None:
    """NX-Map at the base, item-based if it was measured."""
    return _first(table, "nx-map")


def judged_with_privacy(table: CrossDomainTable) -> Point | None:
    """X-Map, sound, at the base and its first epsilon, item-based if it was measured."""
    return _first(table, "x-map", "sound")


def against(
    table: CrossDomainTable, point: Point, other: str, measure: str = "mae"
) -> Comparison | None:
    """How a contender at the base compares with another method."""
    mine = point.contender
    wanted = (mine.method, mine.variant, mine.epsilon, mine.epsilon_prime, other, measure)
    return next(
        (
            each
            for each in table.comparisons
            if wanted
            == (
                each.method,
                each.variant,
                each.epsilon,
                each.epsilon_prime,
                each.against,
                each.measure,
            )
        ),
        None,
    )


def _first(table: CrossDomainTable, family: str, variant: str = "published") -> Point | None:
    found = [
        point
        for point in table.at_base()
        if point.contender.method in (f"{family}-ib", f"{family}-ub")
        and point.contender.variant == variant
    ]
    return min(found, key=lambda point: point.contender.method, default=None)


def _state(table: CrossDomainTable, gap: Comparison | None) -> tuple[str, str]:
    if gap is None:
        return "none", f"Stars of people new to {table.target}"
    if gap.high < 0:
        told = f"What people rated in {table.source} tells what they like in {table.target}"
        return "hidden", told
    if gap.low > 0:
        return "open", "Worse than the item averages"
    return "weakened", "No better than the item averages, as far as these people show"


def _opening(table: CrossDomainTable, plain: Point, gap: Comparison | None) -> str:
    kept = table.base.profile_size
    who = (
        f"For people who have rated nothing in {table.target}"
        if kept == 0
        else f"For people with {kept} ratings in {table.target}"
    )
    assert plain.mae is not None
    error = (
        f"{who}, {NAMES[plain.contender.method]} without privacy predicts stars with a mean error "
        f"of {plain.mae.mean:.3f}"
    )
    return f"{error}, {_compared(gap, 'that of item averages')}." if gap else f"{error}."


def _compared(gap: Comparison, other: str) -> str:
    if gap.low <= 0 <= gap.high:
        return f"which these people do not tell apart from {other}"
    side = "below" if gap.difference < 0 else "above"
    return f"{abs(gap.difference):.3f} {side} {other}"


def _rivals(table: CrossDomainTable, plain: Point) -> str:
    rivals = [
        (name, each)
        for name in ("remote-user", "knn-single", "knn-cross", "mf")
        if (each := against(table, plain, name)) is not None
    ]
    beaten = [NAMES[name] for name, each in rivals if each.high < 0]
    lost = [NAMES[name] for name, each in rivals if each.low > 0]
    parts = [f"It has a smaller error than {_and(beaten)}." if beaten else ""]
    parts += [f"It has a larger error than {_and(lost)}." if lost else ""]
    lists = against(table, plain, "popularity", "ndcg_at_10")
    if lists is not None and not lists.low <= 0 <= lists.high:
        side = "better" if lists.difference > 0 else "worse"
        parts.append(f"Its lists of 10 are {side} than the most rated items for everybody.")
    return " ".join(part for part in parts if part)


def _privacy(table: CrossDomainTable, plain: Point) -> str:
    private = judged_with_privacy(table)
    if private is None or private.mae is None or plain.mae is None:
        return ""
    contender = private.contender
    if math.isinf(contender.epsilon):
        return ""
    text = (
        f"With privacy for a person’s whole profile (sound, ε = {contender.epsilon:g}, "
        f"δ = {contender.delta:g}) the error is {private.mae.mean:.3f}"
    )
    gap = against(table, private, YARDSTICK)
    return f"{text}, {_compared(gap, 'that of item averages')}." if gap else f"{text}."


def _and(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
