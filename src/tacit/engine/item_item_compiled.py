"""Nearest items by adjusted cosine, compiled: equal to the last bit to a readable version.

For each item the kernel visits its raters and adds their products into one running sum for each
other item. Where both sides are the same items each pair is summed once, and offered to the lists
of both. Items are numbered by their ratings while it runs, most rated first: the sums that are
touched most then lie together. A list has room for 2 k; when it is full the nearest k stay, by
(strength, number), so that an answer does not depend on the order of the offers, and so not on
blocks either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.engine.item_item import check_arguments, no_neighbours, norms_and_raters
from tacit.engine.item_item_blocks import (
    EIGHT,
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

AHEAD, LINES = 3, 16
"""How many visits ahead a row is asked for, and how much of it at most (cache lines)."""
TESTED = 256
"""Pairs whose strength is tested before those near enough are listed."""
TINY = 1e-290
"""Below this a product may round by more than the slack of the first test of a pair."""


def neighbours(
    table: Table, of: Numbers, among: Numbers, k: int, significance: int, counts: bool, block: int
) -> Neighbours:
    """`Engine.neighbours`; `block` ratings of each side are unpacked at a time."""
    check_arguments(table, of, among, k, significance, counts)
    lengths, raters = norms_and_raters(table)
    both = len(of) == len(among) and np.array_equal(np.sort(of), np.sort(among))
    others = np.asarray(among, dtype=np.int32)[np.lexsort((among, -raters[among]))]
    mine = others if both else of
    room = len(of), 2 * k
    lists = (
        np.empty(room, np.int32),
        np.empty(room),
        np.zeros(room, np.int64),
        np.zeros(len(of), np.int32),
        np.full(len(of) + EIGHT, -1.0),
        k,
    )
    for there in _blocks(raters[others], block):
        _meet(table, others, there, mine, both, raters, lengths, block, significance, counts, lists)
    found = no_neighbours(of, k)
    lines = _slots(mine, len(raters))[of]
    _sort(*lists[:-1], lines, found.items, found.similarities, found.co_counts, found.agreements)
    return found


def _meet(
    table: Table,
    others: Numbers,
    there: slice,
    mine: Numbers,
    both: bool,
    raters: NDArray[np.int64],
    lengths: Floats,
    block: int,
    significance: int,
    counts: bool,
    lists: tuple[Any, ...],
) -> None:
    """Offer the items of one block to all lists. What it unpacks is freed when it returns."""
    width = there.stop - there.start
    rows = pack(
        table, _slots(others[there], len(raters)), width, int(raters[others[there]].sum()), counts
    )
    sums, tallies = _zeros(width + EIGHT, np.float64), _zeros(width + EIGHT, np.int64)
    places = np.pad(others[there], (0, EIGHT))  # words end where they end
    sizes = np.pad(lengths[others[there]], (0, EIGHT))
    for here in _blocks(raters[mine], block // 4):
        for lines, seen, meets in _pairings(table, rows, mine, here, there, both, raters, counts):
            _walk(
                seen.begins,
                seen.ends,
                seen.people,
                seen.values,
                seen.likes,
                rows.heads,
                rows.cells,
                np.uint64(rows.shift),
                rows.levels,
                rows.liked,
                mine[lines],
                lines.start,
                lengths[mine[lines]],
                places,
                there.start,
                sizes,
                meets,
                both,
                significance,
                counts,
                sums,
                tallies,
                *lists,
            )
            del seen  # before the next ones are made


def _zeros(length: int, kind: type[Any]) -> NDArray[Any]:
    """Make an array of zeros that starts with a cache line."""
    room = np.zeros(length + EIGHT, kind)
    begin = -room.ctypes.data // room.itemsize % EIGHT
    return room[begin : begin + length]


def _blocks(sizes: NDArray[np.int64], block: int) -> Iterator[slice]:
    """Runs of at most `block` ratings together, one item at least."""
    totals = np.cumsum(sizes)
    begin = 0
    while begin < len(sizes):
        before = totals[begin - 1] if begin else 0
        end = max(begin + 1, int(np.searchsorted(totals, before + block, side="right")))
        yield slice(begin, end)
        begin = end


def _slots(items: Numbers, total: int) -> Numbers:
    slots = np.full(total, -1, dtype=np.int32)
    slots[items] = np.arange(len(items), dtype=np.int32)
    return slots


def _pairings(
    table: Table,
    rows: Rows,
    mine: Numbers,
    here: slice,
    there: slice,
    both: bool,
    raters: NDArray[np.int64],
    counts: bool,
) -> Iterator[tuple[slice, Visits, Numbers]]:
    """Yield lines of `here`, their items' visits to the rows of `there`, and how many places meet.

    Where both sides are the same items, an item meets those before it: all of an earlier block,
    its own block up to itself, none of a later one.
    """
    parts: list[tuple[slice, NDArray[np.int64] | None]] = [(here, None)]
    if both:
        inside = slice(max(here.start, there.start), min(here.stop, there.stop))
        after = slice(max(here.start, there.stop), here.stop)
        itself = np.arange(inside.start, inside.stop) - there.start
        parts = [(inside, itself), (after, None)]
    for lines, places in parts:
        if lines.start < lines.stop:
            slots = _slots(mine[lines], len(raters))
            meets = np.full(lines.stop - lines.start, rows.width) if places is None else places
            seen = visits(table, rows, slots, raters[mine[lines]], counts)
            yield lines, seen, meets.astype(np.int32)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _walk(
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
    both: Any,
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
    full = numbers.shape[1]
    near_words = np.zeros(TESTED // EIGHT, np.uint64)
    near = near_words.view(np.bool_)
    # Unsigned indices spare the kernel a test for negative ones at every access.
    code_mask = np.uintp((np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1))
    one, down = np.uintp(1), np.uintp(shift)
    per_line = 64 // cells.itemsize
    for slot in range(len(items)):
        end = ends[slot]
        bound = np.uintp(meets[slot]) << down  # a cell from here on is not met
        covering = (np.int64(meets[slot]) + EIGHT - 1) // EIGHT
        for visit in range(begins[slot], end):
            coming = people[min(visit + AHEAD, end - 1)]
            prefetch(heads, 4 * people[min(visit + 2 * AHEAD, end - 1)])
            prefetch(levels, np.int64(heads[coming, LEVELS]))
            start, stop = np.int64(heads[coming, START]), np.int64(heads[coming + 1, START])
            if heads[coming, WORDS] >= covering:
                stop = start + covering
            for at in range(start, min(stop, start + LINES * per_line), per_line):
                prefetch(cells, at)
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
        high: Any = covering * EIGHT
        sums[meets[slot] : high] = 0.0  # a word may hold the item itself and later ones
        item, length, line = items[slot], lengths[slot], np.uintp(first_line + slot)
        most = length * (1 - 1e-9)  # rounding must not turn a pair away
        # From the least rated on: their cosines spread most, so a list is soon hard to enter.
        while high > 0:
            low: Any = max(0, high - TESTED)
            begin, there, own_floor = np.uintp(low), np.uintp(first_other + low), floor[line]
            for step in range(np.uintp(high - low)):
                # Most pairs are too weak for either list: found without a division.
                size, needed = abs(sums[begin + step]), own_floor
                if both:
                    needed = min(needed, floor[there + step])
                enough = size >= needed * (most * other_lengths[begin + step])
                near[step] = (size > 0.0) & (enough | (size <= TINY))
            for word in range((high - low) // EIGHT - 1, -1, -1):
                if near_words[np.uintp(word)] == 0:
                    continue
                for step in range(np.uintp(word * EIGHT), np.uintp(word * EIGHT + EIGHT)):
                    place = begin + step
                    other, other_length = others[place], other_lengths[place]
                    if not near[step] or other == item or not length * other_length > 0.0:
                        continue
                    similarity, tally = sums[place] / (length * other_length), tallies[place]
                    if counts and tally >> 32 == 0:
                        continue
                    if significance > 0:
                        similarity *= min(tally & 0xFFFFFFFF, significance) / significance
                    strength = abs(similarity)
                    if strength == 0.0:
                        continue
                    for side in range(1 + both):  # the list of the item, and of the other
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
            tallies[: covering * EIGHT] = 0


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _shrink(
    numbers: Any, similarities: Any, packed: Any, sizes: Any, floor: Any, line: Any, k: Any
) -> None:
    """Keep the nearest k of a list, in any order but for the weakest, which is the last."""
    low, high = 0, sizes[line] - 1
    while low < high:
        middle = (low + high) // 2
        similarity, number = similarities[line, middle], numbers[line, middle]
        left, right = low, high
        while left <= right:
            while _weaker(similarity, number, similarities[line, left], numbers[line, left]):
                left += 1
            while _weaker(similarities[line, right], numbers[line, right], similarity, number):
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
def _swap(numbers: Any, similarities: Any, packed: Any, line: Any, one: Any, other: Any) -> None:
    number, similarity, tally = numbers[line, one], similarities[line, one], packed[line, one]
    numbers[line, one], similarities[line, one] = numbers[line, other], similarities[line, other]
    packed[line, one] = packed[line, other]
    numbers[line, other], similarities[line, other], packed[line, other] = (
        number,
        similarity,
        tally,
    )


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _weaker(similarity: Any, number: Any, than: Any, than_number: Any) -> Any:
    strength, other = abs(similarity), abs(than)
    return strength < other or (strength == other and number > than_number)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _sort(
    numbers: Any,
    similarities: Any,
    packed: Any,
    sizes: Any,
    floor: Any,
    lines: Any,
    items: Any,
    strengths: Any,
    co_counts: Any,
    agreements: Any,
) -> None:
    """Lists to answers, best first: that of `lines[row]` to each row."""
    k = items.shape[1]
    for row in range(len(lines)):
        line, size = lines[row], sizes[lines[row]]
        if size > k:
            _shrink(numbers, similarities, packed, sizes, floor, line, k)
            size = k
        gap = size // 2
        while gap > 0:  # Shell's sort
            for end in range(gap, size):
                at = end
                while at >= gap and _weaker(
                    similarities[line, at - gap],
                    numbers[line, at - gap],
                    similarities[line, at],
                    numbers[line, at],
                ):
                    _swap(numbers, similarities, packed, line, at - gap, at)
                    at -= gap
            gap //= 2
        for at in range(size):
            items[row, at], strengths[row, at] = numbers[line, at], similarities[line, at]
            co_counts[row, at] = packed[line, at] & 0xFFFFFFFF
            agreements[row, at] = packed[line, at] >> 32
