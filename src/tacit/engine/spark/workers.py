"""What a cluster's workers do with their part of the ratings: blocks of whole people, and sums.

Runs at    workers, which have this package, NumPy, Numba and Arrow, and see raw ratings.
Sees       all rows of some people, the public catalogue, and what was released before.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import version
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.stored_ratings import Block, Rows
from tacit.data.tables import Role
from tacit.data.tables.cleaning import arrow_of
from tacit.errors import ClusterError, DataError

ToRatings = Callable[[Block], Ratings]
HASHES = 4096
"""Values of `marks`; far more than tasks."""
PIECE = 1 << 16
"""Cells of a table that travel together."""
SEEN = -1
"""The number of the piece that counts, for each hash, in how many tasks it was; and of blocks, how
many people were there and how many the task began with."""
BLOCK_ROWS = AT_ONCE = 1_000_000
ROWS = "bucket int, rows binary"
BLOCKS = "seen binary, offsets binary, items binary, values binary, people binary"
PIECES = "piece long, cells binary"
_FOLDED = 1 << 18  # reports counted at once
REFUSED = "tacit refuses "
"""Before what is wrong with a row."""
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
    for table in _cleaned(batches, used, scale):
        for part in table.to_batches():
            columns = [_short(part.column(role)) for role in used]
            yield pa.RecordBatch.from_arrays(columns, names=[*used])


def packed(
    batches: Iterable[Any],
    *,
    used: Mapping[Role, str],
    scale: RatingScale | None,
    ids: Column,
    buckets: int,
) -> Iterator[Any]:
    """The same, items by their numbers, for each bucket of people together: few large rows are
    shuffled instead of many small ones."""
    for table in _cleaned(batches, used, scale):
        items = pa.array(numbers_in(flat(table["item"]), ids))
        made = table.set_column(table.schema.get_field_index("item"), "item", items)
        yield _by_bucket(made, hashes_of(flat(table["user"])), buckets)


def packed_reports(
    batches: Iterable[Any], *, ticket: tuple[int, int], buckets: int
) -> Iterator[Any]:
    """Reports, those of equal tickets in the same bucket. ticket: where it begins and ends."""
    for table in _many(batches):
        yield _by_bucket(table, hashes_of(pc.binary_slice(flat(table[0]), *ticket)), buckets)


def _by_bucket(table: Any, hashes: NDArray[np.uint64], buckets: int) -> Any:
    numbers = (marks(hashes) % buckets).astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    (rows,) = table.take(pa.array(order)).combine_chunks().to_batches()
    stops = np.flatnonzero(np.diff(numbers[order], append=-1)) + 1
    cells = [
        _stream(rows.slice(start, stop - start)) for start, stop in pairwise([0, *stops.tolist()])
    ]
    found = pa.array(numbers[order[stops - 1]], pa.int32())
    return pa.RecordBatch.from_arrays([found, pa.array(cells, pa.binary())], ["bucket", "rows"])


def _stream(rows: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def streamed(cells: Iterable[Any]) -> Any:
    """The table whose parts these are."""
    return pa.concat_tables([pa.ipc.open_stream(raw).read_all() for raw in cells])


def _unpacked(batches: Iterable[Any]) -> Any:
    """A task's rows; None if it has none."""
    cells = [raw for batch in batches for raw in batch.column("rows").to_pylist()]
    return streamed(cells) if cells else None


def prepared(batches: Iterable[Any], *, width: int, used: Mapping[Role, str]) -> Iterator[Any]:
    """A task's rows as blocks of whole people, and their ids. Beside each, by hash: how many people
    it has; and beside the first, which there are in the task, and how many."""
    table = _unpacked(batches)
    if table is None:
        return
    rows, users = _rows(table, used)
    hashes = marks(hashes_of(users))
    whole = np.bincount(hashes, minlength=HASHES)
    seen, start = np.stack([whole > 0, whole, whole]).astype(np.int64), 0
    for block in rows.to_block(width, ordered=False).parts(BLOCK_ROWS):
        stop = start + len(block.offsets) - 1
        seen[1] = np.bincount(hashes[start:stop], minlength=HASHES)
        cells = [part.tobytes() for part in vars(block).values()]
        yield batch_of(BLOCKS, seen.tobytes(), *cells, ids_in(users[start:stop]))
        seen[:], start = 0, stop


def listed(
    batches: Iterable[Any],
    *,
    make: Callable[[Ratings], Any],
    width: int,
    of_lists: Column,
    scale: RatingScale,
    used: Mapping[Role, str],
) -> Iterator[Any]:
    """Lists of a task's people, as `make` gives them by numbers of people and items."""
    table = _unpacked(batches)
    if table is None:
        return
    rows, users = _rows(table, used)
    users, named, start = _short(users), pa.array(of_lists.tolist()), 0
    for block in rows.to_block(width, ordered=False).parts(BLOCK_ROWS):
        found = make(block.to_ratings(width, scale))
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
    batches: Iterable[Any], *, add: Callable[[Ratings], NDArray[Any]], to_ratings: ToRatings
) -> Iterator[Any]:
    """A task's table in pieces; pieces of zeros stay away."""
    seen, total = np.zeros(3 * HASHES, np.int64), None
    for block, row in each_block(batches):
        made = add(to_ratings(block))
        total = made if total is None else total + made
        seen += np.frombuffer(row["seen"].as_buffer(), np.int64)
    if total is None:
        return
    yield from _pieces(total, seen)


def each_block(batches: Iterable[Any]) -> Iterator[tuple[Block, dict[str, Any]]]:
    """Each, and its row."""
    kinds = {"offsets": np.int64, "items": np.int32, "values": np.float64}
    for batch in batches:
        for at in range(batch.num_rows):
            row = {name: batch.column(name)[at] for name in batch.schema.names}
            parts = [np.frombuffer(row[name].as_buffer(), kind) for name, kind in kinds.items()]
            yield Block(*parts), row


def folded(
    batches: Iterable[Any], *, ticket: tuple[int, int], fold: Callable[[list[bytes]], Any]
) -> Iterator[Any]:
    """What `fold` makes of a task's reports, in pieces; those of equal tickets in the order of
    their bytes, so that the same one counts if the task is done again."""
    if (table := _unpacked(batches)) is not None:
        reports = flat(table[0])
        del table
        hashes = hashes_of(pc.binary_slice(reports, *ticket))
        seen = np.zeros((3, HASHES), np.int64)
        seen[0, marks(hashes)] = 1
        order = np.argsort(hashes)
        same = np.diff(hashes[order]) == 0
        several = np.append(same, False) | np.insert(same, 0, False)
        alone = order[~several]
        parts = [alone[start : start + _FOLDED] for start in range(0, len(alone), _FOLDED)]
        total = fold(sorted(reports.take(pa.array(order[several])).to_pylist()))
        for part in parts:
            total = total + fold(reports.take(pa.array(part)).to_pylist())
        yield from _pieces(total, seen)


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
    kinds = {"long": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    fields = [part.split() for part in schema.split(", ")]
    columns = [
        pa.array([value], kinds[kind]) for value, (_, kind) in zip(values, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[name for name, _ in fields])


def ids_in(users: Any) -> bytes:
    return _stream(pa.RecordBatch.from_arrays([users], ["id"]))


def _rows(table: Any, used: Mapping[Role, str]) -> tuple[Rows, Any]:
    """A task's rows, and the ids of its people."""
    coded = flat(table["user"]).dictionary_encode()
    people = coded.indices.to_numpy()
    values = table["rating"].to_numpy() if "rating" in used else np.ones(len(people))
    when = table["time"].to_numpy() if "time" in used else None
    return Rows(people, table["item"].to_numpy(), values, when), coded.dictionary


def flat(column: Any) -> Any:
    """One array, of text or bytes that may be long."""
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    return pa.concat_arrays(column.cast(wide.get(column.type, column.type)).chunks)


def _short(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def numbers_in(items: Any, ids: Column) -> NDArray[np.int32]:
    """Where each id stands in the catalogue, compared as they are written; -1: nowhere."""
    whole = ids.dtype != object and pa.types.is_integer(items.type)
    kind = pa.int64() if whole else pa.large_string()
    known = pa.array(ids if whole else [str(key) for key in ids.tolist()], kind)
    found: NDArray[np.int32] = pc.index_in(items.cast(kind), known).fill_null(-1).to_numpy()
    return found


def hashes_of(keys: Any) -> NDArray[np.uint64]:
    """64 bits of each integer, text or bytes of an Arrow array, the same on every machine. It only
    decides the task of a row."""
    if pa.types.is_integer(keys.type):
        return _mixed(keys.to_numpy().astype(np.uint64))
    raw = keys.cast(pa.large_binary())
    _, places, cells = raw.buffers()
    ends = np.frombuffer(places, np.int64)[raw.offset : raw.offset + len(raw) + 1]
    return _mixed(_of_bytes(ends, np.frombuffer(cells or b"", np.uint8)))


def marks(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Their highest bits, below HASHES."""
    found: NDArray[np.int64] = (hashes >> np.uint64(52)).astype(np.int64)
    return found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _of_bytes(ends: Any, data: Any) -> Any:
    """FNV-1a."""
    found = np.empty(len(ends) - 1, np.uint64)
    for row in range(len(found)):
        word = np.uint64(0xCBF29CE484222325)
        for place in range(ends[row], ends[row + 1]):
            word = (word ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        found[row] = word
    return found


def _mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """As MurmurHash3 ends, so that all bits hang on all."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words
