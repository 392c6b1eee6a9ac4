"""The compiled kernels behind the servers of sketches: questions drawn anew, answers counted.

The draws are those of `tacit.designs.sketches.sensing`, word for word; the tests hold the two
together.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_A, _B, _C = np.uint64(30), np.uint64(27), np.uint64(31)
_ONE = np.uint64(1)

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")
_inline = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


@_inline
def _mix(word: Any) -> Any:
    word = (word ^ (word >> _A)) * _FIRST
    word = (word ^ (word >> _B)) * _SECOND
    return word ^ (word >> _C)


@_inline
def _highest(bound: Any) -> Any:
    """Return the last word that is not skipped: 2^64 - 1 - 2^64 % bound."""
    top = np.uint64(0xFFFFFFFFFFFFFFFF)
    return top - (top % bound + _ONE) % bound


@_inline
def _further(place: Any, step: Any, wide: Any) -> Any:
    """(place + step) % wide for two below it: what went below 0 has become large."""
    ahead = np.uint32(place + step)
    return min(ahead, np.uint32(ahead - wide))


@_inline
def _random_below(state: Any, bound: Any, last: Any) -> Any:
    """A uniform integer below the bound, and the state after it."""
    state += _STEP
    word = _mix(state)
    while word > last:
        state += _STEP
        word = _mix(state)
    return np.int64(word % bound), state


@_inline
def _wheel(state: Any, modulus: Any, last_place: Any, last_step: Any) -> Any:
    """Return the first place and the step of a ticket's sets."""
    place, state = _random_below(state, modulus, last_place)
    step, state = _random_below(state, modulus - _ONE, last_step)
    return place, step + 1


@_inline
def _pair(state: Any, items: Any, last_one: Any, last_other: Any) -> Any:
    """Two different items, each pair equally likely, and the state after them."""
    one, state = _random_below(state, items, last_one)
    other, state = _random_below(state, items - _ONE, last_other)
    return one, other + (other >= one), state


@_compile
def count_sets(
    first: Any, second: Any, tickets: Any, bits: Any, questions: int, size: int, totals: Any
) -> None:
    """Add one to totals[answer, place] for every place of every set; totals: (2, modulus) int64.

    first, second: the seed's words. tickets: uint64; bits: uint32. Eight places are counted at a
    time: one and its distances to the next seven, which stay the same around the wheel. A place
    beyond the wheel's end is counted there and added to its own when the scratch is emptied: no
    step of a set then waits for a remainder. Scratch is small enough to stay in fast memory, and an
    item is in one set of a person at most, so that a block of 2^16 - 1 cannot overflow it.
    """
    modulus = np.uint64(totals.shape[1])
    wide = np.uint32(modulus)
    last_place, last_step = _highest(modulus), _highest(modulus - _ONE)
    counts = np.zeros((2, 2 * totals.shape[1]), dtype=np.uint16)
    one = np.uint16(1)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        begin, step = _wheel(state, modulus, last_place, last_step)
        place, s1 = np.uint32(begin), np.uint32(step)
        s2 = _further(s1, s1, wide)
        s3, s4 = _further(s2, s1, wide), _further(s2, s2, wide)
        s5, s6 = _further(s4, s1, wide), _further(s4, s2, wide)
        s7, s8 = _further(s4, s3, wide), _further(s4, s4, wide)
        # Distances as wide as addresses, so that one is added to the other as it is.
        d1, d2, d3, d4 = np.uint64(s1), np.uint64(s2), np.uint64(s3), np.uint64(s4)
        d5, d6, d7 = np.uint64(s5), np.uint64(s6), np.uint64(s7)
        for q in range(questions):
            row = counts[np.uint64((bits[n] >> np.uint32(q)) & np.uint32(1))]
            left = size
            while left >= 8:
                at = np.uint64(place)
                row[at] += one
                row[at + d1] += one
                row[at + d2] += one
                row[at + d3] += one
                row[at + d4] += one
                row[at + d5] += one
                row[at + d6] += one
                row[at + d7] += one
                place = _further(place, s8, wide)
                left -= 8
            for _ in range(left):
                row[np.uint64(place)] += one
                place = _further(place, s1, wide)
        if (n + 1) % 65535 == 0 or n + 1 == len(tickets):
            totals += counts[:, : totals.shape[1]]
            totals += counts[:, totals.shape[1] :]
            counts[:] = 0


@_compile
def count_pairs(
    first: Any, second: Any, tickets: Any, bits: Any, questions: int, items: Any, totals: Any
) -> None:
    """Add one to totals[answer, pair] of every pair asked; totals: (2, N (N - 1) / 2) int64.

    Pairs (i, j), i < j, in the order (0, 1), (0, 2), ..., (1, 2), ...; items: N as uint64.
    """
    count = np.int64(items)
    last_one, last_other = _highest(items), _highest(items - _ONE)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        for q in range(questions):
            one, other, state = _pair(state, items, last_one, last_other)
            i, j = min(one, other), max(one, other)
            answer = np.int64((bits[n] >> np.uint32(q)) & np.uint32(1))
            totals[answer, i * (2 * count - i - 1) // 2 + j - i - 1] += 1


@_compile
def first_hits(
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
    """hits[n] uint32: bit q is set if one of person n's likes lies in their set q, without noise.

    likes[starts[n]:starts[n + 1]]: item numbers, int64. inverses[a]: 1 / a modulo the modulus.
    """
    last_place, last_step = _highest(modulus), _highest(modulus - _ONE)
    wide, places = np.int64(modulus), np.int64(size) * np.int64(questions)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        place, step = _wheel(state, modulus, last_place, last_step)
        inverse = inverses[step]
        found = np.uint32(0)
        for t in range(starts[n], starts[n + 1]):
            along = (likes[t] - place + wide) % wide * inverse % wide
            if along < places:
                found |= np.uint32(1) << np.uint32(along // size)
        hits[n] = found


@_compile
def pair_hits(
    first: Any,
    second: Any,
    tickets: Any,
    starts: Any,
    likes: Any,
    questions: int,
    items: Any,
    hits: Any,
) -> None:
    """Fill hits of pairs: bit q is set if both items of pair q are liked."""
    last_one, last_other = _highest(items), _highest(items - _ONE)
    for n in range(len(tickets)):
        state = _mix(first ^ _mix(second ^ tickets[n]))
        found = np.uint32(0)
        for q in range(questions):
            one, other, state = _pair(state, items, last_one, last_other)
            liked = 0
            for t in range(starts[n], starts[n + 1]):
                liked += likes[t] == one or likes[t] == other
            if liked == 2:
                found |= np.uint32(1) << np.uint32(q)
        hits[n] = found


@_compile
def remember(table: Any, used: int, tickets: Any, key: Any, new: Any) -> int:
    """Put tickets (uint64, none 0) into an open table (uint64, 0 = free); how many are in it then.

    new: (tickets,) bool, set where a ticket was not there before. The table must have room. The
    key keeps people who choose tickets from choosing their places.
    """
    size = np.uint64(len(table))
    half = np.uint64(32)
    for n in range(len(tickets)):
        ticket = tickets[n]
        slot = ((_mix(ticket ^ key) >> half) * size) >> half
        while table[slot] != 0 and table[slot] != ticket:
            slot += _ONE
            if slot == size:
                slot = np.uint64(0)
        new[n] = table[slot] == 0
        if new[n]:
            table[slot] = ticket
            used += 1
    return used
