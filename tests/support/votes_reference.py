"""Votes counted and charged the readable way: what the compiled functions are compared with."""

from __future__ import annotations

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
    unknown_object_error,
)


def tally(votes: Votes, alive: Words, objects: int) -> Counts:
    """(64, objects): for each client, how many of those who count vote for each object."""
    check(votes, alive)
    _check_numbers(votes, objects)
    return np.stack(
        [
            np.bincount(votes[_bit(alive, client)], minlength=objects).astype(np.int64)
            for client in range(CLIENTS)
        ]
    )


def keep(votes: Votes, alive: Words, kept: Words) -> None:
    """Without credits: only voters of kept objects go on counting. kept: (objects,), a bit per
    client."""
    check(votes, alive)
    _check_numbers(votes, len(kept))
    alive &= kept[votes]


def keep_and_tally(last: Votes, kept: Words, votes: Votes, alive: Words, objects: int) -> Counts:
    """`keep` with the last round's votes, then `tally` with this round's."""
    keep(last, alive, kept)
    return tally(votes, alive, objects)


def charge(votes: Votes, credit: Credits, diverse: Words, radius: Words) -> None:
    """Take one creditD from the voters of the objects in `diverse` and one creditR from those in
    `radius`, both (objects,), a bit per client; who has run out counts no more.

    After a like of j `diverse` has all objects but j, after a dislike `radius` has j alone. No
    object costs both at once.
    """
    check(votes, credit.alive)
    check_charges(diverse, radius)
    _check_numbers(votes, len(radius))
    alive = credit.alive
    disliked = radius[votes] & alive
    charged = disliked | diverse[votes] & alive
    out = _decrease(credit.radius, disliked) | _decrease(credit.both, charged)
    alive &= ~out


def total_credit(credit: Credits) -> Counts:
    """(64,): for each client the sum of creditD + creditR over the voters who count for them."""
    total = _ones(credit.alive)
    for k in range(len(credit.both)):
        total += _ones(credit.both[k] & credit.alive) << k
    return total


def charge_and_tally(
    last: Votes, diverse: Words, radius: Words, votes: Votes, credit: Credits, objects: int
) -> tuple[Counts, Counts]:
    """`charge` with the last round's votes, then `tally` with this round's and `total_credit`."""
    charge(last, credit, diverse, radius)
    return tally(votes, credit.alive, objects), total_credit(credit)


def _check_numbers(votes: Votes, objects: int) -> None:
    if len(votes) and votes.max() >= objects:
        raise unknown_object_error(objects)


def _decrease(planes: Words, hit: Words) -> Words:
    """Take one from the counters that are hit; the bits of those that were at 0."""
    for plane in planes:
        was = plane.copy()
        plane ^= hit
        hit = hit & ~was
    return hit


def _bit(words: Words, client: int) -> NDArray[np.bool_]:
    return (words >> np.uint64(client) & np.uint64(1)).astype(bool)


def _ones(words: Words) -> Counts:
    return np.array([np.count_nonzero(_bit(words, c)) for c in range(CLIENTS)], np.int64)
