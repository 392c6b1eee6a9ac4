"""The domains of an X-Map model's items, which are public."""

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
    """The domains of a model's items, and which of them are sources and targets."""

    domains: Column
    """(n_items,) name of each item's domain, in the order of the model's item numbers."""
    settings: Settings
    """Parameters of the model."""

    def sources(self, target: str) -> Numbers:
        """List the numbers of the source items for a target domain, sorted.

        These are the items of the source domains of the settings, or of all domains if the settings
        name none; the target's own items are left out.
        """
        is_source = self.domains != target
        if self.settings.source:
            is_source &= np.isin(self.domains.astype(str), self.settings.source)
        return np.flatnonzero(is_source).astype(np.int32)

    def targets(self, target: str) -> Numbers:
        """List the numbers of a target domain's items, sorted."""
        return np.flatnonzero(self.domains == target).astype(np.int32)


def keep_domains(ratings: RatingsSource, settings: Settings) -> tuple[RatingsSource, Catalogue]:
    """Keep the ratings of the source and target domains; of all domains if no source is named.

    Returns:
        The ratings, with their items renumbered; and the catalogue of these items.

    Raises:
        DataError: A named domain has no item, or there is only one domain.
    """
    column = settings.domain
    named_domains = (*settings.source, *settings.target)
    domains = item_domains(catalogue_of(ratings), column, named_domains)
    used_domains = set(named_domains)
    if not settings.source:
        used_domains = {name for name in domains.tolist() if isinstance(name, str)}
    if used_domains <= set(settings.target) and len(used_domains) < 2:
        raise DataError("there is only one domain", column=column, found=settings.target[0])
    is_used = np.array([name in used_domains for name in domains.tolist()], dtype=bool)
    return keep_items(ratings, is_used), Catalogue(domains[is_used], settings)


def read_catalogue_header(header: Mapping[str, Any], settings: Settings) -> Catalogue:
    """Read the domains of the items from a model file's header.

    Raises:
        ValueError: The items are not distinct or not of one type, titles or domains have a wrong
            type or length, or a domain of the settings has no item.
    """
    items = header["items"]
    names = header["domains"]
    titles = header["titles"] or [None] * len(items)
    id_types = {type(item) for item in items}
    if id_types not in ({int}, {str}) or len(set(items)) < len(items):
        raise ValueError("the ids of its items are not all whole numbers or all text, each once")
    if id_types == {int} and not all(-(2**63) <= item < 2**63 for item in items):
        raise ValueError("the id of an item does not fit 64 bits")
    if len(titles) != len(items) or any(type(name) not in (str, type(None)) for name in titles):
        raise ValueError("the titles do not fit the list of items")
    if len(names) != len(items) or any(type(name) is not str for name in names):
        raise ValueError("the domains do not fit the list of items")
    empty_domains = {*settings.target, *settings.source} - set(names)
    if empty_domains:
        raise ValueError(f"no item is in the domain {empty_domains.pop()}")
    return Catalogue(np.array(names, dtype=object), settings)
