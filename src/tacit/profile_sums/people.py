"""Profiles, from which the sums are made: rows of context items, and likes among target items.

A person's profile is made from that person's own rows and public values alone, so it does not
depend on who else is in the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import RatingsSource, StoredRatings
from tacit.engine.profile_kernels.types import Profiles
from tacit.profile_sums.catalogue import ItemSides
from tacit.recommenders.base import History
from tacit.recommenders.inputs import check_id_type, checked_history, checked_ids

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
AddProfiles = Callable[[Profiles], NDArray[Any]]
"""Adds up one contribution of each person: takes profiles, and returns the sum."""

PEOPLE_PER_BLOCK = 4096
"""Number of people whose dense rows are in memory at a time."""
LIKE_TOLERANCE = 1e-9
"""A rating is a like if it is at most this many stars below the threshold."""


def read_profiles(
    ratings: Ratings, sides: ItemSides, threshold: float, other_weight: float
) -> Profiles:
    """Make everybody's profile.

    A person without rows has an empty profile; sum 1 (`sums/counts.py`) counts them, too.

    Args:
        ratings: All rows of each person.
        sides: Context and target items.
        threshold: Least rating that is a like.
        other_weight: Weight of a context item that is not a like.
    """
    rows = _StarRows(ratings.offsets, ratings.items, ratings.values)
    return _profiles_of(rows, sides, threshold, other_weight)


def profiles_of_rows(
    rows: sparse.csr_array, sides: ItemSides, threshold: float, other_weight: float
) -> Profiles:
    """Make the profile of each row of a sparse matrix.

    Args:
        rows: (people, items of the catalogue) stars.
        sides: Context and target items.
        threshold: Least rating that is a like.
        other_weight: Weight of a context item that is not a like.
    """
    offsets = rows.indptr.astype(np.int64)
    star_rows = _StarRows(offsets, rows.indices.astype(np.int32), rows.data)
    return _profiles_of(star_rows, sides, threshold, other_weight)


class _StarRows(NamedTuple):
    """Ratings of people, person after person."""

    offsets: Ints
    """(people + 1,) where each person's rows begin."""
    items: NDArray[np.int32]
    """(rows,) number of the item in the catalogue."""
    stars: Floats
    """(rows,) stars of the item."""


def _profiles_of(
    rows: _StarRows, sides: ItemSides, threshold: float, other_weight: float
) -> Profiles:
    """Make profiles from ratings; the arguments are those of `read_profiles`."""
    is_like = rows.stars >= threshold - LIKE_TOLERANCE
    context = _rows_among(rows, sides.context, sides.n_items)
    targets = context
    if not sides.one_domain:
        targets = _rows_among(rows, sides.targets, sides.n_items)
    is_target_like = is_like[targets.mask]
    likes_before_row = np.concatenate([[0], np.cumsum(is_target_like)])
    return Profiles(
        offsets=context.offsets,
        items=context.items,
        liked=is_like[context.mask],
        like_offsets=likes_before_row[targets.offsets],
        likes=targets.items[is_target_like],
        other_weight=other_weight,
        one_domain=sides.one_domain,
    )


@dataclass(frozen=True, eq=False)
class _ChosenRows:
    """The ratings of chosen items."""

    offsets: Ints
    """(people + 1,) where each person's chosen rows begin."""
    mask: slice | NDArray[np.bool_]
    """Index of the chosen rows among all: a mask (rows,), or `slice(None)` if all are chosen."""
    items: NDArray[np.int32]
    """(chosen rows,) place of the item among the chosen items."""


def _rows_among(rows: _StarRows, chosen: Ints, n_items: int) -> _ChosenRows:
    """Select the ratings of chosen items.

    Args:
        rows: Ratings of people.
        chosen: (chosen items,) ascending numbers in the catalogue.
        n_items: Number of items of the catalogue.
    """
    if len(chosen) == n_items:
        return _ChosenRows(rows.offsets, slice(None), rows.items)
    places = np.full(n_items, -1, dtype=np.int32)
    places[chosen] = np.arange(len(chosen), dtype=np.int32)
    is_chosen = places[rows.items] >= 0
    chosen_before_row = np.concatenate([[0], np.cumsum(is_chosen)])
    return _ChosenRows(chosen_before_row[rows.offsets], is_chosen, places[rows.items[is_chosen]])


@dataclass(frozen=True, eq=False)
class StoredProfiles:
    """Profiles of stored ratings, which are read a block of people at a time for each sum."""

    ratings: StoredRatings
    """The stored ratings."""
    read: Callable[[Ratings], Profiles]
    """Makes the profiles of one block of people."""
    one_domain: bool
    """Whether context and target items are the same."""

    def total(self, add: AddProfiles) -> NDArray[Any]:
        """Sum `add(profiles)` over all blocks of people. Not protected: never release it."""
        return self.ratings.total(partial(_add_block, add, self.read))


def _add_block(
    add: AddProfiles, read: Callable[[Ratings], Profiles], block: Ratings
) -> NDArray[Any]:
    """Add up one block of people: a function of the module, so that other processes can run it."""
    return add(read(block))


People = Profiles | StoredProfiles
"""Everybody's profile, in memory or stored; `total(add)` sums a contribution of each person."""


def read_people(
    ratings: RatingsSource, sides: ItemSides, threshold: float, other_weight: float
) -> People:
    """Make everybody's profile, or prepare to make it from stored ratings.

    Args:
        ratings: All ratings, in memory or stored.
        sides: Context and target items.
        threshold: Least rating that is a like.
        other_weight: Weight of a context item that is not a like.
    """
    read = partial(read_profiles, sides=sides, threshold=threshold, other_weight=other_weight)
    if isinstance(ratings, StoredRatings):
        return StoredProfiles(ratings, read, sides.one_domain)
    return read(ratings)


def renumber_items(people: People, context: Ints, targets: Ints) -> People:
    """Renumber the items of everybody's profile.

    Args:
        people: Everybody's profile, in memory or stored.
        context: (context items,) new number of each context item, ascending.
        targets: (target items,) new number of each target item, ascending.
    """
    renumber = partial(_renumber_block, context=context, targets=targets)
    if isinstance(people, StoredProfiles):
        return StoredProfiles(
            people.ratings, _ReadRenumbered(people.read, renumber), people.one_domain
        )
    return renumber(people)


def _renumber_block(block: Profiles, context: Ints, targets: Ints) -> Profiles:
    """Renumber the items of profiles in memory; the arguments are those of `renumber_items`."""
    items = context[block.items].astype(np.int32)
    return block._replace(items=items, likes=targets[block.likes].astype(np.int32))


@dataclass(frozen=True, eq=False)
class _ReadRenumbered:
    """A function that makes the profiles of a block of ratings and renumbers their items."""

    read: Callable[[Ratings], Profiles]
    """Makes the profiles."""
    renumber: Callable[[Profiles], Profiles]
    """Renumbers their items."""

    def __call__(self, block: Ratings) -> Profiles:
        return self.renumber(self.read(block))


def total_over_ratings(
    ratings: RatingsSource, add: Callable[[Ratings], NDArray[Any]]
) -> NDArray[Any]:
    """Sum `add(block)` over all blocks of people. Not protected: never release it."""
    return ratings.total(add) if isinstance(ratings, StoredRatings) else add(ratings)


def people_between(people: Profiles, start: int, stop: int) -> Profiles:
    """Return the profiles of the people numbered `start` to `stop` - 1, renumbered from 0."""
    offsets = people.offsets[start : stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    like_offsets = people.like_offsets[start : stop + 1]
    likes = slice(int(like_offsets[0]), int(like_offsets[-1]))
    return people._replace(
        offsets=offsets - offsets[0],
        items=people.items[rows],
        liked=people.liked[rows],
        like_offsets=like_offsets - like_offsets[0],
        likes=people.likes[likes],
    )


def blocks_of_people(people: Profiles) -> Iterator[Profiles]:
    """Yield the profiles in blocks of at most `PEOPLE_PER_BLOCK` people, in order."""
    count = len(people.offsets) - 1
    for start in range(0, count, PEOPLE_PER_BLOCK):
        yield people_between(people, start, min(start + PEOPLE_PER_BLOCK, count))


def read_history(
    history: Mapping[Any, float] | Iterable[Any], scale: RatingScale, ids: Column
) -> History:
    """Check one person's history and return it as item id to stars.

    Args:
        history: Item id to stars, a data frame of items and stars, or the ids of liked items, which
            get the most stars of the scale.
        scale: The scale of the stars.
        ids: Ids of the model's items.

    Raises:
        DataError: The history is something else, a rating is off the scale, or all ids are of
            another type than the model's.
    """
    is_frame = hasattr(history, "columns")
    if is_frame or isinstance(history, str | Mapping) or not isinstance(history, Iterable):
        return checked_history(history, ids, scale)
    likes = checked_ids(history, "history")
    check_id_type(likes, ids)
    return dict.fromkeys(likes, scale.maximum)


def profile_of_history(
    history: History,
    context: Mapping[Any, int],
    targets: Mapping[Any, int],
    *,
    threshold: float,
    other_weight: float,
    one_domain: bool,
) -> Profiles:
    """Make the profile of one person, equal to the one that `read_profiles` makes of their rows.

    Args:
        history: Item id to stars. Items that are neither context nor target items are ignored.
        context: Item id to place among context items.
        targets: Item id to place among target items.
        threshold: Least rating that is a like.
        other_weight: Weight of a context item that is not a like.
        one_domain: Whether context and target items are the same.
    """
    liked_ids = {item for item, stars in history.items() if stars >= threshold - LIKE_TOLERANCE}
    rows = sorted((context[item], item in liked_ids) for item in history if item in context)
    likes = sorted(targets[item] for item in liked_ids if item in targets)
    return Profiles(
        offsets=np.array([0, len(rows)]),
        items=np.array([place for place, _ in rows], dtype=np.int32),
        liked=np.array([liked for _, liked in rows], dtype=bool),
        like_offsets=np.array([0, len(likes)]),
        likes=np.array(likes, dtype=np.int32),
        other_weight=other_weight,
        one_domain=one_domain,
    )
