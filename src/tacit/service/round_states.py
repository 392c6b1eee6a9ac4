"""What is kept of a run between requests: the vote under way, who takes part, and the run itself.

As secret as the votes: it holds them, and the gates' noise.

The run knows a voter by a number, from which their vote follows where they abstain. The proof needs
that nobody else changes it, so it is a keyed function of their name: HMAC-SHA256 under a key of 256
bits, drawn when the run begins, cut to 128 bits.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from tacit import container
from tacit.designs.prec import PRecSettings
from tacit.errors import ModelFileError
from tacit.randomness import Source

Id = int | str
NUMBER_BYTES = 16
_KEY_WORDS = 4
_FORMAT = 2
_EARLIER = (
    "it is in format {} and was begun by another version of tacit; this version goes on with "
    f"format {_FORMAT}. Runs in format 1 numbered voters in the order of their names, which breaks "
    "the premise of the proof."
)


@dataclass(frozen=True)
class RoundsState:
    """run: `PRec.to_bytes`, which knows voters by `numbers`. key: of these numbers. number,
    candidates: of the open round. announced: of the next one, on which people vote now; empty where
    there is no vote. votes: by name, of the round that is not open yet. voters: names of those in
    rounds that were opened. gone: who was forgotten, and votes here no more.
    """

    run: bytes = field(repr=False)
    key: bytes = field(repr=False)
    number: int = 0
    candidates: tuple[Id, ...] = ()
    announced: tuple[Id, ...] = ()
    votes: dict[str, Id] = field(default_factory=dict, repr=False)
    voters: frozenset[str] = field(default=frozenset(), repr=False)
    gone: frozenset[str] = field(default=frozenset(), repr=False)

    @classmethod
    def decode(cls, kept: bytes) -> Self:
        """What `encode` gave; ModelFileError for the state of another version."""
        end = kept.index(b"\n")
        head = json.loads(kept[:end])
        found = head.pop("format") if isinstance(head, dict) else 1
        if found != _FORMAT:
            raise ModelFileError(_EARLIER.format(found))
        return cls(
            kept[end + 1 :],
            bytes.fromhex(head["key"]),
            head["number"],
            tuple(head["candidates"]),
            tuple(head["announced"]),
            head["votes"],
            frozenset(head["voters"]),
            frozenset(head["gone"]),
        )

    def encode(self) -> bytes:
        """For the ledger. In the order of names, so that nobody's time can be read off it."""
        head = {
            "format": _FORMAT,
            "key": self.key.hex(),
            "number": self.number,
            "candidates": self.candidates,
            "announced": self.announced,
            "votes": dict(sorted(self.votes.items())),
            "voters": sorted(self.voters),
            "gone": sorted(self.gone),
        }
        return json.dumps(head, separators=(",", ":")).encode("ascii") + b"\n" + self.run

    def other_settings(self, settings: PRecSettings) -> tuple[str, ...]:
        """Names of those that the run began with other values of."""
        asked, began = settings.to_header(), container.unpack(self.run)[0]["settings"]
        return tuple(name for name in asked if asked[name] != began.get(name))

    def numbers(self, names: Iterable[str]) -> dict[str, str]:
        """By name. Two names have one number with a chance below 2^-128: the caller checks."""
        return {name: number_of(self.key, name) for name in names}


def new_key(source: Source) -> bytes:
    """Of a run's numbers."""
    return source.words(_KEY_WORDS).tobytes()


def number_of(key: bytes, name: str) -> str:
    """A voter's number in the run of this key, in hexadecimal digits."""
    return hmac.digest(key, b"voter " + name.encode(), "sha256")[:NUMBER_BYTES].hex()
