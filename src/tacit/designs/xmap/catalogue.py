"""Which items lie in which domain, and which domains lead to which. Public knowledge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tacit.data.ratings import Column, Ratings
from tacit.engine.base import Numbers
from tacit.errors import ConfigError, DataError


@dataclass(frozen=True)
class Routes:
    """Where ratings come from and where lists are made.

    sources: names of domains; empty: every domain but the target. targets: one or several. A domain
    may be both; it is never its own source.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.targets or len(set(self.targets)) < len(self.targets):
            raise ConfigError("Name at least one target domain, each once.")
        for target in self.targets:
            if self.sources and not set(self.sources) - {target}:
                raise ConfigError(
                    f"'{target}' needs a source that is another domain; got {self.sources}."
                )


def routes(source: str | Sequence[str] | None, target: str | Sequence[str]) -> Routes:
    """From one name or several."""
    return Routes(() if source is None else _names(source, "source"), _names(target, "target"))


def _names(given: object, what: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ConfigError(f"{what} is the name of a domain, or several; got {given!r}.")
    return tuple(names)


@dataclass(frozen=True, eq=False)
class Catalogue:
    """(n_items,) domain of each item of the model, by the model's numbers."""

    domains: Column
    routes: Routes
    _known: dict[str, Numbers] = field(default_factory=dict, repr=False, compare=False)

    def sources(self, target: str) -> Numbers:
        """Sorted numbers of the items that lead to a target."""
        others = self.domains != target
        if self.routes.sources:
            others &= np.isin(self.domains.astype(str), self.routes.sources)
        return np.flatnonzero(others).astype(np.int32)

    def targets(self, target: str) -> Numbers:
        """Sorted numbers of a target domain's items."""
        if target not in self._known:
            self._known[target] = np.flatnonzero(self.domains == target).astype(np.int32)
        return self._known[target]


def catalogue(ratings: Ratings, column: str, chosen: Routes) -> tuple[Ratings, Catalogue]:
    """The ratings of the domains in question, their items renumbered, and those items' domains."""
    domains = ratings.item_metadata.get(column)
    if domains is None:
        raise DataError(
            f"the items have no '{column}'",
            expected="item metadata that names each item's domain",
            fix="Name its column with --domain-column (from Python: domain=...).",
        )
    known = {name for name in domains.tolist() if isinstance(name, str)}
    for name in (*chosen.sources, *chosen.targets):
        if name not in known:
            raise DataError(
                "no such domain",
                column=column,
                found=name,
                expected="one of " + ", ".join(sorted(map(str, known))),
            )
    used = {*chosen.sources, *chosen.targets} if chosen.sources else known
    if used <= set(chosen.targets) and len(used) < 2:
        raise DataError("there is only one domain", column=column, found=chosen.targets[0])
    kept = np.array([name in used for name in domains.tolist()], dtype=bool)
    rows = ratings.where(kept[ratings.items])
    number = np.cumsum(kept) - 1
    restricted = replace(
        rows,
        items=number[rows.items].astype(np.int32),
        item_ids=ratings.item_ids[kept],
        item_metadata={name: values[kept] for name, values in ratings.item_metadata.items()},
    )
    return restricted, Catalogue(domains[kept], chosen)


def catalogue_from_header(header: Mapping[str, Any], routes: Routes) -> Catalogue:
    """The domains of a header's items; ValueError where items or domains make no sense."""
    items, names = header["items"], header["domains"]
    if {type(item) for item in items} not in ({int}, {str}) or len(set(items)) < len(items):
        raise ValueError("the ids of its items are not all whole numbers or all text, each once")
    if any(type(item) is int and not -(2**63) <= item < 2**63 for item in items):
        raise ValueError("the id of an item does not fit 64 bits")
    titles = header["titles"] or [None] * len(items)
    if len(titles) != len(items) or any(type(name) not in (str, type(None)) for name in titles):
        raise ValueError("the titles do not fit the list of items")
    if len(names) != len(items) or any(type(name) is not str for name in names):
        raise ValueError("the domains do not fit the list of items")
    absent = {*routes.targets, *routes.sources} - set(names)
    if absent:
        raise ValueError(f"no item is in the domain {absent.pop()}")
    domains = np.empty(len(names), dtype=object)
    domains[:] = names
    return Catalogue(domains, routes)
