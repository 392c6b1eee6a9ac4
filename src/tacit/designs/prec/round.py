"""The paper's update of a round: who counts for a client, and the credit that answers cost.

Source     Gilbert, Liu, Yu (2015), UpdateWeight of p-REC: creditD, creditR and weight of a voter.
Names      A voter who has left keeps a row of each array, so `rows` is the number of all voters who
           ever joined. A voter "counts" for a client while their weight is 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.engine.votes import Counts, Credits, States, Votes, enrol, make_empty_credits

Bits = NDArray[np.bool_]
"""(rows,) a property of each voter."""


class Answer(NamedTuple):
    """One client's answer to a recommendation."""

    object_number: int
    """The recommended object's position among the candidates of its round, from 0."""
    liked: bool
    """Whether the client liked it."""


class VoteCount(NamedTuple):
    """The votes of one round that count for one client."""

    votes: Counts
    """(objects,) how many votes each object has."""
    credit_left: int
    """Sum of the credits of all voters who count for the client."""


Answers = Mapping[int, Answer]
"""Answers of a block's clients, by the client's slot."""


class Block:
    """Credits of all voters with up to 64 clients: a few bits per voter and client.

    Each client has a slot, 0 to 63: the number of their bit in the 64-bit word of each voter.

    If D = R = 0 and voters count for the client in slot 0 alone, a block can be kept in a shorter
    form, as one byte for each voter. A count then takes an eighth of the memory traffic, and one
    counter for each object instead of 64.
    """

    def __init__(self, voters: int, *, diversity: int, radius: int) -> None:
        """Make a block whose slots have no client and no voter that counts.

        Args:
            voters: How many voters have a row.
            diversity: D, the number of rounds in which a client may like several objects.
            radius: R, the number of votes of a peer for objects that the client dislikes.
        """
        self._credit = make_empty_credits(voters, diversity=diversity, radius=radius)
        self._byte_states: States | None = None
        """(rows,) the shorter form, 1 for a voter who counts; None while the block is kept as
        64-bit words."""
        self._counted: tuple[Counts, Counts] | None = None
        """The count of the open round: (slots, objects) votes, and (slots,) credit left. The
        shorter form has one slot. None until the round is counted."""

    @classmethod
    def from_credits(cls, credit: Credits) -> Block:
        """Make a block with these credits of all its voters."""
        block = cls(0, diversity=0, radius=0)  # D and R are part of the credits
        block.replace_credits(credit)
        return block

    @property
    def credit(self) -> Credits:
        """The credits of all voters. In the shorter form their array `alive` is a copy."""
        if self._byte_states is None:
            return self._credit
        words = self._credit
        alive = self._byte_states.astype(np.uint64)
        return Credits(words.diversity, words.radius_allowed, alive, words.both, words.radius)

    def replace_credits(self, credit: Credits) -> None:
        """Replace the credits of all voters, and choose the form in which they are kept."""
        self._credit = credit
        self._byte_states = None
        self._counted = None
        has_other_slots = bool((credit.alive >> np.uint64(1)).any())
        if self._has_single_credit and not has_other_slots:
            self._byte_states = credit.alive.astype(np.uint8)

    def enrol(self, slot: int, electorate: Bits) -> None:
        """Add a client in a slot, for whom each voter of the electorate has full credits.

        Args:
            slot: The slot, whose earlier client has left if there was one.
            electorate: (rows,) whether a voter counts for the client.
        """
        self._counted = None
        is_in_bytes = self._byte_states is not None
        is_empty = not is_in_bytes and not self._credit.alive.any()
        if self._has_single_credit and slot == 0 and (is_in_bytes or is_empty):
            self._byte_states = electorate.astype(np.uint8)
            return
        self._widen_to_words()
        enrol(self._credit, slot, electorate)

    def count_votes(self, slot: int, votes: Votes, objects: int) -> VoteCount:
        """Count the votes of the open round for the client in a slot.

        Only the votes of voters who count for this client are counted. The result is kept: until
        the block changes, further calls return the same.

        Args:
            slot: The client's slot.
            votes: (rows,) number of the object that each voter votes for.
            objects: How many objects the round has.
        """
        if self._counted is None:
            self._counted = self._count_for_all_slots(votes, objects)
        counts, credit_left = self._counted
        if slot >= len(counts):  # the shorter form: no voter counts for clients beyond slot 0
            return VoteCount(np.zeros(objects, np.int64), 0)
        return VoteCount(counts[slot], int(credit_left[slot]))

    def _count_for_all_slots(self, votes: Votes, objects: int) -> tuple[Counts, Counts]:
        """Count the open round for every slot, as `_counted` holds it."""
        from tacit.engine import votes_compiled as engine

        if self._byte_states is not None:
            counts = engine.tally_one(votes, self._byte_states, objects)
        else:
            counts = engine.tally(votes, self._credit.alive, objects)
        if self._has_single_credit:
            return counts, counts.sum(axis=1)
        return counts, engine.total_credit(self._credit)

    def counting_voters(self, slot: int) -> Bits:
        """Return for each voter whether they count for the client in a slot: (rows,)."""
        if self._byte_states is None:
            return (self._credit.alive >> np.uint64(slot) & np.uint64(1)).astype(bool)
        if slot == 0:
            return self._byte_states.astype(bool)
        return np.zeros(len(self._byte_states), bool)

    def update_voters(self, rows: int, present: Bits | None) -> None:
        """Add rows for new voters, and remove the credits of voters who left.

        New voters count for no client who joined before them.

        Args:
            rows: How many voters have a row now, also those who left.
            present: (rows,) whether a voter is still there; None if nobody left since the last
                round.
        """
        credit = self._credit
        new_rows = rows - credit.alive.size
        if new_rows:
            alive = np.pad(credit.alive, (0, new_rows))
            both = np.pad(credit.both, ((0, 0), (0, new_rows)))
            radius = np.pad(credit.radius, ((0, 0), (0, new_rows)))
            self._credit = Credits(credit.diversity, credit.radius_allowed, alive, both, radius)
            if self._byte_states is not None:
                self._byte_states = np.pad(self._byte_states, (0, new_rows))
            self._counted = None
        if present is not None:
            self._credit.alive[~present] = 0
            if self._byte_states is not None:
                self._byte_states[~present] = 0
            self._counted = None

    def advance(
        self, last_votes: Votes, last_objects: int, votes: Votes, objects: int, answers: Answers
    ) -> None:
        """Charge credits for the answers of the last round, and count the votes of the new round.

        The paper's UpdateWeight: if the client liked the object, every voter for another object
        loses a creditD; if not, every voter for that object loses a creditR.

        One pass over the voters charges and counts, and the count is kept for `count_votes`.
        Without answers there is nothing to charge, and `count_votes` counts once it is called.

        Args:
            last_votes: (rows,) for each voter, the number of the object voted for last round.
            last_objects: How many objects the last round had.
            votes: (rows,) for each voter, the number of the object voted for in the new round.
            objects: How many objects the new round has.
            answers: Clients' answers in the last round. Clients without one cost nobody credit.
        """
        self._counted = None
        if not answers:
            return
        if self._byte_states is not None:
            self._advance_in_bytes(last_votes, votes, objects, answers)
            return
        from tacit.engine import votes_compiled as engine

        # (last_objects,) words: bit c is set if voters for the object lose a creditD, or a creditR,
        # with the client in slot c
        loses_diversity = np.zeros(last_objects, np.uint64)
        loses_radius = np.zeros(last_objects, np.uint64)
        for slot, answer in answers.items():
            bit = np.uint64(1 << slot)
            if answer.liked:
                loses_diversity |= bit
                loses_diversity[answer.object_number] &= ~bit
            else:
                loses_radius[answer.object_number] |= bit
        if self._has_single_credit:
            still_counts = ~(loses_diversity | loses_radius)
            counts = engine.keep_and_tally(
                last_votes, still_counts, votes, self._credit.alive, objects
            )
            self._counted = counts, counts.sum(axis=1)
        else:
            self._counted = engine.charge_and_tally(
                last_votes, loses_diversity, loses_radius, votes, self._credit, objects
            )

    def _advance_in_bytes(
        self, last_votes: Votes, votes: Votes, objects: int, answers: Answers
    ) -> None:
        """Do what `advance` does, for a block in the shorter form.

        The answers of clients in other slots than 0 cost nothing, since no voter counts for them.
        """
        if self._byte_states is None or 0 not in answers:
            return
        from tacit.engine import votes_compiled as engine

        answer = answers[0]
        counts = engine.keep_and_tally_one(
            last_votes,
            answer.object_number,
            answer.liked,
            votes,
            self._byte_states,
            objects,
        )
        self._counted = counts, counts.sum(axis=1)

    def _widen_to_words(self) -> None:
        """Change from the shorter form, if the block is in it, to a 64-bit word for each voter."""
        if self._byte_states is not None:
            self._credit.alive[:] = self._byte_states
            self._byte_states = None

    @property
    def _has_single_credit(self) -> bool:
        """Whether D = R = 0: then a voter stops counting as soon as they lose a credit."""
        return self._credit.start_both == 0
