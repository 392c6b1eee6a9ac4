"""The functions of `votes`, compiled: the same answers in one pass over the voters.

Voters come in chunks that stay in fast memory while each step passes over them; nothing of the size
of all voters is allocated.

A vote for no object raises as in `votes`. In the votes of a round that was never tallied it may be
met late: the states of the voters are then good for nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine import votes_block, votes_single
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


def tally(votes: Votes, alive: Words, objects: int) -> Counts:
    check(votes, alive, np.uint64)
    counters = _counters(objects)
    if not votes_block.tally(_unsigned(votes), alive, *counters):
        raise outside(objects)
    return _by_client(counters)


def keep(votes: Votes, alive: Words, kept: Words) -> None:
    check(votes, alive, np.uint64)
    if not votes_block.keep(_unsigned(votes), kept, alive):
        raise outside(len(kept))


def keep_and_tally(last: Votes, kept: Words, votes: Votes, alive: Words, objects: int) -> Counts:
    check(last, alive, np.uint64)
    check(votes, alive, np.uint64)
    counters = _counters(objects)
    known, counted = votes_block.keep_and_tally(
        _unsigned(last), kept, _unsigned(votes), alive, *counters
    )
    if not (known and counted):
        raise outside(objects if known else len(kept))
    return _by_client(counters)


def tally_one(votes: Votes, alive: NDArray[np.uint8], objects: int) -> Counts:
    check(votes, alive, np.uint8)
    lanes = _lanes(objects)
    if not votes_single.tally(_unsigned(votes), alive, lanes):
        raise outside(objects)
    return _of_lanes(lanes)


def keep_one(votes: Votes, alive: NDArray[np.uint8], kept: NDArray[np.bool_]) -> None:
    check(votes, alive, np.uint8)
    if not votes_single.keep(_unsigned(votes), kept.view(np.uint8), *_single(kept, votes), alive):
        raise outside(len(kept))


def keep_and_tally_one(
    last: Votes, kept: NDArray[np.bool_], votes: Votes, alive: NDArray[np.uint8], objects: int
) -> Counts:
    check(last, alive, np.uint8)
    check(votes, alive, np.uint8)
    lanes = _lanes(objects)
    known, counted = votes_single.keep_and_tally(
        _unsigned(last), kept.view(np.uint8), *_single(kept, last), _unsigned(votes), alive, lanes
    )
    if not (known and counted):
        raise outside(objects if known else len(kept))
    return _of_lanes(lanes)


def charge(votes: Votes, credit: Credits, diverse: Words, radius: Words) -> None:
    check(votes, credit.alive, np.uint64)
    check_charges(diverse, radius)
    if not votes_block.charge(_unsigned(votes), diverse, radius, *_state(credit)):
        raise outside(len(radius))


def total_credit(credit: Credits) -> Counts:
    total = np.zeros(CLIENTS, np.int64)
    votes_block.total_credit(credit.both, credit.alive, True, total)
    return total


def charge_and_tally(
    last: Votes, diverse: Words, radius: Words, votes: Votes, credit: Credits, objects: int
) -> tuple[Counts, Counts]:
    check(last, credit.alive, np.uint64)
    check(votes, credit.alive, np.uint64)
    check_charges(diverse, radius)
    counters, total = _counters(objects), np.zeros(CLIENTS, np.int64)
    known, counted = votes_block.charge_and_tally(
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


def _lanes(objects: int) -> NDArray[np.uint32]:
    """Each counts one voter in four, so that it takes 2^34 of them to overflow."""
    return np.zeros((4, objects), np.uint32)


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
    return number(0), votes_single.MIXED


def _state(credit: Credits) -> tuple[Words, Words, Words]:
    return credit.both, credit.radius, credit.alive
