"""Public metadata of items, used as features, and as domains such as books and films.

Metadata   of items come from a public catalogue: genres, tags, categories, prices, years. Columns
           that come from people who rate, such as their tags or embeddings of their events, are
           private data, not metadata. Several values in one cell are joined by '|'.
Domains    are item metadata under the name 'domain'. Every item has exactly one domain, so a book
           and a film need different ids.
Genres     can split one catalogue into two domains, to try recommenders across domains.
Source     Guerraoui, Kermarrec, Lin and Patra, Heterogeneous recommendations (PVLDB 2017), its test
           within one kind of items: genres sorted by their number of items go to the two domains in
           turn, and an item goes to the domain of most of its genres. How ties are broken is ours.
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
from tacit.data.splits import Split, check_share, rank_in_person
from tacit.data.tables.names import is_named
from tacit.errors import ConfigError, DataError

SEPARATOR = "|"
"""Sign between several values in one cell."""
KNOWN_FEATURES = ("genres", "genre", "tags", "tag", "categories", "category", "price", "year")
"""Names, in lower case, of columns that are features by default, in this order."""

Values = list[list[str]]
"""For each item, in the order of `item_ids`, a list of its different values; empty if unknown."""


def item_features(ratings: Ratings, names: Sequence[str] | None = None) -> dict[str, Values]:
    """Return columns of item metadata as features, with the values of each item as texts.

    Args:
        ratings: Ratings with public metadata.
        names: Columns of `public_metadata`; None: all columns that `KNOWN_FEATURES` names, and all
            others whose header is a known name of categories.

    Returns:
        Name of each column to the values of all items.

    Raises:
        DataError: A name in `names` is no column of `public_metadata`.
    """
    if names is None:
        lowered = {name.strip().lower(): name for name in ratings.public_metadata}
        names = [lowered[name] for name in KNOWN_FEATURES if name in lowered]
        names += [name for name in ratings.public_metadata if is_named("category", name)]
    return {name: split_list(ratings, name) for name in dict.fromkeys(names)}


def describe_features(ratings: Ratings, names: Sequence[str] | None = None) -> str:
    """Say in words which item metadata are used as features, and which are not.

    Args:
        ratings: Ratings with public metadata.
        names: Columns to use as features; None: as in `item_features`.
    """
    used = list(item_features(ratings, names))
    unused = [name for name in ratings.public_metadata if name not in used]
    text = f"Features of items: {', '.join(used) or 'none'}."
    if unused:
        text += f" Not used as features: {', '.join(unused)}."
    return text


def split_list(ratings: Ratings, column: str) -> Values:
    """List the distinct values of each item in one column, in the order of the cell.

    Raises:
        DataError: There is no column of this name.
    """
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
    """Add domains to the item metadata.

    Args:
        ratings: The ratings.
        domains: Item id to domain.

    Raises:
        DataError: An item has no domain.
    """
    column = align({DOMAIN: domains}, ratings.item_ids)
    changed = replace(ratings, item_metadata={**ratings.item_metadata, **column})
    domain_of(changed)  # raises the error
    return changed


_ITEM_GUESSES = ("titles", "domains", "items")
"""Entries of `Ratings.guesses` about items. They are dropped when a public catalogue replaces the
items."""


def on_catalogue(
    ratings: Ratings,
    catalogue: Mapping[Any, str | None],
    *,
    metadata: Mapping[str, Mapping[Any, Any]] | None = None,
) -> Ratings:
    """Replace the items of ratings by a public list of items, rated or not.

    Ratings of items that are not on the list are dropped, even if other people rated them, so that
    nobody changes which ratings of another person stay. Item ids are compared by their text.
    Afterwards all metadata of items come from the catalogue.

    Args:
        ratings: The ratings.
        catalogue: Item id to domain, or to None for every item if there are no domains. It must
            not come from the ratings: a list of rated items may reveal a person.
        metadata: Metadata by name, each of which maps item ids to values; None: no metadata.

    Raises:
        DataError: No rating is left, or only some items have a domain.
    """
    ids, _ = number_ids(list(catalogue), "item")
    numbers = {str(key): number for number, key in enumerate(ids.tolist())}
    # The new number of each old item; -1 if it is not in the catalogue.
    new_numbers = np.array(
        [numbers.get(str(key), -1) for key in ratings.item_ids.tolist()], np.int32
    )
    rated = ratings.where(new_numbers[ratings.items] >= 0)
    if not len(rated):
        raise unrated_catalogue_error()
    order = np.lexsort((new_numbers[rated.items], rated.users))
    changed = replace(
        rated,
        users=rated.users[order],
        items=new_numbers[rated.items][order],
        values=rated.values[order],
        timestamps=None if rated.timestamps is None else rated.timestamps[order],
        item_ids=ids,
        item_metadata=align(metadata, ids),
        catalogue_given=True,
        row_texts=(),
        guesses=drop_item_guesses(rated.guesses),
    )
    has_domains = any(name is not None for name in catalogue.values())
    return with_domains(changed, catalogue) if has_domains else changed


def drop_item_guesses(guesses: Sequence[str]) -> tuple[str, ...]:
    """Drop the entries of `Ratings.guesses` about items, which a public catalogue replaces."""
    return tuple(name for name in guesses if name not in _ITEM_GUESSES)


def unrated_catalogue_error() -> DataError:
    """Make the error for a catalogue without a rated item."""
    expected = "item ids written as in the ratings"
    fix = "Check which column holds the id: a well-known header, else the first column."
    return DataError("no item of the catalogue has a rating", expected=expected, fix=fix)


def domain_of(ratings: Ratings) -> Column:
    """Return each item's domain, (n_items,) strings; DataError if an item has none."""
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


def _is_in_domain(ratings: Ratings, domain: str) -> NDArray[np.bool_]:
    """Tell for each item (n_items,) whether it is in a domain; DataError for an unknown domain."""
    is_member = np.asarray(domain_of(ratings) == domain)
    if not is_member.any():
        names = ", ".join(domain_names(ratings))
        raise DataError("no such domain", found=domain, expected=f"one of {names}")
    return is_member


def items_in(ratings: Ratings, domain: str) -> NDArray[np.int64]:
    """Return the numbers (k,) of a domain's items, sorted; DataError for an unknown domain."""
    return np.flatnonzero(_is_in_domain(ratings, domain))


def of_domain(ratings: Ratings, domain: str) -> Ratings:
    """Drop the ratings of other domains; all people and items stay, under their numbers.

    Raises:
        DataError: There is no such domain.
    """
    return ratings.where(_is_in_domain(ratings, domain)[ratings.items])


def ratings_in_domain(ratings: Ratings, domain: str) -> Ratings:
    """Drop the items of other domains with their ratings, and renumber the items that stay.

    All people stay, under their numbers.

    Raises:
        DataError: There is no such domain.
    """
    return ratings.of_items(_is_in_domain(ratings, domain))


def straddlers(ratings: Ratings, source: str, target: str) -> NDArray[np.int64]:
    """Return the numbers (k,) of the people with ratings in both domains, sorted.

    Straddlers is the paper's word for these people.

    Raises:
        ConfigError: The two domains are the same one.
        DataError: There is no such domain.
    """
    if source == target:
        raise ConfigError(f"The source and the target are two domains; both are {source!r}.")
    in_source = np.diff(of_domain(ratings, source).offsets)  # each person's number of ratings
    in_target = np.diff(of_domain(ratings, target).offsets)
    return np.flatnonzero((in_source > 0) & (in_target > 0))


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
    """Hold out test people's ratings in the target domain; test people rated in both domains.

    Ratings of test people in other domains stay in training. Draws with the same seed, `share` and
    number `at_least` are nested: a smaller `overlap` leaves out the same people and more, and a
    smaller `keep` holds out the same ratings of the same test people and more.
    Leaks: time, since later ratings help to predict earlier ones.

    Args:
        ratings: Ratings with domains.
        source: Name of a domain in which test people have ratings.
        target: Name of the domain whose ratings are held out.
        share: Share of the candidates that become test people, drawn at random. Candidates are the
            people with a rating in `source` and at least `at_least` ratings in `target`.
        keep: Number of target ratings of each test person that stay in training.
        at_least: Fewest target ratings of a test person; None: keep + 1.
        overlap: Of the people with ratings in both domains who are not test people, the share that
            stays in training. The remaining ones are left out of training, with all their ratings.
        seed: Seed of the draws.

    Raises:
        ConfigError: A number is out of its range, or the two domains are the same one.
        DataError: There is no such domain, or nobody can be a test person.
    """
    least = keep + 1 if at_least is None else at_least
    check_share(share)
    if not 0 <= keep < least:
        raise ConfigError(f"Test people keep 0 to {least - 1} of {least} ratings; got {keep}.")
    if not 0 <= overlap <= 1:
        raise ConfigError(f"The overlap is a share, 0 to 1; got {overlap}.")
    in_target = _is_in_domain(ratings, target)[ratings.items]  # (n,), as are the masks below
    rng = np.random.default_rng(seed)
    people = rng.permutation(straddlers(ratings, source, target))
    target_counts = np.diff(ratings.where(in_target).offsets)
    candidates = people[target_counts[people] >= least]
    test_people = candidates[: round(share * len(candidates))]
    if not test_people.size:
        found = (
            f"{len(candidates)} people with a rating in {source} and {least} or more in {target}"
        )
        fix = "Hold out a larger share, or ask for fewer ratings."
        raise DataError("nobody can be a test person", found=found, fix=fix)
    others = people[~np.isin(people, test_people)]
    absent_people = others[round(overlap * len(others)) :]
    is_absent = np.isin(ratings.users, absent_people)
    may_be_held_out = in_target & np.isin(ratings.users, test_people)
    # A test person's target ratings are ranked at random; their other ratings come after them.
    keys = np.where(may_be_held_out, rng.random(len(ratings)), np.inf)
    is_held_out = may_be_held_out & (rank_in_person(ratings, keys) >= keep)
    return Split(train=ratings.where(~is_held_out & ~is_absent), test=ratings.where(is_held_out))


def split_by_genre(
    ratings: Ratings, *, column: str = "genres", names: tuple[str, str] = ("D1", "D2")
) -> Ratings:
    """Split one catalogue into two domains by genre.

    Genres, sorted by falling number of items and then by name, go to the two domains in turn. An
    item goes to the domain of most of its genres; in a tie, to the domain of its genre with
    most items. Items without a genre are left out with their ratings, and so are people and items
    that then have no rating.

    Args:
        ratings: Ratings with genres.
        column: Name of the item metadata that holds the genres, joined by '|'.
        names: Names of the two domains.

    Raises:
        ConfigError: The names are empty or the same.
        DataError: There is no such column, it has fewer than two genres, or all items would be in
            one domain.
    """
    if len(set(names)) != 2 or not all(name.strip() for name in names):
        raise ConfigError(f"Two domains need two different names; got {names}.")
    genres = split_list(ratings, column)
    counts = Counter(itertools.chain.from_iterable(genres))
    by_size = sorted(counts, key=lambda genre: (-counts[genre], genre))
    if len(by_size) < 2:
        raise DataError("two domains need two genres", found=", ".join(by_size), column=column)
    size_ranks = {genre: rank for rank, genre in enumerate(by_size)}
    domains = {}
    for item, item_genres in zip(ratings.item_ids.tolist(), genres, strict=True):
        if not item_genres:
            continue
        ranks = [size_ranks[genre] for genre in item_genres]
        # A genre of even rank is in the first domain, one of odd rank in the second.
        in_second = sum(rank % 2 for rank in ranks)
        in_first = len(ranks) - in_second
        is_tie = in_first == in_second
        domain = min(ranks) % 2 if is_tie else int(in_second > in_first)
        domains[item] = names[domain]
    if len(set(domains.values())) < 2:
        raise DataError("all items fall into one domain", column=column)
    has_genre = np.array([bool(item_genres) for item_genres in genres])
    return with_domains(ratings.where(has_genre[ratings.items]).compact(), domains)
