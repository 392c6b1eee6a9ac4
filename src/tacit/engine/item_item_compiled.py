"""Nearest items by adjusted cosine, compiled; equal to the last bit to a readable version in tests.

For each item the kernel visits its raters and adds their products to a sum for each other item. If
`of` and `among` are the same items, each pair is summed once and offered to the lists of both its
items. The kernel orders the items that may be neighbours by their number of ratings, the most rated
first, so that the sums that change most often lie together. A list has room for 2 k items; when it
is full, the nearest k are kept, ranked by strength (the absolute similarity) and then by item
number. So results depend neither on the order of the offers nor on blocks.

There is one list for each item whose neighbours are found. `line` is the row of a list in the
arrays of `_Lists`; the lists have the order of `visitors`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.engine.item_item import check_arguments, make_empty_lists, norms_and_raters
from tacit.engine.item_item_blocks import (
    LANES,
    LEVELS,
    START,
    WORDS,
    Rows,
    Visits,
    add_dense,
    count_dense,
    pack,
    prefetch,
    visits,
)
from tacit.engine.types import Floats, Neighbours, Numbers, Table

AHEAD = 3
"""Number of visits ahead of the current one whose row is loaded into the cache."""
LINES = 16
"""Largest number of cache lines of one row that are loaded ahead."""
PAIRS_TESTED = 256
"""Number of pairs that are tested for their strength before the strong ones are listed."""
TINY = 1e-290
"""Absolute value of a sum up to which the rounding of the first test may exceed its tolerance; such
a pair always passes the first test."""
SLACK = 1e-9
"""Relative tolerance of the first test of a pair, so that rounding excludes no strong pair."""


def neighbours(
    table: Table, of: Numbers, among: Numbers, k: int, significance: int, counts: bool, block: int
) -> Neighbours:
    """Do what `Engine.neighbours` says.

    At a time, `block` ratings of the items `among` are unpacked, and `block // 4` of the items
    `of`.
    """
    check_arguments(table, of, among, k, significance, counts)
    lengths, raters = norms_and_raters(table)
    are_same = len(of) == len(among) and np.array_equal(np.sort(of), np.sort(among))
    others = np.asarray(among, dtype=np.int32)[np.lexsort((among, -raters[among]))]
    visitors = others if are_same else of
    room = len(of), 2 * k
    lists = _Lists(
        numbers=np.empty(room, np.int32),
        similarities=np.empty(room),
        packed=np.zeros(room, np.int64),
        sizes=np.zeros(len(of), np.int32),
        floor=np.full(len(of) + LANES, -1.0),
    )
    for others_block in _cut_into_blocks(raters[others], block):
        _offer_block(
            table,
            others,
            others_block,
            visitors,
            are_same,
            raters,
            lengths,
            block,
            significance,
            counts,
            lists,
            k,
        )
    found = make_empty_lists(of, k)
    lines = _places_in(visitors, len(raters))[of]
    _sort(*lists, lines, found.items, found.similarities, found.co_counts, found.agreements)
    return found


class _Lists(NamedTuple):
    """The lists while they are filled: one for each item of `of`, with room for 2 k neighbours."""

    numbers: Numbers
    """(lines, 2 k) the item numbers of each list; only the first `sizes` entries of a row are
    filled."""
    similarities: Floats
    """(lines, 2 k) their similarities."""
    packed: NDArray[np.int64]
    """(lines, 2 k) number of co-raters, plus 2**32 times the number of agreements."""
    sizes: Numbers
    """(lines,) number of items in each list."""
    floor: Floats
    """(lines + LANES,) strength that an item must have to enter a list; -1 until the list has been
    full for the first time. The last LANES entries are padding."""


def _offer_block(
    table: Table,
    others: Numbers,
    others_block: slice,
    visitors: Numbers,
    are_same: bool,
    raters: NDArray[np.int64],
    lengths: Floats,
    block: int,
    significance: int,
    counts: bool,
    lists: _Lists,
    k: int,
) -> None:
    """Offer the items of one block to all lists.

    Args:
        table: All ratings.
        others: Items that may be neighbours, in the kernel's order.
        others_block: The places in `others` of the items of the block.
        visitors: Items whose neighbours are found, in the order of the lists.
        are_same: Whether `visitors` and `others` are the same items, and the same array.
        raters: (items,) numbers of raters.
        lengths: (items,) norms of the columns.
        block: Number of ratings that are unpacked at a time.
        significance: As in `Engine.neighbours`.
        counts: As in `Engine.neighbours`.
        lists: The lists, changed in place.
        k: Number of neighbours.
    """
    block_items = others[others_block]
    width = len(block_items)
    slots = _places_in(block_items, len(raters))
    rows = pack(table, slots, width, int(raters[block_items].sum()), counts)
    sums = _make_zeros(width + LANES, np.float64)
    tallies = _make_zeros(width + LANES, np.int64)
    padded_items = np.pad(block_items, (0, LANES))  # the last word may end beyond the last item
    padded_lengths = np.pad(lengths[block_items], (0, LANES))
    for visitors_block in _cut_into_blocks(raters[visitors], block // 4):
        pairings = _pair_blocks(
            table, rows, visitors, visitors_block, others_block, are_same, raters, counts
        )
        for lines, item_visits, meets in pairings:
            _offer_visitors(
                item_visits.begins,
                item_visits.ends,
                item_visits.people,
                item_visits.values,
                item_visits.likes,
                rows.heads,
                rows.cells,
                np.uint64(rows.shift),
                rows.levels,
                rows.liked,
                visitors[lines],
                lines.start,
                lengths[visitors[lines]],
                padded_items,
                others_block.start,
                padded_lengths,
                meets,
                are_same,
                significance,
                counts,
                sums,
                tallies,
                *lists,
                k,
            )
            del item_visits  # frees their memory before the next ones are made


def _make_zeros(length: int, kind: type[Any]) -> NDArray[Any]:
    """Make an array of zeros that starts at the beginning of a cache line."""
    room = np.zeros(length + LANES, kind)
    begin = -room.ctypes.data // room.itemsize % LANES  # the first address that is a multiple of 64
    return room[begin : begin + length]


def _cut_into_blocks(sizes: NDArray[np.int64], block: int) -> Iterator[slice]:
    """Cut items into slices of at most `block` ratings together, or of one item.

    Args:
        sizes: (items,) number of ratings of each item.
        block: Largest number of ratings.
    """
    totals = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes):
        before = totals[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(totals, before + block, side="right")))
        yield slice(begin, end)
        begin = end


def _places_in(items: Numbers, total: int) -> Numbers:
    """Return the place in `items` of each of the items 0 .. total - 1; -1 if it is not in them."""
    slots = np.full(total, -1, dtype=np.int32)
    slots[items] = np.arange(len(items), dtype=np.int32)
    return slots


def _pair_blocks(
    table: Table,
    rows: Rows,
    visitors: Numbers,
    visitors_block: slice,
    others_block: slice,
    are_same: bool,
    raters: NDArray[np.int64],
    counts: bool,
) -> Iterator[tuple[slice, Visits, Numbers]]:
    """Yield the visits of a block of visitors to the rows of a block of others.

    If visitors and others are the same items, each pair is summed once: a visitor meets only the
    items before it. These are all items of an earlier block, no item of a later block, and the
    items before it in its own block.

    Yields:
        The lines of some visitors, their visits, and (visitors,) how many of the first places of
        the rows each visitor meets.
    """
    # Lines of visitors, and how many places each meets; None: all places of the rows.
    parts: list[tuple[slice, NDArray[np.int64] | None]] = [(visitors_block, None)]
    if are_same:
        shared_lines = slice(
            max(visitors_block.start, others_block.start),
            min(visitors_block.stop, others_block.stop),
        )
        later_lines = slice(max(visitors_block.start, others_block.stop), visitors_block.stop)
        own_places = np.arange(shared_lines.start, shared_lines.stop) - others_block.start
        parts = [(shared_lines, own_places), (later_lines, None)]
    for lines, places in parts:
        if lines.start < lines.stop:
            slots = _places_in(visitors[lines], len(raters))
            meets = np.full(lines.stop - lines.start, rows.width) if places is None else places
            item_visits = visits(table, rows, slots, raters[visitors[lines]], counts)
            yield lines, item_visits, meets.astype(np.int32)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _offer_visitors(
    begins: Any,
    ends: Any,
    people: Any,
    own: Any,
    likes: Any,
    heads: Any,
    cells: Any,
    shift: Any,
    levels: Any,
    liked: Any,
    items: Any,
    first_line: Any,
    lengths: Any,
    others: Any,
    first_other: Any,
    other_lengths: Any,
    meets: Any,
    are_same: Any,
    significance: Any,
    counts: Any,
    sums: Any,
    tallies: Any,
    numbers: Any,
    similarities: Any,
    packed: Any,
    sizes: Any,
    floor: Any,
    k: Any,
) -> None:
    """Sum the products of some visitors with the items of a block; offer the pairs to the lists.

    The arguments up to `liked` are the fields of `Visits` and `Rows`. `items` are the visitors,
    whose lists are the lines from `first_line` on, and `lengths` the norms of their columns.
    `others` are the items of the block, which begins at place `first_other` of the kernel's order,
    and `other_lengths` their norms. `meets` is the number of places that each visitor meets. The
    last arguments are the fields of `_Lists`, and k. `sums` and `tallies` have a cell for each
    place of the block, and are zeros before and after.
    """
    full = numbers.shape[1]
    # Eight Booleans of `is_strong` are tested as one word of `strong_words`.
    strong_words = np.zeros(PAIRS_TESTED // LANES, np.uint64)
    is_strong = strong_words.view(np.bool_)
    # Unsigned indices spare the kernel a test for negative ones at every access.
    code_mask = np.uintp((np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1))
    one, down = np.uintp(1), np.uintp(shift)
    per_line = 64 // cells.itemsize
    for slot in range(len(items)):
        end = ends[slot]
        bound = np.uintp(meets[slot]) << down  # a cell from here on is not met
        covering = (np.int64(meets[slot]) + LANES - 1) // LANES
        for visit in range(begins[slot], end):
            coming = people[min(visit + AHEAD, end - 1)]
            prefetch(heads, 4 * people[min(visit + 2 * AHEAD, end - 1)])
            prefetch(levels, np.int64(heads[coming, LEVELS]))
            start, stop = np.int64(heads[coming, START]), np.int64(heads[coming + 1, START])
            if heads[coming, WORDS] >= covering:
                stop = start + covering
            for position in range(start, min(stop, start + LINES * per_line), per_line):
                prefetch(cells, position)
            person = people[visit]
            value, like = own[visit], likes[visit]
            start, dense = np.int64(heads[person, START]), np.int64(heads[person, WORDS])
            base = np.int64(heads[person, LEVELS])
            length = min(dense, covering)
            add_dense(cells, start, length, levels, base, value, sums)
            if counts:
                count_dense(cells, start, length, liked, base, like, tallies)
            if dense >= covering:
                continue
            t, level = np.uintp(start + dense), np.uintp(base)
            cell = np.uintp(cells[t])
            if counts:
                unlike = np.uintp(like) ^ one
                while cell < bound:
                    column = cell >> down
                    sums[column] += value * levels[level + ((cell >> one) & code_mask)]
                    agree = (cell ^ unlike) & one
                    tallies[column] += np.int64((agree << np.uintp(32)) | one)
                    t += one
                    cell = np.uintp(cells[t])
            else:
                while cell < bound:
                    sums[cell >> down] += value * levels[level + ((cell >> one) & code_mask)]
                    t += one
                    cell = np.uintp(cells[t])
        high: Any = covering * LANES
        sums[meets[slot] : high] = 0.0  # the last word may hold places that are not met
        item, length, line = items[slot], lengths[slot], np.uintp(first_line + slot)
        tested_length = length * (1 - SLACK)
        # The least rated items are offered first: their cosines spread most, which raises the
        # floor.
        while high > 0:
            low: Any = max(0, high - PAIRS_TESTED)
            begin, there, own_floor = np.uintp(low), np.uintp(first_other + low), floor[line]
            for step in range(np.uintp(high - low)):
                # Most pairs are too weak for either list, which is tested without a division.
                size, needed = abs(sums[begin + step]), own_floor
                if are_same:
                    needed = min(needed, floor[there + step])
                is_enough = size >= needed * (tested_length * other_lengths[begin + step])
                is_strong[step] = (size > 0.0) & (is_enough | (size <= TINY))
            for word in range((high - low) // LANES - 1, -1, -1):
                if strong_words[np.uintp(word)] == 0:
                    continue
                for step in range(np.uintp(word * LANES), np.uintp(word * LANES + LANES)):
                    place = begin + step
                    other, other_length = others[place], other_lengths[place]
                    if not is_strong[step] or other == item or not length * other_length > 0.0:
                        continue
                    similarity, tally = sums[place] / (length * other_length), tallies[place]
                    if counts and tally >> 32 == 0:
                        continue
                    if significance > 0:
                        similarity *= min(tally & 0xFFFFFFFF, significance) / significance
                    strength = abs(similarity)
                    if strength == 0.0:
                        continue
                    for side in range(1 + are_same):  # the list of the item, then of the other
                        listed, number = (there + step, item) if side else (line, other)
                        if strength < floor[listed]:
                            continue
                        room = np.uintp(sizes[listed])
                        numbers[listed, room], similarities[listed, room] = number, similarity
                        if counts:
                            packed[listed, room] = tally
                        sizes[listed] += 1
                        if sizes[listed] == full:
                            _shrink(numbers, similarities, packed, sizes, floor, listed, k)
            sums[low:high] = 0.0
            high = low
        if counts:
            tallies[: covering * LANES] = 0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _shrink(
    numbers: Any, similarities: Any, packed: Any, sizes: Any, floor: Any, line: Any, k: Any
) -> None:
    """Keep the nearest k of a longer list, by quickselect, and set its floor.

    The weakest of the k comes last, the others are in any order. The arguments are the fields of
    `_Lists`, the line of the list, and k.
    """
    low, high = 0, sizes[line] - 1
    while low < high:
        middle = (low + high) // 2
        similarity, number = similarities[line, middle], numbers[line, middle]
        left, right = low, high
        while left <= right:
            while _is_weaker(similarity, number, similarities[line, left], numbers[line, left]):
                left += 1
            while _is_weaker(similarities[line, right], numbers[line, right], similarity, number):
                right -= 1
            if left <= right:
                _swap(numbers, similarities, packed, line, left, right)
                left += 1
                right -= 1
        if k - 1 <= right:
            high = right
        elif k - 1 >= left:
            low = left
        else:
            break
    sizes[line], floor[line] = k, abs(similarities[line, k - 1])


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _swap(numbers: Any, similarities: Any, packed: Any, line: Any, left: Any, right: Any) -> None:
    """Swap the entries in the columns `left` and `right` of one list."""
    number, similarity, tally = numbers[line, left], similarities[line, left], packed[line, left]
    numbers[line, left], similarities[line, left] = numbers[line, right], similarities[line, right]
    packed[line, left] = packed[line, right]
    numbers[line, right], similarities[line, right], packed[line, right] = number, similarity, tally


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _is_weaker(similarity: Any, number: Any, other_similarity: Any, other_number: Any) -> Any:
    """Tell whether an entry ranks after another: weaker, or as strong with a larger number."""
    strength, other_strength = abs(similarity), abs(other_similarity)
    return strength < other_strength or (strength == other_strength and number > other_number)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _sort(
    numbers: Any,
    similarities: Any,
    packed: Any,
    sizes: Any,
    floor: Any,
    lines: Any,
    items: Any,
    found_similarities: Any,
    co_counts: Any,
    agreements: Any,
) -> None:
    """Sort the lists, the nearest first, and copy them to the result.

    The arguments are the fields of `_Lists`; `lines`, the line of each row of the result; and the
    arrays of `Neighbours`, which are filled.
    """
    k = items.shape[1]
    for row in range(len(lines)):
        line, size = lines[row], sizes[lines[row]]
        if size > k:
            _shrink(numbers, similarities, packed, sizes, floor, line, k)
            size = k
        gap = size // 2
        while gap > 0:  # Shellsort
            for end in range(gap, size):
                entry = end
                while entry >= gap and _is_weaker(
                    similarities[line, entry - gap],
                    numbers[line, entry - gap],
                    similarities[line, entry],
                    numbers[line, entry],
                ):
                    _swap(numbers, similarities, packed, line, entry - gap, entry)
                    entry -= gap
            gap //= 2
        for entry in range(size):
            items[row, entry] = numbers[line, entry]
            found_similarities[row, entry] = similarities[line, entry]
            co_counts[row, entry] = packed[line, entry] & 0xFFFFFFFF
            agreements[row, entry] = packed[line, entry] >> 32
