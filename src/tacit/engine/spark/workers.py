"""Work of a cluster's workers on their part of the ratings: blocks of whole people, and sums.

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
from tacit.data.tables.cells import read_arrow_cells
from tacit.data.tables.names import Role
from tacit.errors import ClusterError, DataError

ToRatings = Callable[[Block], Ratings]
HASHES = 4096
"""Values of `marks`; far more than tasks."""
PIECE = 1 << 16
"""Cells of a table that travel together."""
SEEN = -1
"""Number of the piece that counts, for each hash, in how many tasks it was; and of blocks, how many
people were there and how many the task began with."""
BLOCK_ROWS = 1_000_000
"""Rows of a block of people."""
AT_ONCE = 1_000_000
"""Rows that are cleaned at once."""
ROWS = "bucket int, rows binary"
BLOCKS = "seen binary, offsets binary, items binary, values binary, people binary"
PIECES = "piece long, cells binary"
_REPORTS_AT_ONCE = 1 << 18
REFUSED = "tacit refuses "
"""Begins the message about a row that is refused."""
KINDS = {"large_string": "string", "int64": "bigint", "double": "double"}
"""Arrow's types of what is read, and Spark's."""


def _clean_rows(
    batches: Iterable[Any], used: Mapping[Role, str], scale: RatingScale | None
) -> Iterator[Any]:
    """Clean a task's rows, many at a time: an engine's batches may be small.

    Raises:
        ClusterError: a row is refused. The reason is written in hexadecimal digits, which no engine
            changes, and holds no cell of the row.
    """
    for table in _join_batches(batches):
        try:
            yield read_arrow_cells(table, used, scale)
        except DataError as error:
            reason = json.dumps(_arguments_of(error)).encode().hex()
            raise ClusterError(f"{REFUSED}{reason}.") from None


def _arguments_of(error: DataError) -> dict[str, Any]:
    """Arguments that make the same error again, which `sums.described_errors` does."""
    return {
        "what": error.what,
        "path": error.path,
        "row": error.row,
        "column": error.column,
        "found": error.found,
        "expected": error.expected,
        "fix": error.fix,
    }


def _join_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Join small batches to tables of at least `AT_ONCE` rows, but for the last."""
    held, rows = [], 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        if rows >= AT_ONCE:
            yield pa.Table.from_batches(held)
            held, rows = [], 0
    if rows:
        yield pa.Table.from_batches(held)


def read_rows(
    batches: Iterable[Any], *, used: Mapping[Role, str], scale: RatingScale | None
) -> Iterator[Any]:
    """Read a task's rows, cleaned."""
    for table in _clean_rows(batches, used, scale):
        for part in table.to_batches():
            columns = [_shorten_text(part.column(role)) for role in used]
            yield pa.RecordBatch.from_arrays(columns, names=[*used])


def pack_rows(
    batches: Iterable[Any],
    *,
    used: Mapping[Role, str],
    scale: RatingScale | None,
    ids: Column,
    buckets: int,
) -> Iterator[Any]:
    """Clean a task's rows, and pack those of each bucket of people together.

    Items become their numbers. So few large rows are shuffled instead of many small ones.
    """
    for table in _clean_rows(batches, used, scale):
        items = pa.array(item_numbers(flatten_column(table["item"]), ids))
        made = table.set_column(table.schema.get_field_index("item"), "item", items)
        yield _by_bucket(made, hashes_of(flatten_column(table["user"])), buckets)


def pack_reports(batches: Iterable[Any], *, ticket: tuple[int, int], buckets: int) -> Iterator[Any]:
    """Pack reports, those of equal tickets in the same bucket.

    Args:
        batches: Tables with one column of reports.
        ticket: Where a report's ticket begins and ends.
        buckets: How many buckets there are.
    """
    for table in _join_batches(batches):
        yield _by_bucket(
            table, hashes_of(pc.binary_slice(flatten_column(table[0]), *ticket)), buckets
        )


def _by_bucket(table: Any, hashes: NDArray[np.uint64], buckets: int) -> Any:
    """Pack the rows of each bucket into one cell; a row's bucket is decided by its hash."""
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
    """Write one batch as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def read_streams(cells: Iterable[Any]) -> Any:
    """Read the table whose parts these are."""
    return pa.concat_tables([pa.ipc.open_stream(raw).read_all() for raw in cells])


def _unpack_rows(batches: Iterable[Any]) -> Any:
    """Unpack a task's rows; None if it has none."""
    cells: list[Any] = []
    for batch in batches:
        cells += batch.column("rows").to_pylist()
    return read_streams(cells) if cells else None


def prepare_blocks(
    batches: Iterable[Any], *, width: int, used: Mapping[Role, str]
) -> Iterator[Any]:
    """Make blocks of whole people from a task's rows, with their ids.

    Each block comes with a count of its people by their hash. The first one also has the hashes of
    the whole task, and a count of its people by hash.
    """
    table = _unpack_rows(batches)
    if table is None:
        return
    rows, users = _rows(table, used)
    hashes = marks(hashes_of(users))
    whole = np.bincount(hashes, minlength=HASHES)
    seen, start = np.stack([whole > 0, whole, whole]).astype(np.int64), 0
    for block in rows.to_block(width).parts(BLOCK_ROWS):
        stop = start + len(block.offsets) - 1
        seen[1] = np.bincount(hashes[start:stop], minlength=HASHES)
        cells = [block.offsets.tobytes(), block.items.tobytes(), block.values.tobytes()]
        yield make_batch(BLOCKS, seen.tobytes(), *cells, pack_ids(users[start:stop]))
        seen[:], start = 0, stop


def make_lists(
    batches: Iterable[Any],
    *,
    list_block: Callable[[Ratings], Any],
    history_width: int,
    listed_ids: Column,
    scale: RatingScale,
    headers: Mapping[Role, str],
) -> Iterator[Any]:
    """Make the lists of a task's people, some people at a time.

    Args:
        batches: The task's rows.
        list_block: Makes the lists of some ratings; its people and items are numbers.
        history_width: Number of items that a history can hold.
        listed_ids: Ids of the items that lists hold, in the order of their numbers.
        scale: Scale of the ratings.
        headers: Headers of the columns that were read, by role.

    Yields:
        Batches with the columns user, rank, item and score.
    """
    table = _unpack_rows(batches)
    if table is None:
        return
    rows, users = _rows(table, headers)
    users = _shorten_text(users)
    item_ids = pa.array(listed_ids.tolist())
    start = 0  # number of the block's first person
    for block in rows.to_block(history_width).parts(BLOCK_ROWS):
        found = list_block(block.to_ratings(history_width, scale))
        columns = {
            "user": users.take(pa.array(start + found.people)),
            "rank": pa.array(found.ranks.astype(np.int32)),
            "item": item_ids.take(pa.array(found.items)),
            "score": pa.array(found.scores),
        }
        yield pa.RecordBatch.from_pydict(columns)
        start += len(block.offsets) - 1


def count_ratings(block: Ratings) -> NDArray[np.int64]:
    """Count the ratings of items of the catalogue."""
    return np.array([len(block)])


def sum_blocks(
    batches: Iterable[Any], *, add: Callable[[Ratings], NDArray[Any]], to_ratings: ToRatings
) -> Iterator[Any]:
    """Sum a task's blocks, and give the table in pieces; pieces of zeros are left out."""
    seen, total = np.zeros(3 * HASHES, np.int64), None
    for block, row in read_blocks(batches):
        made = add(to_ratings(block))
        total = made if total is None else total + made
        seen += np.frombuffer(row["seen"].as_buffer(), np.int64)
    if total is None:
        return
    yield from _pieces(total, seen)


def read_blocks(batches: Iterable[Any]) -> Iterator[tuple[Block, dict[str, Any]]]:
    """Read each block, and its row."""
    kinds = {"offsets": np.int64, "items": np.int32, "values": np.float64}
    for batch in batches:
        for at in range(batch.num_rows):
            row = {name: batch.column(name)[at] for name in batch.schema.names}
            parts = [np.frombuffer(row[name].as_buffer(), kind) for name, kind in kinds.items()]
            yield Block(*parts), row


def fold_reports_of_task(
    batches: Iterable[Any], *, ticket: tuple[int, int], fold: Callable[[list[bytes]], Any]
) -> Iterator[Any]:
    """Fold a task's reports, and give the table in pieces.

    Reports of equal tickets are folded in the order of their bytes, so that the same one counts if
    the task is done again.
    """
    table = _unpack_rows(batches)
    if table is not None:
        reports = flatten_column(table[0])
        del table
        hashes = hashes_of(pc.binary_slice(reports, *ticket))
        seen = np.zeros((3, HASHES), np.int64)
        seen[0, marks(hashes)] = 1
        order = np.argsort(hashes)
        same = np.diff(hashes[order]) == 0
        several = np.append(same, False) | np.insert(same, 0, False)
        alone = order[~several]
        parts = [
            alone[start : start + _REPORTS_AT_ONCE]
            for start in range(0, len(alone), _REPORTS_AT_ONCE)
        ]
        total = fold(sorted(reports.take(pa.array(order[several])).to_pylist()))
        for part in parts:
            total = total + fold(reports.take(pa.array(part)).to_pylist())
        yield from _pieces(total, seen)


def _pieces(total: NDArray[Any], seen: NDArray[np.int64]) -> Iterator[Any]:
    """Cut a table into pieces, after the one that counts what was seen."""
    yield make_batch(PIECES, SEEN, seen.tobytes())
    cells = total.ravel()
    for number in range(math.ceil(len(cells) / PIECE)):
        piece = cells[number * PIECE : (number + 1) * PIECE]
        if piece.any():
            yield make_batch(PIECES, number, piece.tobytes())


def merge_pieces(batches: Iterable[Any], *, kind: str) -> Iterator[Any]:
    """Add up the pieces of the same number."""
    found: dict[int, NDArray[Any]] = {}
    for batch in batches:
        numbers, pieces = (column.to_pylist() for column in batch.columns)
        for number, raw in zip(numbers, pieces, strict=True):
            cells = np.frombuffer(raw, np.int64 if number == SEEN else kind)
            found[number] = found[number] + cells if number in found else cells
    for number, cells in found.items():
        yield make_batch(PIECES, number, cells.tobytes())


def versions(batches: Iterable[Any]) -> Iterator[Any]:
    """Report which version a worker has installed."""
    for _ in batches:
        yield make_batch("tacit string", version("tacit-rec"))


def make_token(batches: Iterable[Any]) -> Iterator[Any]:
    """Make a text that is another one each time."""
    for _ in batches:
        yield make_batch("token string", os.urandom(8).hex())


def make_batch(schema: str, *values: Any) -> Any:
    """Make a batch of one row.

    Args:
        schema: Names and kinds of the columns, as Spark writes them.
        *values: One for each column.
    """
    kinds = {"long": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    fields = [part.split() for part in schema.split(", ")]
    columns = [
        pa.array([value], kinds[kind]) for value, (_, kind) in zip(values, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[name for name, _ in fields])


def pack_ids(users: Any) -> bytes:
    """Pack a column of people's ids; `read_streams` reads them."""
    return _stream(pa.RecordBatch.from_arrays([users], ["id"]))


def _rows(table: Any, used: Mapping[Role, str]) -> tuple[Rows, Any]:
    """Number a task's people; give its rows, and the ids of its people."""
    coded = flatten_column(table["user"]).dictionary_encode()
    people = coded.indices.to_numpy()
    values = table["rating"].to_numpy() if "rating" in used else np.ones(len(people))
    when = table["time"].to_numpy() if "time" in used else None
    return Rows(people, table["item"].to_numpy(), values, when), coded.dictionary


def flatten_column(column: Any) -> Any:
    """Make one array of a column, of text or bytes that may be long."""
    wide = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    return pa.concat_arrays(column.cast(wide.get(column.type, column.type)).chunks)


def _shorten_text(column: Any) -> Any:
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def item_numbers(items: Any, ids: Column) -> NDArray[np.int32]:
    """Find each id's place in the catalogue, compared as they are written; -1: nowhere."""
    whole = ids.dtype != object and pa.types.is_integer(items.type)
    kind = pa.int64() if whole else pa.large_string()
    known = pa.array(ids if whole else [str(key) for key in ids.tolist()], kind)
    found: NDArray[np.int32] = pc.index_in(items.cast(kind), known).fill_null(-1).to_numpy()
    return found


def hashes_of(keys: Any) -> NDArray[np.uint64]:
    """Hash each integer, text or bytes of an Arrow array to 64 bits, the same on every machine.

    The hash only decides the task of a row.
    """
    if pa.types.is_integer(keys.type):
        return _mix_bits(keys.to_numpy().astype(np.uint64))
    raw = keys.cast(pa.large_binary())
    _, places, cells = raw.buffers()
    ends = np.frombuffer(places, np.int64)[raw.offset : raw.offset + len(raw) + 1]
    return _mix_bits(_hash_bytes(ends, np.frombuffer(cells or b"", np.uint8)))


def marks(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Take the highest bits of hashes: numbers below HASHES."""
    found: NDArray[np.int64] = (hashes >> np.uint64(52)).astype(np.int64)
    return found


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _hash_bytes(ends: Any, data: Any) -> Any:
    """Hash each slice data[ends[row] : ends[row + 1]] by FNV-1a."""
    found = np.empty(len(ends) - 1, np.uint64)
    for row in range(len(found)):
        word = np.uint64(0xCBF29CE484222325)
        for place in range(ends[row], ends[row + 1]):
            word = (word ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
        found[row] = word
    return found


def _mix_bits(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix all bits with all others, by the last step of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words
