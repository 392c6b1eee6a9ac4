"""Parameters of an X-Map model, checked when `Settings` are made, and texts of its cards."""

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
"""Names of the parameters that are whole numbers."""
_REAL_NUMBERS = ("epsilon", "epsilon_prime", "delta", "alpha")
"""Names of the parameters that are real numbers; only epsilon_prime may be None."""


@dataclass(frozen=True)
class Settings:
    """Parameters of `XMap`, with the same names.

    Raises:
        ConfigError: A value is of another type, out of range, or does not fit the variant.
        PrivacyError: The sound variant is asked for a user-based recommender.
    """

    source: tuple[str, ...]
    """Names of the domains that people have rated in; empty for every domain except the one that is
    recommended from."""
    target: tuple[str, ...]
    """Names of the domains to recommend from. A domain may be a source of other targets."""
    domain: str
    """Name of the item metadata that says which domain an item is in."""
    variant: Variant
    """"sound" or "published"."""
    epsilon: float
    """Sound variant: nats for a person's whole profile; infinity: no noise. Published variant: nats
    claimed for ONE replaced item; infinity: images are chosen without noise."""
    epsilon_prime: float | None
    """Published variant: nats claimed for ONE list of neighbours; None for the same as epsilon.
    Infinity: neighbours are found without noise."""
    delta: float
    """Sound variant: probability by which any event may exceed the bound of epsilon."""
    recommender: Kind
    """"item-based", or "user-based" (published variant only)."""
    k: int
    """Published variant: number of neighbours of the recommender."""
    extender_k: int
    """Published variant: number of neighbours that an item keeps in each neighbouring layer."""
    significance: int
    """Published variant: a similarity is scaled down if fewer people than this rated both items;
    0: never."""
    alpha: float
    """Published variant: how fast old ratings lose weight in item-based predictions, by e^-alpha
    for each rank in time; 0: not at all."""
    pnsa: Pnsa = "printed"
    """Published variant: reading of PNSA."""
    features: Sequence[str] | None = None
    """Sound variant: names of public item metadata; None: the usual ones, as in `Private`."""
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
            has_other_source = bool(set(sources) - {name})
            if sources and not has_other_source:
                raise ConfigError(f"'{name}' needs a source that is another domain; got {sources}.")
        if not isinstance(self.domain, str):
            raise ConfigError(f"domain is the name of item metadata; got {self.domain!r}.")
        if not isinstance(self.stars, bool):
            raise ConfigError(f"stars is true or false; got {self.stars!r}.")
        if self.features is not None:
            features = _names(self.features, "features are names of item metadata")
            object.__setattr__(self, "features", features)
        self._convert_numbers()
        self._check_names()
        self._check_numbers()
        if self.variant == "sound":
            self._check_sound()

    def _convert_numbers(self) -> None:
        """Convert the numbers to int or float.

        Raises:
            ConfigError: A parameter that must be a whole number, or a real number, is not one, or a
                real number is too large.
        """
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
            try:
                object.__setattr__(self, name, float(value))
            except OverflowError:
                raise ConfigError(
                    f"{name} is a number below 1e308, or inf; got a larger one."
                ) from None

    def _check_names(self) -> None:
        """Check the names of the variant, the recommender and the reading of PNSA.

        Raises:
            ConfigError: There is no variant, recommender or reading of this name.
        """
        if self.variant not in get_args(Variant):
            raise ConfigError(f"The variant is 'sound' or 'published'; got {self.variant!r}.")
        if self.recommender not in get_args(Kind):
            raise ConfigError(
                f"The recommender is 'item-based' or 'user-based'; got {self.recommender!r}."
            )
        if self.pnsa not in get_args(Pnsa):
            raise ConfigError(f"pnsa is 'printed', 'counted' or 'positive'; got {self.pnsa!r}.")

    def _check_numbers(self) -> None:
        """Check the ranges of the numbers.

        Raises:
            ConfigError: A number is out of its range.
        """
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
        """Check that the parameters fit the sound variant.

        Parameters of the published variant that are not named below are accepted, and have no
        effect.

        Raises:
            ConfigError: epsilon_prime or pnsa has another value than its default, or delta is 0.
            PrivacyError: The recommender is user-based.
        """
        if self.epsilon_prime is not None:
            raise ConfigError(
                "Only the published variant takes epsilon_prime; the sound variant has one epsilon."
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
                "The sound variant has no user-based recommender, because its releases are about "
                "items and name no people: use 'item-based', or the published variant."
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
        """Nats epsilon' of PNSA and PNCF; None if neighbours are found without noise."""
        budget = self.epsilon_of_neighbours
        return None if math.isinf(budget) else budget

    @property
    def noiseless(self) -> bool:
        """Whether a fit has neither noise nor random draws: all its epsilons are infinite."""
        has_no_drawn_neighbours = self.variant == "sound" or self.neighbour_budget is None
        return math.isinf(self.epsilon) and has_no_drawn_neighbours

    @property
    def weighs_by_time(self) -> bool:
        """Whether old ratings lose weight: in a published item-based model with alpha above 0."""
        return self.variant == "published" and not self.user_based and self.alpha > 0

    def to_header(self) -> dict[str, Any]:
        """Return the parameters as JSON values, without source and target; infinity is "inf"."""
        header = asdict(self)
        del header["source"]
        del header["target"]
        for name, value in header.items():
            if isinstance(value, float) and math.isinf(value):
                header[name] = "inf"
        return header


def _names(value: object, expected: str) -> tuple[str, ...]:
    """Turn one name, or a sequence of names, into a tuple.

    Args:
        value: The name or names.
        expected: What the value should be, for the error.

    Raises:
        ConfigError: The value is neither a name nor a sequence of names.
    """
    names = (value,) if isinstance(value, str) else value
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{expected}; got {value!r}.")
    return tuple(names)


def settings_from_header(header: dict[str, Any]) -> dict[str, Any]:
    """Read what `Settings.to_header` wrote, as keywords of `XMap`.

    Raises:
        ValueError: A value has another type.
    """
    # "inf" is replaced by a finite number first, since the check of types refuses infinity
    finite = {name: 1.0 if value == "inf" else value for name, value in header.items()}
    check_types(Settings, finite)
    return {name: math.inf if value == "inf" else value for name, value in header.items()}


PAPER = (
    "Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar "
    "(PVLDB 2017), and its technical report, Theorems 1 to 4"
)
"""Citation on all cards."""
UNIT = Adjacency("user", "add or remove")
"""Neighbouring data sets of the published variant's card."""
LIFETIME = "per fit: fitting again on the same people spends again"
"""What the cards of the published variant, and of a model without noise, say about several fits."""
