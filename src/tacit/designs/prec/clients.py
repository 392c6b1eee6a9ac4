"""Clients: what each was recommended and answered, and what the curator holds for each."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.designs.prec.gate import is_open
from tacit.designs.prec.round import Block
from tacit.designs.prec.voters import Id
from tacit.mechanisms.gate import GateRun


@dataclass(frozen=True, slots=True)
class Entry:
    """One recommendation in a transcript, with its answer."""

    round: int
    """Number of the round, from 1."""
    candidate: Id
    """Id of the recommended candidate."""
    liked: bool | None
    """The client's answer; None if they gave none."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One client's view: the state of a run depends on the client only through it."""

    joined_round: int | None
    """The round whose voters are the client's electorate; None if no round was open yet."""
    entries: tuple[Entry, ...] = ()
    """Recommendations and answers, in the order of the rounds."""
    stopped_round: int | None = None
    """The first round in which the client's gate was shut; None if it never was."""


@dataclass(eq=False)
class JoinedClient:
    """A client who has joined and not left, as the curator holds them."""

    block: Block
    """Credits of the voters, with this client and up to 63 others."""
    slot: int
    """Number of this client within the block, 0 to 63."""
    gate: GateRun | None
    """The client's gate; None in runs without gates. Its noisy threshold is a secret, which is
    written to the run's file and nowhere else."""
    joined_round: int | None = None
    """See `Transcript.joined_round`."""
    entries: list[Entry] = field(default_factory=list)
    """See `Transcript.entries`."""
    stopped_round: int | None = None
    """See `Transcript.stopped_round`."""
    last_open_round: int = 0
    """The last round in which the gate was open; 0 before any."""
    is_replayed: bool = False
    """Whether recommendations of another curator were recorded here, so that none can follow."""

    @property
    def transcript(self) -> Transcript:
        """The client's view so far."""
        return Transcript(self.joined_round, tuple(self.entries), self.stopped_round)

    def entry_in_round(self, round_number: int) -> Entry | None:
        """Look up the recommendation of the open round; None if there was none yet."""
        if not self.entries or self.entries[-1].round != round_number:
            return None
        return self.entries[-1]

    def is_gate_open(self, round_number: int, survivors: int) -> bool:
        """Ask the gate, once a round, whether this round may read votes.

        A second call in the same round repeats the first answer, as after a draw that failed. To
        ask the gate again would be another chance of a wrong answer.

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
