"""Sums, joins and arrays of a cluster's tasks; checks that nothing is missing or counted twice.

To join items, strips of people's rows are brought together in tiles, sets of items. The work on a
tile gives answers: each is bytes, with a number, called the line, that says what they are about.
The answers of several tiles for the same line are merged. A tile that has a person twice is
refused.

Runs at   the driver; but `cut_strips`, `work_on_tile`, `merge_line` and `compute_arrays` run at
          workers, which see raw ratings.
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
"""Schema of strips: a part of a block's ratings for one tile."""
LINES = "line long, tile long, cells binary"
"""Schema of answers: the bytes that a tile has for a line. In merged answers, `tile` is how many
tiles have answered for the line; in those of `compute_arrays` it is 1."""
_STRIP_TYPES = {"counts": np.int64, "items": np.int32, "stars": np.float64, "numbers": np.float64}
"""Arrays of a strip, and their types: `counts` has the number of ratings of each person, `numbers`
the number that `CutBlock` returns for each person; `items` and `stars` have a cell for each
rating."""
_PARTS_AT_ONCE = 16
"""Number of arrays that `spread` computes at once; more might not fit in this machine's memory."""


class SparkRatings(StoredRatings):
    """Ratings on a cluster, made by `open_spark`; a `with` statement closes the session at its end.

    Args:
        session: The Spark session.
        blocks: Spark's frame with the columns of `workers.BLOCKS`.
        catalogue: The items and the scale, as ratings without people.
        tasks: Number of Spark tasks that hold the people.
    """

    def __init__(self, session: Any, blocks: Any, catalogue: Ratings, tasks: int) -> None:
        self.catalogue = catalogue
        self.tasks = tasks
        self._to_ratings = partial(
            Block.to_ratings, n_items=catalogue.n_items, scale=catalogue.scale
        )
        self._session = session
        self._blocks = blocks
        # Counts of hashes of the latest sum, as `gather_total` returns them; equal for all sums.
        self._seen: NDArray[np.int64] | None = None

    def __enter__(self) -> SparkRatings:
        return self

    def __exit__(self, *_: object) -> None:
        close(self._blocks.unpersist, self._session.stop)

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """Sum `add(block)` in one pass over the cluster's blocks.

        Raises:
            ClusterError: The cluster fails, or people are missing from the sum or counted twice.
        """
        work = partial(workers.sum_blocks, add=add, to_ratings=self._to_ratings)
        zeros = add(self._to_ratings(Block.without_people()))
        total, seen = gather_total(self._blocks, work, zeros, self.tasks)
        if self._seen is not None and not np.array_equal(seen, self._seen):
            raise ClusterError(_PEOPLE_LOST)
        self._seen = seen
        self.advance(1.0)
        return total

    def join_tiles(self, cut: CutBlock, tiles: Tiles, work: Work, merge: Merge) -> Lines:
        """Do what `StoredRatings.join_tiles` says, on the cluster.

        The strips of all blocks are grouped by their tile, and then the bytes of all tiles by their
        line.
        """
        no_stars, _ = cut(self._to_ratings(Block.without_people()))
        with described_errors():
            make_strips = partial(cut_strips, cut=cut, tiles=tiles, to_ratings=self._to_ratings)
            answer_tile = partial(work_on_tile, work=work, width=no_stars.shape[1])
            strips = self._blocks.mapInArrow(make_strips, STRIPS)
            answers = _apply_by_key(strips, "tile", answer_tile, len(tiles))
            merged = _apply_by_key(answers, "line", partial(merge_line, merge=merge), len(tiles))
            rows = merged.toArrow()
        self.advance(1.0)
        return _answers_by_line(rows)

    def spread(self, work: Callable[[slice], NDArray[Any]], parts: list[slice]) -> Arrays:
        """Yield `work(part)` for each part, computed on the cluster.

        Raises:
            ClusterError: The cluster fails, or results are missing.
        """
        for start in range(0, len(parts), _PARTS_AT_ONCE):
            batch = parts[start : start + _PARTS_AT_ONCE]
            with described_errors():
                numbers = self._session.range(0, len(batch), 1, len(batch))
                work_by_number = partial(_work_on_part, work=work, parts=batch)
                compute = partial(compute_arrays, work=work_by_number)
                rows = numbers.mapInArrow(compute, LINES).toArrow()
            answers = _answers_by_line(rows)
            if len(answers) < len(batch):
                raise ClusterError(_PEOPLE_LOST)
            for number in range(len(batch)):
                _, cells = answers[number]
                yield np.load(BytesIO(cells), allow_pickle=False)


def gather_total(
    frame: Any, work: Callable[..., Any], zero: NDArray[Any], tasks: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Add up the tables that tasks make of their rows; check that none is missing or counted twice.

    Args:
        frame: Spark's frame of the rows.
        work: Turns a task's batches into pieces of a table; these are first added on the cluster.
        zero: Zeros in the shape and type of the sum; overwritten.
        tasks: Number of Spark tasks that hold the people.

    Returns:
        The sum; and the counts of `workers.SEEN`: (3, HASHES) for each short hash, the tasks that
        have it, the people with it in the sum, and the people with it in all tasks.

    Raises:
        ClusterError: A hash was in several tasks, a block of a task or all rows were missing, or
            the cluster fails.
    """
    merge = partial(workers.merge_pieces, kind=zero.dtype.str)
    merging_tasks = max(1, min(tasks, zero.size // workers.PIECE))
    with described_errors():
        parts = frame.mapInArrow(work, workers.PIECES).repartition(merging_tasks, "piece")
        rows = parts.mapInArrow(merge, workers.PIECES).toArrow()
    cells = zero.ravel()
    seen = np.zeros((3, workers.HASHES), np.int64)
    numbers, pieces = (column.to_pylist() for column in rows.columns)
    for number, raw in zip(numbers, pieces, strict=True):
        if number == workers.SEEN:
            seen = seen + np.frombuffer(raw, np.int64).reshape(-1, workers.HASHES)
        else:
            piece = np.frombuffer(raw, zero.dtype)
            start = number * workers.PIECE
            cells[start : start + len(piece)] += piece
    is_complete = np.array_equal(seen[1], seen[2])
    if not seen.any() or seen[0].max() > 1 or not is_complete:
        raise ClusterError(_PEOPLE_LOST)
    return cells.reshape(zero.shape), seen


def _work_on_part(
    number: int, *, work: Callable[[slice], NDArray[Any]], parts: list[slice]
) -> NDArray[Any]:
    """Call `work` for the part with this number."""
    return work(parts[number])


def _answers_by_line(rows: Any) -> Lines:
    """Map each line to its number of tiles and its bytes, from merged answers as in `LINES`."""
    columns = [column.to_pylist() for column in rows.columns]
    return {line: (count, cells) for line, count, cells in zip(*columns, strict=True)}


def _apply_by_key(frame: Any, key: str, work: Callable[[Any], Any], tasks: int) -> Any:
    """Apply `work` to the rows of each value of the column `key`, in `tasks` cluster tasks."""

    # pyspark looks at the number of parameters, and counts those that a `partial` has set.
    def work_on_group(table: Any) -> Any:
        return work(table)

    return frame.repartition(tasks, key).groupBy(key).applyInArrow(work_on_group, LINES)


def cut_strips(
    batches: Iterable[Any], *, cut: CutBlock, tiles: Tiles, to_ratings: ToRatings
) -> Iterator[Any]:
    """Yield the strips of a task's blocks, as in `STRIPS`: of each block, a strip for each tile.

    A strip has the people of the block who rated an item of the tile, and these ratings. There is
    none if nobody did.
    """
    for block, row in read_blocks(batches):
        stars, numbers = cut(to_ratings(block))
        users = flatten_column(read_streams([row["people"].as_buffer()])["id"])
        rows = np.repeat(np.arange(stars.shape[0]), np.diff(stars.indptr))
        for tile, members in enumerate(tiles):
            is_member = np.zeros(stars.shape[1], np.bool_)
            is_member[members] = True
            in_tile = is_member[stars.indices]
            counts = np.bincount(rows[in_tile], minlength=stars.shape[0])
            raters = np.flatnonzero(counts)
            if raters.size:
                items = stars.indices[in_tile].astype(np.int32, copy=False)
                arrays = (counts[raters], items, stars.data[in_tile], numbers[raters])
                packed = [array.tobytes() for array in arrays]
                rater_ids = pack_ids(users.take(pa.array(raters)))
                yield make_batch(STRIPS, tile, *packed, rater_ids)


def work_on_tile(table: Any, *, work: Work, width: int) -> Any:
    """Join the strips of a tile, with people in the order of their ids, and call `work` on it.

    Raises:
        ClusterError: A person is in the tile twice.
    """
    users = flatten_column(read_streams(table["people"].to_pylist())["id"])
    order = pc.sort_indices(users).to_numpy()
    if len(users.unique()) < len(users):
        raise ClusterError(LOST)
    counts, items, stars, numbers = (_join_strips(table, name) for name in _STRIP_TYPES)
    starts = (np.cumsum(counts) - counts)[order]
    sizes = counts[order]
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    # Where each rating of the sorted rows is in the joined strips.
    sources = np.repeat(starts - offsets[:-1], sizes) + np.arange(offsets[-1])
    rows = sparse.csr_array((stars[sources], items[sources], offsets), shape=(len(users), width))
    tile = int(table["tile"][0].as_py())
    del table, sources, stars, items  # frees memory for the kernel
    answers = work(tile, rows, numbers[order])
    return lines_to_arrow([(line, tile, cells) for line, cells in answers])


def _join_strips(table: Any, name: str) -> NDArray[Any]:
    """Concatenate one array of a tile's strips."""
    strips = [np.frombuffer(raw, _STRIP_TYPES[name]) for raw in table[name].to_pylist()]
    return np.concatenate(strips)


def merge_line(table: Any, *, merge: Merge) -> Any:
    """Merge the answers of all tiles for one line, and count these tiles.

    Raises:
        ClusterError: A tile answered twice.
    """
    if len(table["tile"].unique()) < len(table):
        raise ClusterError(LOST)
    cells = merge(table["cells"].to_pylist())
    return lines_to_arrow([(table["line"][0].as_py(), len(table), cells)])


def compute_arrays(batches: Iterable[Any], *, work: Callable[[int], NDArray[Any]]) -> Iterator[Any]:
    """Yield the array `work(number)` of each number in the batches, as in `LINES`."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file = BytesIO()
            np.save(file, work(number), allow_pickle=False)
            yield make_batch(LINES, number, 1, file.getvalue())


def lines_to_arrow(rows: Sequence[tuple[int, int, bytes]]) -> Any:
    """Make an Arrow table, as in `LINES`, of (line, tile, bytes)."""
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    kinds = (pa.int64(), pa.int64(), pa.binary())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, ["line", "tile", "cells"])


def persist_frame(session: Any, frame: Any) -> Any:
    """Store a frame on the cluster, so that later jobs do not compute it again.

    Spark persists the frame. pysail ignores that: there the frame is saved as a checkpoint, or
    returned unchanged if pysail is not configured for checkpoints.
    """
    # A random token is the same in two jobs only if the cluster really persists frames.
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
    """Call all actions and ignore their errors, so that they do not hide an earlier error."""
    for action in actions:
        with suppress(Exception):
            action()


_PEOPLE_LOST = (
    "The cluster did not return each person exactly once, or it lost a result: a clipped sum would "
    "not be private. Nothing was released."
)
"""Message of the error if people or results are missing from an answer, or in it twice."""
NOT_THERE = "The cluster does not find the ratings: give a path that its workers see, or a table."
"""Message of the error for a source that the cluster does not find."""


_EXPLANATIONS = {
    re.escape(LOST): _PEOPLE_LOST,
    "No module named '(tacit|numba|numpy|scipy|polars|pyarrow)": (
        "A package is missing on the workers: install tacit-rec, the version of this machine, "
        "for the Python of every worker."
    ),
    "PATH_NOT_FOUND|No such file|not found|does not exist|TABLE_OR_VIEW_NOT_FOUND": NOT_THERE,
    "RESOURCE_EXHAUSTED|larger than max": (
        "A message is larger than the server takes: raise "
        "spark.connect.grpc.maxInboundMessageSize there."
    ),
    "OutOfMemory|out of memory": "A worker ran out of memory: give it more, or raise --tasks.",
}
"""Sentences that explain frequent messages of a cluster, by patterns of these messages."""


@contextmanager
def described_errors() -> Iterator[None]:
    """Replace errors of pyspark and gRPC by our own, since their messages may hold a person's row.

    Raises:
        DataError: A worker refused a row. Its message has the reason, without the row.
        ClusterError: The cluster refused the work or failed.
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
        explanations = [
            text for pattern, text in _EXPLANATIONS.items() if re.search(pattern, str(error))
        ]
        explanations.append(
            "Its own log says why; the log is not repeated here, since it may hold ratings."
        )
        raise ClusterError(
            f"The cluster refused or failed ({type(error).__name__}). {explanations[0]}"
        ) from None
