"""What a cluster's workers do with their part of the ratings: blocks of whole people, and sums.

Runs at    workers, which have this package, NumPy, Numba and Arrow, and see raw ratings.
Sees       all rows of some people, the public catalogue, and what was released before.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored import Block, Cut, Merge, Rows, Tiles, Work
from tacit.data.tables.cleaning import arrow_of
from tacit.data.tables.table import Role
from tacit.engine.tiles import NOT_ONCE
from tacit.errors import ClusterError, DataError

HASHES = 4096
"""Values of the hash by which people are parted; far more than tasks."""
PIECE = 1 << 16
"""Cells of a table that travel together."""
SEEN = -1
"""The number of the piece that counts, for each hash, in how many tasks it was; and of blocks, how
many people were there and how many the task began with."""
BLOCK_ROWS = 1_000_000
BLOCKS = "seen binary, offsets binary, items binary, values binary"
BLOCKS_OF = "offsets binary, items binary, values binary"
PIECES = "piece long, cells binary"
STRIPS = "tile long, counts binary, items binary, stars binary, numbers binary"
LINES = "line long, tile long, cells binary"
REFUSED = "tacit refuses "
"""Before what is wrong with a row."""
_STRIP = {"counts": np.int64, "items": np.int32, "stars": np.float64, "numbers": np.float64}
KINDS = {"large_string": "string", "int64": "bigint", "double": "double"}
"""Arrow's types of what is read, and Spark's."""


def read(
    batches: Iterable[Any], *, used: Mapping[Role, str], scale: RatingScale | None
) -> Iterator[Any]:
    """A task's rows, cleaned. What is wrong with one is said in hexadecimal digits, which no engine
    writes in another way: no cell stands in that."""
    import pyarrow as pa

    for batch in batches:
        try:
            made = arrow_of(batch, used, scale)
        except DataError as error:
            said = json.dumps(vars(error)).encode().hex()
            raise ClusterError(f"{REFUSED}{said}.") from None
        for part in made.to_batches():
            columns = [part.column(role) for role in used]
            short = [each.cast(pa.string()) if pa.types.is_large_string(each.type) else each
                     for each in columns]  # fmt: skip
            yield pa.RecordBatch.from_arrays(short, names=[*used])


def prepared(
    batches: Iterable[Any], *, ids: Column, stars: bool, times: bool, named: bool = False
) -> Iterator[Any]:
    """A task's rows as blocks of whole people. Beside each, by hash: how many people it has; and
    beside the first, which there are in the task, and how many. named: or instead, their ids."""
    import pyarrow as pa

    given = list(batches)
    if not given:
        return
    table = pa.Table.from_batches(given)
    rows, users = _rows(table, ids, stars=stars, times=times)
    hashes = np.zeros(int(rows.people.max()) + 1, np.int64)
    hashes[rows.people] = table["hash"].to_numpy()
    whole = np.bincount(hashes, minlength=HASHES)
    seen, start = np.stack([whole > 0, whole, whole]).astype(np.int64), 0
    for block in rows.block(len(ids), ordered=False).parts(BLOCK_ROWS):
        stop = start + len(block.offsets) - 1
        cells = [part.tobytes() for part in vars(block).values()]
        if named:
            yield _beside(users[start:stop], BLOCKS_OF, *cells)
        else:
            seen[1] = np.bincount(hashes[start:stop], minlength=HASHES)
            yield batch_of(BLOCKS, seen.tobytes(), *cells)
        seen[:], start = 0, stop


def listed(
    batches: Iterable[Any],
    *,
    make: Callable[[Ratings], Any],
    ids: Column,
    of_lists: Column,
    scale: RatingScale,
    stars: bool,
    times: bool,
) -> Iterator[Any]:
    """Lists of a task's people, as `make` gives them by numbers of people and items."""
    import pyarrow as pa

    given = list(batches)
    if not given:
        return
    rows, users = _rows(pa.Table.from_batches(given), ids, stars=stars, times=times)
    users = users.cast(pa.string()) if pa.types.is_large_string(users.type) else users
    named, start = pa.array(of_lists.tolist()), 0
    for block in rows.block(len(ids), ordered=False).parts(BLOCK_ROWS):
        found = make(block.ratings(len(ids), scale))
        columns = {
            "user": users.take(pa.array(start + found.people)),
            "rank": pa.array(found.ranks.astype(np.int32)),
            "item": named.take(pa.array(found.items)),
            "score": pa.array(found.scores),
        }
        yield pa.RecordBatch.from_pydict(columns)
        start += len(block.offsets) - 1


def rated(block: Ratings) -> NDArray[np.int64]:
    """How many ratings of items of the catalogue there are."""
    return np.array([len(block)])


def summed(
    batches: Iterable[Any],
    *,
    add: Callable[[Ratings], NDArray[Any]],
    n_items: int,
    scale: RatingScale,
) -> Iterator[Any]:
    """A task's table in pieces; pieces of zeros stay away."""
    seen, total = np.zeros(3 * HASHES, np.int64), None
    for batch in batches:
        for marks, *parts in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            block = Block(*map(np.frombuffer, parts, (np.int64, np.int32, np.float64)))
            made = add(block.ratings(n_items, scale))
            total = made if total is None else total + made
            seen += np.frombuffer(marks, np.int64)
    if total is None:
        return
    yield from _pieces(total, seen)


def strips(
    batches: Iterable[Any], *, cut: Cut, tiles: Tiles, n_items: int, scale: RatingScale
) -> Iterator[Any]:
    """Of each tile the people and ratings that a task's blocks have."""
    import pyarrow as pa

    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("offsets", "items", "values")]
        for at, parts in enumerate(zip(*columns, strict=True)):
            block = Block(*map(np.frombuffer, parts, (np.int64, np.int32, np.float64)))
            stars, numbers = cut(block.ratings(n_items, scale))
            users = batch.column("people").slice(at, 1).flatten()
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
                    whose = users.take(pa.array(there))
                    yield _beside(whose, STRIPS, tile, *(each.tobytes() for each in cells))


def tiled(table: Any, *, work: Work, width: int) -> Any:
    """Lines of a tile, made of its strips, with the people in the order of their ids."""
    import pyarrow as pa
    import pyarrow.compute as pc
    from scipy import sparse

    users = pa.concat_arrays([chunk.flatten() for chunk in table["people"].chunks])
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
    return _lines([(line, tile, cells) for line, cells in work(tile, rows, numbers[order])])


def one_line(table: Any, *, merge: Merge) -> Any:
    """The answers of all tiles to one line, and how many they are."""
    if len(table["tile"].unique()) < len(table):
        raise ClusterError(NOT_ONCE)
    cells = merge(table["cells"].to_pylist())
    return _lines([(table["line"][0].as_py(), len(table), cells)])


def spread(batches: Iterable[Any], *, work: Callable[[int], NDArray[Any]]) -> Iterator[Any]:
    """Of each number in the batches the array that `work` gives."""
    for batch in batches:
        for number in batch.column(0).to_pylist():
            file = BytesIO()
            np.save(file, work(number), allow_pickle=False)
            yield batch_of(LINES, number, 1, file.getvalue())


def _lines(found: Sequence[tuple[int, int, bytes]]) -> Any:
    import pyarrow as pa

    columns = zip(*found, strict=True) if found else ((), (), ())
    kinds = (pa.int64(), pa.int64(), pa.binary())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, ["line", "tile", "cells"])


def folded(
    batches: Iterable[Any], *, fold: Callable[[list[bytes]], NDArray[np.int64]]
) -> Iterator[Any]:
    """What `fold` makes of a task's reports, in pieces."""
    seen, reports = np.zeros(HASHES, np.int64), []
    for batch in batches:
        reports += batch.column(0).to_pylist()
        seen[batch.column(1).to_numpy()] = 1
    if reports:
        yield from _pieces(fold(sorted(reports)), seen)


def _pieces(total: NDArray[Any], seen: NDArray[np.int64]) -> Iterator[Any]:
    yield batch_of(PIECES, SEEN, seen.tobytes())
    cells = total.ravel()
    for number in range(math.ceil(len(cells) / PIECE)):
        piece = cells[number * PIECE : (number + 1) * PIECE]
        if piece.any():
            yield batch_of(PIECES, number, piece.tobytes())


def merged(batches: Iterable[Any], *, kind: str) -> Iterator[Any]:
    """Pieces of the same number added up."""
    found: dict[int, NDArray[Any]] = {}
    for batch in batches:
        for number, raw in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            cells = np.frombuffer(raw, np.int64 if number == SEEN else kind)
            found[number] = found[number] + cells if number in found else cells
    for number, cells in found.items():
        yield batch_of(PIECES, number, cells.tobytes())


def versions(batches: Iterable[Any]) -> Iterator[Any]:
    """What a worker has installed."""
    for _ in batches:
        yield batch_of("tacit string", version("tacit-rec"))


def batch_of(schema: str, *values: Any) -> Any:
    """One row."""
    import pyarrow as pa

    kinds = {"long": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    fields = [part.split() for part in schema.split(", ")]
    columns = [
        pa.array([value], kinds[kind]) for value, (_, kind) in zip(values, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[name for name, _ in fields])


def _beside(users: Any, schema: str, *values: Any) -> Any:
    """One row, and before it the ids of people."""
    import pyarrow as pa

    short = users.cast(pa.string()) if pa.types.is_large_string(users.type) else users
    row = batch_of(schema, *values)
    people = pa.ListArray.from_arrays(pa.array([0, len(short)], pa.int32()), short)
    return pa.RecordBatch.from_arrays([people, *row.columns], ["people", *row.schema.names])


def _rows(table: Any, ids: Column, *, stars: bool, times: bool) -> tuple[Rows, Any]:
    """A task's rows, and the ids of its people."""
    coded = _flat(table["user"]).dictionary_encode()
    people = coded.indices.to_numpy()
    values = table["rating"].to_numpy() if stars else np.ones(len(people))
    when = table["time"].to_numpy() if times else None
    return Rows(people, numbers_in(_flat(table["item"]), ids), values, when), coded.dictionary


def _flat(column: Any) -> Any:
    """One array, of text that may be long."""
    import pyarrow as pa

    text = pa.types.is_string(column.type)
    chunks = (column.cast(pa.large_string()) if text else column).chunks
    return pa.concat_arrays(chunks)


def numbers_in(items: Any, ids: Column) -> NDArray[np.int32]:
    """Where each id stands in the catalogue, compared as they are written; -1: nowhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = ids.dtype != object and pa.types.is_integer(items.type)
    kind = pa.int64() if whole else pa.large_string()
    known = pa.array(ids if whole else [str(key) for key in ids.tolist()], kind)
    found: NDArray[np.int32] = pc.index_in(items.cast(kind), known).fill_null(-1).to_numpy()
    return found
