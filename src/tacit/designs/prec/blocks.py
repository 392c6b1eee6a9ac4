"""Up to 64 clients side by side: who counts for each of them, a few bits per voter and client."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.designs.prec.voters import Votes
from tacit.engine.votes import Credits, enrol, no_credits

Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
Answers = Mapping[int, tuple[int, bool]]
"""Place of a client in the block: the object they were given, and whether they liked it."""


class Block:
    """State of the clients of one block."""

    def __init__(self, voters: int, *, diversity: int, radius: int) -> None:
        self.credit = no_credits(voters, diversity=diversity, radius=radius)
        self._counts: tuple[Counts, Counts] | None = None

    def enrol(self, client: int, electorate: NDArray[np.bool_], tally: Counts) -> None:
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
            self._counts = tally, self._total(tally)
        return self._counts

    def counting(self, client: int) -> NDArray[np.bool_]:
        """(rows,) who counts for the client at this place."""
        return (self.credit.alive >> np.uint64(client) & np.uint64(1)).astype(bool)

    def grow(self, rows: int) -> None:
        """Room for so many voters; the new ones count for nobody who is here already."""
        old = self.credit
        if rows == old.alive.size:
            return
        wider = [(0, 0), (0, rows - old.alive.size)]
        self.credit = Credits(
            old.diversity,
            old.radius_allowed,
            np.pad(old.alive, wider[1]),
            np.pad(old.both, wider),
            np.pad(old.radius, wider),
        )
        self._counts = None

    def drop(self, present: NDArray[np.bool_]) -> None:
        """Voters who left count for nobody; present: (rows,)."""
        alive = self.credit.alive
        alive[~present] = 0
        self._counts = None

    def turn(self, last: Votes, had: int, votes: Votes, has: int, answers: Answers) -> None:
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
            self._counts = tally, self._total(tally)
        else:
            self._counts = engine.charge_and_tally(last, diverse, radius, votes, self.credit, has)

    @property
    def _plain(self) -> bool:
        """Whether a voter has one credit, D = R = 0."""
        return self.credit.start_both == 0

    def _total(self, tally: Counts) -> Counts:
        if self._plain:
            return np.asarray(tally.sum(axis=1), dtype=np.int64)
        from tacit.engine.votes_compiled import total_credit

        return total_credit(self.credit)


def charged_objects(answers: Mapping[int, tuple[int, bool]], objects: int) -> tuple[Words, Words]:
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
