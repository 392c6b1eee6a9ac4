"""What a cluster's workers do with their part of the ratings: blocks of whole people, and sums.

Runs at    workers, which have this package, NumPy, Numba and Arrow, and see raw ratings.
Sees       all rows of some people, the public catalogue, and what was released before.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.metadata import version
from io import BytesIO
from itertools import pairwise
from typing import Any
from zlib import crc32

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
BLOCK_ROWS = AT_ONCE = 1_000_000
ROWS = "bucket int, rows binary"
BLOCKS = "seen binary, offsets binary, items binary, values binary, people binary"
PIECES = "piece long, cells binary"
STRIPS = "tile long, counts binary, items binary, stars binary, numbers binary, people binary"
LINES = "line long, tile long, cells binary"
REFUSED = "tacit refuses "
"""Before what is wrong with a row."""
_STRIP = {"counts": np.int64, "items": np.int32, "stars": np.float64, "numbers": np.float64}
KINDS = {"large_string": "string", "int64": "bigint", "double": "double"}
"""Arrow's types of what is read, and Spark's."""


def _cleaned(
    batches: Iterable[Any], used: Mapping[Role, str], scale: RatingScale | None
) -> Iterator[Any]:
    """A task's rows, many at a time: an engine's batches may be small. What is wrong with one is
    said in hexadecimal digits, which no engine writes in another way: no cell stands in that."""
    for table in _many(batches):
        try:
            yield arrow_of(table, used, scale)
        except DataError as error:
            said = json.dumps(vars(error)).encode().hex()
            raise ClusterError(f"{REFUSED}{said}.") from None


def _many(batches: Iterable[Any]) -> Iterator[Any]:
    import pyarrow as pa

    held, rows = [], 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= AT_ONCE:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def read(
    batches: Iterable[Any], *, used: Mapping[Role, str], scale: RatingScale | None
) -> Iterator[Any]:
    """A task's rows, cleaned."""
    import pyarrow as pa

    for table in _cleaned(batches, used, scale):
        for part in table.to_batches():
            columns = [_short(part.column(role)) for role in used]
            yield pa.RecordBatch.from_arrays(columns, names=[*used])


def packed(
    batches: Iterable[Any], *, used: Mapping[Role, str], scale: RatingScale | None, ids: Column,
    buckets: int,
) -> Iterator[Any]:  # fmt: skip
    """The same, items by their numbers, for each bucket of people together: few large rows are
    shuffled instead of many small ones."""
    import pyarrow as pa

    for table in _cleaned(batches, used, scale):
        items = pa.array(numbers_in(_flat(table["item"]), ids))
        made = table.set_column(table.schema.get_field_index("item"), "item", items)
        yield _by_bucket(made, marks(_flat(table["user"])), buckets)


def packed_reports(
    batches: Iterable[Any], *, ticket: tuple[int, int], buckets: int
) -> Iterator[Any]:
    """Reports, those of equal tickets in the same bucket. ticket: where it begins and ends."""
    import pyarrow.compute as pc

    for table in _many(batches):
        yield _by_bucket(table, marks(pc.binary_slice(_flat(table[0]), *ticket)), buckets)


def _by_bucket(table: Any, which: NDArray[np.int64], buckets: int) -> Any:
    import pyarrow as pa

    numbers = (which % buckets).astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    (rows,) = table.take(pa.array(order)).combine_chunks().to_batches()
    stops = np.flatnonzero(np.diff(numbers[order], append=-1)) + 1
    cells = [
        _stream(rows.slice(start, stop - start)) for start, stop in pairwise([0, *stops.tolist()])
    ]
    found = pa.array(numbers[order[stops - 1]], pa.int32())
    return pa.RecordBatch.from_arrays([found, pa.array(cells, pa.binary())], ["bucket", "rows"])


def _stream(rows: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def _streamed(cells: Iterable[Any]) -> Any:
    """The table whose parts these are."""
    import pyarrow as pa

    return pa.concat_tables([pa.ipc.open_stream(raw).read_all() for raw in cells])


def _unpacked(batches: Iterable[Any]) -> Any:
    """A task's rows; None if it has none."""
    cells = [raw for batch in batches for raw in batch.column("rows").to_pylist()]
    return _streamed(cells) if cells else None


def marks(keys: Any) -> NDArray[np.int64]:
    """A hash below HASHES of each id, the same on every machine."""
    import pyarrow as pa

    if pa.types.is_integer(keys.type):
        mixed = keys.to_numpy().astype(np.uint64)
    else:
        coded = keys.dictionary_encode()
        raws = coded.dictionary.cast(pa.large_binary()).to_pylist()
        mixed = np.array([crc32(raw) for raw in raws], np.uint64)[coded.indices.to_numpy()]
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):  # of MurmurHash3
        mixed = (mixed ^ (mixed >> np.uint64(33))) * np.uint64(factor)
    found: NDArray[np.int64] = (mixed >> np.uint64(52)).astype(np.int64)
    return found


def prepared(batches: Iterable[Any], *, width: int, stars: bool, times: bool) -> Iterator[Any]:
    """A task's rows as blocks of whole people, and their ids. Beside each, by hash: how many people
    it has; and beside the first, which there are in the task, and how many."""
    table = _unpacked(batches)
    if table is None:
        return
    rows, users = _rows(table, stars=stars, times=times)
    hashes = marks(users)
    whole = np.bincount(hashes, minlength=HASHES)
    seen, start = np.stack([whole > 0, whole, whole]).astype(np.int64), 0
    for block in rows.block(width, ordered=False).parts(BLOCK_ROWS):
        stop = start + len(block.offsets) - 1
        seen[1] = np.bincount(hashes[start:stop], minlength=HASHES)
        cells = [part.tobytes() for part in vars(block).values()]
        yield batch_of(BLOCKS, seen.tobytes(), *cells, _ids(users[start:stop]))
        seen[:], start = 0, stop


def listed(
    batches: Iterable[Any],
    *,
    make: Callable[[Ratings], Any],
    width: int,
    of_lists: Column,
    scale: RatingScale,
    stars: bool,
    times: bool,
) -> Iterator[Any]:
    """Lists of a task's people, as `make` gives them by numbers of people and items."""
    import pyarrow as pa

    table = _unpacked(batches)
    if table is None:
        return
    rows, users = _rows(table, stars=stars, times=times)
    users, named, start = _short(users), pa.array(of_lists.tolist()), 0
    for block in rows.block(width, ordered=False).parts(BLOCK_ROWS):
        found = make(block.ratings(width, scale))
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
    for block, row in _blocks(batches):
        made = add(block.ratings(n_items, scale))
        total = made if total is None else total + made
        seen += np.frombuffer(row["seen"].as_buffer(), np.int64)
    if total is None:
        return
    yield from _pieces(total, seen)


def strips(
    batches: Iterable[Any], *, cut: Cut, tiles: Tiles, n_items: int, scale: RatingScale
) -> Iterator[Any]:
    """Of each tile the people and ratings that a task's blocks have."""
    import pyarrow as pa

    for block, row in _blocks(batches):
        stars, numbers = cut(block.ratings(n_items, scale))
        users = _flat(_streamed([row["people"].as_buffer()])["id"])
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
                whose = _ids(users.take(pa.array(there)))
                yield batch_of(STRIPS, tile, *(each.tobytes() for each in cells), whose)


def _blocks(batches: Iterable[Any]) -> Iterator[tuple[Block, dict[str, Any]]]:
    """Each, and its row."""
    kinds = {"offsets": np.int64, "items": np.int32, "values": np.float64}
    for batch in batches:
        for at in range(batch.num_rows):
            row = {name: batch.column(name)[at] for name in batch.schema.names}
            parts = [np.frombuffer(row[name].as_buffer(), kind) for name, kind in kinds.items()]
            yield Block(*parts), row


def tiled(table: Any, *, work: Work, width: int) -> Any:
    """Lines of a tile, made of its strips, with the people in the order of their ids."""
    import pyarrow.compute as pc
    from scipy import sparse

    users = _flat(_streamed(table["people"].to_pylist())["id"])
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
    import pyarrow as pa

    columns = zip(*found, strict=True) if found else ((), (), ())
    kinds = (pa.int64(), pa.int64(), pa.binary())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, ["line", "tile", "cells"])


def folded(
    batches: Iterable[Any], *, ticket: tuple[int, int], fold: Callable[[list[bytes]], Any]
) -> Iterator[Any]:
    """What `fold` makes of a task's reports, in pieces."""
    import pyarrow.compute as pc

    if (table := _unpacked(batches)) is not None:
        reports = _flat(table[0])
        seen = np.bincount(marks(pc.binary_slice(reports, *ticket)), minlength=HASHES) > 0
        yield from _pieces(fold(sorted(reports.to_pylist())), seen.astype(np.int64))


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


def token(batches: Iterable[Any]) -> Iterator[Any]:
    """Another text whenever it is made."""
    for _ in batches:
        yield batch_of("token string", os.urandom(8).hex())


def batch_of(schema: str, *values: Any) -> Any:
    """One row."""
    import pyarrow as pa

    kinds = {"long": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    fields = [part.split() for part in schema.split(", ")]
    columns = [
        pa.array([value], kinds[kind]) for value, (_, kind) in zip(values, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[name for name, _ in fields])


def _ids(users: Any) -> bytes:
    import pyarrow as pa

    return _stream(pa.RecordBatch.from_arrays([users], ["id"]))


def _rows(table: Any, *, stars: bool, times: bool) -> tuple[Rows, Any]:
    """A task's rows, and the ids of its people."""
    coded = _flat(table["user"]).dictionary_encode()
    people = coded.indices.to_numpy()
    values = table["rating"].to_numpy() if stars else np.ones(len(people))
    when = table["time"].to_numpy() if times else None
    return Rows(people, table["item"].to_numpy(), values, when), coded.dictionary


def _flat(column: Any) -> Any:
    """One array, of text or bytes that may be long."""
    import pyarrow as pa

    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    return pa.concat_arrays(column.cast(wide.get(column.type, column.type)).chunks)


def _short(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def numbers_in(items: Any, ids: Column) -> NDArray[np.int32]:
    """Where each id stands in the catalogue, compared as they are written; -1: nowhere."""
    import pyarrow as pa
    import pyarrow.compute as pc

    whole = ids.dtype != object and pa.types.is_integer(items.type)
    kind = pa.int64() if whole else pa.large_string()
    known = pa.array(ids if whole else [str(key) for key in ids.tolist()], kind)
    found: NDArray[np.int32] = pc.index_in(items.cast(kind), known).fill_null(-1).to_numpy()
    return found
