"""Every choice of an X-Map, checked once."""

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
"""Readings of PNSA: who can be drawn, and what |v| of w counts.

printed: all other items; |v| is the longest rating vector. counted: all other items; |v| is their
number. positive: only positively similar items; |v| is their number.
"""
_NUMBERS: tuple[tuple[Any, Any, str, tuple[str, ...]], ...] = (
    (Integral, int, "a whole number", ("k", "extender_k", "significance")),
    (Real, float, "a number", ("epsilon", "epsilon_prime", "delta", "alpha")),
)


@dataclass(frozen=True)
class Settings:
    """The parameters of `XMap`, by the same names."""

    source: tuple[str, ...]
    """Names of the domains that people have rated in; empty: every domain but the target."""
    target: tuple[str, ...]
    """Domains to recommend from. A domain may be source and target; it is never its own source."""
    domain: str
    """The item metadata that names domains."""
    variant: Variant
    """"sound" or "published"."""
    epsilon: float
    """Sound: for a person's whole profile. Published: claimed for ONE replaced item. inf: none."""
    epsilon_prime: float | None
    """Published: claimed for ONE list of neighbours; None: as epsilon."""
    delta: float
    """Probability that the bound of epsilon fails, of the sound variant."""
    recommender: Kind
    """"item-based" or "user-based"."""
    k: int
    """Neighbours of the recommender."""
    extender_k: int
    """Neighbours that an item keeps in each layer."""
    significance: int
    """Raters of both below which a similarity is scaled down; 0: never."""
    alpha: float
    """How fast old ratings lose weight, for each rank in time; 0: not at all."""
    pnsa: Pnsa = "printed"
    """Reading of PNSA."""
    features: Sequence[str] | None = None
    """Names of public item metadata, of the sound variant."""
    stars: bool = False
    """Whether means of stars are released, too, of the sound variant."""

    def __post_init__(self) -> None:
        """One name becomes several, whole numbers become int, other numbers float."""
        rule = "{} is the name of a domain, or several"
        sources = () if self.source is None else _names(self.source, rule.format("source"))
        targets = _names(self.target, rule.format("target"))
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
        parameters = asdict(self)
        for kind, number, noun, names in _NUMBERS:
            for name in names:
                value = parameters[name]
                if value is None and name == "epsilon_prime":
                    continue
                if isinstance(value, bool) or not isinstance(value, kind):
                    raise ConfigError(f"{name} is {noun}; got {value!r}.")
                object.__setattr__(self, name, number(value))
        self._check_names()
        self._check_numbers()
        if self.variant == "sound":
            self._check_sound()

    def _check_names(self) -> None:
        """Refuse names that there are not."""
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
        """Refuse what the sound variant has not."""
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
    def for_neighbours(self) -> float:
        """Nats epsilon' of the published recommender; without one, epsilon."""
        return self.epsilon if self.epsilon_prime is None else self.epsilon_prime

    @property
    def budget(self) -> float | None:
        """Nats epsilon' of PNSA and PNCF; None without noise."""
        return None if math.isinf(self.for_neighbours) else self.for_neighbours

    @property
    def noiseless(self) -> bool:
        """Whether nothing is drawn with noise."""
        return math.isinf(self.epsilon) and (self.variant == "sound" or self.budget is None)

    @property
    def weighs_by_time(self) -> bool:
        """Whether old ratings lose weight: the item-based published recommender with an alpha."""
        return self.variant == "published" and not self.user_based and self.alpha > 0

    def to_header(self) -> dict[str, Any]:
        """Write all but the domains as JSON values; infinity as the text "inf"."""
        return {
            name: "inf" if isinstance(value, float) and math.isinf(value) else value
            for name, value in asdict(self).items()
            if name not in ("source", "target")
        }


def _names(given: object, message: str) -> tuple[str, ...]:
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
