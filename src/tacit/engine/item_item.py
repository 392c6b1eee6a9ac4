"""Nearest items by adjusted cosine: what the kernel and a cluster share, and the cluster's tiles.

Source   the cosine of two items' columns of centred ratings, with the norms over all raters (Sarwar
         et al., WWW 2001); agreements and significance weighting as X-Map uses them.

Where the ratings are elsewhere, items are cut into parts. A tile has the columns of two parts, with
everybody who rated one of their items; an item's list is the best of its lists towards each part. A
kernel adds over people in their order, and a column is never cut, so a tile gives what one machine
gives, to the last bit.

Runs at   the workers of a cluster, which see raw ratings and are trusted; nothing is drawn here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.stored import Block, Cut, StoredRatings, known_of
from tacit.engine import Find, Floats, Neighbours, Numbers, Pairs, Table
from tacit.errors import ClusterError, ConfigError

_PART = 2**16  # ratings squared at a time


def check(
    table: Table, of: Numbers, among: Numbers, k: int, significance: int, counts: bool
) -> None:
    """Refuse what no engine can answer."""
    if k < 1 or significance < 0:
        raise ConfigError(
            f"k is at least 1 and significance at least 0; got {k} and {significance}."
        )
    if significance and not counts:
        raise ConfigError("Significance weighting counts co-raters: leave counts on.")
    if len(table.likes) != table.values.nnz:
        raise ConfigError(f"{table.values.nnz} ratings have as many likes; got {len(table.likes)}.")
    items = table.values.shape[1]
    for name, numbers in (("of", of), ("among", among)):
        inside = ((numbers >= 0) & (numbers < items)).all()
        if not inside or len(np.unique(numbers)) < len(numbers):
            raise ConfigError(f"`{name}` has numbers of {items} items, each at most once.")


def empty(of: Numbers, k: int) -> Neighbours:
    """Nobody found yet."""
    shape = (len(of), k)
    return Neighbours(
        np.asarray(of, dtype=np.int32),
        np.full(shape, -1, dtype=np.int32),
        np.zeros(shape),
        np.zeros(shape, dtype=np.int32),
        np.zeros(shape, dtype=np.int32),
    )


def norms_and_raters(table: Table) -> tuple[Floats, NDArray[np.int64]]:
    """Both (items,): the length of each item's column, all raters included, and how many rated.

    Squares, too, are added one by one in the order of the people: an item's length is the same
    in a table of some of the items.
    """
    values, items = table.values, table.values.shape[1]
    squares, raters = np.zeros(items), np.zeros(items, dtype=np.int64)
    for start in range(0, values.nnz, _PART):
        part = slice(start, start + _PART)
        data, indices = values.data[part], values.indices[part]
        np.add.at(squares, indices, data * data)
        raters += np.bincount(indices, minlength=items)
    return np.sqrt(squares), raters


PART = 4_000_000
"""Ratings of a part, but for an item that has more; a tile takes some 0.15 GB for each million."""
MOST = 1 << 14
"""Items of a part: with 200 neighbours each their lists are 66 MB, and a message takes 128 MB."""
NOT_ONCE = "tacit: a person or an answer was not there once. Nothing was released."
Make = Callable[[sparse.csr_array, Floats], Table]
_FIELDS = ("items", "similarities", "co_counts", "agreements")
_LIST = np.dtype([*zip(_FIELDS, ("<i4", "<f8", "<i4", "<i4"), strict=True)])


@dataclass(frozen=True, eq=False)
class TiledTable(Table):
    """A table whose rows are elsewhere. values, likes: without people.

    cut: from a block to its part of the rows, and a number beside each; make: a table of them.
    raters: (items,) people who rated each.
    """

    ratings: StoredRatings
    cut: Cut
    make: Make
    raters: NDArray[np.int64]

    @classmethod
    def of(
        cls, ratings: StoredRatings, cut: Cut, make: Make, raters: NDArray[np.int64] | None = None
    ) -> TiledTable:
        """raters: counted if not given."""
        known = known_of(ratings)
        nobody, _ = cut(Block.empty().ratings(known.n_items, known.scale))
        if raters is None:
            raters = ratings.total(partial(_counted, cut=cut))
        return cls(nobody, np.zeros(0, np.bool_), ratings, cut, make, raters)

    def neighbours(self, pairs: Pairs, find: Find, k: int) -> list[Neighbours]:
        parts, within = self._parts(pairs)
        joins = [
            (call, x, y)
            for call in range(len(pairs))
            for x in range(len(parts))
            for y in range(len(parts))
            if within[2 * call, x] and within[2 * call + 1, y]
        ]
        couples = sorted({(min(x, y), max(x, y)) for _, x, y in joins})
        tiles = [np.sort(np.concatenate([parts[n] for n in {*each}])) for each in couples]
        work = partial(
            on_tile,
            make=self.make,
            raters=self.raters,
            tiles=tiles,
            couples=couples,
            joins=joins,
            parts=parts,
            find=find,
        )
        lines = self.ratings.joined(self.cut, tiles, work, partial(best, k=k)) if tiles else {}
        asked = Counter(call * len(parts) + of for call, of, _ in joins)
        if {line: count for line, (count, _) in lines.items()} != asked:
            raise ClusterError(NOT_ONCE)
        answer = [empty(of, k) for of, _ in pairs]
        rows = np.zeros(len(self.raters), np.int64)
        for line, (_, raw) in lines.items():
            call, part = divmod(line, len(parts))
            found = answer[call]
            rows[found.of] = np.arange(len(found.of))
            for name in _FIELDS:
                getattr(found, name)[rows[parts[part]]] = _unpacked(raw, k)[name]
        return answer

    def _parts(self, pairs: Pairs) -> tuple[list[Numbers], NDArray[np.bool_]]:
        """Rated items in sorted parts of about PART ratings, and which are of which side."""
        sides = [side for pair in pairs for side in pair]
        member = np.zeros((len(sides), len(self.raters)), np.bool_)
        for row, side in enumerate(sides):
            member[row, side] = True
        signs = (1 << np.arange(len(sides))) @ member
        signs[self.raters == 0] = 0
        parts: list[Numbers] = []
        for sign in np.unique(signs[signs > 0]):
            items = np.flatnonzero(signs == sign).astype(np.int32)
            size = self.raters[items]
            cuts = np.stack([(np.cumsum(size) - size) // PART, np.arange(len(items)) // MOST])
            parts += np.split(items, np.flatnonzero(np.diff(cuts).any(axis=0)) + 1)
        firsts = [part[0] for part in parts]
        return parts, member[:, firsts]


def best(raws: list[bytes], *, k: int) -> bytes:
    """Of lists towards several parts the nearest k, ties by number."""
    if len(raws) == 1:
        return raws[0]
    cells = np.concatenate([_unpacked(raw, k) for raw in raws], axis=1)
    strengths = np.where(cells["items"] >= 0, np.abs(cells["similarities"]), -1.0)
    order = np.lexsort((cells["items"], -strengths), axis=-1)[:, :k]
    return np.take_along_axis(cells, order, axis=1).tobytes()


def _unpacked(raw: bytes, k: int) -> NDArray[Any]:
    """(n, k) of `_LIST`."""
    return np.frombuffer(raw, _LIST).reshape(-1, k)


def on_tile(
    tile: int,
    stars: sparse.csr_array,
    beside: Floats,
    *,
    make: Make,
    raters: NDArray[np.int64],
    tiles: Sequence[Numbers],
    couples: Sequence[tuple[int, int]],
    joins: Sequence[tuple[int, int, int]],
    parts: Sequence[Numbers],
    find: Find,
) -> Iterator[tuple[int, bytes]]:
    """The lists of one tile, by call and part; ClusterError unless each item has all its raters."""
    found = np.bincount(stars.indices, minlength=len(raters))[tiles[tile]]
    if not np.array_equal(found, raters[tiles[tile]]):
        raise ClusterError(NOT_ONCE)
    table = make(stars, beside)
    for call, of, among in joins:
        if {of, among} == {*couples[tile]}:
            nearest = find(table, parts[of], parts[among])
            cells = np.empty(nearest.items.shape, _LIST)
            for name in _FIELDS:
                cells[name] = getattr(nearest, name)
            yield call * len(parts) + of, cells.tobytes()


def _counted(block: Ratings, *, cut: Cut) -> NDArray[np.int64]:
    stars, _ = cut(block)
    counts: NDArray[np.int64] = np.bincount(stars.indices, minlength=stars.shape[1])
    return counts
