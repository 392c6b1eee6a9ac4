"""Context items, whose ratings make profiles, and target items, which lists are made of.

Both are chosen from the public catalogue alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource, catalogue_of
from tacit.errors import ConfigError, DataError

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class CatalogueChoices:
    """Choices of items and metadata from the catalogue; the names are those of `PrivateLists`."""

    source: str | Sequence[str] | None = None
    """Domains of the context items; None: every domain that is not a target."""
    target: str | Sequence[str] | None = None
    """Domains of the items in lists; None: all items are one domain."""
    domain: str = "domain"
    """Name of the item metadata that holds each item's domain."""
    features: Sequence[str] | None = None
    """Names of item metadata that tastes are made of; None: the default ones of
    `tacit.data.item_features`; (): none."""
    text: Sequence[str] = ()
    """Names of item metadata with texts, of which dense features are made."""
    vectors: str | None = None
    """File of public vectors of items; None: no vectors."""

    @property
    def has_dense_features(self) -> bool:
        """Whether items have features from texts or vectors."""
        return bool(self.text) or self.vectors is not None

    @property
    def feature_sources(self) -> tuple[str, ...]:
        """Names in `public_facts.FEATURE_SOURCES` of the sources of dense features."""
        sources = {"texts": bool(self.text), "vectors": self.vectors is not None}
        return tuple(name for name, is_used in sources.items() if is_used)


@dataclass(frozen=True, eq=False)
class ItemSides:
    """Numbers of the context items, whose ratings make profiles, and of the target items of lists.

    Both are ascending numbers in the catalogue.
    """

    n_items: int
    """Number of items of the catalogue."""
    context: Ints
    """(context items,) numbers in the catalogue."""
    targets: Ints
    """(target items,) numbers in the catalogue; the same as `context` in one domain."""

    @property
    def one_domain(self) -> bool:
        """Whether context and target items are the same."""
        return np.array_equal(self.context, self.targets)


def split_items(catalogue: Ratings, choices: CatalogueChoices) -> ItemSides:
    """Choose the context items and the target items by their public domains.

    Items of no chosen domain are on neither side. Without a target, all items are on both.

    Raises:
        DataError: There are fewer than two items, the items have no metadata `choices.domain`, or
            a chosen domain has no item.
        ConfigError: There is a source without a target, a target or a source is no name, the
            targets are an empty list, a domain is both source and target, or no item is left for
            the context.
    """
    if catalogue.n_items < 2:
        raise DataError("a catalogue has two items or more", found=catalogue.n_items)
    if choices.target is None:
        if choices.source is not None:
            raise ConfigError("A source needs a target: name the domain that lists are made in.")
        all_items = np.arange(catalogue.n_items)
        return ItemSides(catalogue.n_items, all_items, all_items)
    targets = _as_names("target", choices.target)
    sources = _as_names("source", choices.source)
    if not targets:
        raise ConfigError(
            "target names no domain: name the domain that lists are made in, or leave target out "
            "to make lists of all items."
        )
    domains = item_domains(catalogue, choices.domain, (*targets, *sources)).tolist()
    # An item without a domain has None or another object that is no text.
    other_domains = {name for name in domains if isinstance(name, str) and name not in targets}
    context_domains = other_domains if choices.source is None else set(sources)
    in_context = [isinstance(name, str) and name in context_domains for name in domains]
    context = np.flatnonzero(in_context)
    if not len(context) or not context_domains <= other_domains:
        raise ConfigError("source and target are different domains, each with items.")
    in_targets = [name in targets for name in domains]
    return ItemSides(catalogue.n_items, context, np.flatnonzero(in_targets))


def _as_names(side: str, names: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return one name or several as a tuple; empty for None.

    Args:
        side: "source" or "target", for the message.
        names: The names.

    Raises:
        ConfigError: They are no names.
    """
    if names is None:
        return ()
    listed = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else names
    texts = tuple(listed)
    if not all(isinstance(name, str) for name in texts):
        raise ConfigError(f"{side} is the name of a domain, or several; got {names!r}.")
    return texts


def item_domains(catalogue: Ratings, column: str, names: Iterable[str]) -> Column:
    """Read the domain of each item from its metadata.

    Args:
        catalogue: The items with their metadata.
        column: Name of the metadata that holds the domains.
        names: Domains that at least one item must have.

    Returns:
        (n_items,) domain of each item; where it is unknown, None or another object that is no text.

    Raises:
        DataError: The items have no such metadata, or no item has one of the `names`.
    """
    domains = catalogue.public_metadata.get(column)
    if domains is None:
        raise DataError(
            f"the items have no '{column}'",
            expected="item metadata that names each item's domain",
            fix="Name its column with --domain-column (from Python: domain=...).",
        )
    present = {name for name in domains.tolist() if isinstance(name, str)}
    for name in names:
        if name not in present:
            expected = "one of " + ", ".join(sorted(present))
            raise DataError("no such domain", column=column, found=name, expected=expected)
    return domains


def like_threshold(scale: RatingScale, like_at: float | None) -> float:
    """Return the least rating that is a like; it is public, never computed from ratings.

    Args:
        scale: The scale of the ratings.
        like_at: The least rating that is a like; None: 70 % of the way up the scale.
    """
    return scale.liked_from if like_at is None else float(like_at)


def checked_catalogue(ratings: RatingsSource) -> Ratings:
    """Return the items, metadata and scale of some ratings, in memory or stored.

    Raises:
        DataError: A rating is not on the scale. Only ratings in memory are checked.
    """
    catalogue = catalogue_of(ratings)
    if not catalogue.scale.holds(catalogue.values).all():
        raise DataError("a rating is off the scale", expected=str(catalogue.scale))
    return catalogue
