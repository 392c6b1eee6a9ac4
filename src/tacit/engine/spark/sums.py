"""Tables that a cluster's tasks make, added up: each task's once, which is checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Ratings
from tacit.data.stored import Block, StoredRatings
from tacit.engine.spark import workers
from tacit.errors import ClusterError


class SparkRatings(StoredRatings):
    """Ratings that a cluster reads, as `open_spark` makes them; a context that closes its session.

    tasks: in how many the people are parted.
    """

    def __init__(self, session: Any, blocks: Any, catalogue: Ratings, tasks: int) -> None:
        self.catalogue, self.tasks = catalogue, tasks
        self._session, self._blocks = session, blocks
        self._seen: NDArray[np.int64] | None = None

    def __enter__(self) -> SparkRatings:
        return self

    def __exit__(self, *_: object) -> None:
        close(self._blocks.unpersist, self._session.stop)

    def total(self, add: Callable[[Ratings], NDArray[Any]]) -> NDArray[Any]:
        """One pass over the cluster's blocks."""
        known = self.catalogue
        zero = add(Block.empty().ratings(known.n_items, known.scale))
        work = partial(workers.summed, add=add, n_items=known.n_items, scale=known.scale)
        total, seen = gathered(self._blocks, work, zero, self.tasks)
        self._check(seen)
        return total

    def _check(self, seen: NDArray[np.int64]) -> None:
        """Each person in one task, and in every sum the same people."""
        check_once(seen)
        if self._seen is not None and not np.array_equal(seen, self._seen):
            raise ClusterError(_NOT_ONCE)
        self._seen = seen


def close(*ways: Callable[[], object]) -> None:
    """All of them, whatever fails: a cluster that is gone must not hide what it broke off."""
    for way in ways:
        with suppress(Exception):
            way()


def gathered(
    frame: Any, work: Callable[..., Any], zero: NDArray[Any], tasks: int
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The sum of the tables that `work` makes of each task, and of what they have seen.

    zero: a table of zeros. Pieces of the same number are added on the cluster first.
    """
    merging = max(1, min(tasks, zero.size // workers.PIECE))
    with answering():
        parts = frame.mapInArrow(work, workers.PIECES).repartition(merging, "piece")
        pieces = parts.mapInArrow(partial(workers.merged, kind=zero.dtype.str), workers.PIECES)
        rows = pieces.toArrow()
    cells, seen = zero.ravel(), np.zeros((1, workers.HASHES), np.int64)
    for number, raw in zip(*(column.to_pylist() for column in rows.columns), strict=True):
        if number == workers.SEEN:
            seen = seen + np.frombuffer(raw, np.int64).reshape(-1, workers.HASHES)
        else:
            found, start = np.frombuffer(raw, zero.dtype), number * workers.PIECE
            cells[start : start + len(found)] += found
    return cells.reshape(zero.shape), seen


def check_once(seen: NDArray[np.int64]) -> None:
    """ClusterError where a hash was in several tasks, none was seen at all, or the blocks have not
    the people that their task began with."""
    lacking = len(seen) == 3 and not np.array_equal(seen[1], seen[2])
    if seen[0].max() > 1 or not seen.any() or lacking:
        raise ClusterError(_NOT_ONCE)


_NOT_ONCE = (
    "The cluster did not hand over each person once: a clipped sum of its answer would not be "
    "private. Nothing was released."
)
NOT_THERE = "The cluster does not find the ratings: give a path that its workers see, or a table."


@dataclass(frozen=True)
class _Sign:
    """In a message of the cluster, what goes wrong often, and what to say of it."""

    pattern: str
    says: str


_SIGNS = (
    _Sign(
        "No module named '(tacit|numba|numpy|scipy|polars|pyarrow)",
        "A package is missing on the workers: install tacit-rec, the version of this machine, "
        "for the Python of every worker.",
    ),
    _Sign(
        "PATH_NOT_FOUND|No such file|not found|does not exist|TABLE_OR_VIEW_NOT_FOUND",
        NOT_THERE,
    ),
    _Sign(
        "RESOURCE_EXHAUSTED|larger than max",
        "A message is larger than the server takes: raise "
        "spark.connect.grpc.maxInboundMessageSize there.",
    ),
    _Sign("OutOfMemory|out of memory", "A worker ran out of memory: give it more, or --tasks."),
)


@contextmanager
def answering() -> Iterator[None]:
    """Errors of the cluster in a sentence, without what they say: it may hold a person's row."""
    try:
        yield
    except Exception as error:
        of_engine = type(error).__module__.split(".")[0]
        if of_engine not in ("pyspark", "grpc"):
            raise
        signs = (sign.says for sign in _SIGNS if re.search(sign.pattern, str(error)))
        raise ClusterError(
            f"The cluster refused or failed ({type(error).__name__}). "
            + next(signs, "Its own log says why; it is not repeated here, for it may hold ratings.")
        ) from None
