"""Memory layout of ratings in the item-item kernel: rows of people, and visits of items to rows.

The visits of an item are the list of its raters, whose rows it is compared with.

A block has some of the items. Each has a **place** in the block; the most rated items have the
first places. A **level** is a pair of a rating's value and whether the rating is a like. A person's
levels are numbered from 1. A rating is stored as the place of its item and the number of its level.
Nothing is rounded.

A person's row has at most two parts. Since the first places are rated most, its beginning may be
**dense**: a **word** of 32 bits holds eight places, with 4 bits for the number of each place's
level, or 0 for no rating. After the words comes a **cell** for each rating of a later place. It
holds, from the high bits to the low ones: place, number of the level, like. A cell with all bits
set ends the row.

Eight dense places are added at once: one vector instruction takes eight products from a table of
sixteen. It needs AVX-512; on other processors no row has a dense beginning. A place without a
rating adds zero, which does not change a sum.

A **visit** is a pair of an item and one of its raters: the kernel goes through the visits of an
item and adds the products with the rater's row. `add_dense`, `count_dense` and `prefetch` are the
operations of the kernel that are compiled from processor instructions.
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

LEVELS_SEARCHED = 64
"""Before a level is added, those of the person's levels whose numbers are smaller than this are
searched for an equal one. Levels with this number or a larger one may repeat."""
LANES = 8
"""Number of places in a word of a dense beginning, and of numbers in a vector."""
START, WORDS, LEVELS = 0, 1, 2
"""Columns of `Rows.heads`."""
MOST_DENSE_LEVELS = 15
"""Largest number of levels of a person with a dense beginning: they are stored in 4 bits."""
WORDS_PER_CELL = 2
"""Number of words that are added in about the time that one cell takes."""
HAS_VECTORS = "+avx512f" in str(cpu_target.target_context.codegen().magic_tuple()[2])
"""Whether the processor that Numba compiles for can add dense beginnings."""


@dataclass(frozen=True, eq=False)
class Rows:
    """All people's ratings of the items of a block."""

    heads: NDArray[np.uint32]
    """(people + 1, 4), by column. START: where the person's row starts in `cells`. WORDS: number of
    words of its dense beginning. LEVELS: where the person's levels start in `levels` and `liked`.
    In the last row, START and LEVELS are where the last person's end. The fourth column is not
    used."""
    cells: NDArray[Any]
    """uint32 or uint64: the words and cells of all rows, one person after the other."""
    shift: int
    """Number of bits of a cell below those of the place."""
    levels: Floats
    """Values of the levels, one person after the other, and padding. Each person's levels begin
    with level 0, which stands for no rating and has the value 0."""
    liked: NDArray[np.bool_]
    """Whether each level of `levels` is a like."""
    width: int
    """Number of places in the block."""


@dataclass(frozen=True, eq=False)
class Visits:
    """The visits of some items to the rows of their raters, in the order of the people."""

    begins: NDArray[np.int64]
    """(items,) where each item's visits begin."""
    ends: NDArray[np.int64]
    """(items,) where each item's visits end."""
    people: Numbers
    """(visits,) number of the rater."""
    values: Floats
    """(visits,) the rating that the rater gave the visiting item."""
    likes: NDArray[np.bool_]
    """(visits,) whether that rating is a like; False if likes are not counted."""


def pack_rows(table: Table, places: Numbers, width: int, ratings: int, counts: bool) -> Rows:
    """Pack all people's ratings of the items of a block.

    Args:
        table: All ratings.
        places: (items,) the place of each item in the block; -1 if it is not in it.
        width: Number of places.
        ratings: Number of ratings of the items of the block.
        counts: Whether likes are counted.
    """
    people = table.values.shape[0]
    most_ratings = int(np.diff(table.values.indptr).max(initial=1))
    shift = most_ratings.bit_length() + 1  # bits of the number of a level, and one for the like
    fits_32_bits = shift + width.bit_length() <= 32
    # Each row has at most one cell for each rating, and one that ends it. The list of its levels
    # has at most one for each rating, and level 0.
    cells = np.empty(ratings + people, dtype=np.uint32 if fits_32_bits else np.uint64)
    levels = np.empty(ratings + people)
    liked = np.empty(ratings + people, np.bool_)
    heads = np.zeros((people + 1, 4), np.uint32)
    _fill_rows(
        *_kernel_arrays(table),
        places,
        np.uint64(shift),
        width,
        counts,
        HAS_VECTORS,
        heads,
        cells,
        levels,
        liked,
    )
    end = int(heads[-1, LEVELS])
    # The kernel loads sixteen levels of each person, also past the end of the last one's.
    padding = 2 * LANES
    return Rows(
        heads=heads,
        cells=cells,
        shift=shift,
        levels=np.concatenate([levels[:end], np.zeros(padding)]),
        liked=np.concatenate([liked[:end], np.zeros(padding, np.bool_)]),
        width=width,
    )


def make_visits(
    table: Table, rows: Rows, positions: Numbers, sizes: NDArray[np.int64], counts: bool
) -> Visits:
    """Make the visits of some items to the rows of a block.

    Args:
        table: All ratings.
        rows: The rows that are visited; visits to empty rows are left out.
        positions: (items,) the position of each item among the visiting ones; -1 if it does not
            visit.
        sizes: (visiting items,) number of raters of each.
        counts: Whether likes are counted.
    """
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    total = int(offsets[-1])
    item_visits = Visits(
        begins=offsets[:-1],
        ends=offsets[:-1].copy(),  # moved forward with each visit
        people=np.empty(total, np.int32),
        values=np.empty(total),
        likes=np.zeros(total, np.bool_),
    )
    _fill_visits(
        *_kernel_arrays(table),
        positions,
        rows.heads,
        counts,
        item_visits.ends,
        item_visits.people,
        item_visits.values,
        item_visits.likes,
    )
    return item_visits


def _kernel_arrays(table: Table) -> tuple[Any, Any, Any, Any]:
    """Return the arrays of a table for kernels: offsets of people, items, values and likes."""
    values = table.values
    return values.indptr.astype(np.int64, copy=False), values.indices, values.data, table.likes


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_rows(
    indptr: Any,
    indices: Any,
    values: Any,
    likes: Any,
    places: Any,
    shift: Any,
    width: Any,
    counts: Any,
    may_be_dense: Any,
    heads: Any,
    cells: Any,
    levels: Any,
    liked: Any,
) -> None:
    """Fill `heads`, `cells`, `levels` and `liked` of `Rows`.

    The first four arguments are those of `_kernel_arrays`; `places`, `width` and `counts` are those
    of `pack_rows`; `shift` is `Rows.shift`. `may_be_dense` says whether rows may have a dense
    beginning.
    """
    filled, listed = 0, 0  # numbers of entries so far in `cells`, and in `levels` and `liked`
    ratings_of_word = np.zeros(width // LANES + 1, np.int32)
    for person in range(len(indptr) - 1):
        start, begin = filled, listed
        levels[begin], liked[begin] = 0.0, False
        listed += 1
        for t in range(indptr[person], indptr[person + 1]):
            place = places[indices[t]]
            if place < 0:
                continue
            value, like = values[t], counts and likes[t]
            level = begin + 1
            searched = min(listed, begin + LEVELS_SEARCHED)
            while level < searched and (levels[level] != value or liked[level] != like):
                level += 1
            if level >= searched:
                level = listed
                levels[listed], liked[listed] = value, like
                listed += 1
            cells[filled] = (
                (np.uint64(place) << shift)
                | (np.uint64(level - begin) << np.uint64(1))
                | np.uint64(like)
            )
            ratings_of_word[place // LANES] += 1
            filled += 1
        row = cells[start:filled]
        words = 0
        if may_be_dense and listed - begin <= MOST_DENSE_LEVELS + 1:  # with level 0
            words = _choose_dense_words(ratings_of_word, len(row))
        other_cells = _make_dense(row, words, shift, ratings_of_word)
        row[words : words + other_cells].sort()
        filled = start + words + other_cells
        cells[filled] = ~np.uint64(0)
        filled += 1
        heads[person, WORDS] = words
        heads[person + 1, START], heads[person + 1, LEVELS] = filled, listed


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _choose_dense_words(ratings_of_word: Any, ratings: Any) -> Any:
    """Choose the number of words of a row's dense beginning, so that the row is added fastest.

    With w words that hold r ratings, the time saved is in proportion to WORDS_PER_CELL r - w. There
    are never more words than ratings that they hold, so that the words fit where the cells of these
    ratings are.

    Args:
        ratings_of_word: (words,) number of ratings in the places of each word.
        ratings: Number of ratings of the row.
    """
    best, words, held = 0, 0, 0
    for word in range(len(ratings_of_word)):
        # Even with all ratings of the row, a longer beginning would not gain more.
        if WORDS_PER_CELL * ratings - word <= best:
            break
        held += ratings_of_word[word]
        gain = WORDS_PER_CELL * held - (word + 1)
        if gain > best and word < held:
            best, words = gain, word + 1
    return words


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _make_dense(row: Any, words: Any, shift: Any, scratch: Any) -> Any:
    """Replace the cells of a row's first places by words, and move the other cells after the words.

    Args:
        row: The cells of the row, changed in place.
        words: Number of words.
        shift: As in `Rows`.
        scratch: (words of the block,) int32; any number for a word in whose places the row has
            cells, 0 for all others. All are 0 afterwards.

    Returns:
        The number of cells that follow the words.
    """
    level_mask = (np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1)
    for t in range(len(row)):
        scratch[np.int64(np.uint64(row[t]) >> shift) // LANES] = 0
    begin = len(row)
    for t in range(len(row) - 1, -1, -1):
        cell = np.uint64(row[t])
        place = np.int64(cell >> shift)
        if place >= words * LANES:
            begin -= 1
            row[begin] = row[t]
        else:
            level = np.uint32((cell >> np.uint64(1)) & level_mask)
            scratch[place // LANES] |= np.int32(level << np.uint32(4 * (place % LANES)))
    other_cells = len(row) - begin
    for t in range(words):
        row[t] = np.uint32(scratch[t])
        scratch[t] = 0
    for t in range(other_cells):
        row[words + t] = row[begin + t]
    return other_cells


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _fill_visits(
    indptr: Any,
    indices: Any,
    values: Any,
    likes: Any,
    positions: Any,
    heads: Any,
    counts: Any,
    ends: Any,
    people: Any,
    visit_values: Any,
    visit_likes: Any,
) -> None:
    """Fill the arrays of `Visits`, without visits to empty rows.

    The first four arguments are those of `_kernel_arrays`; `positions` and `counts` are those of
    `make_visits`, and `heads` is `Rows.heads`. The last four are `Visits.ends`, `people`, `values`
    and `likes`. Before the call, `ends` is equal to `Visits.begins`.
    """
    for person in range(len(indptr) - 1):
        if heads[person, START] + 1 == heads[person + 1, START]:  # an empty row
            continue
        for t in range(indptr[person], indptr[person + 1]):
            position = positions[indices[t]]
            if position >= 0:
                visit = ends[position]
                people[visit], visit_values[visit] = person, values[t]
                if counts:
                    visit_likes[visit] = likes[t]
                ends[position] = visit + 1


_READ, _KEEP, _DATA = 0, 3, 1
"""Arguments of LLVM's prefetch: for reading, to keep in all caches, of data."""


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _prefetch(typing: Any, array: Any, position: Any) -> Any:
    """Compile `prefetch(array, position)` for kernels: load array[position] into the cache.

    The position may be outside of the array.
    """
    del typing  # Numba hands it over; the signature does not depend on it

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
        array_to_read, position_to_read = arguments
        array_type, _ = signature.args
        data = context.make_array(array_type)(context, builder, array_to_read).data
        pointer = builder.gep(data, [position_to_read])
        address = builder.bitcast(pointer, ir.PointerType(ir.IntType(8)))
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


def _spread(builder: Any, number: Any, lanes: int = LANES) -> Any:
    """Build a vector with the same number in each lane."""
    ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
    undefined = ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined)
    with_first_lane = builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0))
    take_first_lane = ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes)
    return builder.shuffle_vector(with_first_lane, undefined, take_first_lane)


def _point_to_vector(builder: Any, pointer: Any, position: Any, element: Any) -> Any:
    """Build a pointer to the vector of eight elements that starts at a position of an array.

    Args:
        builder: LLVM's builder of instructions.
        pointer: Pointer to the first element of the array.
        position: Index of the vector's first element in the array.
        element: LLVM's type of an element.
    """
    ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
    vector = ir.VectorType(element, LANES)
    return builder.bitcast(builder.gep(pointer, [position]), vector.as_pointer())


def _add_words(
    context: Any, builder: Any, signature: Any, arguments: Any, tables: Any, element: Any, add: Any
) -> None:
    """Build the loop over words w and lanes: sums[8 w + lane] += table[code of the lane].

    The code of a lane is its 4 bits of the word, which are the number of a level.

    Args:
        context: Numba's context of the compilation.
        builder: LLVM's builder of instructions.
        signature: Types of the arguments of the compiled function.
        arguments: The arguments of the compiled function. The first three are the cells, the start
            of the words in them and the number of words; the last one is the sums.
        tables: The table of sixteen entries, as two vectors of eight.
        element: LLVM's type of the sums: double or a 64-bit integer.
        add: Instruction that adds two vectors.
    """
    ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
    wide = ir.IntType(64)
    word = ir.VectorType(wide, LANES)
    cells_array, start, length, *_, sums_array = arguments
    cells_type, *_, sums_type = signature.args
    cells = context.make_array(cells_type)(context, builder, cells_array).data
    sums = context.make_array(sums_type)(context, builder, sums_array).data
    vector = ir.VectorType(element, LANES)
    name = "pd" if element == ir.DoubleType() else "q"
    permute = cgutils.get_or_insert_function(  # type: ignore[no-untyped-call, unused-ignore]
        builder.module,
        ir.FunctionType(vector, [vector, word, vector]),
        f"llvm.x86.avx512.vpermi2var.{name}.512",
    )
    shifts = ir.Constant(word, [4 * lane for lane in range(LANES)])
    with cgutils.for_range(builder, length) as loop:
        cell = builder.load(builder.gep(cells, [builder.add(start, loop.index)]))
        if cell.type == wide:
            cell = builder.trunc(cell, ir.IntType(32))
        codes = builder.lshr(builder.bitcast(_spread(builder, cell, 2 * LANES), word), shifts)
        terms = builder.call(permute, [tables[0], codes, tables[1]])
        place = builder.mul(loop.index, ir.Constant(wide, LANES))
        pointer = _point_to_vector(builder, sums, place, element)
        old_sums = builder.load(pointer, align=8)
        builder.store(add(old_sums, terms), pointer, align=8)


@intrinsic  # type: ignore[untyped-decorator, unused-ignore]
def _add_dense(
    typing: Any, cells: Any, start: Any, length: Any, levels: Any, first: Any, value: Any, sums: Any
) -> Any:
    """Compile `add_dense` for kernels.

    `length` words of `cells` from `start` on hold the codes of the first 8 * length places: the
    numbers of their levels. `first` is where the person's levels start. For each of these places:

        sums[place] += value * levels[first + code]

    Nothing is added on a processor without AVX-512.
    """
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if HAS_VECTORS:
            ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
            element = ir.DoubleType()
            _, _, _, levels_array, first, value, _ = arguments
            _, _, _, levels_type, *_ = signature.args
            data = context.make_array(levels_type)(context, builder, levels_array).data
            values = _spread(builder, value)
            tables = []
            for half in (0, LANES):
                position = builder.add(first, ir.Constant(ir.IntType(64), half))
                loaded = builder.load(_point_to_vector(builder, data, position, element), align=8)
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
    """Compile `count_dense` for kernels.

    `length` words of `cells` from `start` on hold the codes of the first 8 * length places: the
    numbers of their levels. `first` is where the person's levels start. For each of these places
    with a rating (code above 0):

        tallies[place] += 1 + 2**32 * (liked[first + code] == like)

    The low half of a tally counts co-raters, the high half agreements. Nothing is counted on a
    processor without AVX-512.
    """
    del typing

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if HAS_VECTORS:
            ir: Any = cgutils.ir  # type: ignore[attr-defined, unused-ignore]
            element = ir.IntType(64)
            byte = ir.IntType(8)
            _, _, _, liked_array, first, like, _ = arguments
            _, _, _, liked_type, *_ = signature.args
            data = context.make_array(liked_type)(context, builder, liked_array).data
            like_bytes = _spread(builder, builder.zext(like, byte))
            co_rater = _spread(builder, ir.Constant(element, 1))
            agreement = _spread(builder, ir.Constant(element, 1 + 2**32))
            tables = []
            for half in (0, LANES):
                position = builder.add(first, ir.Constant(element, half))
                loaded = builder.load(_point_to_vector(builder, data, position, byte), align=1)
                agrees = builder.icmp_unsigned("==", loaded, like_bytes)
                tables.append(builder.select(agrees, agreement, co_rater))
            # Level 0 stands for no rating: its entry of the table is 0.
            zero = ir.Constant(ir.IntType(32), 0)
            tables[0] = builder.insert_element(tables[0], ir.Constant(element, 0), zero)
            _add_words(context, builder, signature, arguments, tables, element, builder.add)
        return context.get_dummy_value()

    return types.void(cells, start, length, liked, first, like, tallies), generate


add_dense: Any = _add_dense
count_dense: Any = _count_dense
