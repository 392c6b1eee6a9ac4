"""State of each voter of p-REC for up to 64 clients at once; `votes_compiled` counts and charges.

A client's state is one bit for each voter: whether the voter counts. The bits of a block of 64
clients lie side by side in one 64-bit word per voter (bit c is client c's), so that one walk over
the votes serves them all.

Shapes throughout: votes (n,) uint16, the number of the object each voter voted for; alive (n,)
uint64, one bit per client. A client alone takes a byte for each voter, `States`, and an eighth of
the memory.

Source   the p-REC paper, its two algorithms. Without credits (D = R = 0) a voter who voted against
         the client's answer counts no more. With them a voter has creditD = 2D and
         creditR = 2R + 1, a disliked object costs its voters one creditR, a liked one costs
         everybody else one creditD, and a voter counts while creditR > 0 and
         creditD + creditR > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError, DataError

CLIENTS = 64
"""Clients of a block: the bits of a word."""

Votes = NDArray[np.uint16]
Words = NDArray[np.uint64]
States = NDArray[np.uint8]
"""(n,) 1 for each voter who counts, where there is one client."""
Counts = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Credits:
    """Credits of each voter with each client of a block; the arrays change in place.

    Bit c of words k of `both` is bit k of creditD + creditR - 1 with client c. The numbers only
    fall, and below 0 is the end: where the bit of `alive` is not set they mean nothing.
    """

    diversity: int
    """D, the same for all clients of a block."""
    radius_allowed: int
    """R, the same for all clients of a block."""
    alive: Words
    """(n,) bit c is set while the voter counts for client c."""
    both: Words
    """(bits, n) creditD + creditR - 1."""
    radius: Words
    """(bits, n) creditR - 1, laid out as `both`."""

    def __post_init__(self) -> None:
        if self.diversity < 0 or self.radius_allowed < 0:
            raise ConfigError(
                f"D and R are at least 0; got D = {self.diversity} and R = {self.radius_allowed}."
            )
        n = len(self.alive)
        planes = self.start_both.bit_length(), self.start_radius.bit_length()
        fields = (
            ("alive", self.alive, (n,)),
            ("both", self.both, (planes[0], n)),
            ("radius", self.radius, (planes[1], n)),
        )
        for name, array, shape in fields:
            if array.dtype != np.uint64 or array.shape != shape:
                raise DataError(
                    f"credits: the array '{name}' does not fit D, R and the voters",
                    found=(str(array.dtype), array.shape),
                    expected=f"uint64 {shape}",
                )

    @property
    def start_both(self) -> int:
        """Sum of creditD and creditR of a voter at the start, less 1."""
        return 2 * self.diversity + 2 * self.radius_allowed

    @property
    def start_radius(self) -> int:
        """Value of creditR of a voter at the start, less 1."""
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
    """Give a place of the block to a client, with full credits.

    Args:
        credit: The block.
        client: Place from 0 to 63.
        electorate: (n,) which voters count for the client.
    """
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


def check(votes: Votes, alive: Words | States, *, is_one_client: bool = False) -> None:
    """Refuse votes or states of another type, or another number of them.

    Args:
        votes: (n,) numbers of objects.
        alive: (n,) states of the voters.
        is_one_client: whether those are bytes, and not words.
    """
    if votes.dtype != np.uint16 or votes.ndim != 1:
        raise DataError(
            "votes are numbers of objects, one for each voter",
            found=(str(votes.dtype), votes.shape),
            expected="a row of uint16",
        )
    state = np.dtype(np.uint8 if is_one_client else np.uint64)
    if alive.dtype != state or alive.shape != votes.shape:
        raise DataError(
            "the state of the voters does not fit their votes",
            found=(str(alive.dtype), alive.shape),
            expected=f"{state} {votes.shape}",
        )


def check_charges(diverse: Words, radius: Words) -> None:
    """No client charges the voters of one object for a like and a dislike."""
    if diverse.shape != radius.shape or np.any(diverse & radius):
        raise DataError(
            "a client's answer costs the voters of an object both credits",
            expected="two sets of objects without a common one",
        )


def unknown_object_error(objects: int) -> DataError:
    """Make the error for a vote for an object that does not exist."""
    return DataError("a vote is for no object of this round", expected=f"0 to {objects - 1}")
