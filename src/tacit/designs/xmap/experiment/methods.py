"""The contenders of an experiment across domains: names of the machine output, and what they are.

nx-map-ib, nx-map-ub   X-Map without privacy, item-based and user-based: the published variant at
                       epsilon = inf
x-map-ib, x-map-ub     X-Map with privacy, in its variants; user-based only as published
item-average           mean of the item's stars
popularity             how many people rated the item (lists only: its scores are not stars)
remote-user            people who are alike in the source domain are asked about the target domain
knn-single, knn-cross  item kNN in the target domain alone; over both domains as one
mf                     matrix factorisation over both domains as one

At the end, figures of the paper that are not errors: similarities found, and speed by workers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.data.domains import items_in
from tacit.data.ratings import Ratings
from tacit.designs.xmap.extender import baseline, blocks_of, extend, similarities
from tacit.designs.xmap.model import XMap
from tacit.engine.local import CompiledEngine, blocks

if TYPE_CHECKING:
    from tacit.recommenders.base import Recommender

NON_PRIVATE = ("nx-map-ib", "nx-map-ub")
PRIVATE = ("x-map-ib", "x-map-ub")
BASELINES = (
    "item-average",
    "popularity",
    "remote-user",
    "knn-single",
    "knn-cross",
    "mf",
)
METHODS = (*NON_PRIVATE, *PRIVATE, *BASELINES)
WITH_K = (*NON_PRIVATE, *PRIVATE, "remote-user", "knn-single", "knn-cross")
PAPERS_BUDGETS = {"x-map-ib": (0.3, 0.8), "x-map-ub": (0.6, 0.3)}
"""(epsilon, epsilon_prime) of the paper's figures: one replaced item; the recommender's step."""


@dataclass(frozen=True, order=True)
class Contender:
    """One method with its privacy parameters. epsilon: inf without privacy.

    variant: of X-Map; published for NX-Map, which it is at infinity; baseline for the others.
    """

    method: str
    variant: str = "baseline"
    epsilon: float = math.inf
    epsilon_prime: float | None = None
    delta: float = 0.0

    @property
    def has_k(self) -> bool:
        """Whether it has neighbours to count."""
        return self.method in WITH_K and self.variant != "sound"

    @property
    def has_alpha(self) -> bool:
        """Whether old ratings lose weight in it: the paper's item-based methods."""
        return self.method.endswith("-ib") and self.variant == "published"


@dataclass(frozen=True)
class Task:
    """Where all contenders of a split work. options: further keywords of XMap, by name."""

    source: str
    target: str
    options: Mapping[str, Any]
    seed: int


def predicts(contender: Contender, options: Mapping[str, Any]) -> bool:
    """Whether it predicts stars: not popularity, nor the sound variant without its fifth sum."""
    if contender.method in PRIVATE and contender.variant == "sound":
        return bool(options.get("stars"))
    return contender.method != "popularity"


def make(contender: Contender, task: Task, k: int | None) -> Recommender:
    """An unfitted recommender."""
    from tacit.designs.xmap import XMap
    from tacit.engine.local import CompiledEngine
    from tacit.recommenders import baselines

    neighbours: dict[str, Any] = {} if k is None else {"k": k}
    match contender.method:
        case "item-average":
            return baselines.ItemMean(damping=0.0)
        case "popularity":
            return baselines.Popularity()
        case "remote-user":
            return baselines.RemoteUser(source=task.source, target=task.target, **neighbours)
        case "knn-single":
            return baselines.ItemKNN(domain=task.target, engine=CompiledEngine(), **neighbours)
        case "knn-cross":
            return baselines.ItemKNN(engine=CompiledEngine(), **neighbours)
        case "mf":
            return baselines.MatrixFactorization(random_state=task.seed)
    return XMap(
        source=task.source,
        target=task.target,
        variant=contender.variant,  # type: ignore[arg-type]  # checked by the constructor
        epsilon=contender.epsilon,
        epsilon_prime=contender.epsilon_prime,
        delta=contender.delta,
        recommender="item-based" if contender.method.endswith("-ib") else "user-based",
        **neighbours,
        **task.options,
    )


NAMES = {
    "nx-map-ib": "NX-Map (item-based)",
    "nx-map-ub": "NX-Map (user-based)",
    "x-map-ib": "X-Map (item-based)",
    "x-map-ub": "X-Map (user-based)",
    "item-average": "item average",
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


_CELLS = 1 << 22
"""Pairs of items held at once."""


def similarities_found(ratings: Ratings, source: str, target: str) -> dict[str, int]:
    """How many pairs of an item of each domain have a similarity.

    adjusted_cosine: pairs with a cosine that is not 0, from people who rated both. x_sim: pairs
    that a meta-path joins, with the neighbours an item keeps by default. pairs: all.
    """
    sources = items_in(ratings, source).astype(np.int32)
    targets = items_in(ratings, target).astype(np.int32)
    base = baseline(ratings.matrix)
    engine, settings = CompiledEngine(), XMap(target=target).settings
    found = extend(
        base,
        sources,
        targets,
        k=settings.extender_k,
        significance=settings.significance,
        engine=engine,
    )
    centred = base.table.values
    shape = (len(sources), len(targets))
    direct = sum(
        int((centred[:, sources[part]].T @ centred[:, targets]).count_nonzero())
        for part in blocks(shape, _CELLS)
    )
    reached = sum(
        int(np.isfinite(similarities(found, sources[part], engine)).sum())
        for part in blocks_of(found, sources)
    )
    return {"adjusted_cosine": direct, "x_sim": reached, "pairs": shape[0] * shape[1]}


def speed_up(
    run: Callable[[str, int], object], methods: Sequence[str], workers: Sequence[int]
) -> list[dict[str, Any]]:
    """Seconds by the clock of `run(method, workers)`, and how many times faster than the first."""
    rows: list[dict[str, Any]] = []
    for method in methods:
        first = 0.0
        for number in workers:
            started = time.perf_counter()
            run(method, number)
            seconds = time.perf_counter() - started
            first = first or seconds
            rows.append(
                {
                    "method": method,
                    "workers": number,
                    "seconds": seconds,
                    "speed_up": first / seconds,
                }
            )
    return rows
