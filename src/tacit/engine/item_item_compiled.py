"""Nearest items by adjusted cosine, compiled: equal to the last bit to `item_item.neighbours`.

For each item the kernel visits its raters and adds their products into one running sum for each
other item. Where both sides are the same items each pair is summed once, and offered to the lists
of both. Items are numbered by their ratings while it runs, most rated first: the sums that are
touched most then lie together. Lists are heaps ordered by (strength, number), so that an answer
does not depend on the order of the offers, and so not on blocks either.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.engine.base import Floats, Neighbours, Numbers, Table
from tacit.engine.item_item import check, empty, norms_and_raters
from tacit.engine.item_item_blocks import Rows, Visits, pack, prefetch, visits, visits_within

AHEAD, LINES = 3, 16
"""How many visits ahead a row is asked for, and how much of it at most (cache lines)."""
TINY = 1e-290
"""Below this a product may round by more than the slack of the first test of a pair."""


def neighbours(
    table: Table, of: Numbers, among: Numbers, k: int, significance: int, counts: bool, block: int
) -> Neighbours:
    """`Engine.neighbours`; `block` ratings of each side are unpacked at a time."""
    check(table, of, among, k, significance, counts)
    lengths, raters = norms_and_raters(table)
    both = len(of) == len(among) and np.array_equal(np.sort(of), np.sort(among))
    others = _most_rated_first(among, raters)
    mine = others if both else of
    found = empty(mine, k)
    lists = (
        found.items, found.similarities, found.co_counts, found.agreements,
        np.zeros(len(of), np.int32), np.full(len(of), -1.0),
    )  # fmt: skip
    for there in _blocks(raters[others], block):
        _meet(table, others, there, mine, both, raters, lengths, block, significance, counts, lists)
    _sort(*lists[:-1])
    return found if mine is of else _in_order(found, of)


def _meet(
    table: Table, others: Numbers, there: slice, mine: Numbers, both: bool,
    raters: NDArray[np.int64], lengths: Floats, block: int, significance: int, counts: bool,
    lists: tuple[Any, ...],
) -> None:  # fmt: skip
    """Offer the items of one block to all lists. What it unpacks is freed when it returns."""
    width = there.stop - there.start
    rows = pack(table, _slots(others[there], len(raters)), width, int(raters[others[there]].sum()))
    sums, tallies = np.zeros(width), np.zeros(width, np.int64)
    for here in _blocks(raters[mine], block // 4):
        for lines, seen, meets in _pairings(table, rows, mine, here, there, both, raters):
            _walk(
                seen.begins, seen.ends, seen.people, seen.until, seen.values, seen.likes,
                rows.offsets, rows.cells, np.uint64(rows.shift), rows.levels, rows.first,
                mine[lines], lines.start, lengths[mine[lines]], others[there], there.start,
                lengths[others[there]], meets, both, significance, counts, sums, tallies,
                *lists,
            )  # fmt: skip
            del seen  # before the next ones are made


def _most_rated_first(items: Numbers, raters: NDArray[np.int64]) -> Numbers:
    return np.asarray(items, dtype=np.int32)[np.lexsort((items, -raters[items]))]


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
    table: Table, rows: Rows, mine: Numbers, here: slice, there: slice, both: bool,
    raters: NDArray[np.int64],
) -> Iterator[tuple[slice, Visits, Numbers]]:  # fmt: skip
    """Lines of `here`, with their items' visits to the rows of `there`, and how many places they
    meet.

    Where both sides are the same items, an item meets those before it: all of an earlier block,
    its own block up to itself, none of a later one.
    """
    if both:
        inside = slice(max(here.start, there.start), min(here.stop, there.stop))
        if inside.start < inside.stop:
            begin, end = inside.start - there.start, inside.stop - there.start
            meets = np.arange(begin, end, dtype=np.int32)
            yield inside, visits_within(rows, begin, end, raters[mine[inside]]), meets
        here = slice(max(here.start, there.stop), here.stop)
    if here.start < here.stop:
        slots = _slots(mine[here], len(raters))
        meets = np.full(here.stop - here.start, rows.width, dtype=np.int32)
        yield here, visits(table, rows, slots, raters[mine[here]]), meets


def _in_order(found: Neighbours, of: Numbers) -> Neighbours:
    """The same lists, in the order they were asked for."""
    line = np.empty(int(of.max(initial=-1)) + 1, dtype=np.int64)
    line[found.of] = np.arange(len(of))
    order = line[of]
    return Neighbours(
        found.of[order],
        found.items[order],
        found.similarities[order],
        found.co_counts[order],
        found.agreements[order],
    )


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _walk(
    begins: Any, ends: Any, people: Any, until: Any, own: Any, liked: Any,
    offsets: Any, cells: Any, shift: Any, levels: Any, first: Any,
    items: Any, first_line: Any, lengths: Any,
    others: Any, first_other: Any, other_lengths: Any,
    meets: Any, both: Any, significance: Any, counts: Any, sums: Any, tallies: Any,
    numbers: Any, similarities: Any, co_counts: Any, agreements: Any, sizes: Any, reach: Any,
) -> None:  # fmt: skip
    # Unsigned indices spare the kernel a test for negative ones at every access.
    code_mask = np.uintp((np.uint64(1) << (shift - np.uint64(1))) - np.uint64(1))
    one, down = np.uintp(1), np.uintp(shift)
    per_line = 64 // cells.itemsize
    for slot in range(len(items)):
        end = ends[slot]
        for visit in range(begins[slot], end):
            coming = min(visit + AHEAD, end - 1)
            start, stop = offsets[people[coming]], np.int64(until[coming])
            for line in range(start, min(stop, start + LINES * per_line), per_line):
                prefetch(cells, line)
            person = people[visit]
            value, like = own[visit], np.uintp(liked[visit])
            row = cells[offsets[person] : until[visit]]
            level = levels[first[person] :]
            if counts:
                unlike = like ^ one
                for t in range(np.uintp(len(row))):
                    cell = np.uintp(row[t])
                    column = cell >> down
                    sums[column] += value * level[(cell >> one) & code_mask]
                    agree = (cell ^ unlike) & one
                    tallies[column] += np.int64((agree << np.uintp(32)) | one)
            else:
                for t in range(np.uintp(len(row))):
                    cell = np.uintp(row[t])
                    sums[cell >> down] += value * level[(cell >> one) & code_mask]
        item, length, line = items[slot], lengths[slot], first_line + slot
        # From the least rated on: their cosines spread most, so a list is soon hard to enter.
        for step in range(np.uintp(meets[slot])):
            place = np.uintp(meets[slot]) - one - step
            dot = sums[place]
            if dot == 0.0:
                continue
            sums[place] = 0.0
            size, other_length = abs(dot), other_lengths[place]
            if size > TINY:  # most pairs are too weak for either list: found without a division
                near = size >= reach[line] * other_length
                if both:
                    near |= size >= reach[np.uintp(first_other) + place] * length
                if not near:
                    continue
            other = others[place]
            if other == item or not length * other_length > 0.0:
                continue
            similarity = dot / (length * other_length)
            co_count, agreement = tallies[place] & 0xFFFFFFFF, tallies[place] >> 32
            if counts and agreement == 0:
                continue
            if significance > 0:
                similarity *= min(co_count, significance) / significance
            if similarity == 0.0:
                continue
            _offer(
                line, other, similarity, co_count, agreement, length,
                numbers, similarities, co_counts, agreements, sizes, reach,
            )  # fmt: skip
            if both:
                _offer(
                    np.int64(first_other + place), item, similarity, co_count, agreement,
                    other_length, numbers, similarities, co_counts, agreements, sizes, reach,
                )  # fmt: skip
        if counts:
            tallies[: meets[slot]] = 0


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _offer(
    line: Any, number: Any, similarity: Any, co_count: Any, agreement: Any, length: Any,
    numbers: Any, similarities: Any, co_counts: Any, agreements: Any, sizes: Any, reach: Any,
) -> None:  # fmt: skip
    """Put an item on a list, a heap with the weakest on top, if there is room or it is stronger."""
    k = numbers.shape[1]
    at = sizes[line]
    if at < k:
        sizes[line] += 1
        while at > 0:
            above = (at - 1) // 2
            if not _weaker(similarity, number, similarities[line, above], numbers[line, above]):
                break
            _move(line, above, at, numbers, similarities, co_counts, agreements)
            at = above
    else:
        if not _weaker(similarities[line, 0], numbers[line, 0], similarity, number):
            return
        at = _sink(
            line, k, similarity, number, numbers, similarities, co_counts, agreements
        )  # fmt: skip
    numbers[line, at], similarities[line, at] = number, similarity
    co_counts[line, at], agreements[line, at] = co_count, agreement
    if sizes[line] == k:
        # A little less than what a newcomer needs: rounding must not turn one away.
        reach[line] = abs(similarities[line, 0]) * length * (1 - 1e-9)


@numba.njit(cache=True, nogil=True, error_model="numpy")  # type: ignore[untyped-decorator, unused-ignore]
def _sink(
    line: Any, size: Any, similarity: Any, number: Any,
    numbers: Any, similarities: Any, co_counts: Any, agreements: Any,
) -> Any:  # fmt: skip
    """From the top of a heap of `size` move weaker ones up; where the given one belongs."""
    at = 0
    while True:
        child = 2 * at + 1
        if child >= size:
            return at
        if child + 1 < size and _weaker(
            similarities[line, child + 1], numbers[line, child + 1],
            similarities[line, child], numbers[line, child],
        ):  # fmt: skip
            child += 1
        if not _weaker(similarities[line, child], numbers[line, child], similarity, number):
            return at
        _move(line, child, at, numbers, similarities, co_counts, agreements)
        at = child


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _move(
    line: Any, source: Any, target: Any,
    numbers: Any, similarities: Any, co_counts: Any, agreements: Any,
) -> None:  # fmt: skip
    numbers[line, target] = numbers[line, source]
    similarities[line, target] = similarities[line, source]
    co_counts[line, target] = co_counts[line, source]
    agreements[line, target] = agreements[line, source]


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _weaker(similarity: Any, number: Any, than: Any, than_number: Any) -> Any:
    strength, other = abs(similarity), abs(than)
    return strength < other or (strength == other and number > than_number)


@numba.njit(cache=True, nogil=True)  # type: ignore[untyped-decorator, unused-ignore]
def _sort(numbers: Any, similarities: Any, co_counts: Any, agreements: Any, sizes: Any) -> None:
    """Heaps to lists, best first."""
    for line in range(len(sizes)):
        for last in range(sizes[line] - 1, 0, -1):
            similarity, number = similarities[line, last], numbers[line, last]
            co_count, agreement = co_counts[line, last], agreements[line, last]
            _move(line, 0, last, numbers, similarities, co_counts, agreements)
            at = _sink(line, last, similarity, number, numbers, similarities, co_counts, agreements)
            numbers[line, at], similarities[line, at] = number, similarity
            co_counts[line, at], agreements[line, at] = co_count, agreement
