"""The state of p-REC's voters for up to 64 clients at once; `votes_compiled` counts and charges.

For each client a voter either counts or does not, which is one bit. A block has 64 clients, and
their bits are in one 64-bit word for each voter (bit c is client c's), so that one pass over the
votes serves all clients. For a single client, a byte for each voter is enough (`States`), which is
an eighth of the memory.

Shapes   votes: (n,) uint16, the number of the object that each voter voted for. alive: (n,) uint64,
         one bit for each client.
Source   the p-REC paper, its two algorithms. D is the number of rounds in which a client may like
         several objects. R is the number of votes that a peer may cast on objects that the client
         dislikes. Without credits (D = R = 0), a voter no longer counts for a client once they
         voted against the client's answer. With credits, a voter begins with creditD = 2D and
         creditR = 2R + 1. If the client dislikes an object, its voters lose one creditR. If the
         client likes it, all other voters lose one creditD. A voter counts while creditR > 0 and
         creditD + creditR > 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError, DataError

CLIENTS = 64
"""Number of clients of a block, which is the number of bits of a word."""

Votes = NDArray[np.uint16]
"""(n,) the number of the object that each voter voted for."""
Words = NDArray[np.uint64]
"""One bit for each client of a block, in a word for each voter or object."""
States = NDArray[np.uint8]
"""(n,) 1 for each voter who counts for the only client, else 0."""
Counts = NDArray[np.int64]
"""int64 array of numbers of votes or credits."""


@dataclass(frozen=True, eq=False)
class Credits:
    """The credits of each voter with each client of a block; the arrays change in place.

    Two numbers are stored for each voter and client, creditD + creditR - 1 and creditR - 1, in bit
    planes: bit c of `both[k, voter]` is bit k of the first number with client c. The numbers only
    fall. Once one of them would be below 0, the voter's bit c of `alive` is cleared; from then on
    neither number has a meaning.

    Raises:
        ConfigError: D or R is negative.
        DataError: The type or shape of an array does not fit D, R and the number of voters.
    """

    diversity: int
    """D, the same for all clients of a block."""
    radius_allowed: int
    """R, the same for all clients of a block."""
    alive: Words
    """(n,) bit c is set while the voter counts for client c."""
    both: Words
    """(bits, n) bit planes of creditD + creditR - 1."""
    radius: Words
    """(bits, n) bit planes of creditR - 1."""

    def __post_init__(self) -> None:
        if self.diversity < 0 or self.radius_allowed < 0:
            raise ConfigError(
                f"D and R are at least 0; got D = {self.diversity} and R = {self.radius_allowed}."
            )
        n = len(self.alive)
        fields = (
            ("alive", self.alive, (n,)),
            ("both", self.both, (self.start_both.bit_length(), n)),
            ("radius", self.radius, (self.start_radius.bit_length(), n)),
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
        """The initial creditD + creditR - 1 of a voter."""
        return 2 * self.diversity + 2 * self.radius_allowed

    @property
    def start_radius(self) -> int:
        """The initial creditR - 1 of a voter."""
        return 2 * self.radius_allowed


def make_empty_credits(voters: int, *, diversity: int, radius: int) -> Credits:
    """Make a block without clients, to which `enrol` adds them.

    Args:
        voters: Number of voters.
        diversity: D, at least 0.
        radius: R, at least 0.
    """
    return Credits(
        diversity,
        radius,
        np.zeros(voters, np.uint64),
        np.zeros(((2 * diversity + 2 * radius).bit_length(), voters), np.uint64),
        np.zeros(((2 * radius).bit_length(), voters), np.uint64),
    )


def enrol(credit: Credits, client: int, electorate: NDArray[np.bool_]) -> None:
    """Add a client to a block, with full credits for the voters of the electorate.

    Args:
        credit: The block's credits, changed in place.
        client: The client's place in the block, 0 to 63.
        electorate: (n,) whether each voter counts for the client.

    Raises:
        ConfigError: The block does not have this place.
    """
    _set_bits(credit.alive, client, electorate)
    for planes, start in (
        (credit.both, credit.start_both),
        (credit.radius, credit.start_radius),
    ):
        for k in range(len(planes)):
            bit_of_start = bool(start >> k & 1)
            _set_bits(planes[k], client, electorate & bit_of_start)


def _set_bits(words: Words, client: int, bits: NDArray[np.bool_]) -> None:
    """Set the bit of one client in each word to the voter's entry of `bits`.

    Raises:
        ConfigError: The client's place is out of range.
    """
    if not 0 <= client < CLIENTS:
        raise ConfigError(f"A block has the places 0 to {CLIENTS - 1}; got {client}.")
    words &= ~(np.uint64(1) << np.uint64(client))
    words |= bits.astype(np.uint64) << np.uint64(client)


def check(votes: Votes, alive: Words | States, *, is_one_client: bool = False) -> None:
    """Raise DataError unless votes and states have the right types and the same length.

    Args:
        votes: (n,) numbers of objects.
        alive: (n,) whether each voter counts.
        is_one_client: Whether `alive` has a byte for each voter, of the only client; if not, it has
            a word for each voter, of 64 clients.
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


def check_charges(loses_diversity: Words, loses_radius: Words) -> None:
    """Check that the charges of creditD and of creditR fit each other.

    Args:
        loses_diversity: (objects,) bit c is set if the object's voters lose one creditD with
            client c.
        loses_radius: (objects,) bit c is set if the object's voters lose one creditR with client c.

    Raises:
        DataError: The arrays differ in length, or a client charges an object's voters both credits.
    """
    if loses_diversity.shape != loses_radius.shape:
        raise DataError(
            "charges of creditD and of creditR are for different numbers of objects",
            found=(loses_diversity.shape, loses_radius.shape),
            expected="two arrays of one length",
        )
    if np.any(loses_diversity & loses_radius):
        raise DataError(
            "a client's answer costs the voters of an object both credits",
            expected="for each client, no object in both arrays",
        )


def unknown_object_error(objects: int) -> DataError:
    """Make the error for a vote for an object that does not exist."""
    return DataError("a vote is for no object of its round", expected=f"0 to {objects - 1}")
