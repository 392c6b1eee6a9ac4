"""Every choice of an X-Map, checked once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal

from tacit.errors import ConfigError, PrivacyError

if TYPE_CHECKING:
    from tacit.designs.xmap.private_neighbours import Budget

Variant = Literal["sound", "published", "constant"]
Kind = Literal["item-based", "user-based"]


@dataclass(frozen=True)
class Settings:
    """What `XMap` takes, by the same names."""

    domain: str
    variant: Variant
    epsilon: float
    epsilon_prime: float | None
    delta: float
    recommender: Kind
    k: int
    extender_k: int
    most_edges: int | None
    significance: int
    alpha: float
    rho: float
    features: Sequence[str] | None = None
    stars: bool = False

    def __post_init__(self) -> None:
        self._check_types()
        if self.variant not in ("sound", "published", "constant"):
            raise ConfigError(
                f"The variant is 'sound', 'published' or 'constant'; got {self.variant!r}."
            )
        if self.recommender not in ("item-based", "user-based"):
            raise ConfigError(
                f"The recommender is 'item-based' or 'user-based'; got {self.recommender!r}."
            )
        if self.recommender == "user-based" and self.variant != "published":
            raise PrivacyError(
                f"The {self.variant} variant has no user-based recommender: its neighbours are "
                "people, and no release about items can name them. Use recommender='item-based', "
                "or variant='published' to reproduce the paper's."
            )
        self._check_numbers()
        self._check_budget()

    def _check_types(self) -> None:
        """Whole numbers become int, other numbers float; what is neither is refused."""
        if not isinstance(self.domain, str):
            raise ConfigError(f"domain is the name of item metadata; got {self.domain!r}.")
        if not isinstance(self.stars, bool):
            raise ConfigError(f"stars is true or false; got {self.stars!r}.")
        if self.features is not None:
            object.__setattr__(self, "features", _names(self.features))
        for name in ("k", "extender_k", "most_edges", "significance"):
            value = getattr(self, name)
            if value is None and name == "most_edges":
                continue
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise ConfigError(f"{name} is a whole number; got {value!r}.")
            object.__setattr__(self, name, int(value))
        for name in ("epsilon", "epsilon_prime", "delta", "alpha", "rho"):
            value = getattr(self, name)
            if value is None and name == "epsilon_prime":
                continue
            if isinstance(value, bool) or not isinstance(value, Real):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            object.__setattr__(self, name, float(value))

    def _check_numbers(self) -> None:
        most = 1 if self.most_edges is None else self.most_edges
        if min(self.k, self.extender_k, most) < 1 or self.significance < 0:
            raise ConfigError("k, extender_k and most_edges are 1 or more, significance 0 or more.")
        if not 0 <= self.alpha < math.inf:
            raise ConfigError(f"alpha is a finite number, 0 or more; got {self.alpha}.")
        if not 0 < self.rho < 1:
            raise ConfigError(f"rho is a chance between 0 and 1; got {self.rho}.")

    def _check_budget(self) -> None:
        for name, nats in (("epsilon", self.epsilon), ("epsilon_prime", self.epsilon_prime)):
            if nats is not None and not nats > 0:
                raise ConfigError(f"{name} is above 0, or inf; got {nats}.")
        if self.epsilon_prime is not None and self.variant != "published":
            raise ConfigError(
                f"epsilon_prime is the published recommender's; the {self.variant} variant has one "
                "epsilon for everything."
            )
        if not 0 <= self.delta < 1:
            raise ConfigError(f"delta is a chance, 0 or more and below 1; got {self.delta}.")
        if self.variant == "sound" and self.delta == 0:
            raise ConfigError(
                "The sound variant has Gaussian noise and needs a delta above 0, such as 1e-6."
            )

    @property
    def for_neighbours(self) -> float:
        """epsilon' of the published recommender; if not given, as epsilon."""
        return self.epsilon if self.epsilon_prime is None else self.epsilon_prime

    @property
    def budget(self) -> Budget | None:
        """Of PNSA and PNCF, None without noise."""
        from tacit.designs.xmap.private_neighbours import Budget

        nats = self.for_neighbours
        return None if math.isinf(nats) else Budget(nats, self.rho)

    @property
    def noiseless(self) -> bool:
        return math.isinf(self.epsilon) and (
            self.variant != "published" or math.isinf(self.for_neighbours)
        )

    def to_header(self) -> dict[str, Any]:
        """JSON values; infinity is written as the text "inf"."""
        return {
            name: "inf" if isinstance(value, float) and math.isinf(value) else value
            for name, value in asdict(self).items()
        }


def _names(given: object) -> tuple[str, ...]:
    names = () if isinstance(given, str) or not isinstance(given, Sequence) else tuple(given)
    if not isinstance(given, Sequence) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"features are names of item metadata; got {given!r}.")
    return (given,) if isinstance(given, str) else names


def settings_from_header(header: dict[str, Any]) -> dict[str, Any]:
    """What `to_header` wrote, as keywords."""
    return {name: math.inf if value == "inf" else value for name, value in header.items()}
