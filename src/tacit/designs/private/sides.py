"""What a fit is made from: which items say what people like, which ones lists hold, features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column, Ratings
from tacit.designs.private.features import features
from tacit.designs.private.fitting import chosen_mode
from tacit.designs.private.people import Sides
from tacit.designs.private.settings import Mode, Settings
from tacit.designs.private.tastes import Features
from tacit.errors import ConfigError, DataError


@dataclass(frozen=True, eq=False)
class Prepared:
    """names: of all features. features: None where fewer than two are in use on a side."""

    ratings: Ratings
    sides: Sides
    names: tuple[str, ...]
    features: Features | None


def prepared(
    ratings: Ratings,
    source: str | Sequence[str] | None,
    target: str | Sequence[str] | None,
    domain: str,
    wanted: Sequence[str] | None,
    mode: Mode,
) -> Prepared:
    """What can be refused is refused here, before the first sum. wanted: names of metadata."""
    sides = sides_of(ratings, source, target, domain)
    names, table = features(ratings, wanted)
    both = Features(table[sides.context], table[sides.targets])
    usable = min(_used(both.context), _used(both.targets)) >= 2
    chosen_mode(None, usable, sides.joint, Settings(mode=mode))
    return Prepared(ratings, sides, names, both if usable else None)


def sides_of(
    ratings: Ratings,
    source: str | Sequence[str] | None,
    target: str | Sequence[str] | None,
    column: str,
) -> Sides:
    """Which items are context and which are targets, from public domains."""
    if ratings.n_items < 2:
        raise DataError("a catalogue has two items or more", found=ratings.n_items)
    if target is None:
        if source is not None:
            raise ConfigError("A source needs a target: name the domain that lists are made in.")
        everything = np.arange(ratings.n_items)
        return Sides(ratings.n_items, everything, everything)
    domains = ratings.item_metadata.get(column)
    if domains is None:
        raise DataError(
            f"the items have no '{column}'",
            expected="item metadata that names each item's domain",
            fix="Name its column with --domain-column (from Python: domain=...).",
        )
    targets = _domain_items(domains, target, column)
    if source is None:
        others = np.array([isinstance(name, str) for name in domains.tolist()])
        others[targets] = False
        context = np.flatnonzero(others)
    else:
        context = _domain_items(domains, source, column)
    if not len(context) or np.isin(context, targets).any():
        raise ConfigError("source and target are different domains, each with items.")
    return Sides(ratings.n_items, context, targets)


def _domain_items(domains: Column, names: str | Sequence[str], column: str) -> NDArray[np.int64]:
    wanted = (names,) if isinstance(names, str) else tuple(names)
    known = {name for name in domains.tolist() if isinstance(name, str)}
    for name in wanted:
        if name not in known:
            expected = "one of " + ", ".join(sorted(known))
            raise DataError("no such domain", column=column, found=name, expected=expected)
    return np.flatnonzero([name in wanted for name in domains.tolist()])


def _used(table: sparse.csr_array) -> int:
    """How many columns an item of this side has."""
    return len(np.unique(table.indices))
