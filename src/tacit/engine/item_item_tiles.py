"""Item neighbours, computed on a cluster of machines that holds the ratings.

Items are divided into parts. A tile has the columns of two parts (or of one), and a row for each
person who rated any of their items. On a tile, the neighbours of the items of one part are
found among the items of the other; an item's lists from different tiles are then merged. Sums are
made in the order of the people and no column is divided, so the result is the same, to the last
bit, as on one machine.

Runs at   the workers of a cluster, which see raw ratings and are trusted; no noise is drawn here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.stored_ratings import Block, CutBlock, StoredRatings, catalogue_of
from tacit.engine.item_item import make_empty_lists
from tacit.engine.types import Find, Floats, Neighbours, Numbers, Pairs, Table
from tacit.errors import ClusterError

RATINGS_PER_PART = 4_000_000
"""A part, without its last item, has fewer ratings than this. A tile needs about 0.15 GB of memory
for each million ratings."""
ITEMS_PER_PART = 1 << 14
"""Largest number of items of a part. With 200 neighbours each, their lists are 66 MB; a message of
the cluster can have 128 MB."""
LOST = "tacit: a person or an answer was missing, or was there twice. Nothing was released."
"""Message of the error if people or answers are missing or there twice. `engine.spark.sums` finds
it in the cluster's messages."""
MakeTable = Callable[[sparse.csr_array, Floats], Table]
"""Makes a table from (people, items) stars and (people,) one number for each person."""
_LIST_ENTRY = np.dtype(
    [("items", "<i4"), ("similarities", "<f8"), ("co_counts", "<i4"), ("agreements", "<i4")]
)
"""One neighbour in a packed list."""


@dataclass(frozen=True, eq=False)
class TiledTable(Table):
    """A table of ratings that are not in memory here; its `values` and `likes` have no rows."""

    ratings: StoredRatings
    """The ratings."""
    cut: CutBlock
    """Turns a block of people into a (people, items) matrix of stars and a number for each
    person."""
    make: MakeTable
    """Makes the table of a tile from stars and numbers as `cut` returns them."""
    raters: NDArray[np.int64]
    """(items,) number of people who rated each item."""

    @classmethod
    def of_ratings(
        cls,
        ratings: StoredRatings,
        cut: CutBlock,
        make: MakeTable,
        raters: NDArray[np.int64] | None = None,
    ) -> TiledTable:
        """Make the table of stored ratings.

        Args:
            ratings: The ratings.
            cut: As `TiledTable.cut`.
            make: As `TiledTable.make`.
            raters: As `TiledTable.raters`; None: they are counted in one pass over the ratings.
        """
        catalogue = catalogue_of(ratings)
        no_rows, _ = cut(Block.without_people().to_ratings(catalogue.n_items, catalogue.scale))
        if raters is None:
            raters = ratings.total(partial(_count_raters, cut=cut))
        return cls(no_rows, np.zeros(0, np.bool_), ratings, cut, make, raters)

    def neighbours(self, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
        """Find neighbours for each pair of item sets, tile by tile.

        Args:
            pairs: Pairs (items, candidates) of item sets: neighbours are found for each of `items`,
                among the `candidates`.
            find: Finds the neighbours of one pair in a table.
            k: Number of neighbours that `find` returns for each item.

        Returns:
            The neighbours for each pair, in the order of the pairs.

        Raises:
            ClusterError: A tile lacked people, or an answer was missing or came twice.
        """
        parts, has_part = self._divide_items(pairs)
        joins = _list_joins(has_part, len(pairs))
        couples = sorted({_parts_of_tile(join) for join in joins})
        tiles = [_items_of_tile(parts, couple) for couple in couples]
        work = partial(
            find_on_tile,
            make=self.make,
            raters=self.raters,
            tiles=tiles,
            couples=couples,
            joins=joins,
            parts=parts,
            find=find,
        )
        merged: Mapping[int, tuple[int, bytes]] = {}
        if tiles:
            merged = self.ratings.join_tiles(self.cut, tiles, work, partial(merge_lists, k=k))
        expected = Counter(_list_number(join, len(parts)) for join in joins)
        if {list_number: count for list_number, (count, _) in merged.items()} != expected:
            raise ClusterError(LOST)
        results = [make_empty_lists(items, k) for items, _ in pairs]
        rows = np.zeros(len(self.raters), np.int64)  # row of each item in a result
        for list_number, (_, packed) in merged.items():
            pair, part = divmod(list_number, len(parts))
            result = results[pair]
            rows[result.items] = np.arange(len(result.items))
            _unpack_into(result, rows[parts[part]], packed, k)
        return results

    def _divide_items(self, pairs: Pairs) -> tuple[list[Numbers], NDArray[np.bool_]]:
        """Divide the rated items of all item sets into parts, such that no set splits a part.

        Returns:
            The parts, each of sorted item numbers; and (2 pairs, parts) whether a part is in a set.
            Row 2 p is for the items of pair p whose neighbours are found, row 2 p + 1 for its
            candidates.
        """
        item_sets = list(itertools.chain.from_iterable(pairs))
        is_member = np.zeros((len(item_sets), len(self.raters)), np.bool_)
        for row, item_set in enumerate(item_sets):
            is_member[row, item_set] = True
        # Bit s of an item's signature is set if the item is in set s.
        signatures = (1 << np.arange(len(item_sets))) @ is_member
        signatures[self.raters == 0] = 0
        parts: list[Numbers] = []
        for signature in np.unique(signatures[signatures > 0]):
            items = np.flatnonzero(signatures == signature).astype(np.int32)
            sizes = self.raters[items]
            ratings_before = np.cumsum(sizes) - sizes
            by_ratings = ratings_before // RATINGS_PER_PART
            by_items = np.arange(len(items)) // ITEMS_PER_PART
            begins_part = (np.diff(by_ratings) != 0) | (np.diff(by_items) != 0)
            parts += np.split(items, np.flatnonzero(begins_part) + 1)
        first_items = [part[0] for part in parts]
        return parts, is_member[:, first_items]


class Join(NamedTuple):
    """A search for one pair of item sets: neighbours of one part in another part."""

    pair: int
    """Number of the pair of item sets."""
    part: int
    """Number of the part whose items' neighbours are found."""
    candidate_part: int
    """Number of the part whose items may be neighbours."""


def _list_joins(has_part: NDArray[np.bool_], pairs: int) -> list[Join]:
    """List the searches of all pairs: each part of the items with each part of the candidates.

    Args:
        has_part: (2 pairs, parts) as `TiledTable._divide_items` returns it.
        pairs: Number of pairs.
    """
    joins: list[Join] = []
    for pair in range(pairs):
        item_parts = np.flatnonzero(has_part[2 * pair]).tolist()
        candidate_parts = np.flatnonzero(has_part[2 * pair + 1]).tolist()
        for part in item_parts:
            joins += [Join(pair, part, candidate_part) for candidate_part in candidate_parts]
    return joins


def _list_number(join: Join, parts: int) -> int:
    """Return the number of the lists of a part's items for a pair of sets: pair * parts + part.

    Args:
        join: Any of the searches of this pair for neighbours of the items of this part.
        parts: Number of parts.
    """
    return join.pair * parts + join.part


def _parts_of_tile(join: Join) -> tuple[int, int]:
    """Return the numbers of the two parts of a join's tile, the smaller one first.

    They are the same number if a part is searched for neighbours of its own items.
    """
    return min(join.part, join.candidate_part), max(join.part, join.candidate_part)


def _items_of_tile(parts: Sequence[Numbers], couple: tuple[int, int]) -> Numbers:
    """Return the items of two parts, which may be the same part, sorted."""
    return np.sort(np.concatenate([parts[number] for number in set(couple)]))


def merge_lists(lists: list[bytes], *, k: int) -> bytes:
    """Merge packed lists of the same items, from different tiles, into lists of the nearest k."""
    if len(lists) == 1:
        return lists[0]
    entries = np.concatenate([_unpack(packed, k) for packed in lists], axis=1)
    strengths = np.where(entries["items"] >= 0, np.abs(entries["similarities"]), -1.0)
    order = np.lexsort((entries["items"], -strengths), axis=-1)[:, :k]
    return np.take_along_axis(entries, order, axis=1).tobytes()


def _pack(nearest: Neighbours) -> bytes:
    """Pack the lists of some items as bytes: (items, k) of `_LIST_ENTRY`, row by row."""
    cells = np.empty(nearest.neighbours.shape, _LIST_ENTRY)
    cells["items"] = nearest.neighbours
    cells["similarities"] = nearest.similarities
    cells["co_counts"] = nearest.co_counts
    cells["agreements"] = nearest.agreements
    return cells.tobytes()


def _unpack(packed: bytes, k: int) -> NDArray[Any]:
    """Unpack lists to an array (items, k) of `_LIST_ENTRY`."""
    return np.frombuffer(packed, _LIST_ENTRY).reshape(-1, k)


def _unpack_into(result: Neighbours, rows: NDArray[np.int64], packed: bytes, k: int) -> None:
    """Write packed lists into a result: list n into row rows[n]."""
    entries = _unpack(packed, k)
    result.neighbours[rows] = entries["items"]
    result.similarities[rows] = entries["similarities"]
    result.co_counts[rows] = entries["co_counts"]
    result.agreements[rows] = entries["agreements"]


def find_on_tile(
    tile: int,
    stars: sparse.csr_array,
    person_values: Floats,
    *,
    make: MakeTable,
    raters: NDArray[np.int64],
    tiles: Sequence[Numbers],
    couples: Sequence[tuple[int, int]],
    joins: Sequence[Join],
    parts: Sequence[Numbers],
    find: Find,
) -> Iterator[tuple[int, bytes]]:
    """Find neighbours for every search whose two parts are those of one tile.

    Args:
        tile: Number of the tile.
        stars: (people, items) stars of the tile's people.
        person_values: (people,) one number for each person, which `make` needs (from
            `TiledTable.cut`).
        make: Makes a table of `stars` and `person_values`.
        raters: (items,) number of people who rated each item.
        tiles: The items of each tile.
        couples: The numbers of the two parts of each tile.
        joins: The searches of all tiles.
        parts: The items of each part.
        find: Finds neighbours in a table.

    Yields:
        For each search of this tile, the number of its lists as `_list_number` returns it, and the
        packed lists.

    Raises:
        ClusterError: The number of an item's raters on the tile is not the number in `raters`.
    """
    rater_counts = np.bincount(stars.indices, minlength=len(raters))[tiles[tile]]
    if not np.array_equal(rater_counts, raters[tiles[tile]]):
        raise ClusterError(LOST)
    table = make(stars, person_values)
    for join in joins:
        if _parts_of_tile(join) == couples[tile]:
            nearest = find(table, parts[join.part], parts[join.candidate_part])
            yield _list_number(join, len(parts)), _pack(nearest)


def _count_raters(block: Ratings, *, cut: CutBlock) -> NDArray[np.int64]:
    """Count, for each item, the people of a block who rated it, as an array (items,)."""
    stars, _ = cut(block)
    counts: NDArray[np.int64] = np.bincount(stars.indices, minlength=stars.shape[1])
    return counts
