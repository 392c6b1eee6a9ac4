"""How the planner's numbers of people move with epsilon, rated items and items: for a plot."""

from __future__ import annotations

import math

import numpy as np

from tacit.data.synthetic_blocks import Blocks
from tacit.designs.sketches.messages import MOST
from tacit.designs.sketches.planner import LEAST_EPSILON, MOST_EPSILON, Plan, plan
from tacit.evaluation.page import Needs

NOBODY_BELOW = "nobody below"
"""Whatever the learner, adaptive ones too."""
FIXED_QUESTIONS = "nobody below, fixed questions"
"""Learners whose questions do not depend on earlier answers, as those of all methods here."""
_STEPS = 13


def needs(planned: Plan, blocks: Blocks | None = None) -> tuple[Needs, ...]:
    """One for each of epsilon, rated and items, the others as planned."""
    epsilon, rated, items = planned.epsilon, planned.rated, planned.items
    fewest = max(rated, planned.clusters, 2)
    ends = max(LEAST_EPSILON, epsilon / 10), min(MOST_EPSILON, epsilon * 10)
    return (
        _needs("epsilon", np.clip(np.geomspace(*ends, _STEPS), *ends), planned, blocks),
        _needs("rated", _whole(max(1, rated / 10), min(items, rated * 10)), planned, blocks),
        _needs("items", _whole(max(fewest, items / 10), min(MOST, items * 10)), planned, blocks),
    )


def _bounds(found: Plan) -> dict[str, float]:
    bounds = found.lower_bounds
    if not bounds:
        return {}
    anybody = max(bounds["ldp"], bounds["adaptive"])
    return {NOBODY_BELOW: anybody, FIXED_QUESTIONS: max(anybody, bounds["scarce"])}


def _whole(low: float, high: float) -> tuple[int, ...]:
    return tuple(sorted({round(value) for value in np.geomspace(low, high, _STEPS)}))


def _needs(
    varied: str, values: tuple[int, ...] | np.ndarray, planned: Plan, blocks: Blocks | None
) -> Needs:
    lines: dict[str, list[tuple[float, float]]] = {}
    kept = {name: getattr(planned, name) for name in ("items", "rated", "epsilon", "eta", "unit")}
    for value in values:
        setting = kept | {varied: value if varied != "epsilon" else float(value)}
        found = plan(**setting, clusters=planned.clusters, blocks=blocks)
        people = {method.method: method.users_clt for method in found.methods}
        people |= _bounds(found)
        for name, users in people.items():
            if math.isfinite(users) and users > 0:
                lines.setdefault(name, []).append((float(value), users))
    at = float(kept[varied])
    return Needs(varied, at, {name: tuple(points) for name, points in sorted(lines.items())})
