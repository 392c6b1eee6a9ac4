"""Every choice of an X-Map, checked once, and which items lie in which domain. All is public.

And the sound variant that the choices make: private lists of `tacit.profile_sums`, from the source
domains to the targets.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column
from tacit.data.stored_ratings import RatingsSource, catalogue_of, keep_items
from tacit.errors import ConfigError, DataError, PrivacyError
from tacit.privacy import Adjacency, Guarantee
from tacit.profile_sums import guarantees
from tacit.profile_sums.catalogue import item_domains
from tacit.profile_sums.model import PrivateLists as PrivateLists
from tacit.profile_sums.scoring import Reason as Reason
from tacit.profile_sums.settings import Settings as PrivateSettings

if TYPE_CHECKING:
    from tacit.engine import Numbers

Variant = Literal["sound", "published"]
Kind = Literal["item-based", "user-based"]
Pnsa = Literal["printed", "counted", "positive"]
"""Readings of PNSA. printed: all items are candidates, |v| is the longest rating vector; counted:
all items, |v| is their number; positive: only positively similar items, |v| is their number."""
_NUMBERS: tuple[tuple[Any, Any, str, tuple[str, ...]], ...] = (
    (Integral, int, "a whole number", ("k", "extender_k", "significance")),
    (Real, float, "a number", ("epsilon", "epsilon_prime", "delta", "alpha")),
)


@dataclass(frozen=True)
class Settings:
    """What `XMap` takes, by the same names.

    source: names of the domains that people have rated in; empty: every domain but the target.
    target: one or several. A domain may be both; it is never its own source.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    domain: str
    variant: Variant
    epsilon: float
    epsilon_prime: float | None
    delta: float
    recommender: Kind
    k: int
    extender_k: int
    significance: int
    alpha: float
    pnsa: Pnsa = "printed"
    features: Sequence[str] | None = None
    stars: bool = False

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
        for kind, number, noun, names in _NUMBERS:
            for name in names:
                value = getattr(self, name)
                if value is None and name == "epsilon_prime":
                    continue
                if isinstance(value, bool) or not isinstance(value, kind):
                    raise ConfigError(f"{name} is {noun}; got {value!r}.")
                object.__setattr__(self, name, number(value))
        sound, prime = self.variant == "sound", self.epsilon_prime
        for wrong, message in (
            (self.variant not in get_args(Variant),
             f"The variant is 'sound' or 'published'; got {self.variant!r}."),
            (self.recommender not in get_args(Kind),
             f"The recommender is 'item-based' or 'user-based'; got {self.recommender!r}."),
            (self.pnsa not in get_args(Pnsa),
             f"pnsa is 'printed', 'counted' or 'positive'; got {self.pnsa!r}."),
            (sound and self.pnsa != "printed",
             "pnsa is a reading of the published variant; the sound one draws no neighbours."),
            (min(self.k, self.extender_k) < 1 or self.significance < 0,
             "k and extender_k are 1 or more, significance 0 or more."),
            (not 0 <= self.alpha < math.inf,
             f"alpha is a finite number, 0 or more; got {self.alpha}."),
            (not self.epsilon > 0, f"epsilon is above 0, or inf; got {self.epsilon}."),
            (prime is not None and not prime > 0,
             f"epsilon_prime is above 0, or inf; got {prime}."),
            (prime is not None and sound,
             "epsilon_prime is the published recommender's; the sound variant has one epsilon."),
            (not 0 <= self.delta < 1,
             f"delta is a chance, 0 or more and below 1; got {self.delta}."),
            (sound and not self.delta,
             "The sound variant has Gaussian noise and needs a delta above 0, such as 1e-6."),
        ):  # fmt: skip
            if wrong:
                raise ConfigError(message)
        if sound and self.user_based:
            raise PrivacyError(
                "The sound variant has no user-based recommender, because no release about items "
                "can name people: use 'item-based', or the published variant."
            )

    @property
    def user_based(self) -> bool:
        return self.recommender == "user-based"

    @property
    def for_neighbours(self) -> float:
        """epsilon' of the published recommender; if not given, as epsilon."""
        return self.epsilon if self.epsilon_prime is None else self.epsilon_prime

    @property
    def budget(self) -> float | None:
        """Of PNSA and PNCF, None without noise."""
        return None if math.isinf(self.for_neighbours) else self.for_neighbours

    @property
    def noiseless(self) -> bool:
        return math.isinf(self.epsilon) and (self.variant == "sound" or self.budget is None)

    @property
    def weighs_by_time(self) -> bool:
        """Whether old ratings lose weight: the item-based published recommender with an alpha."""
        return self.variant == "published" and not self.user_based and self.alpha > 0

    def to_header(self) -> dict[str, Any]:
        """JSON values but the domains; infinity is written as the text "inf"."""
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
    """What `to_header` wrote, as keywords. Files of before name two more."""
    return {
        name: math.inf if value == "inf" else value
        for name, value in header.items()
        if name not in ("most_edges", "rho")
    }


@dataclass(frozen=True, eq=False)
class Catalogue:
    """(n_items,) domain of each item of the model, by the model's numbers."""

    domains: Column
    settings: Settings

    def sources(self, target: str) -> Numbers:
        """Sorted numbers of the items that lead to a target."""
        others = self.domains != target
        if self.settings.source:
            others &= np.isin(self.domains.astype(str), self.settings.source)
        return np.flatnonzero(others).astype(np.int32)

    def targets(self, target: str) -> Numbers:
        """Sorted numbers of a target domain's items."""
        return np.flatnonzero(self.domains == target).astype(np.int32)


def catalogue(ratings: RatingsSource, settings: Settings) -> tuple[RatingsSource, Catalogue]:
    """The ratings of the domains in question, their items renumbered, and those items' domains."""
    column, used = settings.domain, {*settings.source, *settings.target}
    domains = item_domains(catalogue_of(ratings), column, (*settings.source, *settings.target))
    if not settings.source:
        used = {name for name in domains.tolist() if isinstance(name, str)}
    if used <= set(settings.target) and len(used) < 2:
        raise DataError("there is only one domain", column=column, found=settings.target[0])
    member = np.array([name in used for name in domains.tolist()], dtype=bool)
    return keep_items(ratings, member), Catalogue(domains[member], settings)


def catalogue_from_header(header: Mapping[str, Any], settings: Settings) -> Catalogue:
    """The domains of a header's items; ValueError where items or domains make no sense."""
    items, names = header["items"], header["domains"]
    titles = header["titles"] or [None] * len(items)
    for wrong, message in (
        ({type(item) for item in items} not in ({int}, {str}) or len(set(items)) < len(items),
         "the ids of its items are not all whole numbers or all text, each once"),
        (any(type(item) is int and not -(2**63) <= item < 2**63 for item in items),
         "the id of an item does not fit 64 bits"),
        (len(titles) != len(items) or any(type(name) not in (str, type(None)) for name in titles),
         "the titles do not fit the list of items"),
        (len(names) != len(items) or any(type(name) is not str for name in names),
         "the domains do not fit the list of items"),
    ):  # fmt: skip
        if wrong:
            raise ValueError(message)
    absent = {*settings.target, *settings.source} - set(names)
    if absent:
        raise ValueError(f"no item is in the domain {absent.pop()}")
    return Catalogue(np.array(names, dtype=object), settings)


PAPER = (
    "Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar "
    "(PVLDB 2017), and its technical report, Theorems 1 to 4"
)
UNIT = Adjacency("user", "add or remove")
LIFETIME = "per fit: fitting again on the same people spends again"
VERSION = 2
"""Of files of the sound variant. 0 and 1 held the release that it had before."""


def sound_lists(settings: Settings) -> PrivateLists:
    """The sound variant, not fitted. Where a domain is source and target, all are one domain."""
    targets = settings.target
    sources = tuple(name for name in settings.source if name not in targets)
    joint = len(targets) > 1 and (not sources or len(sources) < len(settings.source))
    sides: dict[str, Any] = {} if joint else {"source": sources or None, "target": targets}
    given = {name: getattr(settings, name) for name in ("domain", "features", "stars")}
    return PrivateLists(settings.epsilon, settings.delta, **sides, **given)


def sound_card(epsilon: float, delta: float, spent: Guarantee | None = None) -> Guarantee:
    """spent: the card of a fitted `private`; None: of a fit whose catalogue and scale are public.

    epsilon: what was asked for, which the events that were spent come to within rounding; the card
    never states less than they come to.
    """
    lists = spent or guarantees.card_before_fit(PrivateSettings(epsilon=epsilon, delta=delta))
    assert lists.epsilon is not None
    return replace(
        lists,
        name="X-Map (sound): noisy sums over people",
        epsilon=max(epsilon, lists.epsilon),
        sources=(PAPER, *lists.sources),
    )


def without_noise(variant: Variant) -> Guarantee:
    """Any variant at epsilon = inf; the published one is then NX-Map."""
    name = "NX-Map" if variant == "published" else "X-Map (sound)"
    card = guarantees.card_without_noise()
    return replace(card, name=f"{name} without noise", lifetime=LIFETIME, sources=(PAPER,))


def sound_from_file(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], ids: Any, domains: Catalogue
) -> PrivateLists:
    """The recommender of a model file; ValueError for another version, or items that do not fit."""
    version = header.get("version", 0)
    if version < VERSION:
        raise ValueError(
            f"it is of version {version} of the sound X-Map, a release that is no longer made; "
            f"this tacit reads version {VERSION}"
        )
    if version > VERSION:
        raise ValueError("it was written by a newer tacit")
    lists = PrivateLists.from_parts(dict(header["lists"]), dict(arrays))
    listed = np.concatenate([ids[domains.targets(name)] for name in domains.settings.target])
    if not (set(listed.tolist()) <= set(lists.item_ids_.tolist()) <= set(ids.tolist())):
        raise ValueError("the lists do not fit the list of items")
    return lists
