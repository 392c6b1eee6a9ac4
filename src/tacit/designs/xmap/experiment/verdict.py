"""What an experiment across domains found, in words computed from its numbers."""

from __future__ import annotations

import math
from operator import attrgetter

from tacit.designs.xmap.experiment.experiment import CrossDomainTable, Point
from tacit.designs.xmap.experiment.judging import Comparison
from tacit.designs.xmap.experiment.methods import NAMES, budget, named
from tacit.evaluation.result import Verdict

BASELINE = "item-average"
_what = attrgetter("against", "measure")


def verdict(table: CrossDomainTable) -> Verdict:
    """One headline and a few plain sentences. state: hidden (good), weakened, open (bad), none."""
    judged = judged_without_privacy(table) or _of_any_variant(table)
    if judged is None:
        return Verdict("none", "Baselines only", "X-Map was not among the methods of this run.")
    if judged.mae is None:
        return _of_lists(table, judged)
    gap = against(table, judged, BASELINE)
    parts = [_opening(table, judged, gap), _rivals(table, judged), _privacy(table, judged)]
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
    named = attrgetter("method", "variant", "epsilon", "epsilon_prime")
    wanted = (*named(point.contender), other, measure)
    found = (each for each in table.comparisons if (*named(each), *_what(each)) == wanted)
    return next(found, None)


def _of_lists(table: CrossDomainTable, judged: Point) -> Verdict:
    """Of a contender that makes lists and predicts no stars."""
    found = against(table, judged, "popularity", "ndcg_at_10")
    paid = f"{named(judged.contender)} ({budget(judged.contender)})"
    if found is None or found.low <= 0 <= found.high:
        state, side = ("none", "") if found is None else ("weakened", "not distinguished from")
    else:
        state, side = ("hidden", "better than") if found.low > 0 else ("open", "worse than")
    gap = f", {side} the most rated items for everybody" if side else ""
    return Verdict(
        state,
        f"Lists of {table.target} for people new to it",
        f"{paid} has an NDCG at 10 of {judged.ndcg_at_10.mean:.3f}{gap}. It predicts no stars: "
        "that takes --stars, and a share of its budget.",
    )


def _first(table: CrossDomainTable, family: str, variant: str = "published") -> Point | None:
    found = [
        point
        for point in table.at_base()
        if point.contender.method in (f"{family}-ib", f"{family}-ub")
        and point.contender.variant == variant
    ]
    return min(found, key=lambda point: point.contender.method, default=None)


def _of_any_variant(table: CrossDomainTable) -> Point | None:
    """X-Map where NX-Map was not measured: sound if it was, else as it was fitted."""
    found = (_first(table, "x-map", variant) for variant in ("sound", "constant", "published"))
    return next((point for point in found if point is not None), None)


def _state(table: CrossDomainTable, gap: Comparison | None) -> tuple[str, str]:
    if gap is None:
        return "none", f"Stars of people new to {table.target}"
    if gap.high < 0:
        text = f"What people rated in {table.source} tells what they like in {table.target}"
        return "hidden", text
    if gap.low > 0:
        return "open", "Worse than the item averages"
    return "weakened", "No better than the item averages, as far as these people show"


def _opening(table: CrossDomainTable, judged: Point, gap: Comparison | None) -> str:
    kept = table.base.profile_size
    who = (
        f"For people who have rated nothing in {table.target}"
        if kept == 0
        else f"For people with {kept} ratings in {table.target}"
    )
    assert judged.mae is not None
    paid = budget(judged.contender)
    with_what = f"({paid})" if paid else "without privacy"
    error = (
        f"{who}, {named(judged.contender)} {with_what} predicts stars with a mean error "
        f"of {judged.mae.mean:.3f}"
    )
    return f"{error}, {_compared(gap, 'that of item averages')}." if gap else f"{error}."


def _compared(gap: Comparison, other: str) -> str:
    if gap.low <= 0 <= gap.high:
        return f"which these people do not tell apart from {other}"
    side = "below" if gap.difference < 0 else "above"
    return f"{abs(gap.difference):.3f} {side} {other}"


def _rivals(table: CrossDomainTable, judged: Point) -> str:
    """knn-single is left out of a cold start: without a rating in the target it falls back
    on item averages, and would be the same rival twice."""
    cold = table.base.profile_size == 0
    rivals = [
        (name, each)
        for name in ("remote-user", "knn-single", "knn-cross", "mf")
        if (each := against(table, judged, name)) is not None
    ]
    same = cold and any(name == "knn-single" for name, _ in rivals)
    rivals = [each for each in rivals if not (cold and each[0] == "knn-single")]
    beaten = [NAMES[name] for name, each in rivals if each.high < 0]
    lost = [NAMES[name] for name, each in rivals if each.low > 0]
    parts = [f"It has a smaller error than {_and(beaten)}." if beaten else ""]
    parts += [f"It has a larger error than {_and(lost)}." if lost else ""]
    if same:
        parts.append(
            "Item kNN (target only) knows nothing of these people: it falls back on "
            "item averages and is no rival of its own."
        )
    lists = against(table, judged, "popularity", "ndcg_at_10")
    if lists is not None and not lists.low <= 0 <= lists.high:
        side = "better" if lists.difference > 0 else "worse"
        parts.append(f"Its lists of 10 are {side} than the most rated items for everybody.")
    return " ".join(part for part in parts if part)


def _privacy(table: CrossDomainTable, judged: Point) -> str:
    private = judged_with_privacy(table)
    if private is None or private == judged or math.isinf(private.contender.epsilon):
        return ""
    contender = private.contender
    text = (
        f"With privacy for a person’s whole profile (sound, ε = {contender.epsilon:g}, "
        f"δ = {contender.delta:g}) "
    )
    if private.mae is None:
        return f"{text}the NDCG at 10 of lists is {private.ndcg_at_10.mean:.3f}."
    text = f"{text}the error is {private.mae.mean:.3f}"
    gap = against(table, private, BASELINE)
    return f"{text}, {_compared(gap, 'that of item averages')}." if gap else f"{text}."


def _and(names: list[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
