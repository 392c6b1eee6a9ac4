"""Who votes: rows of the state, and a vote for everybody in every round.

Whoever abstains gets a vote, from a hash of the run, the voter's own id and the round. It looks at
nobody's votes, so a voter's votes are still a function of her own history. To leave her out of a
round instead would break the proof: shares would be of those who voted, and a few voters could be
asked about in every round while none of the many others is ever used up (docs: p-REC).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError

Id = int | str
Votes = NDArray[np.uint16]
Words = NDArray[np.uint64]
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


class Voters:
    """Rows are given in the order of joining and never given again: a voter who comes back is new.

    present: (rows,) bool. keys: (rows,) uint64, of the voter's id alone.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.ids: list[Id] = []
        self.present: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self.keys: Words = np.zeros(0, dtype=np.uint64)
        self._row: dict[Id, int] = {}

    def __len__(self) -> int:
        """Rows, of voters who left too."""
        return len(self.ids)

    def __contains__(self, voter: Id) -> bool:
        return voter in self._row

    def join(self, voters: Iterable[Any]) -> None:
        """Rows for those who have none; all of them or nobody."""
        fresh = [voter for voter in dict.fromkeys(map(plain_id, voters)) if voter not in self._row]
        if len(self._row) + len(fresh) > self.most:
            raise DataError(
                "more voters than the run was set up for",
                expected=f"at most {self.most}",
                fix="Start a run with a larger bound; nobody of these joined.",
            )
        for voter in fresh:
            self._row[voter] = len(self.ids)
            self.ids.append(voter)
        self.present = np.append(self.present, np.ones(len(fresh), dtype=bool))
        keys = np.array([_key(voter) for voter in fresh], dtype=np.uint64)
        self.keys = np.append(self.keys, keys)

    def leave(self, voters: Iterable[Any]) -> None:
        """Their rows stay and count for nobody."""
        for voter in [plain_id(voter) for voter in voters]:
            if voter not in self._row:
                raise DataError("no such voter", found=voter, expected="one who joined")
            self.present[self._row.pop(voter)] = False

    def rows(self, voters: Sequence[Any]) -> NDArray[np.int64]:
        """The rows of voters who joined."""
        return np.array([self._row[plain_id(voter)] for voter in voters], dtype=np.int64)

    def default(self, run: int, number: int, size: int) -> Votes:
        """(rows,) what everybody votes for in this round unless she votes herself."""
        mixed = _mix(self.keys ^ np.uint64(_mixed_word(run, number)))
        return (mixed % np.uint64(size)).astype(np.uint16)


def places(candidates: Collection[Any], most: int) -> dict[Id, int]:
    """Each candidate's place in the round; refused unless there are 1 to `most`, each once."""
    ids = [plain_id(candidate) for candidate in candidates]
    place = {candidate: at for at, candidate in enumerate(ids)}
    if not 1 <= len(ids) <= most:
        raise DataError(
            "a round has another number of candidates", found=len(ids), expected=f"1 to {most}"
        )
    if len(place) < len(ids):
        raise DataError("a candidate is named twice in one round", expected="each once")
    return place


def pairs(votes: Any) -> tuple[list[Id], list[Any]]:
    """Voters and what they voted for, from a mapping or from two aligned columns."""
    if isinstance(votes, Mapping):
        voters, chosen = list(votes), list(votes.values())
    elif isinstance(votes, tuple) and len(votes) == 2:
        voters, chosen = (np.asarray(column, dtype=object).tolist() for column in votes)
    else:
        raise DataError(
            "votes are neither a mapping nor two columns",
            found=type(votes).__name__,
            expected="{voter: candidate}, or (voters, candidates)",
        )
    if len(voters) != len(chosen):
        raise DataError(
            "the columns of votes are of different lengths", found=(len(voters), len(chosen))
        )
    ids = [plain_id(voter) for voter in voters]
    if len(set(ids)) < len(ids):
        raise DataError("a voter votes twice in one round", expected="one vote each, or none")
    return ids, chosen


def plain_id(value: Any) -> Id:
    """An id as JSON knows it: a whole number of 64 bits or a text."""
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is str or (type(value) is int and -(1 << 63) <= value < 1 << 63):
        return value
    raise DataError("an id is neither a whole number nor text", found=value)


def _key(voter: Id) -> int:
    digest = hashlib.blake2b(f"{type(voter).__name__} {voter}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _mixed_word(run: int, number: int) -> int:
    return int(_mix(np.array([(run + number * _GOLDEN) & _MASK], dtype=np.uint64))[0])


def _mix(words: Words) -> Words:
    """SplitMix64's last steps: every bit of a word moves every bit of the result."""
    words = words ^ (words >> np.uint64(30))
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words = words ^ (words >> np.uint64(27))
    words = words * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
