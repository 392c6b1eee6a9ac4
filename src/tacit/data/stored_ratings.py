"""Ratings that are not in memory: their catalogue, and sums computed where the ratings are."""

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

from tacit.data.columns import EVENTS, RatingScale, align, find_latest_rows, number_ids
from tacit.data.domains import DOMAIN, with_domains
from tacit.data.ratings import Ratings
from tacit.data.tables.names import Role
from tacit.data.tables.table import find_column, missing_column_error
from tacit.errors import ConfigError, DataError

MOST_VALUES = 1000
"""Largest number of different stars for which a scale is found; with more, the caller must name
it."""


class StoredRatings(ABC):
    """Ratings in files or on a cluster."""

    catalogue: Ratings
    """The items, their metadata, the scale and `guesses`, as ratings without people."""
    advance: Advance = staticmethod(lambda _: None)
    """Called during a pass over the ratings with the share that was done since the last call; the
    shares of a pass add up to 1."""

    @abstractmethod
    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """Sum `add(block)` over blocks of ratings. The sum has no noise: never release it.

        All ratings of a person are in one block. A block has the item numbers and the scale of the
        catalogue. `add` may be called in other processes, and again for a block whose answer was
        lost.
        """

    def join_tiles(self, cut: CutBlock, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        """Compute bytes for each line from tiles of items. Without noise: never release them.

        A tile is a set of items with the rows of all people who rated one of them. A line is a
        whole number that `work` chooses for a part of its result, for example the number of a group
        of items. The bytes that several tiles yield for one line are merged.

        Args:
            cut: Turns a block into a (people, items) CSR matrix of stars, and (people,) one number
                for each person.
            tiles: Sorted numbers of the items of each tile.
            work: Gets a tile's number, the tile's rows of the matrix and the numbers that `cut`
                gave for their people; yields pairs of a line and bytes. Rows are in the order of
                the people's ids; columns of items of other tiles are empty.
            merge: Merges the bytes that several tiles gave for one line.

        Returns:
            For each line, how many tiles gave bytes, and the merged bytes.

        Raises:
            ConfigError: These ratings only support sums.
        """
        raise ConfigError(_ONLY_SUMS)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        """Yield `work(part)` for each part, computed on the machines that hold the ratings.

        Raises:
            ConfigError: These ratings only support sums.
        """
        raise ConfigError(_ONLY_SUMS)


Advance = Callable[[float], object]
"""Takes the share of a pass that was done, as `StoredRatings.advance`."""
# The arguments and results of `StoredRatings.join_tiles` and `spread`, which say what they hold.
CutBlock = Callable[[Ratings], tuple[Any, NDArray[np.float64]]]
Tiles = Sequence[NDArray[np.int32]]
Work = Callable[[int, Any, NDArray[np.float64]], Iterable[tuple[int, bytes]]]
Merge = Callable[[list[bytes]], bytes]
Lines = dict[int, tuple[int, bytes]]
Arrays = Iterator[NDArray[Any]]
RatingsSource = Ratings | StoredRatings
"""Ratings in memory, in files or on a cluster."""
_ONLY_SUMS = (
    "Streaming computes only sums over people, and this joins items: leave out --memory, or use "
    "--engine spark."
)
"""Message of the error for ratings that only support sums."""


@contextmanager
def show_progress(
    ratings: RatingsSource,
    progress: Callable[[str, int | None], AbstractContextManager[Advance]],
    passes: int | None,
) -> Iterator[None]:
    """Show progress while a model is fitted, for as long as the `with` statement lasts.

    Args:
        ratings: The ratings that the model is fitted to.
        progress: Makes a progress bar from a description and a number of steps; None: the number is
            not known.
        passes: Largest number of passes over stored ratings; None: it is not known.
    """
    total = passes if isinstance(ratings, StoredRatings) else None
    with progress("Fitting", total) as advance:
        if isinstance(ratings, StoredRatings):
            ratings.advance = advance
        yield


def catalogue_of(ratings: RatingsSource) -> Ratings:
    """Return ratings that have the items and the scale of `ratings`.

    Ratings in memory are returned themselves; of stored ratings, the catalogue without people.
    """
    return ratings.catalogue if isinstance(ratings, StoredRatings) else ratings


def require_in_memory(ratings: RatingsSource) -> Ratings:
    """Return the ratings if they are in memory; ConfigError otherwise."""
    if isinstance(ratings, StoredRatings):
        raise ConfigError("This needs all ratings in memory: leave out --engine and --memory.")
    return ratings


def keep_items(ratings: RatingsSource, mask: NDArray[np.bool_]) -> RatingsSource:
    """Keep the items for which a mask (items,) is True, and renumber them.

    All people stay, with their numbers.
    """
    if isinstance(ratings, StoredRatings):
        return _ChosenItems(ratings, mask)
    return ratings.of_items(mask)


class _ChosenItems(StoredRatings):
    """Stored ratings of some items: each block is reduced to them before it is used."""

    def __init__(self, ratings: StoredRatings, mask: NDArray[np.bool_]) -> None:
        self.catalogue = ratings.catalogue.of_items(mask)
        self._ratings = ratings
        self._mask = mask

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        return self._ratings.total(partial(_call_on_items, call=add, mask=self._mask))

    def join_tiles(self, cut: CutBlock, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        cut_chosen = partial(_call_on_items, call=cut, mask=self._mask)
        return self._ratings.join_tiles(cut_chosen, tiles, work, merge)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        return self._ratings.spread(work, parts)


def _call_on_items(
    block: Ratings, *, call: Callable[[Ratings], Any], mask: NDArray[np.bool_]
) -> Any:
    """Call a function on a block that is reduced to the items of a mask."""
    return call(block.of_items(mask))


def find_columns(
    headers: Sequence[str],
    column_names: Mapping[Role, str | None],
    *,
    events: bool,
    path: object,
    needs_stars: bool = False,
) -> dict[Role, str]:
    """Find the header of each role, by well-known headers or as the caller named it.

    Args:
        headers: Headers of the table.
        column_names: Role to the header that the caller named; None, or no entry: a well-known
            header.
        events: Whether each row is an event without stars.
        path: The table, for messages.
        needs_stars: Whether a table without stars is refused, unless its rows are events.

    Raises:
        DataError: A needed column, or one that the caller named, is missing; or two roles have the
            same column.
        ConfigError: The table has numbers of plays in place of stars.
    """
    columns: dict[Role, str] = {}
    roles: list[Role] = ["user", "item", "time"] if events else ["user", "item", "rating", "time"]
    needed_roles = ("user", "item", "rating") if needs_stars else ("user", "item")
    for role in roles:
        index = find_column(role, headers, column_names.get(role))
        if index is not None:
            if headers[index] in columns.values():
                raise DataError(
                    "one column cannot be two things",
                    path=path,
                    column=headers[index],
                    fix="Name another column.",
                )
            columns[role] = headers[index]
        elif role in needed_roles or column_names.get(role) is not None:
            raise missing_column_error(role, headers, column_names.get(role), path)
    if "rating" not in columns and not events and find_column("plays", headers, None) is not None:
        raise ConfigError(
            "Numbers of plays are not read here: give --events, where each row is a like, or "
            "the column of stars with --rating."
        )
    return columns


@dataclass(frozen=True)
class PublicInputs:
    """The scale, the items and their metadata, where they do not come from the ratings."""

    scale: RatingScale | None = None
    """The stars a rating can take; None: found in the ratings."""
    catalogue: Path | None = None
    """File of the public list of items, as `read_catalogue` reads it; None: the rated items."""
    items: Path | None = None
    """File of item metadata, as `with_items` reads it; None: no metadata."""
    items_named: bool = True
    """Whether the caller named the file `items`; if not, it was found beside the ratings."""
    item: str | None = None
    """Header of the item ids in the files; None: a well-known one."""
    domain: str | None = None
    """Header of the domains in the files; None: a well-known one."""
    domains: bool = False
    """Whether the file `catalogue` must have a column of domains."""

    def make_catalogue(
        self,
        rated: Callable[[], Sequence[Any]],
        stars: NDArray[np.float64] | None,
        guesses: Sequence[str] = (),
    ) -> Ratings:
        """Make `StoredRatings.catalogue`.

        Args:
            rated: Returns the ids of the rated items, in any order; called only without a public
                list of items.
            stars: (k,) the different stars of the ratings, used only without `scale`; None for
                events.
            guesses: Facts that were found in private rows when the files were written, as in
                `Ratings.guesses`.

        Raises:
            DataError: A file cannot be used, or the scale cannot be found.
            ConfigError: A scale is given for events.
        """
        # Imported here since it needs polars, which recommending from a model file does not.
        from tacit.data.tabular import read_catalogue, with_items

        columns: dict[str, dict[Any, Any]] = {}
        if self.catalogue is not None:
            columns = read_catalogue(
                self.catalogue, item=self.item, domain=self.domain, domains=self.domains
            )
        domains = columns.pop(DOMAIN, {})
        item_ids, _ = number_ids(rated() if self.catalogue is None else list(domains), "item")
        catalogue = replace(
            Block.without_people().to_ratings(len(item_ids), self._find_scale(stars)),
            item_ids=item_ids,
            item_metadata=align(columns, item_ids),
            scale_given=stars is None or self.scale is not None,
            catalogue_given=self.catalogue is not None,
            guesses=tuple(guesses),
        )
        if any(domains.values()):
            catalogue = with_domains(catalogue, domains)
        if self.items is not None:
            domain = None if self.catalogue is not None else self.domain
            catalogue = with_items(catalogue, self.items, item=self.item, domain=domain)
            if not self.items_named:
                catalogue = catalogue.with_guess("items")
        return catalogue

    def _find_scale(self, stars: NDArray[np.float64] | None) -> RatingScale:
        """Return the public scale; without one, a scale that holds the stars, or that of events.

        Args:
            stars: (k,) the different stars of the ratings; None for events.

        Raises:
            DataError: No common scale holds all of them, or there are more than `MOST_VALUES`.
            ConfigError: A scale is given for events.
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
    """All rows of some people, in any order; a pair of person and item may repeat."""

    people: NDArray[np.integer[Any]]
    """(rows,) the person's number among these people: 0, 1, ... without gaps."""
    items: NDArray[np.integer[Any]]
    """(rows,) the item's number in the catalogue; -1 for an item that is not in it."""
    values: NDArray[np.float64]
    """(rows,) stars."""
    times: NDArray[Any] | None
    """(rows,) times; None: the ratings have no times."""

    def to_block(self, items: int) -> Block:
        """Sort by person, then item, and keep one row of each pair, as `find_latest_rows` says.

        Rows of items that are not in the catalogue are left out.

        Args:
            items: Number of items of the catalogue.
        """
        # One number for each pair: item numbers from -1 to items - 1 become 0 to items.
        pairs = self.people.astype(np.int64) * (items + 1) + self.items + 1
        keys: list[NDArray[Any]] = [self.values]
        if self.times is not None:
            keys.append(self.times)
        rows = find_latest_rows(pairs, *keys)
        rows = rows[self.items[rows] >= 0]
        # A person without an item of the catalogue stays in the block, with no rows.
        row_counts = np.bincount(self.people[rows], minlength=int(self.people.max()) + 1)
        offsets = np.concatenate([[0], np.cumsum(row_counts)])
        return Block(offsets, self.items[rows].astype(np.int32), self.values[rows])


@dataclass(frozen=True, eq=False)
class Block:
    """All rows of some people, sorted by person and item, each pair once."""

    offsets: NDArray[np.int64]
    """(people + 1,) the row where each person's rows start, then the number of rows."""
    items: NDArray[np.int32]
    """(rows,) the item's number in the catalogue, ascending within a person."""
    values: NDArray[np.float64]
    """(rows,) stars."""

    @classmethod
    def without_people(cls) -> Block:
        """Make an empty block."""
        return cls(np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0))

    def parts(self, rows: int) -> Iterator[Block]:
        """Yield smaller blocks of about `rows` rows; a person's rows stay together."""
        people = len(self.offsets) - 1
        # The first person whose rows start at or after each multiple of `rows`.
        ends = np.searchsorted(self.offsets, np.arange(rows, self.offsets[-1], rows))
        bounds = np.unique([0, *ends.tolist(), people])
        for start, stop in pairwise(bounds.tolist()):
            part = slice(int(self.offsets[start]), int(self.offsets[stop]))
            offsets = self.offsets[start : stop + 1] - self.offsets[start]
            yield Block(offsets, self.items[part], self.values[part])

    def to_ratings(self, n_items: int, scale: RatingScale) -> Ratings:
        """Turn the rows into ratings; the ids of people and items are their numbers from 0."""
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
