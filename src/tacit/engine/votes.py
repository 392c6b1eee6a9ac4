"""Votes counted for up to 64 clients at once, and charged after the feedback: the readable way.

A client's state is one bit for each voter: whether the voter counts. The bits of a block of 64
clients lie side by side in one 64-bit word per voter (bit c is client c's), so that one walk over
the votes serves them all. `votes_compiled` has the same functions, fast; tests hold the two equal.

Shapes throughout: votes (n,) uint16 or int32, the number of the object each voter voted for; alive
(n,) uint64, one bit per client, or in the functions for one client (n,) uint8, 0 or 1.

Source   the p-REC paper, its two algorithms. Without credits (D = R = 0) a voter who voted against
the
         client's answer counts no more. With them a voter has creditD = 2D and creditR = 2R + 1, a
         disliked object costs its voters one creditR, a liked one costs everybody else one creditD,
         and a voter counts while creditR > 0 and creditD + creditR > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError, DataError

CLIENTS = 64
"""Clients of a block: the bits of a word."""

Votes = NDArray[np.uint16] | NDArray[np.int32]
Words = NDArray[np.uint64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Credits:
    """What each voter still has with each client of a block; the arrays change in place.

    alive: (n,), bit c set while the voter counts for client c. both, radius: (bits, n) words,
    where bit c
    of words k are bit k of creditD + creditR - 1 and of creditR - 1 with client c. They only fall
    together with the credits, and below 0 is the end: where the bit of alive is not set they mean
    nothing. diversity, radius_allowed: D and R, the same for all clients of a block.
    """

    diversity: int
    radius_allowed: int
    alive: Words
    both: Words
    radius: Words

    def __post_init__(self) -> None:
        if self.diversity < 0 or self.radius_allowed < 0:
            raise ConfigError(
                f"D and R are at least 0; got D = {self.diversity} and R = {self.radius_allowed}."
            )
        bits = (self.start_both.bit_length(), self.start_radius.bit_length())
        n = len(self.alive)
        for name, array, shape in (
            ("alive", self.alive, (n,)),
            ("both", self.both, (bits[0], n)),
            ("radius", self.radius, (bits[1], n)),
        ):
            if array.dtype != np.uint64 or array.shape != shape:
                raise DataError(
                    f"credits: the array '{name}' does not fit D, R and the voters",
                    found=(str(array.dtype), array.shape),
                    expected=f"uint64 {shape}",
                )

    @property
    def start_both(self) -> int:
        """creditD + creditR - 1 of a voter at the start."""
        return 2 * self.diversity + 2 * self.radius_allowed

    @property
    def start_radius(self) -> int:
        """creditR - 1 of a voter at the start."""
        return 2 * self.radius_allowed


def no_credits(voters: int, *, diversity: int, radius: int) -> Credits:
    """A block without a client: nobody counts for anyone until `enrol`."""
    return Credits(
        diversity,
        radius,
        np.zeros(voters, np.uint64),
        np.zeros(((2 * diversity + 2 * radius).bit_length(), voters), np.uint64),
        np.zeros(((2 * radius).bit_length(), voters), np.uint64),
    )


def enrol(credit: Credits, client: int, electorate: NDArray[np.bool_]) -> None:
    """Give place `client` (0 to 63) of the block to a client for whom `electorate` (n,) counts,
    with full credits."""
    _put(credit.alive, client, electorate)
    for planes, start in (
        (credit.both, credit.start_both),
        (credit.radius, credit.start_radius),
    ):
        for k in range(len(planes)):
            _put(planes[k], client, electorate & bool(start >> k & 1))


def _put(words: Words, client: int, bits: NDArray[np.bool_]) -> None:
    if not 0 <= client < CLIENTS:
        raise ConfigError(f"A block has the places 0 to {CLIENTS - 1}; got {client}.")
    words &= ~(np.uint64(1) << np.uint64(client))
    words |= bits.astype(np.uint64) << np.uint64(client)


def tally(votes: Votes, alive: Words, objects: int) -> Counts:
    """(64, objects): for each client, how many of those who count for them voted for "
    "each object."""
    check(votes, alive, np.uint64)
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
    check(votes, alive, np.uint64)
    _check_numbers(votes, len(kept))
    alive &= kept[votes]


def keep_and_tally(last: Votes, kept: Words, votes: Votes, alive: Words, objects: int) -> Counts:
    """`keep` with the last round's votes, then `tally` with this round's."""
    keep(last, alive, kept)
    return tally(votes, alive, objects)


def tally_one(votes: Votes, alive: NDArray[np.uint8], objects: int) -> Counts:
    """(objects,): `tally` for one client alone."""
    check(votes, alive, np.uint8)
    _check_numbers(votes, objects)
    return np.bincount(votes[alive == 1], minlength=objects).astype(np.int64)


def keep_one(votes: Votes, alive: NDArray[np.uint8], kept: NDArray[np.bool_]) -> None:
    """`keep` for one client alone; kept: (objects,) bool."""
    check(votes, alive, np.uint8)
    _check_numbers(votes, len(kept))
    alive &= kept[votes]


def keep_and_tally_one(
    last: Votes, kept: NDArray[np.bool_], votes: Votes, alive: NDArray[np.uint8], objects: int
) -> Counts:
    """`keep_one` with the last round's votes, then `tally_one` with this round's."""
    keep_one(last, alive, kept)
    return tally_one(votes, alive, objects)


def charge(votes: Votes, credit: Credits, diverse: Words, radius: Words) -> None:
    """Take one creditD from the voters of the objects in `diverse` and one creditR from those in
    `radius`, both (objects,), a bit per client; who has run out counts no more.

    After a like of j `diverse` has all objects but j, after a dislike `radius` has j alone. No
    object costs both at once.
    """
    check(votes, credit.alive, np.uint64)
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


def check(votes: Votes, alive: NDArray[Any], word: type) -> None:
    """One vote of a known type for each voter."""
    if votes.dtype not in (np.uint16, np.int32) or votes.ndim != 1:
        raise DataError(
            "votes are numbers of objects, one for each voter",
            found=(str(votes.dtype), votes.shape),
            expected="a row of uint16 or int32",
        )
    if alive.dtype != word or alive.shape != votes.shape:
        raise DataError(
            "the state of the voters does not fit their votes",
            found=(str(alive.dtype), alive.shape),
            expected=f"{np.dtype(word)} {votes.shape}",
        )


def check_charges(diverse: Words, radius: Words) -> None:
    """No client charges the voters of one object for a like and a dislike."""
    if diverse.shape != radius.shape or np.any(diverse & radius):
        raise DataError(
            "a client's answer costs the voters of an object both credits",
            expected="two sets of objects without a common one",
        )


def outside(objects: int) -> DataError:
    """What is said of a vote for an object that does not exist."""
    return DataError("a vote is for no object of this round", expected=f"0 to {objects - 1}")


def _check_numbers(votes: Votes, objects: int) -> None:
    if len(votes) and not (votes.min() >= 0 and votes.max() < objects):
        raise outside(objects)


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
