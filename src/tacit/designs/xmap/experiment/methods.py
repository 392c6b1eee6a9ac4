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
from typing import TYPE_CHECKING, Any

from tacit.design import Comparison, Entry

if TYPE_CHECKING:
    from tacit.recommenders.base import Recommender

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
METHODS = tuple(NAMES)
NON_PRIVATE, PRIVATE, BASELINES = METHODS[:2], METHODS[2:4], METHODS[4:]
VARIANTS = ("sound", "published")
WITHOUT_K = ("item-average", "user-average", "popularity", "mf")
PAPERS_BUDGETS = {"x-map-ib": (0.3, 0.8), "x-map-ub": (0.6, 0.3)}
"""(epsilon, epsilon_prime) of the paper's figures: one replaced item; the recommender's step."""
SOLID: tuple[int, ...] = ()
DASHED, DOTTED = (7, 4), (2, 3)
STROKES: dict[tuple[str, str], tuple[str, tuple[int, ...]]] = {
    ("nx-map-ib", "published"): ("var(--nx)", SOLID),
    ("nx-map-ub", "published"): ("var(--nx)", DASHED),
    ("x-map-ib", "sound"): ("var(--sound)", SOLID),
    ("x-map-ib", "published"): ("var(--printed)", SOLID),
    ("x-map-ub", "published"): ("var(--printed)", DASHED),
    ("item-average", "baseline"): ("var(--ink)", DOTTED),
    ("user-average", "baseline"): ("var(--muted)", DOTTED),
    ("remote-user", "baseline"): ("var(--b1)", SOLID),
    ("knn-single", "baseline"): ("var(--b2)", SOLID),
    ("knn-cross", "baseline"): ("var(--b2)", DASHED),
    ("mf", "baseline"): ("var(--b3)", SOLID),
}
"""(method, variant): colour and dash of its line; popularity has no error to draw."""
PROFILE = "a person's whole profile, added or removed"
PRINTED = "a rating, as printed: refuted, see the card"
LISTS = "everybody who has the lists or the model"


@dataclass(frozen=True)
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
        return self.method not in WITHOUT_K and self.variant != "sound"

    @property
    def has_alpha(self) -> bool:
        """Whether old ratings lose weight in it: the paper's item-based methods."""
        return self.method.endswith("-ib") and self.variant == "published"

    @property
    def name(self) -> str:
        """`X-Map (item-based), sound`; baselines and NX-Map go by their name alone."""
        name = NAMES[self.method]
        return f"{name}, {self.variant}" if self.method in PRIVATE else name

    @property
    def budget(self) -> str:
        """`ε = 1, δ = 1e-06`; empty without privacy."""
        if self.method not in PRIVATE:
            return ""
        if math.isinf(self.epsilon):
            return "ε = ∞"
        if self.epsilon_prime is not None:
            return f"ε = {self.epsilon:g}, ε′ = {self.epsilon_prime:g}, as claimed"
        return f"ε = {self.epsilon:g}, δ = {self.delta:g}"

    def predicts(self, options: Mapping[str, Any]) -> bool:
        """Whether its scores are stars: not popularity's, nor sound ones without the option."""
        return (
            bool(options.get("stars")) if self.variant == "sound" else self.method != "popularity"
        )

    def make(
        self, source: str, target: str, options: Mapping[str, Any], seed: int, k: int | None
    ) -> Recommender:
        """An unfitted recommender. options: further keywords of XMap, by name."""
        from tacit.designs.xmap.model import XMap
        from tacit.engine import Engine
        from tacit.recommenders import baselines

        neighbours: dict[str, Any] = {} if k is None else {"k": k}
        match self.method:
            case "item-average":
                return baselines.ItemMean(damping=0.0)
            case "user-average":
                return baselines.UserAverage()
            case "popularity":
                return baselines.Popularity()
            case "remote-user":
                return baselines.RemoteUser(source=source, target=target, **neighbours)
            case "knn-single":
                return baselines.ItemKNN(domain=target, engine=Engine(), **neighbours)
            case "knn-cross":
                return baselines.ItemKNN(engine=Engine(), **neighbours)
            case "mf":
                return baselines.MatrixFactorization(random_state=seed)
        return XMap(
            source=source,
            target=target,
            variant=self.variant,  # type: ignore[arg-type]  # checked by the constructor
            epsilon=self.epsilon,
            epsilon_prime=self.epsilon_prime,
            delta=self.delta,
            recommender="user-based" if self.method.endswith("-ub") else "item-based",
            **neighbours,
            **options,
        )


def contenders(asked: Comparison) -> tuple[Entry, ...] | str:
    """X-Map in its variants, for `tacit compare`, where two domains are named."""
    if asked.source is None or asked.target is None:
        return "needs two domains: name --source and --target"
    maker = "tacit.designs.xmap:XMap"
    routes = {"source": asked.source, "target": asked.target}
    found = []
    for epsilon in asked.epsilons:
        given = routes | {"epsilon": epsilon}
        if math.isinf(epsilon):
            plain = given | {"variant": "published", "k": 10}
            found.append(Entry("xmap", "non-private", epsilon, PROFILE, LISTS, maker, plain, True))
            continue
        sound = given | {"variant": "sound", "delta": asked.delta}
        found.append(Entry("xmap", "sound", epsilon, PROFILE, LISTS, maker, sound, True))
        printed = given | {"variant": "published", "k": 10}
        found.append(Entry("xmap", "published", epsilon, PRINTED, LISTS, maker, printed, True))
    return tuple(found)
