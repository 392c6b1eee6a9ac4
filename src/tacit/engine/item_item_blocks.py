"""How the item-item kernel holds ratings: rows of people, and visits of items to them.

A person's rating of an item is the place of the item in the block, the number of the value among
the person's different values (from 1), and whether it is a like. Items are placed most rated first,
so a row begins crowded. Its beginning is **dense**: 4 bits for each place, the number of the value,
0 where there is no rating. Its rest is a cell for each rating, from the high bits to the low ones:
place, number, like; a last cell of all ones ends it. Nothing is rounded.

Eight dense places are added at once: one vector instruction takes eight products from a table of
sixteen. It needs AVX-512; elsewhere no row has a dense beginning. An empty place adds zero, which
changes no sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

from tacit.engine.types import Floats, Numbers, Table

SEARCHED = 64
"""This many values of a person are stored; any further one is listed again for each rating."""
EIGHT = 8
"""Places in a word of a dense beginning, and numbers in a vector."""
START, WORDS, LEVELS = 0, 1, 2
"""Columns of `Rows.heads`."""
CODES = 15
"""Different values of a person with a dense beginning, at most."""
WORTH = 2
"""Adding one cell takes the time of so many words."""
VECTORS = "+avx512f" in str(cpu_target.target_context.codegen().magic_tuple()[2])
"""Whether the processor that Numba compiles for takes dense beginnings."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Everybody's ratings of the items of a block, each row in the order of the places."""

    heads: NDArray[np.uint32]
    """(people + 1, 4) where a row starts in `cells`; words of its dense beginning; where the
    person's values start in `levels` and `liked`."""
    cells: NDArray[Any]
    """Dense beginnings and cells of all rows."""
    shift: int
    """Bits of a cell below the place."""
    levels: Floats
    """Each person's different values, by their number."""
    liked: NDArray[np.bool_]
    """Whether each of them is a like."""
    width: int
    """Places in the block."""


@dataclass(frozen=True, eq=False)
class Visits:
    """For each item of a block, its raters in their order."""

    begins: NDArray[np.int64]
    """(items,) where the item's visits begin."""
    ends: NDArray[np.int64]
    """(items,) where they end."""
    people: Numbers
    """(visits,) the rater."""
    values: Floats
    """(visits,) the item's own rating by that person."""
    likes: NDArray[np.bool_]
    """(visits,) whether it is a like; only where that is asked for."""


def pack(table: Table, slots: Numbers, width: int, ratings: int, counts: bool) -> Rows:
    """Pack the rows of the items with a place in `slots`.

    Args:
        table: Everybody's ratings.
        slots: (items,) place of each item, -1 for none.
        width: Number of places.
        ratings: Ratings of these items altogether.
        counts: Whether likes are asked for.
    """
    people = table.values.shape[0]
    longest = int(np.diff(table.values.indptr).max(initial=1))
    shift = longest.bit_length() + 1
    small = shift + width.bit_length() <= 32
    cells = np.empty(ratings + people, dtype=np.uint32 if small else np.uint64)
    levels, liked = np.empty(ratings + people), np.empty(ratings + people, np.bool_)
    heads = np.zeros((people + 1, 4), np.uint32)
    _fill_rows(
        *_arrays(table),
        slots,
        np.uint64(shift),
        width,
        counts,
        VECTORS,
        heads,
        cells,
        levels,
        liked,
    )
    end = int(heads[-1, LEVELS])
    beyond = 2 * EIGHT  # a table of sixteen may reach past the last person's values
    return Rows(
        heads,
        cells,
        shift,
        np.concatenate([levels[:end], np.zeros(beyond)]),
        np.concatenate([liked[:end], np.zeros(beyond, np.bool_)]),
        width,
    )


def visits(
    table: Table, rows: Rows, slots: Numbers, sizes: NDArray[np.int64], counts: bool
) -> Visits:
    """Make the visits of the items with a slot to the rows.

    Args:
        table: All ratings.
        rows: The rows that are visited.
        slots: (items,) place of an item among the visitors, -1 for none.
        sizes: Raters for each slot.
        counts: Whether likes are asked for.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(offsets[-1])
    made = Visits(
        offsets[:-1],
        offsets[:-1].copy(),
        np.empty(total, np.int32),
        np.empty(total),
        np.zeros(total, np.bool_),
    )
    _fill_visits(
        *_arrays(table),
        slots,
        rows.heads,
        counts,
        made.ends,
        made.people,
        made.values,
        made.likes,
    )
    return made


def _arrays(table: Table) -> tuple[Any, Any, Any, Any]:
    values = table.values
    return values.indptr.astype(np.int64, copy=False), values.indices, values.data, table.likes


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_rows(
    indptr: Any,
    indices: Any,
    values: Any,
    likes: Any,
    slots: Any,
    shift: Any,
    width: Any,
    counts: Any,
    vectors: Any,
    heads: Any,
    cells: Any,
    levels: Any,
    liked: Any,
) -> None:
    filled, listed = 0, 0
    by_word = np.zeros(width // EIGHT + 1, np.int32)
    for person in range(len(indptr) - 1):
        start, begin = filled, listed
        levels[begin], liked[begin] = 0.0, False
        listed += 1
        for t in range(indptr[person], indptr[person + 1]):
            slot = slots[indices[t]]
            if slot < 0:
                continue
            value, like = values[t], counts and likes[t]
            code = begin + 1
            searched = min(listed, begin + SEARCHED)
            while code < searched and (levels[code] != value or liked[code] != like):
                code += 1
            if code >= searched:
                code = listed
                levels[listed], liked[listed] = value, like
                listed += 1
            cells[filled] = (
                (np.uint64(slot) << shift)
                | (np.uint64(code - begin) << np.uint64(1))
                | np.uint64(like)
            )
            by_word[slot // EIGHT] += 1
            filled += 1
        row = cells[start:filled]
        words = _words(by_word, len(row)) if vectors and listed - begin <= CODES + 1 else 0
        rest = _split(row, words, shift, by_word)
        row[words : words + rest].sort()
        filled = start + words + rest
        cells[filled] = ~np.uint64(0)
        filled += 1
        heads[person, WORDS] = words
        heads[person + 1, START], heads[person + 1, LEVELS] = filled, listed


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _words(by_word: Any, ratings: Any) -> Any:
    """Find how many words of a row's beginning cost least: at most the ratings that they hold."""
    best, words, held = 0, 0, 0
    for word in range(len(by_word)):
        if WORTH * ratings - word <= best:
            break
        held += by_word[word]
        gain = WORTH * held - (word + 1)
        if gain > best and word < held:
            best, words = gain, word + 1
    return words


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _split(row: Any, words: Any, shift: Any, by_word: Any) -> Any:
    """Put the cells of the first places into `words`, the others behind them; count the others.

    by_word is cleared, and holds the words meanwhile.
    """
    mask = (np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1)
    for t in range(len(row)):
        by_word[np.int64(np.uint64(row[t]) >> shift) // EIGHT] = 0
    begin = len(row)
    for t in range(len(row) - 1, -1, -1):
        cell = np.uint64(row[t])
        place = np.int64(cell >> shift)
        if place >= words * EIGHT:
            begin -= 1
            row[begin] = row[t]
        else:
            code = np.uint32((cell >> np.uint64(1)) & mask)
            by_word[place // EIGHT] |= np.int32(code << np.uint32(4 * (place % EIGHT)))
    rest = len(row) - begin
    for t in range(words):
        row[t] = np.uint32(by_word[t])
        by_word[t] = 0
    for t in range(rest):
        row[words + t] = row[begin + t]
    return rest


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_visits(
    indptr: Any,
    indices: Any,
    values: Any,
    likes: Any,
    slots: Any,
    heads: Any,
    counts: Any,
    ends: Any,
    people: Any,
    own: Any,
    liked: Any,
) -> None:
    for person in range(len(indptr) - 1):
        if heads[person, START] + 1 == heads[person + 1, START]:  # an empty row
            continue
        for t in range(indptr[person], indptr[person + 1]):
            slot = slots[indices[t]]
            if slot >= 0:
                at = ends[slot]
                people[at], own[at] = person, values[t]
                if counts:
                    liked[at] = likes[t]
                ends[slot] = at + 1


_READ, _KEEP, _DATA = 0, 3, 1


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _prefetch(typing: Any, array: Any, position: Any) -> Any:
    """Compile `prefetch(array, position)` for kernels; a position outside does no harm."""
    del typing  # Numba hands it over; the signature does not depend on it

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.PointerType(ir.IntType(8)))
        number = ir.IntType(32)
        hint = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call, unused-ignore]
            builder.module,
            ir.FunctionType(ir.VoidType(), [address.type, number, number, number]),
            "llvm.prefetch.p0",
        )
        builder.call(hint, [address, *(ir.Constant(number, n) for n in (_READ, _KEEP, _DATA))])
        return context.get_dummy_value()

    return types.void(array, position), generate


prefetch: Any = _prefetch


def _spread(builder: Any, number: Any, lanes: int = EIGHT) -> Any:
    """A vector with the same number in each lane."""
    ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
    kind = ir.VectorType(number.type, lanes)
    one = builder.insert_element(
        ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0)
    )
    first = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), first)


def _vector_at(builder: Any, pointer: Any, position: Any, element: Any) -> Any:
    ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
    kind = ir.VectorType(element, EIGHT)
    return builder.bitcast(builder.gep(pointer, [position]), kind.as_pointer())


def _add_words(
    context: Any, builder: Any, signature: Any, arguments: Any, tables: Any, element: Any, add: Any
) -> None:
    """sums[8 w + lane] += table[code], for each word w: tables are two vectors of eight."""
    ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
    wide, word = ir.IntType(64), ir.VectorType(ir.IntType(64), EIGHT)
    cells = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    start, length = arguments[1:3]
    sums = context.make_array(signature.args[-1])(context, builder, arguments[-1]).data
    vector = ir.VectorType(element, EIGHT)
    name = "pd" if element == ir.DoubleType() else "q"
    pick = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call, unused-ignore]
        builder.module,
        ir.FunctionType(vector, [vector, word, vector]),
        f"llvm.x86.avx512.vpermi2var.{name}.512",
    )
    shifts = ir.Constant(word, [4 * lane for lane in range(EIGHT)])
    with cgutils.for_range(builder, length) as loop:
        cell = builder.load(builder.gep(cells, [builder.add(start, loop.index)]))
        if cell.type == wide:
            cell = builder.trunc(cell, ir.IntType(32))
        codes = builder.lshr(builder.bitcast(_spread(builder, cell, 2 * EIGHT), word), shifts)
        terms = builder.call(pick, [tables[0], codes, tables[1]])
        place = builder.mul(loop.index, ir.Constant(wide, EIGHT))
        at = _vector_at(builder, sums, place, element)
        before = builder.load(at, align=8)
        builder.store(add(before, terms), at, align=8)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _add_dense(
    typing: Any, cells: Any, start: Any, length: Any, levels: Any, first: Any, value: Any, sums: Any
) -> Any:
    """sums[place] += value * levels[first + code], for the places of `length` words at `start`."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if VECTORS:
            ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
            element = ir.DoubleType()
            data = context.make_array(signature.args[3])(context, builder, arguments[3]).data
            values = _spread(builder, arguments[5])
            tables = []
            for half in (0, EIGHT):
                position = builder.add(arguments[4], ir.Constant(ir.IntType(64), half))
                loaded = builder.load(_vector_at(builder, data, position, element), align=8)
                tables.append(builder.fmul(values, loaded))
            _add_words(context, builder, signature, arguments, tables, element, builder.fadd)
        return context.get_dummy_value()

    return types.void(cells, start, length, levels, first, value, sums), generate


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _count_dense(
    typing: Any,
    cells: Any,
    start: Any,
    length: Any,
    liked: Any,
    first: Any,
    like: Any,
    tallies: Any,
) -> Any:
    """tallies[place] += 1, and 2**32 where both like or both do not; 0 where there is no rating."""
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if VECTORS:
            ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
            element, byte = ir.IntType(64), ir.IntType(8)
            data = context.make_array(signature.args[3])(context, builder, arguments[3]).data
            own = _spread(builder, builder.zext(arguments[5], byte))
            one, two = (_spread(builder, ir.Constant(element, n)) for n in (1, 1 + 2**32))
            tables = []
            for half in (0, EIGHT):
                position = builder.add(arguments[4], ir.Constant(element, half))
                loaded = builder.load(_vector_at(builder, data, position, byte), align=1)
                tables.append(builder.select(builder.icmp_unsigned("==", loaded, own), two, one))
            zero = ir.Constant(ir.IntType(32), 0)
            tables[0] = builder.insert_element(tables[0], ir.Constant(element, 0), zero)
            _add_words(context, builder, signature, arguments, tables, element, builder.add)
        return context.get_dummy_value()

    return types.void(cells, start, length, liked, first, like, tallies), generate


add_dense: Any = _add_dense
count_dense: Any = _count_dense
