"""Contenders of an experiment across domains: methods with their parameters.

nx-map     X-Map without privacy: the published variant at epsilon = inf
x-map      X-Map with privacy, in its variants; user-based only as published
baselines  methods for comparison. popularity makes lists only, because its scores are not stars;
           remote-user predicts from people who are similar in the source domain; mf treats both
           domains as one
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
"""For each method, its name in tables and figures."""
METHODS = tuple(NAMES)
"""All methods, in the order of tables."""
NX_MAP_METHODS = METHODS[:2]
"""The methods of NX-Map."""
X_MAP_METHODS = METHODS[2:4]
"""The methods of X-Map with privacy."""
BASELINES = METHODS[4:]
"""The methods for comparison."""
VARIANTS = ("sound", "published")
"""Variants of X-Map."""
READINGS = ("printed", "counted", "positive")
"""Readings of PNSA (`settings.Pnsa`)."""
WITHOUT_K = ("item-average", "user-average", "popularity", "mf")
"""Methods without a number of neighbours."""
PAPERS_BUDGETS = {"x-map-ib": (0.3, 0.8), "x-map-ub": (0.6, 0.3)}
"""(epsilon, epsilon_prime) of the paper's figures: for one replaced item, and for one list of
neighbours."""


@dataclass(frozen=True)
class Contender:
    """One method with its parameters."""

    method: str
    """A key of `NAMES`."""
    variant: str = "baseline"
    """Variant of X-Map; `published` for NX-Map; `baseline` for the other methods."""
    epsilon: float = math.inf
    """Nats of the sound variant for a person's whole profile, of the published one for one replaced
    item; infinity without privacy."""
    epsilon_prime: float | None = None
    """Nats of the published variant for one list of neighbours."""
    delta: float = 0.0
    """Delta of the sound variant; 0 for other methods."""
    k: int | None = None
    """Number of neighbours; None for the method's default, or if it has no neighbours."""
    pnsa: str | None = None
    """Reading of PNSA, for the published variant with privacy only."""

    @property
    def parameters(self) -> tuple[str, str, float, float | None, str | None]:
        """Method, variant, epsilon, epsilon' and reading, which name it in comparisons."""
        return self.method, self.variant, self.epsilon, self.epsilon_prime, self.pnsa

    @property
    def has_k(self) -> bool:
        """Whether the method has a number of neighbours to choose."""
        return self.method not in WITHOUT_K and self.variant != "sound"

    @property
    def has_alpha(self) -> bool:
        """Whether the method can give old ratings less weight: the paper's item-based methods."""
        return self.method.endswith("-ib") and self.variant == "published"

    @property
    def name(self) -> str:
        """Name in tables, such as `X-Map (item-based), sound`.

        Only methods of `X_MAP_METHODS` have several variants, and so a variant in their names.
        """
        name = NAMES[self.method]
        return f"{name}, {self.variant}" if self.method in X_MAP_METHODS else name

    @property
    def budget(self) -> str:
        """Budget in words, such as `ε = 1, δ = 1e-06`; empty outside `X_MAP_METHODS`."""
        if self.method not in X_MAP_METHODS:
            return ""
        if math.isinf(self.epsilon):
            return "ε = ∞"
        if self.epsilon_prime is not None:
            budget = f"ε = {self.epsilon:g}, ε′ = {self.epsilon_prime:g}, as claimed"
            has_printed_reading = self.pnsa in (None, "printed")
            return budget if has_printed_reading else f"{budget}; PNSA {self.pnsa}"
        return f"ε = {self.epsilon:g}, δ = {self.delta:g}"

    def predicts(self, options: Mapping[str, Any]) -> bool:
        """Return whether the method predicts stars.

        Popularity does not, nor does the sound variant without its option `stars`.

        Args:
            options: Further keywords of XMap, by name.
        """
        if self.variant == "sound":
            return bool(options.get("stars"))
        return self.method != "popularity"

    def make(self, source: str, target: str, options: Mapping[str, Any], seed: int) -> Recommender:
        """Make the recommender, which is not fitted yet.

        Args:
            source: Domain that people have rated in.
            target: Domain to recommend from.
            options: Further keywords of XMap, by name.
            seed: Seed of matrix factorisation. X-Map draws from the operating system.
        """
        from tacit.designs.xmap.model import XMap
        from tacit.recommenders import baselines

        neighbours: dict[str, Any] = {} if self.k is None else {"k": self.k}
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
                return baselines.ItemKNN(domain=target, **neighbours)
            case "knn-cross":
                return baselines.ItemKNN(**neighbours)
            case "mf":
                return baselines.MatrixFactorization(random_state=seed)
        parameters: dict[str, Any] = {
            "variant": self.variant,
            "epsilon": self.epsilon,
            "epsilon_prime": self.epsilon_prime,
            "delta": self.delta,
            "recommender": "user-based" if self.method.endswith("-ub") else "item-based",
        }
        if self.pnsa is not None:
            parameters["pnsa"] = self.pnsa
        return XMap(source=source, target=target, **parameters, **neighbours, **options)
