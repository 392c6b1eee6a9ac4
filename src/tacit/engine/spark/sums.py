"""Tables that a cluster's tasks make, added up or joined: each task's once, which is checked.

Where items are joined, strips of people's rows meet in tiles. `strips`, `tiled`, `one_line` and
`arrays` run at workers, which see raw ratings; a tile refuses a person who is in it twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.data.stored_ratings import (
    Arrays,
    Block,
    CutBlock,
    Lines,
    Merge,
    StoredRatings,
    Tiles,
    Work,
)
from tacit.engine.item_item_tiles import LOST
from tacit.engine.spark import workers
from tacit.engine.spark.workers import ToRatings, batch_of, each_block, flat, ids_in, streamed
from tacit.errors import ClusterError, DataError

STRIPS = "tile long, counts binary, items binary, stars binary, numbers binary, people binary"
LINES = "line long, tile long, cells binary"
_STRIP = {"counts": np.int64, "items": np.int32, "stars": np.float64, "numbers": np.float64}


class SparkRatings(StoredRatings):
    """Ratings that a cluster reads, as `open_spark` makes them; a context that closes its session.

    blocks: of `workers.BLOCKS`. tasks: in how many the people are parted.
    """

    def __init__(self, session: Any, blocks: Any, catalogue: Ratings, tasks: int) -> None:
        self.catalogue, self.tasks = catalogue, tasks
        self._to_ratings = partial(
            Block.to_ratings, n_items=catalogue.n_items, scale=catalogue.scale
        )
        self._session, self._blocks = session, blocks
        self._seen: NDArray[np.int64] | None = None

    def __enter__(self) -> SparkRatings:
        return self

    def __exit__(self, *_: object) -> None:
        close(self._blocks.unpersist, self._session.stop)

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """The sum, of add's shape, in one pass over the cluster's blocks; pieces of it are merged
        there."""
        work = partial(workers.summed, add=add, to_ratings=self._to_ratings)
        total, seen = gathered(
            self._blocks, work, add(self._to_ratings(Block.without_people())), self.tasks
        )
        if self._seen is not None and not np.array_equal(seen, self._seen):
            raise ClusterError(_LOST)
        self._seen = seen
        self.advance(1.0)
        return total

    def join_tiles(self, cut: CutBlock, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        """Strips of all blocks meet in their tile, and answers in their line."""
        width = cut(self._to_ratings(Block.without_people()))[0].shape[1]
        with answering():
            in_strips = partial(strips, cut=cut, tiles=tiles, to_ratings=self._to_ratings)
            of_tiles = partial(tiled, work=work, width=width)
            made = self._blocks.mapInArrow(in_strips, STRIPS)
            made = _meeting(made, "tile", of_tiles, len(tiles))
            merged = _meeting(made, "line", partial(one_line, merge=merge), len(tiles))
            rows = merged.toArrow()
        self.advance(1.0)
        return _by_line(rows)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        """The arrays of all parts, some at a time for this machine's memory; or ClusterError."""
        for start in range(0, len(parts), _AT_ONCE):
            some = parts[start : start + _AT_ONCE]
            with answering():
                numbers = self._session.range(0, len(some), 1, len(some))
                own = partial(arrays, work=partial(_of_part, work=work, parts=some))
                rows = numbers.mapInArrow(own, LINES).toArrow()
            found = _by_line(rows)
            if len(found) < len(some):
                raise ClusterError(_LOST)
            for number in range(len(some)):
                yield np.load(BytesIO(found[number][1]), allow_pickle=False)


_AT_ONCE = 16


def gathered(
    frame: Any, work: Callable[..., Any], zero: NDArray[Any], tasks: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The sum of the tables that `work` makes of each task, and of what the tasks have seen.

    zero: zeros in the shape of the sum. Pieces of the same number are added on the cluster first.
    ClusterError unless each hash was in one task, and all blocks of a task were there. Seen: (3,
    hashes) tasks, people and those that the tasks began with.
    """
    merge = partial(workers.merged, kind=zero.dtype.str)
    merging = max(1, min(tasks, zero.size // workers.PIECE))
    with answering():
        parts = frame.mapInArrow(work, workers.PIECES).repartition(merging, "piece")
        rows = parts.mapInArrow(merge, workers.PIECES).toArrow()
    cells, seen = zero.ravel(), np.zeros((3, workers.HASHES), np.int64)
    for number, raw in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        if number == workers.SEEN:
            seen = seen + np.frombuffer(raw, np.int64).reshape(-1, workers.HASHES)
        else:
            found, start = np.frombuffer(raw, zero.dtype), number * workers.PIECE
            cells[start : start + len(found)] += found
    if not seen.any() or seen[0].max() > 1 or not np.array_equal(seen[1], seen[2]):
        raise ClusterError(_LOST)
    return cells.reshape(zero.shape), seen


def _of_part(
    number: int, *, work: Callable[[slice], NDArray[Any]], parts: list[slice]
) -> NDArray[Any]:
    return work(parts[number])


def _by_line(rows: Any) -> Lines:
    columns = [column.to_pylist() for column in rows.columns]
    return {line: (count, cells) for line, count, cells in zip(*columns, strict=True)}


def _meeting(frame: Any, key: str, work: Callable[[Any], Any], tasks: int) -> Any:
    """What `work` makes of all rows of each key."""

    def alone(table: Any) -> Any:  # pyspark counts the parameters, those of a partial, too
        return work(table)

    return frame.repartition(tasks, key).groupBy(key).applyInArrow(alone, LINES)


def strips(
    batches: Iterable[Any], *, cut: CutBlock, tiles: Tiles, to_ratings: ToRatings
) -> Iterator[Any]:
    """Of each tile the people and ratings that a task's blocks have."""
    for block, row in each_block(batches):
        stars, numbers = cut(to_ratings(block))
        users = flat(streamed([row["people"].as_buffer()])["id"])
        rows = np.repeat(np.arange(stars.shape[0]), np.diff(stars.indptr))
        for tile, members in enumerate(tiles):
            mask = np.zeros(stars.shape[1], np.bool_)
            mask[members] = True
            inside = mask[stars.indices]
            counts = np.bincount(rows[inside], minlength=stars.shape[0])
            there = np.flatnonzero(counts)
            if there.size:
                items = stars.indices[inside].astype(np.int32, copy=False)
                cells = (counts[there], items, stars.data[inside], numbers[there])
                whose = ids_in(users.take(pa.array(there)))
                yield batch_of(STRIPS, tile, *(each.tobytes() for each in cells), whose)


def tiled(table: Any, *, work: Work, width: int) -> Any:
    """Lines of a tile, made of its strips, with the people in the order of their ids."""
    users = flat(streamed(table["people"].to_pylist())["id"])
    order = pc.sort_indices(users).to_numpy()
    if len(users.unique()) < len(users):
        raise ClusterError(LOST)
    counts, items, stars, numbers = (
        np.concatenate([np.frombuffer(raw, kind) for raw in table[name].to_pylist()])
        for name, kind in _STRIP.items()
    )
    starts, sizes = (np.cumsum(counts) - counts)[order], counts[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
    rows = sparse.csr_array((stars[places], items[places], offsets), shape=(len(users), width))
    tile = int(table["tile"][0].as_py())
    del table, places, stars, items  # the kernel needs room
    return lines([(line, tile, cells) for line, cells in work(tile, rows, numbers[order])])


def one_line(table: Any, *, merge: Merge) -> Any:
    """The answers of all tiles to one line, and how many they are."""
    if len(table["tile"].unique()) < len(table):
        raise ClusterError(LOST)
    cells = merge(table["cells"].to_pylist())
    return lines([(table["line"][0].as_py(), len(table), cells)])


def arrays(batches: Iterable[Any], *, work: Callable[[int], NDArray[Any]]) -> Iterator[Any]:
    """Of each number in the batches the array that `work` gives."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file = BytesIO()
            np.save(file, work(number), allow_pickle=False)
            yield batch_of(LINES, number, 1, file.getvalue())


def lines(rows: Sequence[tuple[int, int, bytes]]) -> Any:
    """A table of lines, numbers and cells, as Arrow carries it."""
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = (pa.int64(), pa.int64(), pa.binary())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, ["line", "tile", "cells"])


def persisted(session: Any, frame: Any) -> Any:
    """The frame, which later jobs do not make again, if the engine can keep it: persisted, or as a
    checkpoint of the engine's own (pysail), if it has a place for them."""
    probe = session.range(0, 1, 1, 1).mapInArrow(workers.token, "token string").persist()
    first, second = (probe.toArrow() for _ in range(2))
    close(probe.unpersist)
    if first == second:
        return frame.persist()
    try:
        return frame.localCheckpoint()
    except Exception as error:
        if "execution.checkpoint.path" not in str(error):
            raise
        return frame


def close(*actions: Callable[[], object]) -> None:
    """All of them, whatever fails: a cluster that is gone must not hide what it broke off."""
    for action in actions:
        with suppress(Exception):
            action()


_LOST = (
    "The cluster did not hand over each person once: a clipped sum of its answer would not be "
    "private. Nothing was released."
)
NOT_THERE = "The cluster does not find the ratings: give a path that its workers see, or a table."


_SIGNS = {
    re.escape(LOST): _LOST,
    "No module named '(tacit|numba|numpy|scipy|polars|pyarrow)": (
        "A package is missing on the workers: install tacit-rec, the version of this machine, "
        "for the Python of every worker."
    ),
    "PATH_NOT_FOUND|No such file|not found|does not exist|TABLE_OR_VIEW_NOT_FOUND": NOT_THERE,
    "RESOURCE_EXHAUSTED|larger than max": (
        "A message is larger than the server takes: raise "
        "spark.connect.grpc.maxInboundMessageSize there."
    ),
    "OutOfMemory|out of memory": "A worker ran out of memory: give it more, or --tasks.",
}
"""In a message of the cluster, what goes wrong often, and what to say of it."""


@contextmanager
def answering() -> Iterator[None]:
    """Errors of the cluster in a sentence, without what they say: it may hold a person's row. But
    what is wrong with a row was said without it."""
    try:
        yield
    except Exception as error:
        of_engine = type(error).__module__.split(".")[0]
        if of_engine not in ("pyspark", "grpc"):
            raise
        if refused := re.search(rf"{workers.REFUSED}([0-9a-f]+)\.", str(error)):
            raise DataError(**json.loads(bytes.fromhex(refused[1]))) from None
        signs = (says for pattern, says in _SIGNS.items() if re.search(pattern, str(error)))
        raise ClusterError(
            f"The cluster refused or failed ({type(error).__name__}). "
            + next(signs, "Its own log says why; it is not repeated here, for it may hold ratings.")
        ) from None
