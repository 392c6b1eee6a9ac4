"""What was recommended and answered: enough, with the votes, to have the same state again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tacit.errors import DataError
from tacit.recommenders.prec.voters import Id, plain_id


@dataclass(frozen=True, slots=True)
class Entry:
    """One recommendation. round: from 1; liked: None where the client did not say."""

    round: int
    candidate: Id
    liked: bool | None

    def __post_init__(self) -> None:
        if type(self.round) is not int or self.round < 1:
            raise DataError("rounds are counted from 1", found=self.round)
        plain_id(self.candidate)
        if self.liked is not None and type(self.liked) is not bool:
            raise DataError("a client likes, dislikes or is silent", found=self.liked)

    def to_list(self) -> list[Any]:
        return [self.round, self.candidate, self.liked]


Transcript = tuple[Entry, ...]
"""Of one client, by round."""


def to_header(transcripts: Mapping[Id, list[Entry]]) -> list[list[Any]]:
    """JSON values; ids stay what they are."""
    return [[client, [entry.to_list() for entry in t]] for client, t in transcripts.items()]


def from_header(values: list[Any]) -> dict[Id, list[Entry]]:
    """What `to_header` wrote; DataError where rounds do not ascend."""
    transcripts = {plain_id(client): [Entry(*entry) for entry in t] for client, t in values}
    for transcript in transcripts.values():
        rounds = [entry.round for entry in transcript]
        if any(later <= earlier for earlier, later in pairwise(rounds)):
            raise DataError("a transcript's rounds do not ascend")
    return transcripts
