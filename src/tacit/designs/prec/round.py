"""The paper's update of a round: who counts for a client, and the credit that answers cost.

Source     Gilbert, Liu, Yu (2015), UpdateWeight of p-REC: creditD, creditR and weight of a voter.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.engine.votes import Counts, Credits, Votes, enrol, no_credits

Bits = NDArray[np.bool_]
Answers = Mapping[int, tuple[int, bool]]
"""Place of a client in the block: the object they were given, and whether they liked it."""


class Block:
    """Credits of the voters for up to 64 clients side by side: a few bits per voter and client."""

    def __init__(self, voters: int, *, diversity: int, radius: int) -> None:
        """Make a block in which nobody counts yet."""
        self.credit = no_credits(voters, diversity=diversity, radius=radius)
        self._counts: tuple[Counts, Counts] | None = None

    @classmethod
    def of_credits(cls, credit: Credits) -> Block:
        """Make the block that has these credits."""
        block = cls(0, diversity=0, radius=0)
        block.credit = credit
        return block

    def enrol(self, place: int, electorate: Bits) -> None:
        """Begin a client at this place, for whom the electorate (rows,) has full credits."""
        enrol(self.credit, place, electorate)
        self._counts = None

    def counts(self, place: int, votes: Votes, objects: int) -> tuple[Counts, int]:
        """Count the votes of the open round for a client.

        Returns:
            (objects,) votes that count for the client, and the credit that is left.
        """
        if self._counts is None:
            from tacit.engine import votes_compiled as engine

            tally = engine.tally(votes, self.credit.alive, objects)
            total = (
                tally.sum(axis=1) if self._has_single_credit else engine.total_credit(self.credit)
            )
            self._counts = tally, total
        return self._counts[0][place], int(self._counts[1][place])

    def counting_voters(self, place: int) -> Bits:
        """Mark the voters who count for the client at this place: (rows,)."""
        return (self.credit.alive >> np.uint64(place) & np.uint64(1)).astype(bool)

    def make_room(self, rows: int, present: Bits | None) -> None:
        """Make room for so many voters; the new ones count for no client who is here already.

        Args:
            rows: Voters, with those who left.
            present: (rows,) voters who have not left; None if nobody left since. A voter who left
                counts for nobody.
        """
        old = self.credit
        more = rows - old.alive.size
        if more:
            planes = (np.pad(plane, ((0, 0), (0, more))) for plane in (old.both, old.radius))
            alive = np.pad(old.alive, (0, more))
            self.credit = Credits(old.diversity, old.radius_allowed, alive, *planes)
            self._counts = None
        if present is not None:
            self.credit.alive[~present] = 0
            self._counts = None

    def advance(
        self, last_votes: Votes, last_objects: int, votes: Votes, objects: int, answers: Answers
    ) -> None:
        """Charge for the answers of the last round, and count this one's votes in the same walk.

        Args:
            last_votes: (rows,) votes of the last round.
            last_objects: Objects of the last round.
            votes: (rows,) votes of this round.
            objects: Objects of this round.
            answers: Clients' answers in the last round.
        """
        self._counts = None
        if not answers:
            return
        from tacit.engine import votes_compiled as engine

        # Bit c of each object: for client c its voters lose a creditD, a creditR
        diverse = np.zeros(last_objects, np.uint64)
        radius = np.zeros(last_objects, np.uint64)
        for client, (chosen, liked) in answers.items():
            bit = np.uint64(1 << client)
            if liked:
                diverse |= bit
                diverse[chosen] &= ~bit
            else:
                radius[chosen] |= bit
        if self._has_single_credit:
            spared = ~(diverse | radius)
            tally = engine.keep_and_tally(last_votes, spared, votes, self.credit.alive, objects)
            self._counts = tally, tally.sum(axis=1)
        else:
            self._counts = engine.charge_and_tally(
                last_votes, diverse, radius, votes, self.credit, objects
            )

    @property
    def _has_single_credit(self) -> bool:
        """Whether a voter has one credit, D = R = 0."""
        return self.credit.start_both == 0
