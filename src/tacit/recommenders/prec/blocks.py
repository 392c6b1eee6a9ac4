"""Up to 64 clients side by side: who counts for each of them, a few bits per voter and client."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.engine import votes as engine
from tacit.recommenders.prec.voters import Votes

Counts = NDArray[np.int64]
Words = NDArray[np.uint64]
CLIENTS = engine.CLIENTS


class Block:
    """State of the clients of one block.

    answers: place of a client to (object, liked), of the round that is open; they are charged when
    the next one opens, in the same walk over the voters that counts its votes.
    """

    def __init__(self, voters: int, *, diversity: int, radius: int) -> None:
        self.credit = engine.no_credits(voters, diversity=diversity, radius=radius)
        self.answers: dict[int, tuple[int, bool]] = {}
        self._counts: tuple[Counts, Counts] | None = None

    def enrol(self, client: int, electorate: NDArray[np.bool_]) -> None:
        """A client at this place, for whom the electorate (rows,) counts with full credits."""
        engine.enrol(self.credit, client, electorate)
        self._counts = None

    def counts(self, votes: Votes, objects: int) -> tuple[Counts, Counts]:
        """Of the open round: (64, objects) votes that count for each client; (64,) their credit."""
        if self._counts is None:
            tally = engine.tally(votes, self.credit.alive, objects)
            self._counts = tally, self._total(tally)
        return self._counts

    def grow(self, rows: int) -> None:
        """Room for so many voters; the new ones count for nobody who is here already."""
        old = self.credit
        wider = [(0, 0), (0, rows - old.alive.size)]
        self.credit = engine.Credits(
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

    def turn(self, last: Votes, had: int, votes: Votes, has: int) -> None:
        """From the last round, which had `had` objects, to this one, which has `has`."""
        self._counts = None
        if not self.answers:
            return
        if self._plain:
            kept = kept_objects(self.answers, had)
            tally = engine.keep_and_tally(last, kept, votes, self.credit.alive, has)
            self._counts = tally, self._total(tally)
        else:
            diverse, radius = charged_objects(self.answers, had)
            self._counts = engine.charge_and_tally(last, diverse, radius, votes, self.credit, has)
        self.answers = {}

    @property
    def _plain(self) -> bool:
        """Whether a voter has one credit, D = R = 0."""
        return self.credit.start_both == 0

    def _total(self, tally: Counts) -> Counts:
        return tally.sum(axis=1) if self._plain else engine.total_credit(self.credit)


def kept_objects(answers: Mapping[int, tuple[int, bool]], objects: int) -> Words:
    """(objects,) bit c: voters of the object go on counting for client c (kick-out rule)."""
    diverse, radius = charged_objects(answers, objects)
    return ~(diverse | radius)


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
