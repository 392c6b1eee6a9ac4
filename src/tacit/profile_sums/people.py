"""One person's contribution to the sums: rows of context items, and likes among target items.

Every number of a person's profile is made from that person's own rows and public values, so that it
is the same alone and among others.
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

PEOPLE_PER_BLOCK = 4096
"""People at once, where something is held for each of them."""
LIKE_TOLERANCE = 1e-9
"""A rating is a like from this much below the threshold."""


def read_profiles(
    ratings: Ratings, sides: ItemSides, threshold: float, other_weight: float
) -> Profiles:
    """Read everybody's profile. A person without rows stays in: they are counted like all others.

    Args:
        ratings: Rows of whole people.
        sides: Context and target items.
        threshold: Least rating that is a like.
        other_weight: Weight of a context item that is not a like.
    """
    rows = _StarRows(ratings.offsets, ratings.items, ratings.values)
    return _profiles_of(rows, sides, threshold, other_weight)


def profiles_of_rows(
    rows: sparse.csr_array, sides: ItemSides, threshold: float, other_weight: float
) -> Profiles:
    """Read profiles from (people, items) stars; as `read_profiles`."""
    offsets = rows.indptr.astype(np.int64)
    read = _StarRows(offsets, rows.indices.astype(np.int32), rows.data)
    return _profiles_of(read, sides, threshold, other_weight)


class _StarRows(NamedTuple):
    """Rows of people."""

    offsets: Ints
    """(people + 1,) where each person's rows begin."""
    items: NDArray[np.int32]
    """(rows,)"""
    stars: Floats
    """(rows,)"""


def _profiles_of(
    rows: _StarRows, sides: ItemSides, threshold: float, other_weight: float
) -> Profiles:
    liked = rows.stars >= threshold - LIKE_TOLERANCE
    context = _rows_among(rows, sides.context, sides.n_items)
    targets = context
    if not sides.one_domain:
        targets = _rows_among(rows, sides.targets, sides.n_items)
    target_likes = liked[targets.mask]
    likes_before = np.concatenate([[0], np.cumsum(target_likes)])
    return Profiles(
        offsets=context.offsets,
        items=context.items,
        liked=liked[context.mask],
        like_offsets=likes_before[targets.offsets],
        likes=targets.items[target_likes],
        other_weight=other_weight,
        one_domain=sides.one_domain,
    )


@dataclass(frozen=True, eq=False)
class _ChosenRows:
    """The rows of some of the items."""

    offsets: Ints
    """(people + 1,) where each person's chosen rows begin."""
    mask: slice | NDArray[np.bool_]
    """Picks the chosen rows out of all; the slice of everything where all are chosen."""
    items: NDArray[np.int32]
    """(chosen rows,) place of the item among the chosen ones."""


def _rows_among(rows: _StarRows, chosen: Ints, n_items: int) -> _ChosenRows:
    if len(chosen) == n_items:
        return _ChosenRows(rows.offsets, slice(None), rows.items)
    places = np.full(n_items, -1, dtype=np.int32)
    places[chosen] = np.arange(len(chosen), dtype=np.int32)
    inside = places[rows.items] >= 0
    rows_before = np.concatenate([[0], np.cumsum(inside)])
    return _ChosenRows(rows_before[rows.offsets], inside, places[rows.items[inside]])


@dataclass(frozen=True, eq=False)
class StoredProfiles:
    """Profiles of people whose rows stay where they are stored."""

    ratings: StoredRatings
    read: Callable[[Ratings], Profiles]
    """Reads the profiles of one block of people."""
    one_domain: bool
    """Whether context and target items are the same."""

    def total(self, add: AddProfiles) -> NDArray[Any]:
        """Sum of `add(profiles)` over all blocks of people. Not protected: never release it."""
        return self.ratings.total(partial(_add_block, add, self.read))


def _add_block(
    add: AddProfiles, read: Callable[[Ratings], Profiles], block: Ratings
) -> NDArray[Any]:
    return add(read(block))


People = Profiles | StoredProfiles
"""The people of a sum; `total(add)` gives it."""


def read_people(
    ratings: RatingsSource, sides: ItemSides, threshold: float, other_weight: float
) -> People:
    """Read everybody's profile, in memory or where the rows are stored; as `read_profiles`."""
    read = partial(read_profiles, sides=sides, threshold=threshold, other_weight=other_weight)
    if isinstance(ratings, StoredRatings):
        return StoredProfiles(ratings, read, sides.one_domain)
    return read(ratings)


def renumber_items(people: People, context: Ints, targets: Ints) -> People:
    """Give the items of profiles other places, in memory or where the rows are stored.

    Args:
        people: Everybody's profile.
        context: (context items,) new place of each, ascending.
        targets: (target items,) likewise.
    """
    renumber = partial(_renumber_block, context=context, targets=targets)
    if isinstance(people, StoredProfiles):
        return StoredProfiles(
            people.ratings, _ReadRenumbered(people.read, renumber), people.one_domain
        )
    return renumber(people)


def _renumber_block(block: Profiles, context: Ints, targets: Ints) -> Profiles:
    items = context[block.items].astype(np.int32)
    return block._replace(items=items, likes=targets[block.likes].astype(np.int32))


@dataclass(frozen=True, eq=False)
class _ReadRenumbered:
    """Reads the profiles of a block and renumbers their items."""

    read: Callable[[Ratings], Profiles]
    renumber: Callable[[Profiles], Profiles]

    def __call__(self, block: Ratings) -> Profiles:
        return self.renumber(self.read(block))


def total_over_ratings(
    ratings: RatingsSource, add: Callable[[Ratings], NDArray[Any]]
) -> NDArray[Any]:
    """Sum of `add(block)` over all blocks of people. Not protected: never release it."""
    return ratings.total(add) if isinstance(ratings, StoredRatings) else add(ratings)


def people_between(people: Profiles, start: int, stop: int) -> Profiles:
    """Profiles of the people with numbers from start to below stop, renumbered from 0."""
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
    """Cut the people into blocks of at most `PEOPLE_PER_BLOCK`."""
    count = len(people.offsets) - 1
    for start in range(0, count, PEOPLE_PER_BLOCK):
        yield people_between(people, start, min(start + PEOPLE_PER_BLOCK, count))


def read_history(
    history: Mapping[Any, float] | Iterable[Any], scale: RatingScale, ids: Column
) -> History:
    """Read one person's own rows: item id to stars, or ids of liked items.

    Raises:
        DataError: a rating is off the scale, or the ids are of another type than the model's.
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
    """Profile of one person from their own rows, as `read_profiles` makes it.

    Args:
        history: Item id to stars. Items of neither side are ignored.
        context: Item id to place among context items.
        targets: Item id to place among target items.
        threshold: Least rating that is a like.
        other_weight: Weight of a context item that is not a like.
        one_domain: Whether both sides are the same items.
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
