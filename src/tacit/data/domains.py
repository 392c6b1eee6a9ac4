"""Metadata of items: as features, and as domains, such as books and films.

Metadata   are public and come from outside: genres, tags, categories, prices, years of a catalogue.
           Columns made of the ratings themselves, such as tags by the same people or embeddings of
           their events, are private data and no metadata. Several values are joined by '|'.
Domains    are item metadata under the name 'domain'. Every item has exactly one: 17 among the books
           and 17 among the films are two items, with two ids.
Genres     cut one catalogue into two domains, to try recommenders across domains.
Source     Guerraoui, Kermarrec, Lin and Patra, Heterogeneous recommendations (PVLDB 2017), its test
           within one kind of items: genres sorted by their number of items are dealt to the two
           domains in turn, and an item goes where most of its genres are. The rule of ties is ours.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.columns import align, number_ids
from tacit.data.ratings import Column, Ratings
from tacit.data.splits import Split, rank_in_person, refuse_share
from tacit.data.tables.names import is_named
from tacit.errors import ConfigError, DataError

SEPARATOR = "|"
KNOWN_FEATURES = ("genres", "genre", "tags", "tag", "categories", "category", "price", "year")
"""Columns that are features unless others are named, compared in lower case, in this order."""

Values = list[list[str]]
"""The distinct values of each item in the order of `item_ids`; an empty list where unknown."""


def item_features(ratings: Ratings, names: Sequence[str] | None = None) -> dict[str, Values]:
    """Return the values of every item of the catalogue, as texts, by the name of the column.

    Args:
        ratings: Ratings with public metadata.
        names: Columns of `item_metadata`; None: those of well-known names.

    Raises:
        DataError: A named column is not there.
    """
    if names is None:
        lowered = {name.strip().lower(): name for name in ratings.public_metadata}
        names = [lowered[name] for name in KNOWN_FEATURES if name in lowered]
        names += [name for name in ratings.public_metadata if is_named("category", name)]
    return {name: split_list(ratings, name) for name in dict.fromkeys(names)}


def describe_features(ratings: Ratings, names: Sequence[str] | None = None) -> str:
    """Write a sentence that says which item metadata are used as features, and which are not.

    Args:
        ratings: Ratings with public metadata.
        names: Columns to use as features; None: those of well-known names.
    """
    used = list(item_features(ratings, names))
    unused = [name for name in ratings.public_metadata if name not in used]
    text = f"Features of items: {', '.join(used) or 'none'}."
    if unused:
        text += f" Not used as features: {', '.join(unused)}."
    return text


def split_list(ratings: Ratings, column: str) -> Values:
    """List the distinct values of each item in one column, in their order."""
    values = ratings.public_metadata.get(column)
    if values is None:
        found = ", ".join(ratings.public_metadata) or "no item metadata at all"
        fix = "Name a file of items with --items, or read a MovieLens folder."
        raise DataError(f"no item metadata '{column}'", found=found, fix=fix)
    lists = []
    for value in values.tolist():
        text = "" if value is None else str(value)
        parts = [part.strip() for part in text.split(SEPARATOR)]
        lists.append([part for part in dict.fromkeys(parts) if part])
    return lists


DOMAIN = "domain"
"""Name of the item metadata that holds the domain."""


def with_domains(ratings: Ratings, domains: Mapping[Any, str | None]) -> Ratings:
    """Give the items these domains, by id; every item needs one."""
    column = align({DOMAIN: domains}, ratings.item_ids)
    made = replace(ratings, item_metadata={**ratings.item_metadata, **column})
    domain_of(made)
    return made


_OF_ITEMS = ("titles", "domains", "items")
"""Conditions on what is known of items, which a catalogue replaces."""


def on_catalogue(
    ratings: Ratings,
    catalogue: Mapping[Any, str | None],
    *,
    metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Ratings:
    """Put ratings on a public list of items, in which every item stays, rated or not.

    catalogue: item id to domain, from anywhere but the ratings: the list of rated items may reveal
    a person. None for every item: a catalogue without domains. Ratings of other items are dropped
    one by one, so that nobody changes what is kept of another person. Ids, compared as they are
    written, domains and `metadata`, name to item id to value, become those of the catalogue alone.
    DataError if no rating is left, or only some items have a domain.
    """
    ids, _ = number_ids(list(catalogue), "item")
    known = {str(key): number for number, key in enumerate(ids.tolist())}
    places = np.array([known.get(str(key), -1) for key in ratings.item_ids.tolist()], np.int32)
    rated = ratings.where(places[ratings.items] >= 0)
    if not len(rated):
        raise item_without_ratings()
    order = np.lexsort((places[rated.items], rated.users))
    made = replace(
        rated,
        users=rated.users[order],
        items=places[rated.items][order],
        values=rated.values[order],
        timestamps=None if rated.timestamps is None else rated.timestamps[order],
        item_ids=ids,
        item_metadata=align(metadata, ids),
        catalogue_given=True,
        row_texts=(),
        guesses=tuple(name for name in rated.guesses if name not in _OF_ITEMS),
    )
    domains = any(name is not None for name in catalogue.values())
    return with_domains(made, catalogue) if domains else made


def item_without_ratings() -> DataError:
    """Make the error of a catalogue without a rated item."""
    expected = "item ids written as in the ratings"
    fix = "Check which column holds the id: a well-known header, else the first column."
    return DataError("no item of the catalogue has a rating", expected=expected, fix=fix)


def domain_of(ratings: Ratings) -> Column:
    """(n_items,) the domain of each item, as strings; DataError if one has none."""
    column = ratings.item_metadata.get(DOMAIN)
    if column is None:
        fix = "Name their column with --domain-column (from Python: domain=...)."
        raise DataError("the items have no domains", fix=fix)
    for item, name in zip(ratings.item_ids.tolist(), column.tolist(), strict=True):
        if not isinstance(name, str) or not name.strip():
            raise DataError("an item has no domain", found=item, expected="a domain for every item")
    return column


def domain_names(ratings: Ratings) -> tuple[str, ...]:
    """List every domain that has an item, sorted."""
    return tuple(sorted(set(domain_of(ratings).tolist())))


def _members(ratings: Ratings, domain: str) -> NDArray[np.bool_]:
    """(n_items,) which are of a domain; never none, as an unknown domain is refused."""
    member = np.asarray(domain_of(ratings) == domain)
    if not member.any():
        names = ", ".join(domain_names(ratings))
        raise DataError("no such domain", found=domain, expected=f"one of {names}")
    return member


def items_in(ratings: Ratings, domain: str) -> NDArray[np.int64]:
    """(k,) numbers of a domain's items, sorted; never none, as an unknown domain is refused."""
    return np.flatnonzero(_members(ratings, domain))


def of_domain(ratings: Ratings, domain: str) -> Ratings:
    """Keep the ratings of one domain's items; people and items keep their numbers."""
    return ratings.where(_members(ratings, domain)[ratings.items])


def ratings_in_domain(ratings: Ratings, domain: str) -> Ratings:
    """Keep only the items of one domain, renumbered; people keep their numbers."""
    return ratings.of_items(_members(ratings, domain))


def straddlers(ratings: Ratings, source: str, target: str) -> NDArray[np.int64]:
    """(k,) numbers of the people with ratings in both domains, sorted; ConfigError if alike."""
    if source == target:
        raise ConfigError(f"The source and the target are two domains; both are {source!r}.")
    first, second = (np.diff(of_domain(ratings, name).offsets) for name in (source, target))
    return np.flatnonzero((first > 0) & (second > 0))


def cross_domain_split(
    ratings: Ratings,
    *,
    source: str,
    target: str,
    share: float = 0.2,
    keep: int = 0,
    at_least: int | None = None,
    overlap: float = 1.0,
    seed: int,
) -> Split:
    """Hold out target ratings of people who rated in both domains: all of them, or all but `keep`.

    Test people are a random `share` of those with at least `at_least` target ratings (default:
    keep + 1). What they rated elsewhere stays in training. overlap: the share of the other people
    in both domains who stay in training; the rest leave it with all their ratings.
    The draws are nested: with one seed, a smaller overlap leaves out more of the same people, and
    with one `at_least`, a smaller `keep` holds out more ratings of the same test people.
    Leaks: time, as later ratings help to predict earlier ones. DataError if nobody is left.
    """
    least = keep + 1 if at_least is None else at_least
    refuse_share(share)
    if not 0 <= keep < least:
        raise ConfigError(f"Test people keep 0 to {least - 1} of {least} ratings; got {keep}.")
    if not 0 <= overlap <= 1:
        raise ConfigError(f"The overlap is a share, 0 to 1; got {overlap}.")
    in_target = _members(ratings, target)[ratings.items]
    rng = np.random.default_rng(seed)
    people = rng.permutation(straddlers(ratings, source, target))
    enough = np.diff(ratings.where(in_target).offsets)[people] >= least
    testers = people[enough][: round(share * int(enough.sum()))]
    if not testers.size:
        found = f"{int(enough.sum())} people with a rating in {source} and {least} in {target}"
        fix = "Hold out a larger share, or ask for fewer ratings."
        raise DataError("nobody can be a test person", found=found, fix=fix)
    others = people[~np.isin(people, testers)]
    absent = np.isin(ratings.users, others[round(overlap * len(others)) :])
    owned = in_target & np.isin(ratings.users, testers)
    keys = np.where(owned, rng.random(len(ratings)), np.inf)  # what is not in question comes last
    held = owned & (rank_in_person(ratings, keys) >= keep)
    return Split(train=ratings.where(~held & ~absent), test=ratings.where(held))


def split_by_genre(
    ratings: Ratings, *, column: str = "genres", names: tuple[str, str] = ("D1", "D2")
) -> Ratings:
    """Make domains of genres; items of unknown genre are left out with their ratings.

    column: item metadata, genres joined by '|'. Genres with equally many items are dealt in
    alphabetical order. An item with as many genres on one side as on the other goes to the side of
    its most common genre. DataError if one domain would be empty.
    """
    if len(set(names)) != 2 or not all(name.strip() for name in names):
        raise ConfigError(f"Two domains need two different names; got {names}.")
    genres = split_list(ratings, column)
    counts = Counter(itertools.chain.from_iterable(genres))
    by_size = sorted(counts, key=lambda genre: (-counts[genre], genre))
    if len(by_size) < 2:
        raise DataError("two domains need two genres", found=", ".join(by_size), column=column)
    place = {genre: number for number, genre in enumerate(by_size)}
    domains = {}
    for item, own in zip(ratings.item_ids.tolist(), genres, strict=True):
        if own:
            odd = 2 * sum(place[genre] % 2 for genre in own) - len(own)  # more on the second side
            tied = min(place[genre] for genre in own) % 2
            domains[item] = names[tied if odd == 0 else int(odd > 0)]
    if len(set(domains.values())) < 2:
        raise DataError("all items fall into one domain", column=column)
    known = np.array([bool(own) for own in genres])
    return with_domains(ratings.where(known[ratings.items]).compact(), domains)
