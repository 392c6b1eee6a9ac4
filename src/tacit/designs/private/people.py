"""What a fit is made from: people's rows, which items they are read for, and items' features.

Features are public item metadata as columns: one per genre, tag or category, and one per band of
numbers. Nothing of them may come from people's ratings: which columns are kept hangs on the
catalogue alone.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.domains import Values, item_features
from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored import Given, StoredRatings, known_of
from tacit.engine.profile_sums_compiled import Profiles, Sparse
from tacit.errors import ConfigError, DataError
from tacit.recommenders.base import History
from tacit.recommenders.inputs import check_kind, checked_history, checked_ids, checked_ratings

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BLOCK = 4096
"""People at once, where something is held for each of them."""


@dataclass(frozen=True, eq=False)
class Sides:
    """Numbers of the context items, which tastes come from, and of the target items, which lists
    hold: sorted, in `n_items` of the catalogue. In one domain they are the same."""

    n_items: int
    context: NDArray[np.int64]
    targets: NDArray[np.int64]

    @property
    def joint(self) -> bool:
        return np.array_equal(self.context, self.targets)


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
    wanted = (target,) if isinstance(target, str) else tuple(target)
    named = (source,) if isinstance(source, str) else tuple(source or ())
    domains = domains_of(ratings, column, (*wanted, *named)).tolist()
    others = {name for name in domains if isinstance(name, str) and name not in wanted}
    sources = others if source is None else {*named}
    context = np.flatnonzero([isinstance(name, str) and name in sources for name in domains])
    if not len(context) or not sources <= others:
        raise ConfigError("source and target are different domains, each with items.")
    return Sides(ratings.n_items, context, np.flatnonzero([name in wanted for name in domains]))


def domains_of(ratings: Ratings, column: str, names: Iterable[str]) -> Column:
    """(n_items,) the metadata that names domains; DataError without it, or for another name."""
    domains = ratings.item_metadata.get(column)
    if domains is None:
        raise DataError(
            f"the items have no '{column}'",
            expected="item metadata that names each item's domain",
            fix="Name its column with --domain-column (from Python: domain=...).",
        )
    known = {name for name in domains.tolist() if isinstance(name, str)}
    for name in names:
        if name not in known:
            expected = "one of " + ", ".join(sorted(known))
            raise DataError("no such domain", column=column, found=name, expected=expected)
    return domains


def like_threshold(scale: RatingScale, like_at: float | None) -> float:
    """The least rating that is a like: public, never read off others' ratings."""
    return scale.liked_from if like_at is None else float(like_at)


def profiles(ratings: Ratings, sides: Sides, threshold: float, low: float) -> Profiles:
    """Everybody's rows. A person without rows stays in: they are counted like all others."""
    liked = ratings.values >= threshold - 1e-9
    offsets, rows, items = _side(ratings, sides.context, sides.n_items)
    joint = sides.joint
    likes = (offsets, rows, items) if joint else _side(ratings, sides.targets, sides.n_items)
    of_targets = liked if likes[1] is None else liked[likes[1]]
    of_context = liked if rows is None else liked[rows]
    running = np.concatenate([[0], np.cumsum(of_targets)])
    return Profiles(offsets, items, of_context, running[likes[0]], likes[2][of_targets], low, joint)


@dataclass(frozen=True, eq=False)
class StoredProfiles:
    """Everybody's rows where they lie. profiles: what `profiles` makes of a block."""

    rows: StoredRatings
    profiles: Callable[[Ratings], Profiles]
    joint: bool

    def total(self, add: Callable[[Profiles], NDArray[Any]]) -> NDArray[Any]:
        return self.rows.total(partial(_of_profiles, add, self.profiles))


def _of_profiles(
    add: Callable[[Profiles], NDArray[Any]], profiles: Callable[[Ratings], Profiles], block: Ratings
) -> NDArray[Any]:
    return add(profiles(block))


People = Profiles | StoredProfiles
"""Whom a sum is over; `total(add)` gives it."""


def everybody(ratings: Given, sides: Sides, threshold: float, low: float) -> People:
    """Everybody's rows, where they are."""
    own = partial(profiles, sides=sides, threshold=threshold, low=low)
    if isinstance(ratings, StoredRatings):
        return StoredProfiles(ratings, own, sides.joint)
    return own(ratings)


def total_of(ratings: Given, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
    return ratings.total(add) if isinstance(ratings, StoredRatings) else add(ratings)


def catalogue_of(ratings: Given) -> Ratings:
    """Items, metadata and scale; DataError for what is no ratings, or off its scale."""
    known = known_of(ratings)
    checked_ratings(known)
    if not known.scale.holds(known.values).all():
        raise DataError("a rating is off the scale", expected=str(known.scale))
    return known


def _side(
    ratings: Ratings, chosen: Ints, n_items: int
) -> tuple[Ints, NDArray[np.bool_] | None, NDArray[np.int32]]:
    """Offsets, mask of rows (None: all) and item numbers among the chosen."""
    if len(chosen) == n_items:
        return ratings.offsets, None, ratings.items
    place = np.full(n_items, -1, dtype=np.int32)
    place[chosen] = np.arange(len(chosen), dtype=np.int32)
    inside = place[ratings.items] >= 0
    running = np.concatenate([[0], np.cumsum(inside)])
    return running[ratings.offsets], inside, place[ratings.items[inside]]


def some(people: Profiles, start: int, stop: int) -> Profiles:
    """Those with numbers from start to below stop, renumbered from 0."""
    offsets = people.offsets[start : stop + 1]
    rows = slice(int(offsets[0]), int(offsets[-1]))
    like_offsets = people.like_offsets[start : stop + 1]
    return people._replace(
        offsets=offsets - offsets[0],
        items=people.items[rows],
        liked=people.liked[rows],
        like_offsets=like_offsets - like_offsets[0],
        likes=people.likes[int(like_offsets[0]) : int(like_offsets[-1])],
    )


def blocks(people: Profiles) -> Iterator[Profiles]:
    count = len(people.offsets) - 1
    for start in range(0, count, BLOCK):
        yield some(people, start, min(start + BLOCK, count))


def read_history(
    history: Mapping[Any, float] | Iterable[Any], scale: RatingScale, ids: Column
) -> History:
    """Item id to stars on the scale; ids alone are likes. DataError otherwise."""
    if isinstance(history, str | Mapping) or not isinstance(history, Iterable):
        return checked_history(history, ids, scale)
    likes = checked_ids(history, "history")
    check_kind(likes, ids)
    return dict.fromkeys(likes, scale.maximum)


def of_history(
    own: Mapping[Any, float],
    context: Mapping[Any, int],
    targets: Mapping[Any, int],
    threshold: float,
    low: float,
    joint: bool,
) -> Profiles:
    """One person's item ids and stars. context, targets: where ids stand; others are ignored."""
    liked = {item for item, stars in own.items() if stars >= threshold - 1e-9}
    rows = sorted((context[item], item in liked) for item in own if item in context)
    likes = sorted(targets[item] for item in liked if item in targets)
    return Profiles(
        np.array([0, len(rows)]), np.array([number for number, _ in rows], dtype=np.int32),
        np.array([like for _, like in rows], dtype=bool), np.array([0, len(likes)]),
        np.array(likes, dtype=np.int32), low, joint,
    )  # fmt: skip


def compiled(features: sparse.csr_array) -> Sparse:
    """(items, f) features as kernels read them."""
    return Sparse(
        features.indptr.astype(np.int64),
        features.indices.astype(np.int32),
        features.data.astype(np.float64),
        features.shape[1],
    )


MOST = 64
YEARS = (1930, 1940, 1950, 1960, 1970, 1980, 1986, 1990, 1993, 1995, 1996, 1997, 1998, 1999)
"""Where public bands of years begin; they fit films of that time."""
_NO_YEAR = 1990
_BANDS = 8
_FEW_NUMBERS = 12
UNKNOWN = "unknown"


def features(
    ratings: Ratings, names: Sequence[str] | None = None
) -> tuple[tuple[str, ...], sparse.csr_array]:
    """Names of f columns and (items, f) rows of L2 norm 1; f is 0 without metadata.

    names: as for `tacit.data.item_features`. 'year' falls into public bands; other columns of many
    numbers into bands of equal shares of the catalogue. At most 64 columns are kept, those of most
    items. DataError for NaN, or a name that the items do not have.
    """
    cells: Values = [[] for _ in range(ratings.n_items)]
    for name, values in item_features(ratings, names).items():
        for own, more in zip(cells, _banded(name, values), strict=True):
            own += [f"{name}={value}" for value in more]
    return _matrix(cells) if any(cells) else ((), sparse.csr_array((ratings.n_items, 0)))


def _banded(name: str, values: Values) -> Values:
    if any(value.lower() == "nan" for own in values for value in own):
        raise DataError(f"NaN in the item metadata '{name}'", fix="Leave unknown values empty.")
    if name.strip().lower() == "year":
        years = [_number(own[0]) if own else None for own in values]
        years_known = [_NO_YEAR if year is None else year for year in years]
        return [[str(band)] for band in np.digitize(years_known, YEARS).tolist()]
    numbers = [_number(value) for own in values for value in own]
    known = sorted(number for number in numbers if number is not None)
    if len(known) < len(numbers) or len(set(known)) <= _FEW_NUMBERS:
        return values
    edges = [known[len(known) * band // _BANDS] for band in range(1, _BANDS)]
    return [[str(int(np.searchsorted(edges, float(v), "right"))) for v in own] for own in values]


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _matrix(cells: Values) -> tuple[tuple[str, ...], sparse.csr_array]:
    """The most frequent columns; one for what has no other, if there is such an item."""
    counts = Counter(value for own in cells for value in own)
    order = sorted(counts, key=lambda value: (-counts[value], value))
    names = order[:MOST]
    if any(not set(own) & set(names) for own in cells):
        names = [*order[: MOST - 1], UNKNOWN]
    place = {value: column for column, value in enumerate(names)}
    rows = [sorted(place[value] for value in own if value in place) for own in cells]
    rows = [row or [place[UNKNOWN]] for row in rows]
    lengths = np.array([len(row) for row in rows])
    columns = np.array([column for row in rows for column in row], dtype=np.int32)
    values = np.repeat(1 / np.sqrt(lengths), lengths)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return tuple(names), sparse.csr_array((values, columns, offsets), shape=(len(rows), len(names)))
