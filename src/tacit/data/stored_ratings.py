"""Ratings that do not lie in memory: their catalogue, and sums that are made where they are."""

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
from tacit.data.tables.names import Role
from tacit.data.tables.table import find_column, missing_column_error
from tacit.errors import ConfigError, DataError

MOST_VALUES = 1000
"""Different stars of which a scale is found; with more it has to be given."""


class StoredRatings(ABC):
    """Ratings in files or on a cluster."""

    catalogue: Ratings
    """Items, their metadata, the scale, and what was read off the ratings; no people."""
    digest: bytes | None = None
    """Digest of the files that the rows are read from, never to be published; None if unknown."""
    advance: Advance = staticmethod(lambda _: None)
    """Called with shares of a pass that are done; they make 1 for each pass."""

    @abstractmethod
    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """Sum `add(block)` over blocks of whole people, each in one block: PRIVATE.

        A block has the item numbers and the scale of the catalogue. `add` is called in other
        processes, and may be called again for a block whose answer was lost.
        """

    def join_tiles(self, cut: CutBlock, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        """Work on tiles of items, each with the rows of everybody who has one of them: PRIVATE.

        Args:
            cut: From a block to (people, items) stars, and a number beside each person.
            tiles: Sorted numbers of the items of each tile.
            work: From a tile's number, its rows and the numbers beside them to lines: a number of
                the line, and bytes. Rows are in the order of the people's ids; columns of other
                items are empty.
            merge: Makes one answer of the bytes that several tiles give for a line.

        Returns:
            For each line, how many tiles gave bytes, and what `merge` makes of them.

        Raises:
            ConfigError: only sums are made here.
        """
        raise ConfigError(_JOIN)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        """Map `work` over the parts, where the ratings are."""
        raise ConfigError(_JOIN)


Advance = Callable[[float], object]
CutBlock = Callable[[Ratings], tuple[Any, NDArray[np.float64]]]
Tiles = Sequence[NDArray[np.int32]]
Work = Callable[[int, Any, NDArray[np.float64]], Iterable[tuple[int, bytes]]]
Merge = Callable[[list[bytes]], bytes]
Lines = dict[int, tuple[int, bytes]]
Arrays = Iterator[NDArray[Any]]
RatingsSource = Ratings | StoredRatings
_JOIN = (
    "Streaming makes sums over people alone, and this joins items: leave out --memory, or use "
    "--engine spark."
)


@contextmanager
def show_progress(
    ratings: RatingsSource,
    progress: Callable[[str, int | None], AbstractContextManager[Advance]],
    passes: int | None,
) -> Iterator[None]:
    """Show progress while a model is fitted.

    Args:
        ratings: What it is fitted to.
        progress: Makes a bar from a description and a number of steps.
        passes: Passes over stored ratings at most; None if that is not known.
    """
    total = passes if isinstance(ratings, StoredRatings) else None
    with progress("Fitting", total) as advance:
        if isinstance(ratings, StoredRatings):
            ratings.advance = advance
        yield


def catalogue_of(ratings: RatingsSource) -> Ratings:
    """Give the ratings themselves; of stored ones their catalogue, without people."""
    return ratings.catalogue if isinstance(ratings, StoredRatings) else ratings


def require_in_memory(ratings: RatingsSource) -> Ratings:
    """Give the ratings if they are in memory; ConfigError otherwise."""
    if isinstance(ratings, StoredRatings):
        raise ConfigError("This needs all ratings in memory: leave out --engine and --memory.")
    return ratings


def keep_items(ratings: RatingsSource, mask: NDArray[np.bool_]) -> RatingsSource:
    """Keep the items of a mask, renumbered; people keep their numbers, and all stay."""
    if isinstance(ratings, StoredRatings):
        return _ChosenItems(ratings, mask)
    return ratings.of_items(mask)


class _ChosenItems(StoredRatings):
    def __init__(self, ratings: StoredRatings, items: NDArray[np.bool_]) -> None:
        self.catalogue = ratings.catalogue.of_items(items)
        self._ratings, self._items = ratings, items

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        return self._ratings.total(partial(_call_on_items, call=add, items=self._items))

    def join_tiles(self, cut: CutBlock, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        own = partial(_call_on_items, call=cut, items=self._items)
        return self._ratings.join_tiles(own, tiles, work, merge)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        return self._ratings.spread(work, parts)


def _call_on_items(
    block: Ratings, *, call: Callable[[Ratings], Any], items: NDArray[np.bool_]
) -> Any:
    return call(block.of_items(items))


def columns_among(
    headers: Sequence[str], asked: Mapping[Role, str | None], *, events: bool, path: object
) -> dict[Role, str]:
    """Find the column of each role, by well-known headers or as asked for.

    Raises:
        DataError: a column that is needed or asked for is missing.
        ConfigError: the table has numbers of plays in place of stars.
    """
    columns: dict[Role, str] = {}
    roles: list[Role] = ["user", "item", "time"] if events else ["user", "item", "rating", "time"]
    for role in roles:
        place = find_column(role, headers, asked.get(role))
        if place is not None:
            columns[role] = headers[place]
        elif role in ("user", "item") or asked.get(role) is not None:
            raise missing_column_error(role, headers, asked.get(role), path)
    if "rating" not in columns and not events and find_column("plays", headers, None) is not None:
        raise ConfigError(
            "Numbers of plays are not read here: give --events, where each row is a like, or "
            "the column of stars with --rating."
        )
    return columns


@dataclass(frozen=True)
class PublicInputs:
    """Scale and items that do not come from the ratings."""

    scale: RatingScale | None = None
    """None: found in the stars."""
    catalogue: Path | None = None
    """File of the only items that count, as `read_catalogue` reads it."""
    items: Path | None = None
    """File of item metadata, as `with_items` reads it."""
    items_named: bool = True
    """Whether that file was named, and not found beside the ratings."""
    item: str | None = None
    """Name of the files' column of item ids."""
    domain: str | None = None
    """Name of the files' column of domains."""
    domains: bool = False
    """Whether the catalogue must have domains."""

    def make_catalogue(
        self, rated: Callable[[], Sequence[Any]], stars: NDArray[np.float64] | None
    ) -> Ratings:
        """Make the catalogue, without people.

        Args:
            rated: Gives the ids of the rated items; called where no catalogue is given.
            stars: All different ones, if no scale is given; None for events.
        """
        # These need polars, which models that are only read do not.
        from tacit.data.tabular import read_catalogue, with_items

        columns: dict[str, dict[Any, Any]] = {}
        if self.catalogue is not None:
            columns = read_catalogue(
                self.catalogue, item=self.item, domain=self.domain, domains=self.domains
            )
        domains = columns.pop(DOMAIN, {})
        item_ids, _ = number_ids(rated() if self.catalogue is None else list(domains), "item")
        catalogue = replace(
            Block.without_people().to_ratings(len(item_ids), self._scale(stars)),
            item_ids=item_ids,
            item_metadata=align(columns, item_ids),
            scale_given=stars is None or self.scale is not None,
            catalogue_given=self.catalogue is not None,
        )
        if any(domains.values()):
            catalogue = with_domains(catalogue, domains)
        if self.items is not None:
            domain = None if self.catalogue is not None else self.domain
            catalogue = with_items(catalogue, self.items, item=self.item, domain=domain)
            if not self.items_named:
                catalogue = catalogue.with_guess("items")
        return catalogue

    def _scale(self, stars: NDArray[np.float64] | None) -> RatingScale:
        """Return the scale that is given, or the one of these stars.

        Args:
            stars: (k,) different ones; None for events.

        Raises:
            DataError: no common scale holds them, or there are too many.
            ConfigError: a scale is given for events.
        """
        if stars is None and self.scale is not None:
            raise ConfigError("Events have no stars, so a scale has no meaning for them.")
        if stars is None or self.scale is not None:
            return self.scale or EVENTS
        if len(stars) > MOST_VALUES:
            what = "there are too many different stars to find their scale"
            raise DataError(what, fix="Give it with --scale MIN:MAX:STEP, such as 0:10:0.")
        scale, off_scale = RatingScale.nearest(stars)
        if off_scale:
            raise scale.no_common_scale_error(None)
        return scale


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of whole people, in any order."""

    people: NDArray[np.integer[Any]]
    """(rows,) numbers from 0, each in use."""
    items: NDArray[np.integer[Any]]
    """(rows,) numbers of the catalogue; -1: none of it."""
    values: NDArray[np.float64]
    """(rows,) stars."""
    times: NDArray[Any] | None
    """(rows,); None where there are none."""

    def to_block(self, items: int) -> Block:
        """Sort by person, then item, and keep one row of each pair: see `columns.latest`."""
        pairs = self.people.astype(np.int64) * (items + 1) + self.items + 1
        keys: list[NDArray[Any]] = [self.values]
        if self.times is not None:
            keys.append(self.times)
        rows = latest(pairs, *keys)
        rows = rows[self.items[rows] >= 0]
        # A person without an item of the catalogue stays in, and is counted like all others.
        count = np.bincount(self.people[rows], minlength=int(self.people.max()) + 1)
        offsets = np.concatenate([[0], np.cumsum(count)])
        return Block(offsets, self.items[rows].astype(np.int32), self.values[rows])


@dataclass(frozen=True, eq=False)
class Block:
    """Rows of whole people, sorted by person and item, each pair once."""

    offsets: NDArray[np.int64]
    """(people + 1,) where each person's rows begin."""
    items: NDArray[np.int32]
    """(rows,) numbers of the catalogue, ascending in a person."""
    values: NDArray[np.float64]
    """(rows,) stars."""

    @classmethod
    def without_people(cls) -> Block:
        """Make the block of nobody."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))

    def parts(self, rows: int) -> Iterator[Block]:
        """Cut into blocks of about so many rows; a person is never cut."""
        last = len(self.offsets) - 1
        ends = np.searchsorted(self.offsets, np.arange(rows, self.offsets[-1], rows))
        bounds = np.unique([0, *ends.tolist(), last])
        for start, stop in pairwise(bounds.tolist()):
            part = slice(int(self.offsets[start]), int(self.offsets[stop]))
            offsets = self.offsets[start : stop + 1] - self.offsets[start]
            yield Block(offsets, self.items[part], self.values[part])

    def to_ratings(self, n_items: int, scale: RatingScale) -> Ratings:
        """Make ratings of people numbered from 0."""
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
