"""Nearest items where the ratings are on a cluster.

Items are cut into parts. A tile has the columns of two parts, with everybody who rated one of their
items; an item's list is the best of its lists towards each part. A kernel adds over people in their
order, and a column is never cut, so a tile gives what one machine gives, to the last bit.

Runs at   the workers of a cluster, which see raw ratings and are trusted; nothing is drawn here.
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
from tacit.engine.item_item import no_neighbours
from tacit.engine.types import Find, Floats, Neighbours, Numbers, Pairs, Table
from tacit.errors import ClusterError

RATINGS_PER_PART = 4_000_000
"""Ratings of a part, but for an item that has more; a tile takes some 0.15 GB for each million."""
ITEMS_PER_PART = 1 << 14
"""Items of a part: with 200 neighbours each their lists are 66 MB, and a message takes 128 MB."""
LOST = "tacit: a person or an answer was not there once. Nothing was released."
MakeTable = Callable[[sparse.csr_array, Floats], Table]
"""From (people, items) stars, and a number beside each person, to a table."""
_LIST = np.dtype(
    [("items", "<i4"), ("similarities", "<f8"), ("co_counts", "<i4"), ("agreements", "<i4")]
)
"""One entry of a packed list."""


@dataclass(frozen=True, eq=False)
class TiledTable(Table):
    """A table whose rows are elsewhere; `values` and `likes` are without people."""

    ratings: StoredRatings
    cut: CutBlock
    """From a block of people to its part of the rows, and a number beside each person."""
    make: MakeTable
    raters: NDArray[np.int64]
    """(items,) people who rated each."""

    @classmethod
    def of_ratings(
        cls,
        ratings: StoredRatings,
        cut: CutBlock,
        make: MakeTable,
        raters: NDArray[np.int64] | None = None,
    ) -> TiledTable:
        """Make the table of stored ratings. raters: counted if not given."""
        catalogue = catalogue_of(ratings)
        nobody, _ = cut(Block.without_people().to_ratings(catalogue.n_items, catalogue.scale))
        if raters is None:
            raters = ratings.total(partial(_count_raters, cut=cut))
        return cls(nobody, np.zeros(0, np.bool_), ratings, cut, make, raters)

    def neighbours(self, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
        """Find neighbours for each pair, one tile after the other.

        Raises:
            ClusterError: a tile lacked people, or its answer did not come once.
        """
        parts, has_part = self._parts(pairs)
        joins = _joins(has_part, len(pairs))
        couples = sorted({_couple(join) for join in joins})
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
        lines: Mapping[int, tuple[int, bytes]] = {}
        if tiles:
            lines = self.ratings.join_tiles(self.cut, tiles, work, partial(merge_lists, k=k))
        expected = Counter(join.pair * len(parts) + join.of for join in joins)
        if {line: count for line, (count, _) in lines.items()} != expected:
            raise ClusterError(LOST)
        answers = [no_neighbours(of, k) for of, _ in pairs]
        rows = np.zeros(len(self.raters), np.int64)
        for line, (_, packed) in lines.items():
            pair, part = divmod(line, len(parts))
            answer = answers[pair]
            rows[answer.of] = np.arange(len(answer.of))
            _unpack_into(answer, rows[parts[part]], packed, k)
        return answers

    def _parts(self, pairs: Pairs) -> tuple[list[Numbers], NDArray[np.bool_]]:
        """Cut the rated items into sorted parts of about RATINGS_PER_PART ratings.

        Returns:
            The parts; and (2 pairs, parts) whether a part is of a side: `of` and `among` in turn.
        """
        sides = list(itertools.chain.from_iterable(pairs))
        member = np.zeros((len(sides), len(self.raters)), np.bool_)
        for row, side in enumerate(sides):
            member[row, side] = True
        signs = (1 << np.arange(len(sides))) @ member
        signs[self.raters == 0] = 0
        parts: list[Numbers] = []
        for sign in np.unique(signs[signs > 0]):
            items = np.flatnonzero(signs == sign).astype(np.int32)
            size = self.raters[items]
            cuts = np.stack(
                [
                    (np.cumsum(size) - size) // RATINGS_PER_PART,
                    np.arange(len(items)) // ITEMS_PER_PART,
                ]
            )
            parts += np.split(items, np.flatnonzero(np.diff(cuts).any(axis=0)) + 1)
        firsts = [part[0] for part in parts]
        return parts, member[:, firsts]


class Join(NamedTuple):
    """Lists of the items of one part towards those of another, for one pair."""

    pair: int
    """Number of the pair."""
    of: int
    """Part of the items whose lists these are."""
    among: int
    """Part of the items that may be listed."""


def _joins(has_part: NDArray[np.bool_], pairs: int) -> list[Join]:
    """All lists that are needed. has_part: (2 pairs, parts) as `TiledTable._parts` gives it."""
    joins: list[Join] = []
    for pair in range(pairs):
        sources = np.flatnonzero(has_part[2 * pair]).tolist()
        others = np.flatnonzero(has_part[2 * pair + 1]).tolist()
        for of in sources:
            joins += [Join(pair, of, among) for among in others]
    return joins


def _couple(join: Join) -> tuple[int, int]:
    """Return the two parts that a join needs together."""
    return min(join.of, join.among), max(join.of, join.among)


def _items_of_tile(parts: Sequence[Numbers], couple: tuple[int, int]) -> Numbers:
    """Sorted items of one part or two."""
    return np.sort(np.concatenate([parts[number] for number in set(couple)]))


def merge_lists(lists: list[bytes], *, k: int) -> bytes:
    """Merge packed lists towards several parts: the nearest k, ties by number."""
    if len(lists) == 1:
        return lists[0]
    cells = np.concatenate([_unpack(packed, k) for packed in lists], axis=1)
    strengths = np.where(cells["items"] >= 0, np.abs(cells["similarities"]), -1.0)
    order = np.lexsort((cells["items"], -strengths), axis=-1)[:, :k]
    return np.take_along_axis(cells, order, axis=1).tobytes()


def _pack(nearest: Neighbours) -> bytes:
    cells = np.empty(nearest.items.shape, _LIST)
    cells["items"] = nearest.items
    cells["similarities"] = nearest.similarities
    cells["co_counts"] = nearest.co_counts
    cells["agreements"] = nearest.agreements
    return cells.tobytes()


def _unpack(packed: bytes, k: int) -> NDArray[Any]:
    """(n, k) of `_LIST`."""
    return np.frombuffer(packed, _LIST).reshape(-1, k)


def _unpack_into(answer: Neighbours, rows: NDArray[np.int64], packed: bytes, k: int) -> None:
    cells = _unpack(packed, k)
    answer.items[rows] = cells["items"]
    answer.similarities[rows] = cells["similarities"]
    answer.co_counts[rows] = cells["co_counts"]
    answer.agreements[rows] = cells["agreements"]


def find_on_tile(
    tile: int,
    stars: sparse.csr_array,
    beside: Floats,
    *,
    make: MakeTable,
    raters: NDArray[np.int64],
    tiles: Sequence[Numbers],
    couples: Sequence[tuple[int, int]],
    joins: Sequence[Join],
    parts: Sequence[Numbers],
    find: Find,
) -> Iterator[tuple[int, bytes]]:
    """Find the lists of one tile.

    Returns:
        Number of the pair times parts plus the part, and the packed lists, one after the other.

    Raises:
        ClusterError: an item has not all its raters.
    """
    found = np.bincount(stars.indices, minlength=len(raters))[tiles[tile]]
    if not np.array_equal(found, raters[tiles[tile]]):
        raise ClusterError(LOST)
    table = make(stars, beside)
    for join in joins:
        if _couple(join) == couples[tile]:
            nearest = find(table, parts[join.of], parts[join.among])
            yield join.pair * len(parts) + join.of, _pack(nearest)


def _count_raters(block: Ratings, *, cut: CutBlock) -> NDArray[np.int64]:
    stars, _ = cut(block)
    counts: NDArray[np.int64] = np.bincount(stars.indices, minlength=stars.shape[1])
    return counts
