"""The functions of `votes`, compiled: the same answers in one pass over the voters.

For a block each object has 64 counters of a byte, a cache line that a voter's word is added to at
once (`votes_bits`), and is emptied into wide counters every 255 voters. For one client there are
four rows of counters in turn, so that two voters of one object do not wait for each other. Voters
come in chunks that stay in fast memory while each step passes over them; nothing of the size of all
voters is allocated.

A vote for no object raises as in `votes`. In the votes of a round that was never tallied it may be
met late: the states of the voters are then good for nothing.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from tacit.engine.votes import (
    CLIENTS,
    Counts,
    Credits,
    Votes,
    Words,
    check,
    check_charges,
    outside,
)
from tacit.engine.votes_bits import add_bits

CHUNK = 1024
"""Voters that all steps of a pass are done for before the next ones: what is held of them stays in
the fastest memory. A multiple of 8, and at most 8 * 255."""
CHUNK_ONE = 4096
"""The same for one client; below 2^16."""
FEW = 16
"""Where fewer than one in so many counts for anybody, it pays to ask before adding."""
LANES = 4

_compile = numba.njit(cache=True, nogil=True, error_model="numpy")
_inline = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")
_ONE, _FULL = np.uint8(1), np.uint8(255)
_LINE = np.uint64(6)
_NOBODY = np.uint64(0)
_MIXED = np.uint8(2)


def tally(votes: Votes, alive: Words, objects: int) -> Counts:
    check(votes, alive, np.uint64)
    counters = _counters(objects)
    if not _tally(_unsigned(votes), alive, *counters):
        raise outside(objects)
    return _by_client(counters)


def keep(votes: Votes, alive: Words, kept: Words) -> None:
    check(votes, alive, np.uint64)
    if not _keep(_unsigned(votes), kept, alive):
        raise outside(len(kept))


def keep_and_tally(last: Votes, kept: Words, votes: Votes, alive: Words, objects: int) -> Counts:
    check(last, alive, np.uint64)
    check(votes, alive, np.uint64)
    counters = _counters(objects)
    known, counted = _keep_and_tally(_unsigned(last), kept, _unsigned(votes), alive, *counters)
    if not (known and counted):
        raise outside(objects if known else len(kept))
    return _by_client(counters)


def tally_one(votes: Votes, alive: NDArray[np.uint8], objects: int) -> Counts:
    check(votes, alive, np.uint8)
    lanes = np.zeros((LANES, objects), np.uint32)
    if not _tally_one(_unsigned(votes), alive, lanes):
        raise outside(objects)
    return _of_lanes(lanes)


def keep_one(votes: Votes, alive: NDArray[np.uint8], kept: NDArray[np.bool_]) -> None:
    check(votes, alive, np.uint8)
    if not _keep_one(_unsigned(votes), kept.view(np.uint8), *_single(kept, votes), alive):
        raise outside(len(kept))


def keep_and_tally_one(
    last: Votes, kept: NDArray[np.bool_], votes: Votes, alive: NDArray[np.uint8], objects: int
) -> Counts:
    check(last, alive, np.uint8)
    check(votes, alive, np.uint8)
    # A lane counts one voter in four, so that it takes 2^34 of them to overflow.
    lanes = np.zeros((LANES, objects), np.uint32)
    known, counted = _keep_and_tally_one(
        _unsigned(last), kept.view(np.uint8), *_single(kept, last), _unsigned(votes), alive, lanes
    )
    if not (known and counted):
        raise outside(objects if known else len(kept))
    return _of_lanes(lanes)


def charge(votes: Votes, credit: Credits, diverse: Words, radius: Words) -> None:
    check(votes, credit.alive, np.uint64)
    check_charges(diverse, radius)
    if not _charge(_unsigned(votes), diverse, radius, *_state(credit)):
        raise outside(len(radius))


def total_credit(credit: Credits) -> Counts:
    total = np.zeros(CLIENTS, np.int64)
    _total(credit.both, credit.alive, True, total)
    return total


def charge_and_tally(
    last: Votes, diverse: Words, radius: Words, votes: Votes, credit: Credits, objects: int
) -> tuple[Counts, Counts]:
    check(last, credit.alive, np.uint64)
    check(votes, credit.alive, np.uint64)
    check_charges(diverse, radius)
    counters, total = _counters(objects), np.zeros(CLIENTS, np.int64)
    known, counted = _charge_and_tally(
        _unsigned(last), diverse, radius, *_state(credit), _unsigned(votes), *counters, total
    )
    if not (known and counted):
        raise outside(objects if known else len(radius))
    counts = _by_client(counters)
    return counts, total + counts.sum(axis=1)


def _unsigned(votes: Votes) -> NDArray[Any]:
    """A negative number becomes one that is too large."""
    row: NDArray[Any] = np.ascontiguousarray(votes)
    return row if row.dtype == np.uint16 else row.view(np.uint32)


def _counters(objects: int) -> tuple[NDArray[np.uint8], NDArray[np.uint8], Counts]:
    """Small counters (objects * 64,) that begin with a cache line, what the fullest of an object
    can hold (objects,), and wide counters (objects, 64)."""
    room = np.zeros((objects + 1) * CLIENTS, np.uint8)
    begin = -room.ctypes.data % CLIENTS
    return (
        room[begin : begin + objects * CLIENTS],
        np.zeros(objects, np.uint8),
        np.zeros((objects, CLIENTS), np.int64),
    )


def _by_client(counters: tuple[NDArray[np.uint8], NDArray[np.uint8], Counts]) -> Counts:
    small, _, wide = counters
    wide += small.reshape(wide.shape)
    return np.ascontiguousarray(wide.T)


def _of_lanes(lanes: NDArray[np.uint32]) -> Counts:
    counts: Counts = lanes.sum(axis=0, dtype=np.int64)
    return counts


def _single(kept: NDArray[np.bool_], votes: Votes) -> tuple[Any, np.uint8]:
    """Where all objects but one fare alike: which one, and whether the others are kept (0 or 1).

    A comparison is then enough, and many fit into one instruction. Else the 0 means nothing.
    """
    number = np.uint16 if votes.dtype == np.uint16 else np.uint32
    many = int(np.count_nonzero(kept))
    if many == 1:
        return number(np.argmax(kept)), np.uint8(0)
    if many == len(kept) - 1:
        return number(np.argmin(kept)), np.uint8(1)
    return number(0), _MIXED


def _state(credit: Credits) -> tuple[Words, Words, Words]:
    return credit.both, credit.radius, credit.alive


@_compile
def _below(votes: Any, objects: int) -> bool:
    largest = votes[0]
    for i in range(len(votes)):
        largest = max(largest, votes[i])
    within: bool = largest < objects
    return within


@_compile
def _are_few(alive: Any) -> bool:
    living = 0
    for i in range(len(alive)):
        living += alive[i] != 0
    return living * FEW < len(alive)


@_compile
def _count(votes: Any, alive: Any, small: Any, filled: Any, wide: Any) -> None:
    for i in range(len(votes)):
        line = np.uint64(votes[i])
        add_bits(small, line << _LINE, alive[i])
        level = np.uint8(filled[line] + _ONE)
        filled[line] = level
        if level == _FULL:  # a call here, or a part of an array, would slow all voters down
            for c in range(CLIENTS):
                at = (line << _LINE) + np.uint64(c)
                wide[line, c] += small[at]
                small[at] = 0
            filled[line] = 0


@_compile
def _living(votes: Any, alive: Any, some_votes: Any, some_words: Any) -> int:
    """Copy the votes and words of those who count for anybody; how many they are."""
    found = np.uint64(0)
    for i in range(len(votes)):
        some_votes[found], some_words[found] = votes[i], alive[i]
        found += np.uint64(alive[i] != _NOBODY)
    return np.int64(found)  # type: ignore[return-value]


@_compile
def _count_chunk(
    votes: Any, alive: Any, some_votes: Any, some_words: Any, small: Any, filled: Any, wide: Any
) -> None:
    if _are_few(alive):
        found = _living(votes, alive, some_votes, some_words)
        _count(some_votes[:found], some_words[:found], small, filled, wide)
    else:
        _count(votes, alive, small, filled, wide)


@_compile
def _tally(votes: Any, alive: Any, small: Any, filled: Any, wide: Any) -> bool:
    some_votes, some_words = np.empty(CHUNK, votes.dtype), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        chosen = votes[begin : begin + CHUNK]
        if not _below(chosen, len(wide)):
            return False
        words = alive[begin : begin + CHUNK]
        _count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
    return True


@_compile
def _keep_chunk(votes: Any, kept: Any, alive: Any) -> None:
    for i in range(len(votes)):
        alive[i] &= kept[np.uint64(votes[i])]


@_compile
def _keep(votes: Any, kept: Any, alive: Any) -> bool:
    for begin in range(0, len(votes), CHUNK):
        chosen = votes[begin : begin + CHUNK]
        if not _below(chosen, len(kept)):
            return False
        _keep_chunk(chosen, kept, alive[begin : begin + CHUNK])
    return True


@_compile
def _keep_and_tally(
    last: Any, kept: Any, votes: Any, alive: Any, small: Any, filled: Any, wide: Any
) -> Any:
    counted = True
    some_votes, some_words = np.empty(CHUNK, votes.dtype), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        before, chosen = last[begin : begin + CHUNK], votes[begin : begin + CHUNK]
        words = alive[begin : begin + CHUNK]
        if not _below(before, len(kept)):
            return False, False
        _keep_chunk(before, kept, words)
        counted = counted and _below(chosen, len(wide))
        if counted:
            _count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
    return True, counted


@_compile
def _count_one(votes: Any, alive: Any, lanes: Any) -> None:
    first, second, third, fourth = lanes[0], lanes[1], lanes[2], lanes[3]
    until = len(votes) // 4 * 4
    for i in range(0, until, 4):
        first[np.uint64(votes[i])] += alive[i]
        second[np.uint64(votes[i + 1])] += alive[i + 1]
        third[np.uint64(votes[i + 2])] += alive[i + 2]
        fourth[np.uint64(votes[i + 3])] += alive[i + 3]
    for i in range(until, len(votes)):
        first[np.uint64(votes[i])] += alive[i]


@_compile
def _count_few(votes: Any, alive: Any, lane: Any) -> None:
    """The same, over 64 voters at once where none of them counts."""
    for begin in range(0, len(votes), 64):
        part = alive[begin : begin + 64]
        some = np.uint8(0)
        for i in range(len(part)):
            some |= part[i]
        if some:
            chosen = votes[begin : begin + 64]
            for i in range(len(part)):
                if part[i]:
                    lane[np.uint64(chosen[i])] += part[i]


@_compile
def _are_few_one(alive: Any) -> bool:
    living = np.uint16(0)  # no wider, so that many are added at once
    for i in range(len(alive)):
        living = np.uint16(living + alive[i])
    few: bool = int(living) * FEW < len(alive)
    return few


@_compile
def _tally_one(votes: Any, alive: Any, lanes: Any) -> bool:
    for begin in range(0, len(votes), CHUNK_ONE):
        chosen, states = votes[begin : begin + CHUNK_ONE], alive[begin : begin + CHUNK_ONE]
        if not _below(chosen, lanes.shape[1]):
            return False
        if _are_few_one(states):
            _count_few(chosen, states, lanes[0])
        else:
            _count_one(chosen, states, lanes)
    return True


@_compile
def _compare_chunk(votes: Any, single: Any, others: Any, alive: Any) -> None:
    for i in range(len(votes)):
        alive[i] &= np.uint8(votes[i] == single) ^ others


@_compile
def _keep_chunk_one(votes: Any, kept: Any, single: Any, others: Any, alive: Any) -> None:
    if others == _MIXED:
        _keep_chunk(votes, kept, alive)
    else:
        _compare_chunk(votes, single, others, alive)


@_compile
def _keep_one(votes: Any, kept: Any, single: Any, others: Any, alive: Any) -> bool:
    for begin in range(0, len(votes), CHUNK_ONE):
        chosen = votes[begin : begin + CHUNK_ONE]
        if not _below(chosen, len(kept)):
            return False
        _keep_chunk_one(chosen, kept, single, others, alive[begin : begin + CHUNK_ONE])
    return True


@_compile
def _keep_and_tally_one(
    last: Any, kept: Any, single: Any, others: Any, votes: Any, alive: Any, lanes: Any
) -> Any:
    counted = True
    for begin in range(0, len(votes), CHUNK_ONE):
        before, states = last[begin : begin + CHUNK_ONE], alive[begin : begin + CHUNK_ONE]
        if not _below(before, len(kept)):
            return False, False
        _keep_chunk_one(before, kept, single, others, states)
        chosen = votes[begin : begin + CHUNK_ONE]
        counted = counted and _below(chosen, lanes.shape[1])
        if not counted:
            continue
        if _are_few_one(states):
            _count_few(chosen, states, lanes[0])
        else:
            _count_one(chosen, states, lanes)
    return True, counted


@_compile
def _decrease(planes: Any, begin: int, hit: Any) -> None:
    """Take one from the counters that are hit; what is left in `hit` are those that were at 0."""
    for k in range(len(planes)):
        words = planes[k, begin : begin + len(hit)]
        some = _NOBODY
        for i in range(len(words)):
            word = words[i]
            words[i] = word ^ hit[i]
            hit[i] &= ~word
            some |= hit[i]
        if some == _NOBODY:
            return


@_compile
def _charge_chunk(
    votes: Any, diverse: Any, radius: Any, both: Any, near: Any, alive: Any, begin: int,
    one: Any, other: Any,
) -> None:  # fmt: skip
    """one, other: (CHUNK,) words to work in."""
    one, other = one[: len(votes)], other[: len(votes)]
    words = alive[begin : begin + len(votes)]
    for i in range(len(votes)):
        vote = np.uint64(votes[i])
        disliked = radius[vote] & words[i]
        one[i] = disliked
        other[i] = disliked | (diverse[vote] & words[i])
    _decrease(near, begin, one)
    _decrease(both, begin, other)
    for i in range(len(words)):
        words[i] &= ~(one[i] | other[i])


@_compile
def _charge(votes: Any, diverse: Any, radius: Any, both: Any, near: Any, alive: Any) -> bool:
    one, other = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        chosen = votes[begin : begin + CHUNK]
        if not _below(chosen, len(radius)):
            return False
        _charge_chunk(chosen, diverse, radius, both, near, alive, begin, one, other)
    return True


@_compile
def _charge_and_tally(
    last: Any, diverse: Any, radius: Any, both: Any, near: Any, alive: Any, votes: Any,
    small: Any, filled: Any, wide: Any, total: Any,
) -> Any:  # fmt: skip
    """total: (64,), where the credit beyond the first is added."""
    counted = True
    one, other = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    some_votes, some_words = np.empty(CHUNK, votes.dtype), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        before, chosen = last[begin : begin + CHUNK], votes[begin : begin + CHUNK]
        if not _below(before, len(radius)):
            return False, False
        _charge_chunk(before, diverse, radius, both, near, alive, begin, one, other)
        counted = counted and _below(chosen, len(wide))
        if counted:
            words = alive[begin : begin + CHUNK]
            _count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
            _total(both[:, begin : begin + CHUNK], words, False, total)
    return True, counted


@_inline
def _full_add(one: Any, other: Any, third: Any) -> Any:
    """64 sums of three bits each: the twos and the ones."""
    odd = one ^ other
    return (one & other) | (odd & third), odd ^ third


@_compile
def _add_columns(words: Any, alive: Any, weight: int, small: Any, total: Any) -> None:
    """For each bit, how many of a chunk's living words have it, times the weight; small: (128,)."""
    small[:] = 0
    ones, twos, fours = _NOBODY, _NOBODY, _NOBODY
    until = len(words) // 8 * 8
    for i in range(0, until, 8):
        a, ones = _full_add(ones, words[i] & alive[i], words[i + 1] & alive[i + 1])
        b, ones = _full_add(ones, words[i + 2] & alive[i + 2], words[i + 3] & alive[i + 3])
        c, twos = _full_add(twos, a, b)
        a, ones = _full_add(ones, words[i + 4] & alive[i + 4], words[i + 5] & alive[i + 5])
        b, ones = _full_add(ones, words[i + 6] & alive[i + 6], words[i + 7] & alive[i + 7])
        d, twos = _full_add(twos, a, b)
        eights, fours = _full_add(fours, c, d)
        add_bits(small, np.uint64(0), eights)
    rest = np.uint64(CLIENTS)
    for i in range(until, len(words)):
        add_bits(small, rest, words[i] & alive[i])
    add_bits(small, rest, ones)
    for _ in range(2):
        add_bits(small, rest, twos)
    for _ in range(4):
        add_bits(small, rest, fours)
    for c in range(CLIENTS):
        total[c] += weight * (8 * np.int64(small[c]) + np.int64(small[CLIENTS + c]))


@_compile
def _total(planes: Any, alive: Any, first: bool, total: Any) -> None:
    """The credit of the living, added to total; without the first of each unless it is wanted."""
    small = np.empty(2 * CLIENTS, np.uint8)
    for begin in range(0, len(alive), CHUNK):
        words = alive[begin : begin + CHUNK]
        if first:
            _add_columns(words, words, 1, small, total)
        for k in range(len(planes)):
            _add_columns(planes[k, begin : begin + CHUNK], words, 1 << k, small, total)
