"""Clients in blocks of 64: who counts for each of them, a few bits per voter and client."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec.voters import Votes
from tacit.engine.votes import CLIENTS, Credits, enrol, no_credits

Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
Bits = NDArray[np.bool_]
Answers = Mapping[int, tuple[int, bool]]
"""Place of a client in the block: the object they were given, and whether they liked it."""
Seat = tuple[int, int]
"""The number of a block, and a place in it."""


class Block:
    """State of up to 64 clients side by side."""

    def __init__(self, voters: int, *, diversity: int, radius: int) -> None:
        self.credit = no_credits(voters, diversity=diversity, radius=radius)
        self._counts: tuple[Counts, Counts] | None = None

    def enrol(self, client: int, electorate: Bits, tally: Counts) -> None:
        """A client at this place, for whom the electorate (rows,) counts with full credits.

        tally: (objects,) the electorate's votes in the open round.
        """
        enrol(self.credit, client, electorate)
        if self._counts is not None:
            counts, credits_left = self._counts
            counts[client] = tally
            credits_left[client] = (self.credit.start_both + 1) * tally.sum()

    def counts(self, votes: Votes, objects: int) -> tuple[Counts, Counts]:
        """Of the open round: (64, objects) votes that count for each client; (64,) their credit."""
        if self._counts is None:
            from tacit.engine import votes_compiled as engine

            tally = engine.tally(votes, self.credit.alive, objects)
            total = tally.sum(axis=1) if self._plain else engine.total_credit(self.credit)
            self._counts = tally, total
        return self._counts

    def counting(self, client: int) -> Bits:
        """(rows,) who counts for the client at this place."""
        return (self.credit.alive >> np.uint64(client) & np.uint64(1)).astype(bool)

    def fit(self, rows: int, present: Bits | None) -> None:
        """Room for so many voters; the new ones count for nobody who is here already.

        present: (rows,) who has not left, None if nobody new has. Who left counts for nobody.
        """
        old = self.credit
        if more := rows - old.alive.size:
            self.credit = Credits(
                old.diversity,
                old.radius_allowed,
                np.pad(old.alive, (0, more)),
                np.pad(old.both, ((0, 0), (0, more))),
                np.pad(old.radius, ((0, 0), (0, more))),
            )
            self._counts = None
        if present is not None:
            self.credit.alive[~present] = 0
            self._counts = None

    def advance(self, last: Votes, had: int, votes: Votes, has: int, answers: Answers) -> None:
        """Charge for the answers of the last round, and count this one's votes in the same walk.

        had, has: objects of the last round and of this one.
        """
        self._counts = None
        if not answers:
            return
        from tacit.engine import votes_compiled as engine

        diverse, radius = charged_objects(answers, had)
        if self._plain:
            kept = ~(diverse | radius)
            tally = engine.keep_and_tally(last, kept, votes, self.credit.alive, has)
            self._counts = tally, tally.sum(axis=1)
        else:
            self._counts = engine.charge_and_tally(last, diverse, radius, votes, self.credit, has)

    @property
    def _plain(self) -> bool:
        """Whether a voter has one credit, D = R = 0."""
        return self.credit.start_both == 0


def charged_objects(answers: Answers, objects: int) -> tuple[Words, Words]:
    """(objects,) each, bit c: for client c the object's voters lose a creditD, a creditR."""
    diverse, radius = np.zeros(objects, np.uint64), np.zeros(objects, np.uint64)
    for client, (chosen, liked) in answers.items():
        bit = np.uint64(1 << client)
        if liked:
            diverse |= bit
            diverse[chosen] &= ~bit
        else:
            radius[chosen] |= bit
    return diverse, radius


class ClientBatches:
    """Who sits where. A seat that was left is given to the next client, with a state of their own.

    diversity, radius: D and R, of all clients.
    """

    def __init__(self, *, diversity: int, radius: int) -> None:
        self.blocks: list[Block] = []
        self._diversity, self._radius = diversity, radius
        self._free: list[Seat] = []

    def take(self, rows: int) -> Seat:
        """A seat; a new block has so many rows of voters."""
        if not self._free:
            self._free = [(len(self.blocks), place) for place in reversed(range(CLIENTS))]
            self.blocks.append(Block(rows, diversity=self._diversity, radius=self._radius))
        return self._free.pop()

    def free(self, seat: Seat) -> None:
        self._free.append(seat)

    def restore(self, blocks: list[Block], taken: set[Seat]) -> None:
        """As in a file; ValueError if a taken seat is in none of these blocks."""
        every = [(block, place) for block in range(len(blocks)) for place in range(CLIENTS)]
        if not taken <= set(every):
            raise ValueError("a client has no seat in the blocks")
        self.blocks = blocks
        self._free = [seat for seat in reversed(every) if seat not in taken]

    def counts(self, seat: Seat, votes: Votes, objects: int) -> tuple[Counts, int]:
        """(objects,) votes that count for the client, and the credit that is left."""
        tally, credit = self.blocks[seat[0]].counts(votes, objects)
        return tally[seat[1]], int(credit[seat[1]])

    def advance(
        self, last: Votes, had: int, votes: Votes, has: int, said: Mapping[Seat, tuple[int, bool]]
    ) -> None:
        """From the last round, which had `had` objects, to this one, which has `has`."""
        for number, block in enumerate(self.blocks):
            own = {place: answer for (at, place), answer in said.items() if at == number}
            block.advance(last, had, votes, has, own)
