"""How the planner's numbers of people move with epsilon, rated items and items: for a plot."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.data.synthetic_blocks import Blocks
from tacit.recommenders.sketches.planner import Plan, plan

NOBODY_BELOW = "nobody below"
_STEPS = 13


@dataclass(frozen=True)
class Needs:
    """What is varied, and people by method; the lower bound is NOBODY_BELOW.

    at: the value that was planned for. lines: name to (value, people) pairs, infinite ones left
    out.
    """

    varied: str
    at: float
    lines: dict[str, tuple[tuple[float, float], ...]]


def needs(planned: Plan, blocks: Blocks | None = None) -> tuple[Needs, ...]:
    """One for each of epsilon, rated and items, the others as planned."""
    epsilon, rated, items = planned.epsilon, planned.rated, planned.items
    fewest = max(rated, planned.clusters, 2)
    return (
        _needs("epsilon", np.geomspace(epsilon / 10, epsilon * 10, _STEPS), planned, blocks),
        _needs("rated", _whole(max(1, rated / 10), min(items, rated * 10)), planned, blocks),
        _needs("items", _whole(max(fewest, items / 10), items * 10), planned, blocks),
    )


def _whole(low: float, high: float) -> tuple[int, ...]:
    return tuple(sorted({round(value) for value in np.geomspace(low, high, _STEPS)}))


def _needs(
    varied: str, values: tuple[int, ...] | np.ndarray, planned: Plan, blocks: Blocks | None
) -> Needs:
    lines: dict[str, list[tuple[float, float]]] = {NOBODY_BELOW: []}
    kept = {name: getattr(planned, name) for name in ("items", "rated", "epsilon", "eta", "unit")}
    for value in values:
        setting = kept | {varied: value if varied != "epsilon" else float(value)}
        found = plan(**setting, clusters=planned.clusters, blocks=blocks)
        people = {method.method: method.users_clt for method in found.methods}
        people[NOBODY_BELOW] = max(found.lower_bounds.values())
        for name, users in people.items():
            if math.isfinite(users) and users > 0:
                lines.setdefault(name, []).append((float(value), users))
    at = float(kept[varied])
    return Needs(varied, at, {name: tuple(points) for name, points in sorted(lines.items())})
