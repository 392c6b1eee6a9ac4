"""The compiled passes over the votes for one client: a byte for each voter, 0 or 1.

Counters come in four rows in turn, so that two voters of one object do not wait for each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.engine.votes_block import FEW, below, compiled, keep_chunk

CHUNK = 4096
"""As in `votes_block`; below 2^16."""
MIXED = np.uint8(2)
"""In place of what becomes of the others' voters: no single object differs from all others."""


@compiled
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


@compiled
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


@compiled
def _are_few(alive: Any) -> bool:
    living = np.uint16(0)  # no wider, so that many are added at once
    for i in range(len(alive)):
        living = np.uint16(living + alive[i])
    few: bool = int(living) * FEW < len(alive)
    return few


@compiled
def tally(votes: Any, alive: Any, lanes: Any) -> bool:
    for begin in range(0, len(votes), CHUNK):
        chosen, states = votes[begin : begin + CHUNK], alive[begin : begin + CHUNK]
        if not below(chosen, lanes.shape[1]):
            return False
        if _are_few(states):
            _count_few(chosen, states, lanes[0])
        else:
            _count_one(chosen, states, lanes)
    return True


@compiled
def _compare_chunk(votes: Any, single: Any, others: Any, alive: Any) -> None:
    for i in range(len(votes)):
        alive[i] &= np.uint8(votes[i] == single) ^ others


@compiled
def _keep_chunk_one(votes: Any, kept: Any, single: Any, others: Any, alive: Any) -> None:
    if others == MIXED:
        keep_chunk(votes, kept, alive)
    else:
        _compare_chunk(votes, single, others, alive)


@compiled
def keep(votes: Any, kept: Any, single: Any, others: Any, alive: Any) -> bool:
    for begin in range(0, len(votes), CHUNK):
        chosen = votes[begin : begin + CHUNK]
        if not below(chosen, len(kept)):
            return False
        _keep_chunk_one(chosen, kept, single, others, alive[begin : begin + CHUNK])
    return True


@compiled
def keep_and_tally(
    last: Any, kept: Any, single: Any, others: Any, votes: Any, alive: Any, lanes: Any
) -> Any:
    counted = True
    for begin in range(0, len(votes), CHUNK):
        before, states = last[begin : begin + CHUNK], alive[begin : begin + CHUNK]
        if not below(before, len(kept)):
            return False, False
        _keep_chunk_one(before, kept, single, others, states)
        chosen = votes[begin : begin + CHUNK]
        counted = counted and below(chosen, lanes.shape[1])
        if not counted:
            continue
        if _are_few(states):
            _count_few(chosen, states, lanes[0])
        else:
            _count_one(chosen, states, lanes)
    return True, counted
