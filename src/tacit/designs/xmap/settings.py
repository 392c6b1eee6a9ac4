"""Parameters of an X-Map model, checked when they are made."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from numbers import Integral, Real
from typing import Any, Literal, get_args

from tacit.errors import ConfigError, PrivacyError
from tacit.privacy import Adjacency
from tacit.recommenders.header_types import check_types

Variant = Literal["sound", "published"]
Kind = Literal["item-based", "user-based"]
Pnsa = Literal["printed", "counted", "positive"]
"""Readings of PNSA: which items are candidates, and what |v| is in the formula of w.

printed    all other items; |v| is the length of the longest rating vector
counted    all other items; |v| is their number
positive   only items of positive similarity; |v| is their number
"""
_WHOLE_NUMBERS = ("k", "extender_k", "significance")
_REAL_NUMBERS = ("epsilon", "epsilon_prime", "delta", "alpha")


@dataclass(frozen=True)
class Settings:
    """Parameters of `XMap`, with the same names."""

    source: tuple[str, ...]
    """Names of the domains that people have rated in; empty for every domain except the target."""
    target: tuple[str, ...]
    """Names of the domains to recommend from. A domain may be a source of other targets."""
    domain: str
    """Name of the item metadata that has the domains."""
    variant: Variant
    """"sound" or "published"."""
    epsilon: float
    """Sound variant: nats for a person's whole profile. Published: nats claimed for ONE replaced
    item. Infinity: no noise."""
    epsilon_prime: float | None
    """Published variant: nats claimed for ONE list of neighbours; None for the same as epsilon."""
    delta: float
    """Sound variant: probability that the bound of epsilon fails."""
    recommender: Kind
    """"item-based" or "user-based"."""
    k: int
    """Neighbours of the recommender."""
    extender_k: int
    """Neighbours that an item keeps in each layer."""
    significance: int
    """Number of people who rated both items below which a similarity is scaled down; 0: never."""
    alpha: float
    """How fast old ratings lose weight, for each rank in time; 0: not at all."""
    pnsa: Pnsa = "printed"
    """Published variant: reading of PNSA."""
    features: Sequence[str] | None = None
    """Sound variant: names of public item metadata to use."""
    stars: bool = False
    """Sound variant: whether means of stars are released too."""

    def __post_init__(self) -> None:
        """Check all values; a single name becomes a tuple, and numbers become int or float."""
        sources: tuple[str, ...] = ()
        if self.source is not None:
            sources = _names(self.source, "source is the name of a domain, or several")
        targets = _names(self.target, "target is the name of a domain, or several")
        object.__setattr__(self, "source", sources)
        object.__setattr__(self, "target", targets)
        if not targets or len(set(targets)) < len(targets):
            raise ConfigError("Name at least one target domain, each once.")
        for name in targets:
            if sources and not set(sources) - {name}:
                raise ConfigError(f"'{name}' needs a source that is another domain; got {sources}.")
        if not isinstance(self.domain, str):
            raise ConfigError(f"domain is the name of item metadata; got {self.domain!r}.")
        if not isinstance(self.stars, bool):
            raise ConfigError(f"stars is true or false; got {self.stars!r}.")
        if self.features is not None:
            message = "features are names of item metadata"
            object.__setattr__(self, "features", _names(self.features, message))
        self._convert_numbers()
        self._check_names()
        self._check_numbers()
        if self.variant == "sound":
            self._check_sound()

    def _convert_numbers(self) -> None:
        """Convert whole numbers to int and other numbers to float; refuse other types."""
        parameters = asdict(self)
        for name in _WHOLE_NUMBERS:
            value = parameters[name]
            if isinstance(value, bool) or not isinstance(value, Integral):
                raise ConfigError(f"{name} is a whole number; got {value!r}.")
            object.__setattr__(self, name, int(value))
        for name in _REAL_NUMBERS:
            value = parameters[name]
            if value is None and name == "epsilon_prime":
                continue
            if isinstance(value, bool) or not isinstance(value, Real):
                raise ConfigError(f"{name} is a number; got {value!r}.")
            object.__setattr__(self, name, float(value))

    def _check_names(self) -> None:
        """Refuse an unknown variant, recommender or reading of PNSA."""
        if self.variant not in get_args(Variant):
            raise ConfigError(f"The variant is 'sound' or 'published'; got {self.variant!r}.")
        if self.recommender not in get_args(Kind):
            raise ConfigError(
                f"The recommender is 'item-based' or 'user-based'; got {self.recommender!r}."
            )
        if self.pnsa not in get_args(Pnsa):
            raise ConfigError(f"pnsa is 'printed', 'counted' or 'positive'; got {self.pnsa!r}.")

    def _check_numbers(self) -> None:
        """Refuse numbers out of their range."""
        prime = self.epsilon_prime
        if min(self.k, self.extender_k) < 1 or self.significance < 0:
            raise ConfigError("k and extender_k are 1 or more, significance 0 or more.")
        if not 0 <= self.alpha < math.inf:
            raise ConfigError(f"alpha is a finite number, 0 or more; got {self.alpha}.")
        if not self.epsilon > 0:
            raise ConfigError(f"epsilon is above 0, or inf; got {self.epsilon}.")
        if prime is not None and not prime > 0:
            raise ConfigError(f"epsilon_prime is above 0, or inf; got {prime}.")
        if not 0 <= self.delta < 1:
            raise ConfigError(f"delta is a chance, 0 or more and below 1; got {self.delta}.")

    def _check_sound(self) -> None:
        """Refuse parameters that the sound variant does not have."""
        if self.epsilon_prime is not None:
            raise ConfigError(
                "epsilon_prime is the published recommender's; the sound variant has one epsilon."
            )
        if self.pnsa != "printed":
            raise ConfigError(
                "pnsa is a reading of the published variant; the sound one draws no neighbours."
            )
        if not self.delta:
            raise ConfigError(
                "The sound variant has Gaussian noise and needs a delta above 0, such as 1e-6."
            )
        if self.user_based:
            raise PrivacyError(
                "The sound variant has no user-based recommender, because no release about items "
                "can name people: use 'item-based', or the published variant."
            )

    @property
    def user_based(self) -> bool:
        """Whether the recommender is user-based."""
        return self.recommender == "user-based"

    @property
    def epsilon_of_neighbours(self) -> float:
        """Nats claimed for one list of neighbours: epsilon_prime, or epsilon if that is None."""
        return self.epsilon if self.epsilon_prime is None else self.epsilon_prime

    @property
    def neighbour_budget(self) -> float | None:
        """Nats epsilon' of PNSA and PNCF; None if neighbours are not private."""
        budget = self.epsilon_of_neighbours
        return None if math.isinf(budget) else budget

    @property
    def noiseless(self) -> bool:
        """Whether a fit has no noise and no random draws."""
        has_exact_neighbours = self.variant == "sound" or self.neighbour_budget is None
        return math.isinf(self.epsilon) and has_exact_neighbours

    @property
    def weighs_by_time(self) -> bool:
        """Whether old ratings lose weight: the item-based published recommender with an alpha."""
        return self.variant == "published" and not self.user_based and self.alpha > 0

    def to_header(self) -> dict[str, Any]:
        """Return everything but the domains as JSON values; infinity becomes "inf"."""
        header = asdict(self)
        del header["source"]
        del header["target"]
        for name, value in header.items():
            if isinstance(value, float) and math.isinf(value):
                header[name] = "inf"
        return header


def _names(given: object, message: str) -> tuple[str, ...]:
    """Turn one name or a sequence of names into a tuple; ConfigError with the message otherwise."""
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{message}; got {given!r}.")
    return tuple(names)


def settings_from_header(header: dict[str, Any]) -> dict[str, Any]:
    """Read what `to_header` wrote, as keywords of `XMap`; ValueError for other types."""
    finite = {name: 1.0 if value == "inf" else value for name, value in header.items()}
    check_types(Settings, finite)
    return {name: math.inf if value == "inf" else value for name, value in header.items()}


PAPER = (
    "Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar "
    "(PVLDB 2017), and its technical report, Theorems 1 to 4"
)
UNIT = Adjacency("user", "add or remove")
LIFETIME = "per fit: fitting again on the same people spends again"
