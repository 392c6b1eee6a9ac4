"""Clients: a client's recommendations and answers, and what the curator holds for the client."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.designs.prec.gate import is_open
from tacit.designs.prec.round import Block
from tacit.designs.prec.voters import Id
from tacit.mechanisms.gate import GateRun


@dataclass(frozen=True, slots=True)
class Entry:
    """One recommendation to a client, with the client's answer."""

    round: int
    """Number of the round, from 1."""
    candidate: Id
    """Id of the recommended candidate."""
    liked: bool | None
    """Whether the client liked the candidate; None if they gave no answer."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One client's view of a run, and all about the client that voters' credits depend on."""

    joined_round: int | None
    """The round whose voters are the client's electorate; None if no round has been open since the
    client joined."""
    entries: tuple[Entry, ...] = ()
    """Recommendations and answers, in the order of the rounds."""
    stopped_round: int | None = None
    """The first round in which the client's gate was shut; None if it has never shut."""


@dataclass(eq=False)
class JoinedClient:
    """Data that the curator holds for a client who has joined and not left."""

    block: Block
    """The voters' credits with this client; it also holds those with up to 63 other clients."""
    slot: int
    """Number of this client within the block, 0 to 63."""
    gate: GateRun | None
    """The client's gate; None in runs without gates. Its noisy threshold is secret: it is saved
    with the run and written nowhere else."""
    joined_round: int | None = None
    """See `Transcript.joined_round`."""
    entries: list[Entry] = field(default_factory=list)
    """See `Transcript.entries`."""
    stopped_round: int | None = None
    """See `Transcript.stopped_round`."""
    last_open_round: int = 0
    """The last round in which the gate answered that it is open; 0 if there is none yet."""
    is_replayed: bool = False
    """Whether recommendations of another curator were recorded for this client. If so, this curator
    makes no recommendations to them."""

    @property
    def transcript(self) -> Transcript:
        """Recommendations and answers of the client so far."""
        return Transcript(self.joined_round, tuple(self.entries), self.stopped_round)

    def entry_in_round(self, round_number: int) -> Entry | None:
        """Return the client's entry of the open round; None if it has no recommendation yet.

        Args:
            round_number: Number of the open round: no entry is of a later one.
        """
        if not self.entries or self.entries[-1].round != round_number:
            return None
        return self.entries[-1]

    def is_gate_open(self, round_number: int, survivors: int) -> bool:
        """Ask the gate, once a round, whether votes may be read; without a gate they may.

        If the gate has answered in this round that it is open, a further call returns True without
        asking it again, for instance after the draw of a candidate failed: each question to the
        gate is another chance of a wrong answer. A gate that has shut stays shut.

        Args:
            round_number: Number of the open round.
            survivors: How many voters still count for the client.
        """
        if self.gate is None or self.last_open_round == round_number:
            return True
        if not is_open(self.gate, survivors):
            return False
        self.last_open_round = round_number
        return True
