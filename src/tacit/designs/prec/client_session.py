"""One client's run, from their first round to their last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tacit.designs.prec.gate import Gate
from tacit.designs.prec.incoming_votes import Id
from tacit.designs.prec.records import Entry, Transcript
from tacit.errors import PrivacyError


@dataclass(eq=False)
class Run:
    """seat: the number of their block and their place in it. gate: None where there is none.

    joined: the round whose voters are their electorate, None before the first. stopped: the round
    in
    which their gate shut. passed: the last one in which it let pass. replayed: answers were put in
    from outside, so that this gate is not the one that let them pass.
    """

    seat: tuple[int, int]
    gate: Gate | None
    joined: int | None = None
    entries: list[Entry] = field(default_factory=list)
    stopped: int | None = None
    passed: int = 0
    replayed: bool = False

    @property
    def transcript(self) -> Transcript:
        return Transcript(self.joined, tuple(self.entries), self.stopped)

    def given(self, number: int) -> Entry | None:
        """What they were given in this round."""
        last = self.entries[-1] if self.entries else None
        return last if last is not None and last.round == number else None

    def check_servable(self, name: Id, most: int) -> None:
        """PrivacyError if one more recommendation would not be covered; most: T."""
        if self.replayed:
            raise PrivacyError(
                f"Client {name!r} was replayed. Their gate is not the one that let the recorded "
                "recommendations pass, so a further one would not be covered by its epsilon."
            )
        if len(self.entries) >= most:
            raise PrivacyError(
                f"Client {name!r} has had all {most} recommendations that the guarantee is "
                "computed for."
            )

    def passes(self, number: int, left: int) -> bool:
        """Whether the gate lets pass in this round, where so many voters are left in whole credits.

        Asked once a round, also where a draw then failed: asking again is failing more often.
        """
        if self.gate is None or self.passed == number:
            return True
        if self.gate.stops_at(left):
            return False
        self.passed = number
        return True

    def to_list(self) -> list[Any]:
        """JSON values, the gate's secret among them."""
        gate = None if self.gate is None else self.gate.drawn
        return [list(self.seat), gate, self.replayed, self.transcript.to_list(), self.passed]

    @classmethod
    def from_list(cls, values: list[Any], gate: Gate | None) -> Run:
        """What `to_list` wrote."""
        (block, place), _, replayed, transcript, passed = values
        known = Transcript.from_list(transcript)
        if type(replayed) is not bool:
            raise ValueError("a run is replayed or not")
        if type(passed) is not int or passed < 0:
            raise ValueError("a gate's last round is no round")
        return cls(
            (block, place),
            gate,
            known.joined,
            list(known.entries),
            known.stopped,
            passed,
            replayed,
        )
