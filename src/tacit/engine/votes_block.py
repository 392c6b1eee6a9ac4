"""The compiled passes over the votes for a block of 64 clients.

Each object has 64 counters of a byte, a cache line that a voter's word is added to at once, and is
emptied into wide counters every 255 voters. Where few words have a bit, they are sorted out first.
Passes answer whether all votes were for objects of their round; chunks before a wrong one are done.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from tacit.engine.votes_bits import add_bits

CLIENTS = 64
CHUNK = 1024
"""Voters that all steps of a pass are done for before the next ones: what is held of them stays in
the fastest memory. A multiple of 8, and at most 8 * 255."""
FEW = 16
"""Where fewer than one in so many counts for anybody, it pays to ask before adding."""
NOBODY = np.uint64(0)

compiled = numba.njit(cache=True, nogil=True, error_model="numpy")
_ONE, _FULL = np.uint8(1), np.uint8(255)
_LINE = np.uint64(6)


@compiled
def below(votes: Any, objects: int) -> bool:
    largest = votes[0]
    for i in range(len(votes)):
        largest = max(largest, votes[i])
    within: bool = largest < objects
    return within


@compiled
def _are_few(alive: Any) -> bool:
    living = 0
    for i in range(len(alive)):
        living += alive[i] != 0
    return living * FEW < len(alive)


@compiled
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


@compiled
def _living(votes: Any, alive: Any, some_votes: Any, some_words: Any) -> int:
    """Copy the votes and words of those who count for anybody; how many they are."""
    found = np.uint64(0)
    for i in range(len(votes)):
        some_votes[found], some_words[found] = votes[i], alive[i]
        found += np.uint64(alive[i] != NOBODY)
    return np.int64(found)  # type: ignore[return-value]


@compiled
def count_chunk(
    votes: Any, alive: Any, some_votes: Any, some_words: Any, small: Any, filled: Any, wide: Any
) -> None:
    if _are_few(alive):
        found = _living(votes, alive, some_votes, some_words)
        _count(some_votes[:found], some_words[:found], small, filled, wide)
    else:
        _count(votes, alive, small, filled, wide)


@compiled
def tally(votes: Any, alive: Any, small: Any, filled: Any, wide: Any) -> bool:
    some_votes, some_words = np.empty(CHUNK, votes.dtype), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        chosen = votes[begin : begin + CHUNK]
        if not below(chosen, len(wide)):
            return False
        words = alive[begin : begin + CHUNK]
        count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
    return True


@compiled
def keep_chunk(votes: Any, kept: Any, alive: Any) -> None:
    for i in range(len(votes)):
        alive[i] &= kept[np.uint64(votes[i])]


@compiled
def keep(votes: Any, kept: Any, alive: Any) -> bool:
    for begin in range(0, len(votes), CHUNK):
        chosen = votes[begin : begin + CHUNK]
        if not below(chosen, len(kept)):
            return False
        keep_chunk(chosen, kept, alive[begin : begin + CHUNK])
    return True


@compiled
def keep_and_tally(
    last: Any, kept: Any, votes: Any, alive: Any, small: Any, filled: Any, wide: Any
) -> Any:
    counted = True
    some_votes, some_words = np.empty(CHUNK, votes.dtype), np.empty(CHUNK, np.uint64)
    for begin in range(0, len(votes), CHUNK):
        before, chosen = last[begin : begin + CHUNK], votes[begin : begin + CHUNK]
        words = alive[begin : begin + CHUNK]
        if not below(before, len(kept)):
            return False, False
        keep_chunk(before, kept, words)
        counted = counted and below(chosen, len(wide))
        if counted:
            count_chunk(chosen, words, some_votes, some_words, small, filled, wide)
    return True, counted
