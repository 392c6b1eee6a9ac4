"""Tables that a cluster's tasks make, added up or joined: each task's once, which is checked.

Where items are joined, strips of people's rows meet in tiles. `cut_strips`, `work_on_tile`,
`merge_line` and `compute_arrays` run at workers, which see raw ratings; a tile refuses a person who
is in it twice.
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
from tacit.engine.spark.workers import (
    ToRatings,
    flatten_column,
    make_batch,
    pack_ids,
    read_blocks,
    read_streams,
)
from tacit.errors import ClusterError, DataError

STRIPS = "tile long, counts binary, items binary, stars binary, numbers binary, people binary"
LINES = "line long, tile long, cells binary"
_STRIP = {"counts": np.int64, "items": np.int32, "stars": np.float64, "numbers": np.float64}


class SparkRatings(StoredRatings):
    """Ratings that a cluster reads, as `open_spark` makes them; a context that closes its session.

    Args:
        session: Of the cluster.
        blocks: Frame with the columns of `workers.BLOCKS`.
        catalogue: Items and scale, without people.
        tasks: Number of Spark tasks that hold the people.
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
        """Sum `add(block)` in one pass over the cluster's blocks; pieces are merged there.

        Raises:
            ClusterError: The cluster lost blocks.
        """
        work = partial(workers.sum_blocks, add=add, to_ratings=self._to_ratings)
        total, seen = gather_total(
            self._blocks, work, add(self._to_ratings(Block.without_people())), self.tasks
        )
        if self._seen is not None and not np.array_equal(seen, self._seen):
            raise ClusterError(_LOST)
        self._seen = seen
        self.advance(1.0)
        return total

    def join_tiles(self, cut: CutBlock, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        """Bring the strips of all blocks together in their tile, and answers in their line."""
        width = cut(self._to_ratings(Block.without_people()))[0].shape[1]
        with described_errors():
            in_strips = partial(cut_strips, cut=cut, tiles=tiles, to_ratings=self._to_ratings)
            of_tiles = partial(work_on_tile, work=work, width=width)
            made = self._blocks.mapInArrow(in_strips, STRIPS)
            made = _apply_by_key(made, "tile", of_tiles, len(tiles))
            merged = _apply_by_key(made, "line", partial(merge_line, merge=merge), len(tiles))
            rows = merged.toArrow()
        self.advance(1.0)
        return _answers_by_line(rows)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        """Compute the arrays of all parts, some at a time for this machine's memory.

        Raises:
            ClusterError: The cluster lost parts.
        """
        for start in range(0, len(parts), _AT_ONCE):
            batch = parts[start : start + _AT_ONCE]
            with described_errors():
                numbers = self._session.range(0, len(batch), 1, len(batch))
                own = partial(compute_arrays, work=partial(_work_on_part, work=work, parts=batch))
                rows = numbers.mapInArrow(own, LINES).toArrow()
            found = _answers_by_line(rows)
            if len(found) < len(batch):
                raise ClusterError(_LOST)
            for number in range(len(batch)):
                yield np.load(BytesIO(found[number][1]), allow_pickle=False)


_AT_ONCE = 16


def gather_total(
    frame: Any, work: Callable[..., Any], zero: NDArray[Any], tasks: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Add up the tables that `work` makes of each task.

    Args:
        frame: Rows of the tasks.
        work: From a task's batches to pieces of a table; pieces are added on the cluster first.
        zero: Zeros in the shape of the sum.
        tasks: Number of Spark tasks that hold the people.

    Returns:
        The sum; and (3, hashes) tasks that had each hash, people, and people that the tasks began
        with.

    Raises:
        ClusterError: a hash was in several tasks, or a block of a task was missing.
    """
    merge = partial(workers.merge_pieces, kind=zero.dtype.str)
    merging = max(1, min(tasks, zero.size // workers.PIECE))
    with described_errors():
        parts = frame.mapInArrow(work, workers.PIECES).repartition(merging, "piece")
        rows = parts.mapInArrow(merge, workers.PIECES).toArrow()
    cells, seen = zero.ravel(), np.zeros((3, workers.HASHES), np.int64)
    numbers, pieces = (column.to_pylist() for column in rows.columns)
    for number, raw in zip(numbers, pieces, strict=True):
        if number == workers.SEEN:
            seen = seen + np.frombuffer(raw, np.int64).reshape(-1, workers.HASHES)
        else:
            found, start = np.frombuffer(raw, zero.dtype), number * workers.PIECE
            cells[start : start + len(found)] += found
    if not seen.any() or seen[0].max() > 1 or not np.array_equal(seen[1], seen[2]):
        raise ClusterError(_LOST)
    return cells.reshape(zero.shape), seen


def _work_on_part(
    number: int, *, work: Callable[[slice], NDArray[Any]], parts: list[slice]
) -> NDArray[Any]:
    return work(parts[number])


def _answers_by_line(rows: Any) -> Lines:
    columns = [column.to_pylist() for column in rows.columns]
    return {line: (count, cells) for line, count, cells in zip(*columns, strict=True)}


def _apply_by_key(frame: Any, key: str, work: Callable[[Any], Any], tasks: int) -> Any:
    """Apply `work` to all rows of each key."""

    def work_on_group(table: Any) -> Any:  # pyspark counts the parameters, those of a partial, too
        return work(table)

    return frame.repartition(tasks, key).groupBy(key).applyInArrow(work_on_group, LINES)


def cut_strips(
    batches: Iterable[Any], *, cut: CutBlock, tiles: Tiles, to_ratings: ToRatings
) -> Iterator[Any]:
    """Cut from a task's blocks the people and ratings of each tile."""
    for block, row in read_blocks(batches):
        stars, numbers = cut(to_ratings(block))
        users = flatten_column(read_streams([row["people"].as_buffer()])["id"])
        rows = np.repeat(np.arange(stars.shape[0]), np.diff(stars.indptr))
        for tile, members in enumerate(tiles):
            mask = np.zeros(stars.shape[1], np.bool_)
            mask[members] = True
            inside = mask[stars.indices]
            counts = np.bincount(rows[inside], minlength=stars.shape[0])
            rated = np.flatnonzero(counts)
            if rated.size:
                items = stars.indices[inside].astype(np.int32, copy=False)
                cells = (counts[rated], items, stars.data[inside], numbers[rated])
                whose = pack_ids(users.take(pa.array(rated)))
                packed = [column.tobytes() for column in cells]
                yield make_batch(STRIPS, tile, *packed, whose)


def work_on_tile(table: Any, *, work: Work, width: int) -> Any:
    """Join the strips of a tile, people in the order of their ids, and work on it."""
    users = flatten_column(read_streams(table["people"].to_pylist())["id"])
    order = pc.sort_indices(users).to_numpy()
    if len(users.unique()) < len(users):
        raise ClusterError(LOST)
    counts, items, stars, numbers = (_join_strips(table, name) for name in _STRIP)
    starts, sizes = (np.cumsum(counts) - counts)[order], counts[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    places = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
    rows = sparse.csr_array((stars[places], items[places], offsets), shape=(len(users), width))
    tile = int(table["tile"][0].as_py())
    del table, places, stars, items  # the kernel needs room
    return lines_to_arrow([(line, tile, cells) for line, cells in work(tile, rows, numbers[order])])


def _join_strips(table: Any, name: str) -> NDArray[Any]:
    """Concatenate one column of a tile's strips."""
    strips = [np.frombuffer(raw, _STRIP[name]) for raw in table[name].to_pylist()]
    return np.concatenate(strips)


def merge_line(table: Any, *, merge: Merge) -> Any:
    """Merge the answers of all tiles to one line, and count them."""
    if len(table["tile"].unique()) < len(table):
        raise ClusterError(LOST)
    cells = merge(table["cells"].to_pylist())
    return lines_to_arrow([(table["line"][0].as_py(), len(table), cells)])


def compute_arrays(batches: Iterable[Any], *, work: Callable[[int], NDArray[Any]]) -> Iterator[Any]:
    """Compute the array of each number in the batches."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file = BytesIO()
            np.save(file, work(number), allow_pickle=False)
            yield make_batch(LINES, number, 1, file.getvalue())


def lines_to_arrow(rows: Sequence[tuple[int, int, bytes]]) -> Any:
    """Make an Arrow table of lines, numbers and cells."""
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = (pa.int64(), pa.int64(), pa.binary())
    compute_arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(compute_arrays, ["line", "tile", "cells"])


def persist_frame(session: Any, frame: Any) -> Any:
    """Keep the frame, so that later jobs do not make it again, if the engine can.

    It is persisted, or a checkpoint of the engine's own (pysail), if it has a place for them.
    """
    probe = session.range(0, 1, 1, 1).mapInArrow(workers.make_token, "token string").persist()
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
    """Call all actions, whatever fails: a cluster that is gone must not hide an earlier error."""
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
"""By a pattern in a message of the cluster, the sentence for what goes wrong often."""


@contextmanager
def described_errors() -> Iterator[None]:
    """Turn errors of the cluster into a sentence of our own: theirs may hold a person's row.

    Raises:
        DataError: a row was refused; a worker wrote the reason without the row.
        ClusterError: the cluster refused or failed.
    """
    try:
        yield
    except Exception as error:
        package = type(error).__module__.split(".")[0]
        if package not in ("pyspark", "grpc"):
            raise
        refused = re.search(rf"{workers.REFUSED}([0-9a-f]+)\.", str(error))
        if refused is not None:
            raise DataError(**json.loads(bytes.fromhex(refused[1]))) from None
        signs = (text for pattern, text in _SIGNS.items() if re.search(pattern, str(error)))
        raise ClusterError(
            f"The cluster refused or failed ({type(error).__name__}). "
            + next(signs, "Its own log says why; it is not repeated here, for it may hold ratings.")
        ) from None
