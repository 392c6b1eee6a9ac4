"""Functions that a cluster's workers run: read rows, pack people in blocks, sum tables, make lists.

Runs at    workers, which have this package, NumPy, Numba and Arrow, and see raw ratings.
Sees       rows as they are stored; then all rows of some people, or all reports with some tickets;
           the public catalogue, and what was released before.
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
from tacit.data.tables.text_lines import TextLines
from tacit.errors import ClusterError, DataError

ToRatings = Callable[[Block], Ratings]
"""A function that turns a block into ratings, with the items and the scale of the catalogue."""
HASHES = 4096
"""Number of values of `short_hashes`: far more than there are tasks."""
_HASH_SHIFT = np.uint64(64 - 12)
"""Shift that leaves the 12 highest bits of a hash, which are below HASHES."""
PIECE = 1 << 16
"""Number of cells of a table that are sent together."""
SEEN = -1
"""Number of a piece that has no cells of the table, but (3, HASHES) counts for each short hash: the
tasks that have it, the people with it in the sum, and the people with it in all tasks."""
BLOCK_ROWS = 1_000_000
"""Approximate number of rows of a block of people: a person's rows stay together."""
ROWS_AT_ONCE = 1_000_000
"""Approximate number of rows whose cells are read at once."""
ROWS = "bucket int, rows binary"
"""Schema of rows packed in buckets: `rows` is an Arrow stream of those rows of a bucket that a task
read at once."""
BLOCKS = "seen binary, offsets binary, items binary, values binary, people binary"
"""Schema of blocks of people: the counts of `SEEN`, the arrays of `Block`, and the people's ids as
`pack_ids` packs them."""
PIECES = "piece long, cells binary"
"""Schema of pieces of a table: `piece` is the number of the piece in the table, or `SEEN`."""
_REPORTS_AT_ONCE = 1 << 18
"""Largest number of reports, of different tickets, that are counted at once."""
REFUSED = "tacit refuses "
"""Text in the message about a refused row; the reason follows it, in hexadecimal digits."""
KINDS = {"large_string": "string", "int64": "bigint", "double": "double"}
"""Spark's type of a column whose cells were read, by Arrow's type."""


def _read_tables(
    batches: Iterable[Any],
    headers: Mapping[Role, str],
    scale: RatingScale | None,
    lines: TextLines | None,
) -> Iterator[Any]:
    """Read the cells of a task's rows, many at a time, since a cluster's batches may be small.

    Raises:
        ClusterError: A row is refused. The reason is in hexadecimal digits, which no cluster
            changes, and holds no cell of the row.
    """
    for table in _join_batches(batches):
        try:
            rows = table if lines is None else lines.split(table, headers)
            yield read_arrow_cells(rows, headers, scale)
        except DataError as error:
            reason = json.dumps(_arguments_of(error)).encode().hex()
            raise ClusterError(f"{REFUSED}{reason}.") from None


def _arguments_of(error: DataError) -> dict[str, Any]:
    """Return the arguments with which `sums.described_errors` makes the same error again."""
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
    """Join batches to tables of at least `ROWS_AT_ONCE` rows; the last one may be smaller."""
    joined: list[Any] = []
    rows = 0
    for batch in batches:
        joined.append(batch)
        rows += batch.num_rows
        if rows >= ROWS_AT_ONCE:
            yield pa.Table.from_batches(joined)
            joined = []
            rows = 0
    if rows:
        yield pa.Table.from_batches(joined)


def read_rows(
    batches: Iterable[Any],
    *,
    headers: Mapping[Role, str],
    scale: RatingScale | None,
    lines: TextLines | None = None,
) -> Iterator[Any]:
    """Yield a task's rows after their cells are read and checked; arguments as in `pack_rows`."""
    for table in _read_tables(batches, headers, scale, lines):
        for part in table.to_batches():
            columns = [_shorten_text(part.column(role)) for role in headers]
            yield pa.RecordBatch.from_arrays(columns, names=[*headers])


def pack_rows(
    batches: Iterable[Any],
    *,
    headers: Mapping[Role, str],
    scale: RatingScale | None,
    ids: Column,
    buckets: int,
    lines: TextLines | None = None,
) -> Iterator[Any]:
    """Read a task's rows, many at a time, and pack those of each bucket of people into one cell.

    The cluster then moves a few large rows instead of many small ones.

    Args:
        batches: The task's rows.
        headers: The header of each role's column.
        scale: The stars a rating can take; None: any number.
        ids: (items,) ids of the catalogue. Each item is replaced by its index in them, or by -1.
        buckets: Number of buckets.
        lines: How the rows are split, if they are lines of a text file; None: they are not.
    """
    for table in _read_tables(batches, headers, scale, lines):
        items = pa.array(item_numbers(flatten_column(table["item"]), ids))
        numbered = table.set_column(table.schema.get_field_index("item"), "item", items)
        yield _pack_by_bucket(numbered, hashes_of(flatten_column(table["user"])), buckets)


def pack_reports(
    batches: Iterable[Any], *, ticket_bounds: tuple[int, int], buckets: int
) -> Iterator[Any]:
    """Pack reports in buckets; those with the same ticket are in the same bucket.

    Args:
        batches: Tables with one column of reports.
        ticket_bounds: Indices of the bytes of a report at which the ticket begins and ends.
        buckets: Number of buckets.
    """
    for table in _join_batches(batches):
        tickets = pc.binary_slice(flatten_column(table[0]), *ticket_bounds)
        yield _pack_by_bucket(table, hashes_of(tickets), buckets)


def _pack_by_bucket(table: Any, hashes: NDArray[np.uint64], buckets: int) -> Any:
    """Pack the rows of each bucket into one cell.

    Args:
        table: The rows.
        hashes: (rows,) a hash for each row, whose highest bits decide on its bucket.
        buckets: Number of buckets.

    Returns:
        A batch as in `ROWS`.
    """
    numbers = (short_hashes(hashes) % buckets).astype(np.uint16)
    order = np.argsort(numbers, kind="stable")
    (rows,) = table.take(pa.array(order)).combine_chunks().to_batches()
    stops = np.flatnonzero(np.diff(numbers[order], append=-1)) + 1
    cells = []
    for start, stop in pairwise([0, *stops.tolist()]):
        cells.append(_to_stream(rows.slice(start, stop - start)))
    filled_buckets = pa.array(numbers[order[stops - 1]], pa.int32())
    packed_rows = pa.array(cells, pa.binary())
    return pa.RecordBatch.from_arrays([filled_buckets, packed_rows], ["bucket", "rows"])


def _to_stream(rows: Any) -> bytes:
    """Write one batch as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema) as stream:
        stream.write_batch(rows)
    raw: bytes = sink.getvalue().to_pybytes()
    return raw


def read_streams(cells: Iterable[Any]) -> Any:
    """Read Arrow streams and concatenate their tables."""
    return pa.concat_tables([pa.ipc.open_stream(raw).read_all() for raw in cells])


def _unpack_rows(batches: Iterable[Any]) -> Any:
    """Unpack a task's rows, packed as in `ROWS`, to an Arrow table; None if there are none."""
    cells: list[Any] = []
    for batch in batches:
        cells += batch.column("rows").to_pylist()
    return read_streams(cells) if cells else None


def prepare_blocks(
    batches: Iterable[Any], *, width: int, headers: Mapping[Role, str]
) -> Iterator[Any]:
    """Make blocks of people from a task's rows, as in `BLOCKS`.

    Each block has the three rows of counts of `SEEN`. The second row has the number of the block's
    people with each hash. In the first block, the first row has a 1 for each hash in the task, and
    the third row the number of the task's people with each hash; in later blocks both are 0.

    Args:
        batches: The task's rows, packed as in `ROWS`.
        width: Number of items.
        headers: The header of each role's column.
    """
    table = _unpack_rows(batches)
    if table is None:
        return
    rows, users = _number_people(table, headers)
    hashes = short_hashes(hashes_of(users))
    people_of_task = np.bincount(hashes, minlength=HASHES)
    seen = np.stack([people_of_task > 0, people_of_task, people_of_task]).astype(np.int64)
    start = 0  # number of the block's first person
    for block in rows.to_block(width).parts(BLOCK_ROWS):
        stop = start + len(block.offsets) - 1
        seen[1] = np.bincount(hashes[start:stop], minlength=HASHES)
        cells = [block.offsets.tobytes(), block.items.tobytes(), block.values.tobytes()]
        yield make_batch(BLOCKS, seen.tobytes(), *cells, pack_ids(users[start:stop]))
        seen[:] = 0
        start = stop


def make_lists(
    batches: Iterable[Any],
    *,
    list_block: Callable[[Ratings], Any],
    history_width: int,
    listed_ids: Column,
    scale: RatingScale,
    headers: Mapping[Role, str],
) -> Iterator[Any]:
    """Make the lists of a task's people, a block of people at a time.

    Args:
        batches: The task's rows, packed as in `ROWS`.
        list_block: Makes the lists of a block of ratings: arrays `people`, `ranks`, `items` and
            `scores` of one length. `people` has indices of the block's people, and `items` indices
            into `listed_ids`.
        history_width: Number of items that a history can have.
        listed_ids: (items,) ids of the items of lists.
        scale: The stars a rating can take.
        headers: The header of each role's column.

    Yields:
        Batches with the columns user, rank, item and score.
    """
    table = _unpack_rows(batches)
    if table is None:
        return
    rows, users = _number_people(table, headers)
    users = _shorten_text(users)
    item_ids = pa.array(listed_ids.tolist())
    start = 0  # number of the block's first person
    for block in rows.to_block(history_width).parts(BLOCK_ROWS):
        lists = list_block(block.to_ratings(history_width, scale))
        columns = {
            "user": users.take(pa.array(start + lists.people)),
            "rank": pa.array(lists.ranks.astype(np.int32)),
            "item": item_ids.take(pa.array(lists.items)),
            "score": pa.array(lists.scores),
        }
        yield pa.RecordBatch.from_pydict(columns)
        start += len(block.offsets) - 1


def count_ratings(block: Ratings) -> NDArray[np.int64]:
    """Return the number of ratings of a block, as an array (1,)."""
    return np.array([len(block)])


def sum_blocks(
    batches: Iterable[Any], *, add: Callable[[Ratings], NDArray[Any]], to_ratings: ToRatings
) -> Iterator[Any]:
    """Sum `add(block)` over a task's blocks, and yield the table in pieces."""
    seen = np.zeros(3 * HASHES, np.int64)
    total = None
    for block, row in read_blocks(batches):
        table = add(to_ratings(block))
        total = table if total is None else total + table
        seen += np.frombuffer(row["seen"].as_buffer(), np.int64)
    if total is None:
        return
    yield from _cut_into_pieces(total, seen)


def read_blocks(batches: Iterable[Any]) -> Iterator[tuple[Block, dict[str, Any]]]:
    """Yield each block of a task, and its row: the cells by the columns of `BLOCKS`."""
    kinds = {"offsets": np.int64, "items": np.int32, "values": np.float64}
    for batch in batches:
        for number in range(batch.num_rows):
            row = {name: batch.column(name)[number] for name in batch.schema.names}
            parts = [np.frombuffer(row[name].as_buffer(), kind) for name, kind in kinds.items()]
            yield Block(*parts), row


def fold_reports_of_task(
    batches: Iterable[Any], *, ticket_bounds: tuple[int, int], fold: Callable[[list[bytes]], Any]
) -> Iterator[Any]:
    """Count a task's reports, and yield the sum of `fold` in pieces.

    Only one of several reports with the same ticket is accepted. All of them go to one call of
    `fold`, sorted by their bytes, so that a repeated task accepts the same one.

    Args:
        batches: The task's reports, packed as in `ROWS`.
        ticket_bounds: As in `pack_reports`.
        fold: Counts some reports; returns a table.
    """
    report_rows = _unpack_rows(batches)
    if report_rows is None:
        return
    reports = flatten_column(report_rows[0])
    del report_rows
    hashes = hashes_of(pc.binary_slice(reports, *ticket_bounds))
    seen = np.zeros((3, HASHES), np.int64)
    seen[0, short_hashes(hashes)] = 1  # the other counts are of blocks, which reports do not have
    order = np.argsort(hashes)
    equals_next = np.diff(hashes[order]) == 0
    is_repeated = np.append(equals_next, False) | np.insert(equals_next, 0, False)
    total = fold(sorted(reports.take(pa.array(order[is_repeated])).to_pylist()))
    not_repeated = order[~is_repeated]
    for start in range(0, len(not_repeated), _REPORTS_AT_ONCE):
        part = not_repeated[start : start + _REPORTS_AT_ONCE]
        total = total + fold(reports.take(pa.array(part)).to_pylist())
    yield from _cut_into_pieces(total, seen)


def _cut_into_pieces(total: NDArray[Any], seen: NDArray[np.int64]) -> Iterator[Any]:
    """Yield the counts of `SEEN`, then a table in pieces; pieces of zeros are left out."""
    yield make_batch(PIECES, SEEN, seen.tobytes())
    cells = total.ravel()
    for number in range(math.ceil(len(cells) / PIECE)):
        piece = cells[number * PIECE : (number + 1) * PIECE]
        if piece.any():
            yield make_batch(PIECES, number, piece.tobytes())


def merge_pieces(batches: Iterable[Any], *, kind: str) -> Iterator[Any]:
    """Add up the pieces with the same number, and yield their sums.

    Args:
        batches: Pieces, as in `PIECES`.
        kind: Type of the table's cells, as NumPy writes it, such as "<i8".
    """
    sums: dict[int, NDArray[Any]] = {}
    for batch in batches:
        numbers, pieces = (column.to_pylist() for column in batch.columns)
        for number, raw in zip(numbers, pieces, strict=True):
            cells = np.frombuffer(raw, np.int64 if number == SEEN else kind)
            sums[number] = sums[number] + cells if number in sums else cells
    for number, cells in sums.items():
        yield make_batch(PIECES, number, cells.tobytes())


def versions(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the version of tacit-rec that the worker has installed, once for each batch."""
    for _ in batches:
        yield make_batch("tacit string", version("tacit-rec"))


def make_token(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield a random text for each batch, by which `sums.persist_frame` sees repeated work."""
    for _ in batches:
        yield make_batch("token string", os.urandom(8).hex())


def make_batch(schema: str, *values: Any) -> Any:
    """Make a batch of one row.

    Args:
        schema: Names and types of the columns, as Spark writes them, such as `PIECES`.
        *values: A value for each column.
    """
    kinds = {"long": pa.int64(), "binary": pa.binary(), "string": pa.string()}
    fields = [part.split() for part in schema.split(", ")]
    columns = [
        pa.array([value], kinds[kind]) for value, (_, kind) in zip(values, fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=[name for name, _ in fields])


def pack_ids(users: Any) -> bytes:
    """Pack a column of people's ids; `read_streams` reads them."""
    return _to_stream(pa.RecordBatch.from_arrays([users], ["id"]))


def _number_people(table: Any, headers: Mapping[Role, str]) -> tuple[Rows, Any]:
    """Number the people of a task's rows from 0; return the rows, and the people's ids."""
    coded = flatten_column(table["user"]).dictionary_encode()
    people = coded.indices.to_numpy()
    values = table["rating"].to_numpy() if "rating" in headers else np.ones(len(people))
    times = table["time"].to_numpy() if "time" in headers else None
    return Rows(people, table["item"].to_numpy(), values, times), coded.dictionary


def flatten_column(column: Any) -> Any:
    """Turn the chunks of a column into one array; texts and bytes get 64-bit offsets."""
    large_types = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
    return pa.concat_arrays(column.cast(large_types.get(column.type, column.type)).chunks)


def _shorten_text(column: Any) -> Any:
    """Give texts 32-bit offsets, as Spark needs them; other columns stay."""
    return column.cast(pa.string()) if pa.types.is_large_string(column.type) else column


def item_numbers(items: Any, ids: Column) -> NDArray[np.int32]:
    """Turn ids into numbers of the catalogue.

    Ids are compared as integers if both the rows and the catalogue have integers, else by their
    text.

    Args:
        items: (rows,) ids, as an Arrow array.
        ids: (items,) ids of the catalogue.

    Returns:
        (rows,) indices into `ids`; -1 for an item that is not in the catalogue.
    """
    are_integers = ids.dtype != object and pa.types.is_integer(items.type)
    kind = pa.int64() if are_integers else pa.large_string()
    catalogue = pa.array(ids if are_integers else [str(key) for key in ids.tolist()], kind)
    numbers: NDArray[np.int32] = pc.index_in(items.cast(kind), catalogue).fill_null(-1).to_numpy()
    return numbers


def hashes_of(keys: Any) -> NDArray[np.uint64]:
    """Hash each integer, text or bytes of an Arrow array to 64 bits, equally on every machine.

    Rows with equal hashes are in one task, so different keys with the same hash do no harm.
    """
    if pa.types.is_integer(keys.type):
        return _mix_bits(keys.to_numpy().astype(np.uint64))
    raw = keys.cast(pa.large_binary())
    _, offsets, data = raw.buffers()
    ends = np.frombuffer(offsets, np.int64)[raw.offset : raw.offset + len(raw) + 1]
    return _mix_bits(_hash_bytes(ends, np.frombuffer(data or b"", np.uint8)))


def short_hashes(hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the highest bits of hashes: numbers from 0 to HASHES - 1."""
    highest_bits: NDArray[np.int64] = (hashes >> _HASH_SHIFT).astype(np.int64)
    return highest_bits


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _hash_bytes(ends: Any, data: Any) -> Any:
    """Hash each slice data[ends[row] : ends[row + 1]] by FNV-1a."""
    hashes = np.empty(len(ends) - 1, np.uint64)
    for row in range(len(hashes)):
        word = np.uint64(0xCBF29CE484222325)
        for position in range(ends[row], ends[row + 1]):
            word = (word ^ np.uint64(data[position])) * np.uint64(0x100000001B3)
        hashes[row] = word
    return hashes


def _mix_bits(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Mix the bits of words, as the last step of MurmurHash3 does, but without its last shift."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        words = (words ^ (words >> np.uint64(33))) * np.uint64(factor)
    return words
