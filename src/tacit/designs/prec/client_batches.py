"""Clients in blocks of 64: who sits where, and the walks over the voters."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec.blocks import Block, Counts
from tacit.designs.prec.voters import Votes
from tacit.engine.votes import CLIENTS

Seat = tuple[int, int]
"""The number of a block, and a place in it."""


class ClientBatches:
    """A seat that was left is given to the next client, with a state of their own."""

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

    def enrol(self, seat: Seat, electorate: NDArray[np.bool_], tally: Counts) -> None:
        """A client begins with these voters (rows,), of whom so many vote for each object."""
        self.blocks[seat[0]].enrol(seat[1], electorate, tally)

    def counting(self, seat: Seat) -> NDArray[np.bool_]:
        """(rows,) who counts for the client."""
        return self.blocks[seat[0]].counting(seat[1])

    def counts(self, seat: Seat, votes: Votes, objects: int) -> tuple[Counts, int]:
        """(objects,) votes that count for the client, and the credit that is left."""
        tally, credit = self.blocks[seat[0]].counts(votes, objects)
        return tally[seat[1]], int(credit[seat[1]])

    def fit(self, rows: int, present: NDArray[np.bool_] | None) -> None:
        """Room for so many rows; present (rows,): who has not left, None if nobody new has."""
        for block in self.blocks:
            block.grow(rows)
            if present is not None:
                block.drop(present)

    def turn(
        self,
        last: Votes,
        had: int,
        votes: Votes,
        has: int,
        answers: Mapping[Seat, tuple[int, bool]],
    ) -> None:
        """From the last round, which had `had` objects, to this one, which has `has`."""
        for number, block in enumerate(self.blocks):
            own = {place: answer for (at, place), answer in answers.items() if at == number}
            block.turn(last, had, votes, has, own)
