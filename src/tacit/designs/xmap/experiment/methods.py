"""The contenders of an experiment across domains: names of the machine output, and what they are.

nx-map-ib, nx-map-ub   X-Map without privacy, item-based and user-based: the published variant at
                       epsilon = inf
x-map-ib, x-map-ub     X-Map with privacy, in its variants; user-based only as published
item-average           mean of the item's stars; user-average: of the person's own stars
popularity             how many people rated the item (lists only: its scores are not stars)
remote-user            people who are alike in the source domain are asked about the target domain
knn-single, knn-cross  item kNN in the target domain alone; over both domains as one
mf                     matrix factorisation over both domains as one
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.engine.base import Engine
from tacit.recommenders.base import Recommender

NON_PRIVATE = ("nx-map-ib", "nx-map-ub")
PRIVATE = ("x-map-ib", "x-map-ub")
BASELINES = (
    "item-average",
    "user-average",
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
    from tacit.recommenders import baselines

    neighbours: dict[str, Any] = {} if k is None else {"k": k}
    match contender.method:
        case "item-average":
            return baselines.ItemMean(damping=0.0)
        case "user-average":
            return baselines.UserAverage()
        case "popularity":
            return baselines.Popularity()
        case "remote-user":
            return baselines.RemoteUser(source=task.source, target=task.target, **neighbours)
        case "knn-single":
            return baselines.ItemKNN(domain=task.target, engine=_engine(), **neighbours)
        case "knn-cross":
            return baselines.ItemKNN(engine=_engine(), **neighbours)
        case "mf":
            return baselines.MatrixFactorization(random_state=task.seed)
        case _:
            return _xmap(contender, task, neighbours)


def _engine() -> Engine:
    from tacit.engine.compiled import CompiledEngine

    return CompiledEngine()


def _xmap(contender: Contender, task: Task, neighbours: Mapping[str, Any]) -> Recommender:
    from tacit.designs.xmap import XMap

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
