"""The paper's update of a round: who counts for a client, and the credit that answers cost.

Source     Gilbert, Liu, Yu (2015), UpdateWeight of p-REC: creditD, creditR and weight of a voter.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.engine.votes import Counts, Credits, States, Votes, enrol, no_credits

Bits = NDArray[np.bool_]
Answers = Mapping[int, tuple[int, bool]]
"""Place of a client in the block: the object they were given, and whether they liked it."""


class Block:
    """Credits of the voters for up to 64 clients side by side: a few bits per voter and client.

    A client alone, where D = R = 0, has a byte for each voter in place of a word: there is an
    eighth of the memory to walk over, and one counter for each object in place of 64.
    """

    def __init__(self, voters: int, *, diversity: int, radius: int) -> None:
        """Make a block in which nobody counts yet."""
        self._credit = no_credits(voters, diversity=diversity, radius=radius)
        self._only: States | None = None
        """States of the voters while they count for nobody but the client at place 0."""
        self._counts: tuple[Counts, Counts] | None = None

    @classmethod
    def of_credits(cls, credit: Credits) -> Block:
        """Make the block that has these credits."""
        block = cls(0, diversity=0, radius=0)
        block.hold_credits(credit)
        return block

    @property
    def credit(self) -> Credits:
        """The credits of all voters; a copy while there is one client."""
        if self._only is None:
            return self._credit
        old = self._credit
        alive = self._only.astype(np.uint64)
        return Credits(old.diversity, old.radius_allowed, alive, old.both, old.radius)

    def hold_credits(self, credit: Credits) -> None:
        """Go on with these credits."""
        self._credit = credit
        self._only = None
        self._counts = None
        if self._has_single_credit and not (credit.alive >> np.uint64(1)).any():
            self._only = credit.alive.astype(np.uint8)

    def enrol(self, place: int, electorate: Bits) -> None:
        """Begin a client at this place, for whom the electorate (rows,) has full credits."""
        self._counts = None
        is_empty = self._only is None and not self._credit.alive.any()
        if self._has_single_credit and place == 0 and (self._only is not None or is_empty):
            self._only = electorate.astype(np.uint8)
            return
        self._widen_states()
        enrol(self._credit, place, electorate)

    def counts(self, place: int, votes: Votes, objects: int) -> tuple[Counts, int]:
        """Count the votes of the open round for a client.

        Returns:
            (objects,) votes that count for the client, and the credit that is left.
        """
        if self._counts is None:
            from tacit.engine import votes_compiled as engine

            if self._only is not None:
                tally = engine.tally_one(votes, self._only, objects)
            else:
                tally = engine.tally(votes, self._credit.alive, objects)
            if self._has_single_credit:
                total = tally.sum(axis=1)
            else:
                total = engine.total_credit(self._credit)
            self._counts = tally, total
        tally, total = self._counts
        if place >= len(tally):  # a client for whom nobody is left, beside one who is alone
            return np.zeros(objects, np.int64), 0
        return tally[place], int(total[place])

    def counting_voters(self, place: int) -> Bits:
        """Mark the voters who count for the client at this place: (rows,)."""
        if self._only is not None:
            return self._only.astype(bool) if place == 0 else np.zeros(len(self._only), bool)
        return (self._credit.alive >> np.uint64(place) & np.uint64(1)).astype(bool)

    def make_room(self, rows: int, present: Bits | None) -> None:
        """Make room for so many voters; the new ones count for no client who is here already.

        Args:
            rows: Voters, with those who left.
            present: (rows,) voters who have not left; None if nobody left since. A voter who left
                counts for nobody.
        """
        old = self._credit
        more = rows - old.alive.size
        if more:
            planes = (np.pad(plane, ((0, 0), (0, more))) for plane in (old.both, old.radius))
            alive = np.pad(old.alive, (0, more))
            self._credit = Credits(old.diversity, old.radius_allowed, alive, *planes)
            if self._only is not None:
                self._only = np.pad(self._only, (0, more))
            self._counts = None
        if present is not None:
            self._credit.alive[~present] = 0
            if self._only is not None:
                self._only[~present] = 0
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
        if self._only is not None:
            self._advance_only(last_votes, votes, objects, answers)
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
            tally = engine.keep_and_tally(last_votes, spared, votes, self._credit.alive, objects)
            self._counts = tally, tally.sum(axis=1)
        else:
            self._counts = engine.charge_and_tally(
                last_votes, diverse, radius, votes, self._credit, objects
            )

    def _advance_only(
        self, last_votes: Votes, votes: Votes, objects: int, answers: Answers
    ) -> None:
        """`advance` for the client at place 0; nobody counts for others."""
        if self._only is None or 0 not in answers:
            return
        from tacit.engine import votes_compiled as engine

        chosen, liked = answers[0]
        tally = engine.keep_and_tally_one(last_votes, chosen, liked, votes, self._only, objects)
        self._counts = tally, tally.sum(axis=1)

    def _widen_states(self) -> None:
        """Go back from the form for one client to a 64-bit word for each voter."""
        if self._only is not None:
            self._credit.alive[:] = self._only
            self._only = None

    @property
    def _has_single_credit(self) -> bool:
        """Whether a voter has one credit, D = R = 0."""
        return self._credit.start_both == 0
