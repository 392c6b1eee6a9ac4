"""Ratings that do not lie in memory: what is known of them all, and where their sums are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.columns import EVENTS, RatingScale, align, latest, number_ids
from tacit.data.domains import DOMAIN, with_domains
from tacit.data.ratings import Ratings
from tacit.data.tables import find, missing
from tacit.data.tables.names import Role
from tacit.data.tabular import read_catalogue, with_items
from tacit.errors import ConfigError, DataError

MOST_VALUES = 1000
"""Different stars of which a scale is found; with more it has to be given."""


class StoredRatings(ABC):
    """catalogue: the items, their metadata, the scale, and what was read off the ratings.
    advance: is called with shares of a pass that are done; they make 1 for each pass."""

    catalogue: Ratings
    advance: Advance = staticmethod(lambda _: None)

    @abstractmethod
    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """The sum of `add(block)` over blocks of whole people, each in one block: PRIVATE.

        A block has the item numbers and the scale of the catalogue. `add` is called in other
        processes, and may be called again for a block whose answer was lost.
        """

    def joined(self, cut: Cut, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        """What `work(tile, rows, beside)` gives of each tile, by line: how many tiles gave some,
        and what `merge` makes of that: PRIVATE. ConfigError where only sums are made.

        cut: from a block to (people, items) stars and a number beside each person. tiles: sorted
        numbers of items. rows: of everybody with one of them, in the order of the people's ids;
        these columns alone are filled.
        """
        raise ConfigError(_JOIN)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        """As `map`, where the ratings are."""
        raise ConfigError(_JOIN)


Advance = Callable[[float], object]
Cut = Callable[[Ratings], tuple[Any, NDArray[np.float64]]]
Tiles = Sequence[NDArray[np.int32]]
Work = Callable[[int, Any, NDArray[np.float64]], Iterable[tuple[int, bytes]]]
Merge = Callable[[list[bytes]], bytes]
Lines = dict[int, tuple[int, bytes]]
Arrays = Iterator[NDArray[Any]]
Given = Ratings | StoredRatings
_JOIN = (
    "Streaming makes sums over people alone, and this joins items: leave out --memory, or use "
    "--engine spark."
)


@contextmanager
def watched(
    ratings: Given,
    progress: Callable[[str, int | None], AbstractContextManager[Advance]],
    passes: int | None,
) -> Iterator[None]:
    """While a model is fitted. passes: over stored ratings, at most; None if it is not known."""
    total = passes if isinstance(ratings, StoredRatings) else None
    with progress("Fitting", total) as advance:
        if isinstance(ratings, StoredRatings):
            ratings.advance = advance
        yield


def known_of(ratings: Given) -> Ratings:
    """The ratings, or of stored ones the catalogue without people."""
    return ratings.catalogue if isinstance(ratings, StoredRatings) else ratings


def in_memory(ratings: Given) -> Ratings:
    """The same, if they are; ConfigError otherwise."""
    if isinstance(ratings, StoredRatings):
        raise ConfigError("This needs all ratings in memory: leave out --engine and --memory.")
    return ratings


def within(ratings: Given, mask: NDArray[np.bool_]) -> Given:
    """Only the items of a mask, renumbered; people keep their numbers, and all stay."""
    return _Within(ratings, mask) if isinstance(ratings, StoredRatings) else ratings.of_items(mask)


class _Within(StoredRatings):
    def __init__(self, ratings: StoredRatings, items: NDArray[np.bool_]) -> None:
        self.catalogue = ratings.catalogue.of_items(items)
        self._ratings, self._items = ratings, items

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        return self._ratings.total(partial(_of_items, call=add, items=self._items))

    def joined(self, cut: Cut, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        own = partial(_of_items, call=cut, items=self._items)
        return self._ratings.joined(own, tiles, work, merge)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        return self._ratings.spread(work, parts)


def _of_items(block: Ratings, *, call: Callable[[Ratings], Any], items: NDArray[np.bool_]) -> Any:
    return call(block.of_items(items))


def columns_among(
    headers: Sequence[str], asked: Mapping[Role, str | None], *, events: bool, path: object
) -> dict[Role, str]:
    """Role to name, of well-known headers or those asked for; DataError where one is missing."""
    columns: dict[Role, str] = {}
    offered: tuple[Role, ...] = ("user", "item", "rating", "time")
    for role in offered if not events else [role for role in offered if role != "rating"]:
        place = find(role, headers, asked.get(role))
        if place is not None:
            columns[role] = headers[place]
        elif role in ("user", "item") or asked.get(role) is not None:
            raise missing(role, headers, asked.get(role), path)
    if "rating" not in columns and not events and find("plays", headers, None) is not None:
        raise ConfigError(
            "Numbers of plays are not read here: give --events, where each row is a like, or "
            "the column of stars with --rating."
        )
    return columns


@dataclass(frozen=True)
class Public:
    """What comes from outside the ratings. scale: None: found in the stars. catalogue, items: files
    as `read_catalogue` and `with_items` read them. item, domain: names of their columns. domains:
    whether the catalogue must have them."""

    scale: RatingScale | None = None
    catalogue: Path | None = None
    items: Path | None = None
    item: str | None = None
    domain: str | None = None
    domains: bool = False

    def known(
        self, rated: Callable[[], Sequence[Any]], stars: NDArray[np.float64] | None
    ) -> Ratings:
        """The catalogue without people. rated: ids of the rated items, asked for where no
        catalogue is given. stars: all different ones, if no scale is given; None for events."""
        columns: dict[str, dict[Any, Any]] = {}
        if self.catalogue is not None:
            columns = read_catalogue(
                self.catalogue, item=self.item, domain=self.domain, domains=self.domains
            )
        domains = columns.pop(DOMAIN, {})
        item_ids, _ = number_ids(rated() if self.catalogue is None else list(domains), "item")
        made = replace(
            Block.empty().ratings(len(item_ids), self._scale(stars)),
            item_ids=item_ids,
            item_metadata=align(columns, item_ids),
            scale_given=stars is None or self.scale is not None,
            catalogue_given=self.catalogue is not None,
        )
        if any(domains.values()):
            made = with_domains(made, domains)
        if self.items is not None:
            domain = None if self.catalogue is not None else self.domain
            made = with_items(made, self.items, item=self.item, domain=domain)
        return made

    def _scale(self, stars: NDArray[np.float64] | None) -> RatingScale:
        """The scale that is given, or of these (k,) different stars; DataError if none fits."""
        if stars is None and self.scale is not None:
            raise ConfigError("Events have no stars, so a scale has no meaning for them.")
        if stars is None or self.scale is not None:
            return self.scale or EVENTS
        if len(stars) > MOST_VALUES:
            what = "there are too many different stars to find their scale"
            raise DataError(what, fix="Give it with --scale MIN:MAX:STEP, such as 0:10:0.")
        scale, odd = RatingScale.nearest(stars)
        if odd:
            raise scale.unfit(None)
        return scale


@dataclass(frozen=True, eq=False)
class Rows:
    """Whole people's rows, in any order. people: from 0, each number in use. items: of the
    catalogue, -1: none of it. times: None where there are none."""

    people: NDArray[np.integer[Any]]
    items: NDArray[np.integer[Any]]
    values: NDArray[np.float64]
    times: NDArray[Any] | None

    def block(self, items: int, *, ordered: bool) -> Block:
        """By person, then item. Of repeats the latest counts; of equally late ones the last row if
        rows are `ordered`, else the most stars, because a cluster keeps no order."""
        pairs = self.people.astype(np.int64) * (items + 1) + self.items + 1
        keys = [*([] if ordered else [self.values]), *([] if self.times is None else [self.times])]
        rows = latest(pairs, *keys)
        rows = rows[self.items[rows] >= 0]
        # A person without an item of the catalogue stays in, and is counted like all others.
        count = np.bincount(self.people[rows], minlength=int(self.people.max()) + 1)
        offsets = np.concatenate([[0], np.cumsum(count)])
        return Block(offsets, self.items[rows].astype(np.int32), self.values[rows])


@dataclass(frozen=True, eq=False)
class Block:
    """offsets: (people + 1,) int64; items: int32, ascending in a person; values: float64."""

    offsets: NDArray[np.int64]
    items: NDArray[np.int32]
    values: NDArray[np.float64]

    @classmethod
    def empty(cls) -> Block:
        """Nobody."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))

    def parts(self, rows: int) -> Iterator[Block]:
        """Runs of people of about so many rows; a person is never cut."""
        last = len(self.offsets) - 1
        ends = np.searchsorted(self.offsets, np.arange(rows, self.offsets[-1], rows))
        bounds = np.unique([0, *ends.tolist(), last])
        for start, stop in pairwise(bounds.tolist()):
            part = slice(int(self.offsets[start]), int(self.offsets[stop]))
            offsets = self.offsets[start : stop + 1] - self.offsets[start]
            yield Block(offsets, self.items[part], self.values[part])

    def ratings(self, n_items: int, scale: RatingScale) -> Ratings:
        """As ratings of people numbered from 0."""
        people = np.arange(len(self.offsets) - 1)
        return Ratings(
            users=np.repeat(people, np.diff(self.offsets)).astype(np.int32),
            items=self.items,
            values=self.values,
            timestamps=None,
            user_ids=people,
            item_ids=np.arange(n_items),
            scale=scale,
        )
