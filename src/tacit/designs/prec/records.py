"""What was recommended and answered: enough, with the votes, to have the same state again."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tacit.designs.prec.incoming_votes import Id, plain_id
from tacit.errors import DataError


@dataclass(frozen=True, slots=True)
class Entry:
    """One recommendation. round: from 1; liked: None where the client did not say."""

    round: int
    candidate: Id
    liked: bool | None

    def __post_init__(self) -> None:
        _check_round(self.round)
        plain_id(self.candidate)
        if self.liked is not None and type(self.liked) is not bool:
            raise DataError("a client likes, dislikes or is silent", found=self.liked)


@dataclass(frozen=True, slots=True)
class Transcript:
    """One client's view, by round, and all that the state depends on them for.

    joined: the round whose voters are their electorate, None if there was none yet. stopped: the
    first round in which their gate was shut, None if it never was.
    """

    joined: int | None
    entries: tuple[Entry, ...] = ()
    stopped: int | None = None

    def __post_init__(self) -> None:
        for number in (self.joined, self.stopped):
            if number is not None:
                _check_round(number)
        rounds = [entry.round for entry in self.entries]
        if any(later <= earlier for earlier, later in pairwise(rounds)):
            raise DataError("a transcript's rounds do not ascend")
        if rounds and (self.joined is None or rounds[0] < self.joined):
            raise DataError("a transcript has a recommendation before the client joined")
        if self.stopped is not None and self.stopped not in rounds:
            raise DataError("a gate is shut in a round without a recommendation")

    @property
    def last(self) -> int:
        """The last round that it tells of; 0 if it tells of none."""
        return self.entries[-1].round if self.entries else self.joined or 0

    def to_list(self) -> list[Any]:
        """JSON values."""
        rows = [[entry.round, entry.candidate, entry.liked] for entry in self.entries]
        return [self.joined, rows, self.stopped]

    @classmethod
    def from_list(cls, values: list[Any]) -> Transcript:
        """What `to_list` wrote; TypeError, ValueError or DataError for anything else."""
        joined, rows, stopped = values
        return cls(joined, tuple(Entry(*row) for row in rows), stopped)


@dataclass(frozen=True)
class Round:
    """What comes in before and with one round: see `PRec.open_round`."""

    candidates: Collection[Any]
    votes: Mapping[Any, Any] | tuple[Any, Any]
    joined: Collection[Any] = ()
    left: Collection[Any] = ()


def _check_round(number: Any) -> None:
    if type(number) is not int or number < 1:
        raise DataError("rounds are counted from 1", found=number)
