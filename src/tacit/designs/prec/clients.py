"""Clients: what each was given and said, their gate, and who counts for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from tacit.designs.prec.round import Block
from tacit.designs.prec.voters import Id
from tacit.mechanisms.gate import GateRun


@dataclass(frozen=True, slots=True)
class Entry:
    """One recommendation and its answer."""

    round: int
    """Number of the round, from 1."""
    candidate: Id
    """What was recommended."""
    liked: bool | None
    """The client's answer; None where they did not say."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One client's view: the state of a run depends on the client for nothing else."""

    joined: int | None
    """The round whose voters are their electorate; None if there was none yet."""
    entries: tuple[Entry, ...] = ()
    """Recommendations and answers, in the order of the rounds."""
    stopped: int | None = None
    """The first round in which their gate was shut; None if it never was."""


@dataclass(eq=False)
class Run:
    """One client's run under way."""

    block: Block
    """Credits of the voters who count."""
    place: int
    """The client's place in the block."""
    gate: GateRun | None
    """None where there is none. Its noisy threshold goes into the run's file and nowhere else."""
    joined: int | None = None
    """See `Transcript`."""
    entries: list[Entry] = field(default_factory=list)
    """See `Transcript`."""
    stopped: int | None = None
    """See `Transcript`."""
    passed: int = 0
    """The last round that the gate let pass."""
    replayed: bool = False
    """Whether another curator's recommendations were put in, so that none follow here."""

    @property
    def transcript(self) -> Transcript:
        """The client's view so far."""
        return Transcript(self.joined, tuple(self.entries), self.stopped)

    def entry_of(self, number: int) -> Entry | None:
        """Look up what was recommended in the open round; None if nothing was."""
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last.round == number else None

    def passes(self, number: int, left: int) -> bool:
        """Ask the gate whether it lets pass in this round.

        It is asked once a round, also where the round's draw failed afterwards: each further
        question would be a further chance of a wrong answer.

        Args:
            number: Number of the round.
            left: Survivors of the client's run, as a number of voters.
        """
        if self.gate is None or self.passed == number:
            return True
        if self.gate.stops_at(left):
            return False
        self.passed = number
        return True
