"""The items of an X-Map model by domain. Which items and domains there are is assumed public."""

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
    """The domain of each item of a model. The settings say which domains are sources or targets."""

    domains: Column
    """(n_items,) name of each item's domain, by item number."""
    settings: Settings
    """Parameters of the model."""

    def sources(self, target: str) -> Numbers:
        """List the sorted numbers of the items from which one target domain is predicted.

        These are the items of the source domains that the settings name, or of all domains if they
        name none, without the items of `target`.
        """
        is_source = self.domains != target
        if self.settings.source:
            is_source &= np.isin(self.domains.astype(str), self.settings.source)
        return np.flatnonzero(is_source).astype(np.int32)

    def items_of(self, domain: str) -> Numbers:
        """List the sorted numbers of a domain's items."""
        return np.flatnonzero(self.domains == domain).astype(np.int32)


def keep_domains(ratings: RatingsSource, settings: Settings) -> tuple[RatingsSource, Catalogue]:
    """Keep the items of the source and target domains, and their ratings.

    If the settings name no source, the items of every domain are kept. Items without a domain are
    left out in both cases.

    Returns:
        The ratings, with their items renumbered; and the catalogue of these items.

    Raises:
        DataError: The items have no metadata of the name `settings.domain`, a domain of the
            settings has no item, or there is only one domain.
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
    """Read the domains of the items from a model file's header; check the items' ids and titles.

    Raises:
        ValueError: There is no item, the ids are not distinct or not of one type, an id does not
            fit 64 bits, titles or domains have a wrong type or length, or a domain of the settings
            has no item.
        KeyError: The header has no ids, titles or domains.
    """
    items = header["items"]
    domains = header["domains"]
    titles = header["titles"] or [None] * len(items)  # null: no item has a title
    id_types = {type(item) for item in items}
    if id_types not in ({int}, {str}) or len(set(items)) < len(items):
        raise ValueError("its item ids are not distinct whole numbers or distinct texts")
    if id_types == {int} and not all(-(2**63) <= item < 2**63 for item in items):
        raise ValueError("the id of an item does not fit 64 bits")
    if len(titles) != len(items) or any(type(title) not in (str, type(None)) for title in titles):
        raise ValueError("its titles are not one text or null for each item")
    if len(domains) != len(items) or any(type(name) is not str for name in domains):
        raise ValueError("its domains are not one text for each item")
    empty_domains = {*settings.target, *settings.source} - set(domains)
    if empty_domains:
        raise ValueError(f"no item is in the domain {empty_domains.pop()}")
    return Catalogue(np.array(domains, dtype=object), settings)
