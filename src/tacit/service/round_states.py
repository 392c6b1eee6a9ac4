"""What is kept of a run between requests: the vote under way, who takes part, and the run itself.

As secret as the votes: it holds them, and the gates' noise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Self

Id = int | str


@dataclass(frozen=True)
class RoundsState:
    """run: `PRec.to_bytes`. number, candidates: of the open round. announced: of the next one, on
    which people vote now; empty where there is no vote. voters: who votes for others to see, in
    rounds that were opened. gone: who was forgotten, and cannot vote here again.
    """

    run: bytes = field(repr=False)
    number: int = 0
    candidates: tuple[Id, ...] = ()
    announced: tuple[Id, ...] = ()
    votes: dict[str, Id] = field(default_factory=dict, repr=False)
    voters: frozenset[str] = field(default=frozenset(), repr=False)
    gone: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def decode(cls, kept: bytes) -> Self:
        """What `encode` gave."""
        head, _, run = kept.partition(b"\n")
        number, candidates, announced, votes, voters, gone = json.loads(head)
        return cls(
            run,
            number,
            tuple(candidates),
            tuple(announced),
            votes,
            frozenset(voters),
            frozenset(gone),
        )

    def encode(self) -> bytes:
        """For the ledger. In the order of names, so that nobody's time can be read off it."""
        head = [
            self.number,
            self.candidates,
            self.announced,
            dict(sorted(self.votes.items())),
            sorted(self.voters),
            sorted(self.gone),
        ]
        return json.dumps(head, separators=(",", ":")).encode("ascii") + b"\n" + self.run
