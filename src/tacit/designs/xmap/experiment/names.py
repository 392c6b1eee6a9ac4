"""Names of the contenders for people, and how each is drawn."""

from __future__ import annotations

import math

from tacit.designs.xmap.experiment.methods import Contender

NAMES = {
    "nx-map-ib": "NX-Map (item-based)",
    "nx-map-ub": "NX-Map (user-based)",
    "x-map-ib": "X-Map (item-based)",
    "x-map-ub": "X-Map (user-based)",
    "item-average": "item average",
    "user-average": "user average",
    "popularity": "popularity",
    "remote-user": "remote user",
    "knn-single": "item kNN (target only)",
    "knn-cross": "item kNN (both domains)",
    "mf": "matrix factorisation",
}
SOLID: tuple[int, ...] = ()
DASHED = (7, 4)
STROKES: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    ("nx-map-ib", "published"): ("var(--nx)", SOLID),
    ("nx-map-ub", "published"): ("var(--nx)", DASHED),
    ("x-map-ib", "sound"): ("var(--sound)", SOLID),
    ("x-map-ib", "constant"): ("var(--sound)", (2, 3)),
    ("x-map-ib", "published"): ("var(--printed)", SOLID),
    ("x-map-ub", "published"): ("var(--printed)", DASHED),
    ("item-average", "baseline"): ("var(--ink)", (2, 3)),
    ("user-average", "baseline"): ("var(--muted)", (2, 3)),
    ("remote-user", "baseline"): ("var(--b1)", SOLID),
    ("knn-single", "baseline"): ("var(--b2)", SOLID),
    ("knn-cross", "baseline"): ("var(--b2)", DASHED),
    ("mf", "baseline"): ("var(--b3)", SOLID),
}
"""(method, variant): colour and dash of its line; popularity has no error to draw."""


def named(contender: Contender) -> str:
    """`X-Map (item-based), sound`; baselines and NX-Map go by their name alone."""
    name = NAMES[contender.method]
    return f"{name}, {contender.variant}" if contender.method.startswith("x-map") else name


def budget(contender: Contender) -> str:
    """`ε = 1, δ = 1e-06`; empty without privacy."""
    if contender.method not in ("x-map-ib", "x-map-ub"):
        return ""
    if math.isinf(contender.epsilon):
        return "ε = ∞"
    if contender.epsilon_prime is not None:
        return f"ε = {contender.epsilon:g}, ε′ = {contender.epsilon_prime:g}, as claimed"
    return f"ε = {contender.epsilon:g}, δ = {contender.delta:g}"
