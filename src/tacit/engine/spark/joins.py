"""What a cluster's workers do where items are joined: strips of people's rows meet in tiles.

Runs at    workers, which see raw ratings; each tile refuses a person who is in it twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import RatingScale
from tacit.data.stored import Cut, Merge, Tiles, Work
from tacit.engine.item_item import NOT_ONCE
from tacit.engine.spark.workers import batch_of, each_block, flat, ids_in, streamed
from tacit.errors import ClusterError

STRIPS = "tile long, counts binary, items binary, stars binary, numbers binary, people binary"
LINES = "line long, tile long, cells binary"
_STRIP = {"counts": np.int64, "items": np.int32, "stars": np.float64, "numbers": np.float64}


def strips(
    batches: Iterable[Any], *, cut: Cut, tiles: Tiles, n_items: int, scale: RatingScale
) -> Iterator[Any]:
    """Of each tile the people and ratings that a task's blocks have."""
    for block, row in each_block(batches):
        stars, numbers = cut(block.ratings(n_items, scale))
        users = flat(streamed([row["people"].as_buffer()])["id"])
        rows = np.repeat(np.arange(stars.shape[0]), np.diff(stars.indptr))
        for tile, members in enumerate(tiles):
            mask = np.zeros(stars.shape[1], np.bool_)
            mask[members] = True
            kept = mask[stars.indices]
            counts = np.bincount(rows[kept], minlength=stars.shape[0])
            there = np.flatnonzero(counts)
            if there.size:
                items = stars.indices[kept].astype(np.int32, copy=False)
                cells = (counts[there], items, stars.data[kept], numbers[there])
                whose = ids_in(users.take(pa.array(there)))
                yield batch_of(STRIPS, tile, *(each.tobytes() for each in cells), whose)


def tiled(table: Any, *, work: Work, width: int) -> Any:
    """Lines of a tile, made of its strips, with the people in the order of their ids."""
    users = flat(streamed(table["people"].to_pylist())["id"])
    order = pc.sort_indices(users).to_numpy()
    if len(users.unique()) < len(users):
        raise ClusterError(NOT_ONCE)
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
        raise ClusterError(NOT_ONCE)
    cells = merge(table["cells"].to_pylist())
    return lines([(table["line"][0].as_py(), len(table), cells)])


def spread(batches: Iterable[Any], *, work: Callable[[int], NDArray[Any]]) -> Iterator[Any]:
    """Of each number in the batches the array that `work` gives."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file = BytesIO()
            np.save(file, work(number), allow_pickle=False)
            yield batch_of(LINES, number, 1, file.getvalue())


def lines(found: Sequence[tuple[int, int, bytes]]) -> Any:
    """A table of lines, numbers and cells, as Arrow carries it."""
    columns = zip(*found, strict=True) if found else ((), (), ())
    kinds = (pa.int64(), pa.int64(), pa.binary())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, ["line", "tile", "cells"])
