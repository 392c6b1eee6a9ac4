"""Item neighbours by adjusted cosine, compiled. Tests compare results with a readable version.

The items whose neighbours are found are called visitors; the items that may be neighbours are
called candidates. For each visitor the kernel goes through its raters and adds the products of
their ratings to a sum for each candidate. If visitors and candidates are the same items, each pair
is summed once and offered to the lists of both its items. Candidates are ordered by their number of
ratings, the most rated first, so that the sums that change most often lie together.

A list has room for 2 k neighbours; when it is full, the nearest k are kept, ranked by strength (the
absolute similarity) and then by item number. So results depend neither on the order in which pairs
are offered nor on the size of blocks. `line` is the row of a list in the arrays of `_Lists`; the
lists have the order of the visitors. A place is the position of an item in a block of candidates.
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
    make_visits,
    pack_rows,
    prefetch,
)
from tacit.engine.types import Floats, Neighbours, Numbers, Table

AHEAD = 3
"""A row is loaded into the cache this many visits before its own visit."""
LINES = 16
"""Largest number of cache lines of one row that are loaded ahead."""
PAIRS_TESTED = 256
"""Number of pairs that are tested for their strength before the strong ones are listed."""
TINY = 1e-290
"""Pairs whose sum is at most this in absolute value, but not 0, pass the first test: for so small
sums, rounding may exceed the tolerance of the test."""
SLACK = 1e-9
"""Relative tolerance of the first test of a pair, so that rounding excludes no strong pair."""


def neighbours(
    table: Table,
    items: Numbers,
    candidates: Numbers,
    k: int,
    significance: int,
    counts: bool,
    block: int,
) -> Neighbours:
    """Do what `Engine.neighbours` says.

    At a time, up to `block` ratings of candidates are packed, and `block // 4` of visitors. A
    single item may have more.
    """
    check_arguments(table, items, candidates, k, significance, counts)
    lengths, raters = norms_and_raters(table)
    are_same = len(items) == len(candidates) and np.array_equal(np.sort(items), np.sort(candidates))
    most_rated_first = np.lexsort((candidates, -raters[candidates]))
    candidates = np.asarray(candidates, dtype=np.int32)[most_rated_first]
    visitors = candidates if are_same else items
    shape = len(items), 2 * k
    lists = _Lists(
        numbers=np.empty(shape, np.int32),
        similarities=np.empty(shape),
        packed=np.zeros(shape, np.int64),
        sizes=np.zeros(len(items), np.int32),
        floor=np.full(len(items) + LANES, -1.0),
    )
    for candidates_block in _cut_into_blocks(raters[candidates], block):
        _offer_block(
            table,
            candidates,
            candidates_block,
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
    nearest = make_empty_lists(items, k)
    lines = _positions_in(visitors, len(raters))[items]
    _sort_lists(
        *lists,
        lines,
        nearest.neighbours,
        nearest.similarities,
        nearest.co_counts,
        nearest.agreements,
    )
    return nearest


class _Lists(NamedTuple):
    """The lists while they are filled: one for each visitor, with room for 2 k neighbours."""

    numbers: Numbers
    """(lines, 2 k) the item numbers of each list; only the first `sizes` entries of a row are
    filled."""
    similarities: Floats
    """(lines, 2 k) similarities of the listed items, in the same order."""
    packed: NDArray[np.int64]
    """(lines, 2 k) number of co-raters, plus 2**32 times the number of agreements; 0 without
    counts."""
    sizes: Numbers
    """(lines,) number of items in each list."""
    floor: Floats
    """(lines + LANES,) least strength with which an item enters a list; -1 until the list has been
    full for the first time. The last LANES entries are padding."""


def _offer_block(
    table: Table,
    candidates: Numbers,
    candidates_block: slice,
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
    """Sum the products of one block of candidates with all visitors, and offer pairs to the lists.

    Args:
        table: All ratings.
        candidates: Item numbers of all candidates, the most rated first.
        candidates_block: The positions in `candidates` of the items of the block.
        visitors: Item numbers of the visitors, in the order of the lists.
        are_same: Whether `visitors` and `candidates` are the same array.
        raters: (items,) numbers of raters.
        lengths: (items,) norms of the columns.
        block: As in `neighbours`.
        significance: As in `Engine.neighbours`.
        counts: As in `Engine.neighbours`.
        lists: The lists, changed in place.
        k: Number of neighbours.
    """
    block_items = candidates[candidates_block]
    width = len(block_items)
    places = _positions_in(block_items, len(raters))
    rows = pack_rows(table, places, width, int(raters[block_items].sum()), counts)
    sums = _make_zeros(width + LANES, np.float64)
    tallies = _make_zeros(width + LANES, np.int64)
    padded_items = np.pad(block_items, (0, LANES))  # the last word may end beyond the last item
    padded_lengths = np.pad(lengths[block_items], (0, LANES))
    for visitors_block in _cut_into_blocks(raters[visitors], block // 4):
        pairings = _pair_blocks(
            table, rows, visitors, visitors_block, candidates_block, are_same, raters, counts
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
                candidates_block.start,
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
            del item_visits  # frees its memory before the next visits are made


def _make_zeros(length: int, dtype: type[Any]) -> NDArray[Any]:
    """Make an array of zeros, of 8 bytes each, that starts at the beginning of a cache line."""
    room = np.zeros(length + LANES, dtype)
    begin = -room.ctypes.data // room.itemsize % LANES  # the first address that is a multiple of 64
    return room[begin : begin + length]


def _cut_into_blocks(sizes: NDArray[np.int64], block: int) -> Iterator[slice]:
    """Cut items into slices of at most `block` ratings together, or of one item that has more.

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


def _positions_in(items: Numbers, total: int) -> Numbers:
    """Return the position in `items` of each number 0 .. total - 1; -1 for a missing number."""
    positions = np.full(total, -1, dtype=np.int32)
    positions[items] = np.arange(len(items), dtype=np.int32)
    return positions


def _pair_blocks(
    table: Table,
    rows: Rows,
    visitors: Numbers,
    visitors_block: slice,
    candidates_block: slice,
    are_same: bool,
    raters: NDArray[np.int64],
    counts: bool,
) -> Iterator[tuple[slice, Visits, Numbers]]:
    """Yield the visits of a block of visitors to the rows of a block of candidates.

    If visitors and candidates are the same items, each pair is summed once: a visitor meets only
    the candidates before it. These are all candidates of an earlier block, none of a later block,
    and those before it in its own block.

    Arguments are as in `_offer_block`; `rows` are the packed rows of the candidates' block, and
    `visitors_block` has the positions of the block's visitors in `visitors`.

    Yields:
        The lines of some visitors, their visits, and (visitors,) the number of places that each
        visitor meets, from the first place on.
    """
    # Lines of visitors, and how many places each meets; None: all places of the rows.
    parts: list[tuple[slice, NDArray[np.int64] | None]] = [(visitors_block, None)]
    if are_same:
        shared_lines = slice(
            max(visitors_block.start, candidates_block.start),
            min(visitors_block.stop, candidates_block.stop),
        )
        later_lines = slice(max(visitors_block.start, candidates_block.stop), visitors_block.stop)
        places_before = np.arange(shared_lines.start, shared_lines.stop) - candidates_block.start
        parts = [(shared_lines, places_before), (later_lines, None)]
    for lines, places_met in parts:
        if lines.start < lines.stop:
            if places_met is None:
                places_met = np.full(lines.stop - lines.start, rows.width)
            positions = _positions_in(visitors[lines], len(raters))
            item_visits = make_visits(table, rows, positions, raters[visitors[lines]], counts)
            yield lines, item_visits, places_met.astype(np.int32)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _offer_visitors(
    begins: Any,
    ends: Any,
    people: Any,
    visit_values: Any,
    visit_likes: Any,
    heads: Any,
    cells: Any,
    shift: Any,
    levels: Any,
    liked: Any,
    items: Any,
    first_line: Any,
    lengths: Any,
    candidates: Any,
    first_candidate: Any,
    candidate_lengths: Any,
    places_met: Any,
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
    """Sum the products of some visitors with the candidates of a block; offer pairs to the lists.

    The arguments up to `liked` are fields of `Visits` and `Rows`: `visit_values` and `visit_likes`
    are `Visits.values` and `Visits.likes`. Those from `numbers` to `floor` are the fields of
    `_Lists`; `significance`, `counts` and `k` are those of `Engine.neighbours`.

    `items` (visitors,) has the item numbers of the visitors, `lengths` the norms of their columns,
    and `places_met` the number of places that each meets, from the first place on. The visitors'
    lists are the lines from `first_line` on. `candidates` (places,) has the item numbers of the
    block's candidates, and `candidate_lengths` the norms of their columns; `first_candidate` is the
    position of the block's first candidate among all candidates. `are_same` says whether a pair is
    also offered to the candidate's list. `sums` and `tallies` (places,) are scratch: zeros before
    and after. The arrays (places,) have LANES further entries as padding.
    """
    capacity = numbers.shape[1]
    # Eight Booleans of `is_strong` are tested as one word of `strong_words`.
    strong_words = np.zeros(PAIRS_TESTED // LANES, np.uint64)
    is_strong = strong_words.view(np.bool_)
    # Unsigned indices spare the kernel a test for negative ones at every access.
    code_mask = np.uintp((np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1))
    one, down = np.uintp(1), np.uintp(shift)
    per_line = 64 // cells.itemsize  # cells of a cache line
    for visitor in range(len(items)):
        end = ends[visitor]
        bound = np.uintp(places_met[visitor]) << down  # a cell from here on is not met
        words_met = (np.int64(places_met[visitor]) + LANES - 1) // LANES  # rounded up
        for visit in range(begins[visitor], end):
            upcoming = people[min(visit + AHEAD, end - 1)]
            prefetch(heads, 4 * people[min(visit + 2 * AHEAD, end - 1)])
            prefetch(levels, np.int64(heads[upcoming, LEVELS]))
            start, stop = np.int64(heads[upcoming, START]), np.int64(heads[upcoming + 1, START])
            if heads[upcoming, WORDS] >= words_met:
                stop = start + words_met
            for position in range(start, min(stop, start + LINES * per_line), per_line):
                prefetch(cells, position)
            person = people[visit]
            value, like = visit_values[visit], visit_likes[visit]
            start, words = np.int64(heads[person, START]), np.int64(heads[person, WORDS])
            first_level = np.int64(heads[person, LEVELS])
            words_added = min(words, words_met)
            add_dense(cells, start, words_added, levels, first_level, value, sums)
            if counts:
                count_dense(cells, start, words_added, liked, first_level, like, tallies)
            if words >= words_met:
                continue
            t, level = np.uintp(start + words), np.uintp(first_level)
            cell = np.uintp(cells[t])
            if counts:
                unlike = np.uintp(like) ^ one
                while cell < bound:
                    place = cell >> down
                    sums[place] += value * levels[level + ((cell >> one) & code_mask)]
                    agree = (cell ^ unlike) & one
                    tallies[place] += np.int64((agree << np.uintp(32)) | one)
                    t += one
                    cell = np.uintp(cells[t])
            else:
                while cell < bound:
                    sums[cell >> down] += value * levels[level + ((cell >> one) & code_mask)]
                    t += one
                    cell = np.uintp(cells[t])
        high: Any = words_met * LANES
        sums[places_met[visitor] : high] = 0.0  # the last word may hold places that are not met
        item, length, line = items[visitor], lengths[visitor], np.uintp(first_line + visitor)
        tested_length = length * (1 - SLACK)
        # The least rated items are offered first: their cosines spread most, which raises the
        # floor.
        while high > 0:
            low: Any = max(0, high - PAIRS_TESTED)
            # The position of a candidate is its line if visitors and candidates are the same.
            begin, candidate_line = np.uintp(low), np.uintp(first_candidate + low)
            floor_of_item = floor[line]
            for step in range(np.uintp(high - low)):
                # Most pairs are too weak for either list, which is tested without a division.
                size, needed = abs(sums[begin + step]), floor_of_item
                if are_same:
                    needed = min(needed, floor[candidate_line + step])
                is_enough = size >= needed * (tested_length * candidate_lengths[begin + step])
                is_strong[step] = (size > 0.0) & (is_enough | (size <= TINY))
            for word in range((high - low) // LANES - 1, -1, -1):
                if strong_words[np.uintp(word)] == 0:
                    continue
                for step in range(np.uintp(word * LANES), np.uintp(word * LANES + LANES)):
                    place = begin + step
                    candidate, tally = candidates[place], tallies[place]
                    product_of_lengths = length * candidate_lengths[place]
                    if not is_strong[step] or candidate == item or not product_of_lengths > 0.0:
                        continue
                    similarity = sums[place] / product_of_lengths
                    if counts and tally >> 32 == 0:
                        continue
                    if significance > 0:
                        similarity *= min(tally & 0xFFFFFFFF, significance) / significance
                    strength = abs(similarity)
                    if strength == 0.0:
                        continue
                    for side in range(1 + are_same):  # the list of the item, then of the candidate
                        if side:
                            listed, number = candidate_line + step, item
                        else:
                            listed, number = line, candidate
                        if strength < floor[listed]:
                            continue
                        room = np.uintp(sizes[listed])
                        numbers[listed, room], similarities[listed, room] = number, similarity
                        if counts:
                            packed[listed, room] = tally
                        sizes[listed] += 1
                        if sizes[listed] == capacity:
                            _shrink(numbers, similarities, packed, sizes, floor, listed, k)
            sums[low:high] = 0.0
            high = low
        if counts:
            tallies[: words_met * LANES] = 0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _shrink(
    numbers: Any, similarities: Any, packed: Any, sizes: Any, floor: Any, line: Any, k: Any
) -> None:
    """Keep the nearest k of a list with more than k neighbours, by quickselect, and set its floor.

    Afterwards the weakest of the k is at index k - 1, and those before it are in any order. The
    arguments are the fields of `_Lists`, the line of the list, and k.
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
def _sort_lists(
    numbers: Any,
    similarities: Any,
    packed: Any,
    sizes: Any,
    floor: Any,
    lines: Any,
    neighbours: Any,
    sorted_similarities: Any,
    co_counts: Any,
    agreements: Any,
) -> None:
    """Sort the lists, the nearest first, and copy them to the result.

    The arguments up to `floor` are the fields of `_Lists`. `lines` (rows,) has the line of each row
    of the result. The arguments after it are the (rows, k) arrays of `Neighbours`, filled here;
    `sorted_similarities` is `Neighbours.similarities`.
    """
    k = neighbours.shape[1]
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
            neighbours[row, entry] = numbers[line, entry]
            sorted_similarities[row, entry] = similarities[line, entry]
            co_counts[row, entry] = packed[line, entry] & 0xFFFFFFFF
            agreements[row, entry] = packed[line, entry] >> 32
