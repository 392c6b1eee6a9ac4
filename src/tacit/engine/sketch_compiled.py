"""Compiled kernels of sketches: they draw devices' questions, find true answers and count answers.

`count_sets`, `count_pairs` and `add_tickets` are for servers, `find_liked_sets` and
`find_liked_pairs` for simulated people. The draws are those of `tacit.designs.sketches.sensing`,
word for word; tests compare the two. A ticket is the random number in a device's report: with the
campaign's seed it determines the device's questions. The questions are about sets or about pairs of
items.

The sets of a ticket are consecutive stretches of a walk around a wheel of `modulus` places. The
walk begins at a random place and goes on by a random step. Place i is item i; places beyond the
last item are empty.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

# Constants of SplitMix64.
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_FIRST_SHIFT, _SECOND_SHIFT, _THIRD_SHIFT = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE = np.uint64(1)

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")
_inline = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


@_inline
def _mix(word: Any) -> Any:
    """Mix the bits of a word as SplitMix64 does."""
    word = (word ^ (word >> _FIRST_SHIFT)) * _FIRST_FACTOR
    word = (word ^ (word >> _SECOND_SHIFT)) * _SECOND_FACTOR
    return word ^ (word >> _THIRD_SHIFT)


@_inline
def _rejection_limit(bound: Any) -> Any:
    """Return the rejection limit of a draw below the bound: 2^64 - 1 - 2^64 % bound.

    Words above the limit are skipped, so that all numbers below the bound are equally likely.
    """
    top = np.uint64(0xFFFFFFFFFFFFFFFF)
    return top - (top % bound + _ONE) % bound


@_inline
def _move(place: Any, step: Any, modulus: Any) -> Any:
    """Compute (place + step) % modulus for two uint32 below the modulus.

    If the sum is below the modulus, subtracting the modulus wraps around to a larger number.
    """
    ahead = np.uint32(place + step)
    return min(ahead, np.uint32(ahead - modulus))


@_inline
def _random_below(state: Any, bound: Any, limit: Any) -> Any:
    """Draw a uniform integer below the bound.

    Args:
        state: State of the generator.
        bound: The result is from 0 to bound - 1.
        limit: `_rejection_limit(bound)`.

    Returns:
        The integer, and the state of the generator after the draw.
    """
    state += _STEP
    word = _mix(state)
    while word > limit:
        state += _STEP
        word = _mix(state)
    return np.int64(word % bound), state


@_inline
def _draw_wheel(state: Any, modulus: Any, limit_of_place: Any, limit_of_step: Any) -> Any:
    """Draw the first place of the walk of a ticket's sets, and its step, 1 to modulus - 1."""
    place, state = _random_below(state, modulus, limit_of_place)
    step, state = _random_below(state, modulus - _ONE, limit_of_step)
    return place, step + 1


@_inline
def _draw_pair(state: Any, items: Any, limit_of_item: Any, limit_of_other_item: Any) -> Any:
    """Draw two different items, all pairs equally likely; return them and the next state."""
    item, state = _random_below(state, items, limit_of_item)
    other_item, state = _random_below(state, items - _ONE, limit_of_other_item)
    return item, other_item + (other_item >= item), state


@_compile
def count_sets(
    first: Any, second: Any, tickets: Any, bits: Any, questions: int, size: int, totals: Any
) -> None:
    """Add one to totals[answer, place] for each place of each set of each ticket.

    Eight places are counted at a time: one, and the next seven at distances of 1 to 7 steps.
    `counts` has room for two turns of the wheel: a place beyond the end of the first is counted in
    the second, and both are added when `counts` is emptied, so that no step waits for a remainder.
    A person counts an item at most once, so 2^16 - 1 people cannot overflow the 16-bit counts,
    which stay in a fast cache.

    Args:
        first: First word of the seed.
        second: Second word of the seed.
        tickets: (people,) uint64.
        bits: (people,) uint32; bit q is the answer to question q.
        questions: Number of sets of a ticket.
        size: Number of places of a set.
        totals: (2, modulus) int64, changed in place.
    """
    modulus = np.uint64(totals.shape[1])
    wide = np.uint32(modulus)
    limit_of_place, limit_of_step = _rejection_limit(modulus), _rejection_limit(modulus - _ONE)
    counts = np.zeros((2, 2 * totals.shape[1]), dtype=np.uint16)
    one = np.uint16(1)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        begin, step = _draw_wheel(state, modulus, limit_of_place, limit_of_step)
        place, s1 = np.uint32(begin), np.uint32(step)
        # s2 ... s8 are distances of 2 ... 8 steps.
        s2 = _move(s1, s1, wide)
        s3, s4 = _move(s2, s1, wide), _move(s2, s2, wide)
        s5, s6 = _move(s4, s1, wide), _move(s4, s2, wide)
        s7, s8 = _move(s4, s3, wide), _move(s4, s4, wide)
        # The distances in 64 bits, as addresses are, so that they need not be converted.
        d1, d2, d3, d4 = np.uint64(s1), np.uint64(s2), np.uint64(s3), np.uint64(s4)
        d5, d6, d7 = np.uint64(s5), np.uint64(s6), np.uint64(s7)
        for q in range(questions):
            row = counts[np.uint64((bits[n] >> np.uint32(q)) & np.uint32(1))]
            left = size
            while left >= 8:
                p = np.uint64(place)
                row[p] += one
                row[p + d1] += one
                row[p + d2] += one
                row[p + d3] += one
                row[p + d4] += one
                row[p + d5] += one
                row[p + d6] += one
                row[p + d7] += one
                place = _move(place, s8, wide)
                left -= 8
            for _ in range(left):
                row[np.uint64(place)] += one
                place = _move(place, s1, wide)
        if (n + 1) % 65535 == 0 or n + 1 == len(tickets):
            totals += counts[:, : totals.shape[1]]
            totals += counts[:, totals.shape[1] :]
            counts[:] = 0


@_compile
def count_pairs(
    first: Any, second: Any, tickets: Any, bits: Any, questions: int, items: Any, totals: Any
) -> None:
    """Add one to totals[answer, pair] for each pair that a ticket asks about.

    Args:
        first: First word of the seed.
        second: Second word of the seed.
        tickets: (people,) uint64.
        bits: (people,) uint32; bit q is the answer to question q.
        questions: Number of pairs of a ticket.
        items: Number N of items, as uint64.
        totals: (2, N (N - 1) / 2) int64, changed in place. Pairs (i, j), i < j, are in the order
            (0, 1), (0, 2), ..., (1, 2), ...
    """
    n_items = np.int64(items)
    limit_of_item, limit_of_other_item = _rejection_limit(items), _rejection_limit(items - _ONE)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        for q in range(questions):
            item, other_item, state = _draw_pair(state, items, limit_of_item, limit_of_other_item)
            i, j = min(item, other_item), max(item, other_item)
            answer = np.int64((bits[n] >> np.uint32(q)) & np.uint32(1))
            totals[answer, i * (2 * n_items - i - 1) // 2 + j - i - 1] += 1


@_compile
def find_liked_sets(
    first: Any,
    second: Any,
    tickets: Any,
    starts: Any,
    likes: Any,
    questions: int,
    size: int,
    modulus: Any,
    inverses: Any,
    hits: Any,
) -> None:
    """For each person, find the sets that hold at least one of their likes: answers before noise.

    Args:
        first: First word of the seed.
        second: Second word of the seed.
        tickets: (people,) uint64.
        starts: (people + 1,) where each person's likes begin.
        likes: (likes,) int64 numbers of liked items.
        questions: Number of sets of a ticket.
        size: Number of places of a set.
        modulus: Number of places of the wheel, a prime.
        inverses: (modulus,) at index a, the inverse of the step a modulo `modulus`.
        hits: (people,) uint32, filled: bit q is set if set q holds a like.
    """
    limit_of_place, limit_of_step = _rejection_limit(modulus), _rejection_limit(modulus - _ONE)
    wide, places = np.int64(modulus), np.int64(size) * np.int64(questions)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        place, step = _draw_wheel(state, modulus, limit_of_place, limit_of_step)
        inverse = inverses[step]
        found = np.uint32(0)
        for t in range(starts[n], starts[n + 1]):
            # The number of steps from the first place to the item: (item - place) / step.
            steps = (likes[t] - place + wide) % wide * inverse % wide
            if steps < places:
                found |= np.uint32(1) << np.uint32(steps // size)
        hits[n] = found


@_compile
def find_liked_pairs(
    first: Any,
    second: Any,
    tickets: Any,
    starts: Any,
    likes: Any,
    questions: int,
    items: Any,
    hits: Any,
) -> None:
    """For each person, find the pairs of which they like both items: answers before noise.

    With dislikes in place of likes, it finds the pairs of which they dislike both items.

    Args:
        first: First word of the seed.
        second: Second word of the seed.
        tickets: (people,) uint64.
        starts: (people + 1,) where each person's likes begin.
        likes: (likes,) int64 numbers of liked items, each once for a person.
        questions: Number of pairs of a ticket.
        items: Number of items, as uint64.
        hits: (people,) uint32, filled: bit q is set if both items of pair q are liked.
    """
    limit_of_item, limit_of_other_item = _rejection_limit(items), _rejection_limit(items - _ONE)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        found = np.uint32(0)
        for q in range(questions):
            item, other_item, state = _draw_pair(state, items, limit_of_item, limit_of_other_item)
            liked = 0
            for t in range(starts[n], starts[n + 1]):
                liked += likes[t] == item or likes[t] == other_item
            if liked == 2:
                found |= np.uint32(1) << np.uint32(q)
        hits[n] = found


@_compile
def add_tickets(table: Any, used: int, tickets: Any, key: Any, new: Any) -> int:
    """Add tickets to a hash table with open addressing, and tell which of them are new.

    Args:
        table: (slots,) uint64, 0 for a free slot; changed in place. It must have more free slots
            than there are tickets to add, and at most 2^32 slots.
        used: Number of tickets in the table before.
        tickets: (tickets,) uint64, none 0.
        key: uint64, a secret, so that people who choose their tickets cannot choose their slots.
        new: (tickets,) bool, filled: whether the ticket was not in the table before it was added.

    Returns:
        The number of tickets in the table afterwards.
    """
    size = np.uint64(len(table))
    half_word = np.uint64(32)
    for n in range(len(tickets)):
        ticket = tickets[n]
        # The high half of a hash, below 2^32, is scaled to a slot below `size`.
        slot = ((_mix(ticket ^ key) >> half_word) * size) >> half_word
        while table[slot] != 0 and table[slot] != ticket:
            slot += _ONE
            if slot == size:
                slot = np.uint64(0)
        new[n] = table[slot] == 0
        if new[n]:
            table[slot] = ticket
            used += 1
    return used
