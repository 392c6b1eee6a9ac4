"""Items of an X-Map, and the domain that each lies in. All is public."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.data.ratings import Column
from tacit.data.stored_ratings import RatingsSource, catalogue_of, keep_items
from tacit.designs.xmap.settings import Settings
from tacit.engine import Numbers
from tacit.errors import DataError
from tacit.profile_sums.catalogue import item_domains


@dataclass(frozen=True, eq=False)
class Catalogue:
    """The domain of each item of a model."""

    domains: Column
    """(n_items,) name of each item's domain, by the model's numbers."""
    settings: Settings
    """The choices of the model."""

    def sources(self, target: str) -> Numbers:
        """Sorted numbers of the items that lead to a target."""
        others = self.domains != target
        if self.settings.source:
            others &= np.isin(self.domains.astype(str), self.settings.source)
        return np.flatnonzero(others).astype(np.int32)

    def targets(self, target: str) -> Numbers:
        """Sorted numbers of a target domain's items."""
        return np.flatnonzero(self.domains == target).astype(np.int32)


def keep_domains(ratings: RatingsSource, settings: Settings) -> tuple[RatingsSource, Catalogue]:
    """Keep the ratings of the domains that the settings name.

    Returns:
        The ratings, their items renumbered, and the domains of these items.

    Raises:
        DataError: A domain has no item, or there is only one.
    """
    column = settings.domain
    named = (*settings.source, *settings.target)
    domains = item_domains(catalogue_of(ratings), column, named)
    used = set(named)
    if not settings.source:
        used = {name for name in domains.tolist() if isinstance(name, str)}
    if used <= set(settings.target) and len(used) < 2:
        raise DataError("there is only one domain", column=column, found=settings.target[0])
    member = np.array([name in used for name in domains.tolist()], dtype=bool)
    return keep_items(ratings, member), Catalogue(domains[member], settings)


def read_catalogue_header(header: Mapping[str, Any], settings: Settings) -> Catalogue:
    """Read the domains of a header's items.

    Raises:
        ValueError: Items, titles or domains make no sense.
    """
    items = header["items"]
    names = header["domains"]
    titles = header["titles"] or [None] * len(items)
    kinds = {type(item) for item in items}
    if kinds not in ({int}, {str}) or len(set(items)) < len(items):
        raise ValueError("the ids of its items are not all whole numbers or all text, each once")
    if kinds == {int} and not all(-(2**63) <= item < 2**63 for item in items):
        raise ValueError("the id of an item does not fit 64 bits")
    if len(titles) != len(items) or any(type(name) not in (str, type(None)) for name in titles):
        raise ValueError("the titles do not fit the list of items")
    if len(names) != len(items) or any(type(name) is not str for name in names):
        raise ValueError("the domains do not fit the list of items")
    absent = {*settings.target, *settings.source} - set(names)
    if absent:
        raise ValueError(f"no item is in the domain {absent.pop()}")
    return Catalogue(np.array(names, dtype=object), settings)
