"""What is kept of a run between requests: the vote under way, who takes part, and the run itself.

As secret as the votes: it holds them, and the gates' noise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from tacit import container
from tacit.recommenders.prec import PRecSettings

Id = int | str


@dataclass(frozen=True)
class RoundsState:
    """run: `PRec.to_bytes`, which knows voters by number. number, candidates: of the open round.
    announced: of the next one, on which people vote now; empty where there is no vote. votes: hers
    whose round is not open yet, by name. voters: numbers by name, of those in rounds that were
    opened. joined: how many numbers were given. gone: who was forgotten, and votes here no more.
    """

    run: bytes = field(repr=False)
    number: int = 0
    candidates: tuple[Id, ...] = ()
    announced: tuple[Id, ...] = ()
    votes: dict[str, Id] = field(default_factory=dict, repr=False)
    voters: dict[str, int] = field(default_factory=dict, repr=False)
    joined: int = 0
    gone: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def decode(cls, kept: bytes) -> Self:
        """What `encode` gave."""
        end = kept.index(b"\n")
        number, candidates, announced, votes, voters, joined, gone = json.loads(kept[:end])
        return cls(
            kept[end + 1 :],
            number,
            tuple(candidates),
            tuple(announced),
            votes,
            voters,
            joined,
            frozenset(gone),
        )

    def encode(self) -> bytes:
        """For the ledger. In the order of names, so that nobody's time can be read off it."""
        head = [
            self.number,
            self.candidates,
            self.announced,
            dict(sorted(self.votes.items())),
            dict(sorted(self.voters.items())),
            self.joined,
            sorted(self.gone),
        ]
        return json.dumps(head, separators=(",", ":")).encode("ascii") + b"\n" + self.run

    def other_settings(self, settings: PRecSettings) -> tuple[str, ...]:
        """Names of those that the run began with other values of."""
        asked, began = settings.to_header(), container.unpack(self.run)[0]["settings"]
        return tuple(name for name in asked if asked[name] != began.get(name))

    def with_numbers(self, names: Iterable[str]) -> dict[str, int]:
        """The voters' numbers, with further ones for names that have none. In no order of time."""
        new = sorted(set(names) - self.voters.keys())
        return self.voters | dict(zip(new, range(self.joined + 1, 2**62), strict=False))
