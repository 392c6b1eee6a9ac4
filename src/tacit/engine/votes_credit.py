"""The compiled passes over voters with credits, for a block of 64 clients.

Counters are planes of words, a binary digit each. One is taken from 64 of them by a borrow that
runs through the planes, mostly not far; where it leaves the last one the voter is out.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tacit.engine.votes_bits import add_bits
from tacit.engine.votes_block import CHUNK, CLIENTS, NOBODY, below, compiled, count_chunk

_inline = numba.njit(cache=True, nogil=True, error_model="numpy", inline="always")


@compiled
def _decrease(planes: Any, begin: int, hit: Any) -> None:
    """Take one from the counters that are hit; what is left in `hit` are those that were at 0."""
    for k in range(len(planes)):
        words = planes[k, begin : begin + len(hit)]
        some = NOBODY
        for i in range(len(words)):
            word = words[i]
            words[i] = word ^ hit[i]
            hit[i] &= ~word
            some |= hit[i]
        if some == NOBODY:
            return


@compiled
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


@compiled
def charge(votes: Any, diverse: Any, radius: Any, both: Any, near: Any, alive: Any) -> bool:
    one, other = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        chosen = votes[begin : begin + CHUNK]
        if not below(chosen, len(radius)):
            return False
        _charge_chunk(chosen, diverse, radius, both, near, alive, begin, one, other)
    return True


@compiled
def charge_and_tally(
    last: Any, diverse: Any, radius: Any, both: Any, near: Any, alive: Any, votes: Any,
    small: Any, filled: Any, wide: Any, total: Any,
) -> Any:  # fmt: skip
    """total: (64,), where the credit beyond the first is added."""
    counted = True
    one, other = np.empty(CHUNK, np.uint64), np.empty(CHUNK, np.uint64)
    some_votes, some_words = np.empty(CHUNK, votes.dtype), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        before, chosen = last[begin : begin + CHUNK], votes[begin : begin + CHUNK]
        if not below(before, len(radius)):
            return False, False
        _charge_chunk(before, diverse, radius, both, near, alive, begin, one, other)
        counted = counted and below(chosen, len(wide))
        if counted:
            words = alive[begin : begin + CHUNK]
            count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
            total_credit(both[:, begin : begin + CHUNK], words, False, total)
    return True, counted


@_inline
def _full_add(one: Any, other: Any, third: Any) -> Any:
    """64 sums of three bits each: the twos and the ones."""
    odd = one ^ other
    return (one & other) | (odd & third), odd ^ third


@compiled
def _add_columns(words: Any, alive: Any, weight: int, small: Any, total: Any) -> None:
    """For each bit, how many of a chunk's living words have it, times the weight; small: (128,)."""
    small[:] = 0
    ones, twos, fours = NOBODY, NOBODY, NOBODY
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


@compiled
def total_credit(planes: Any, alive: Any, first: bool, total: Any) -> None:
    """The credit of the living, added to total; without the first of each unless it is wanted."""
    small = np.empty(2 * CLIENTS, np.uint8)
    for begin in range(0, len(alive), CHUNK):
        words = alive[begin : begin + CHUNK]
        if first:
            _add_columns(words, words, 1, small, total)
        for k in range(len(planes)):
            _add_columns(planes[k, begin : begin + CHUNK], words, 1 << k, small, total)
