"""Voters: ids turned into rows of the state, and a vote for everybody in every round.

A voter who abstains gets a vote, from a hash of the run, the voter's own id and the round. It looks
at nobody's votes, so a voter's votes are still a function of their own history. To leave them out
of a round instead would break the proof: shares would be of those who voted, and a few voters could
be asked about in every round while none of the many others is ever used up (docs: p-REC).
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.engine.votes import Votes, Words
from tacit.errors import DataError

Id = int | str
Column = NDArray[np.int64] | NDArray[np.object_]
"""Ids of one kind: whole numbers, or text as objects."""
Places = NDArray[np.int64]
NOWHERE = -1
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1
_TEXT = 0x7465787400000000


def plain_id(value: Any) -> Id:
    """Return an id as JSON knows it: a whole number of 64 bits or a text.

    Raises:
        DataError: It is neither.
    """
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is str or (type(value) is int and -(1 << 63) <= value < 1 << 63):
        return value
    raise DataError("an id is neither a whole number nor text", found=value)


def column(values: Any) -> Column:
    """Read ids as one array.

    Raises:
        DataError: They are not all whole numbers or all text.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError("this is no list of ids", found=values, expected="a list of ids")
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim == 1 and array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    ids = [plain_id(value) for value in (values if array is None else array.tolist())]
    if all(type(value) is int for value in ids):
        return np.array(ids, dtype=np.int64)
    if any(type(value) is int for value in ids):
        raise DataError("some ids are whole numbers and some are text", expected="one kind")
    texts = np.empty(len(ids), dtype=object)
    texts[:] = ids
    return texts


class Index:
    """Finds the place of an id in a column; `distinct` says whether each id is there once."""

    def __init__(self, ids: Column) -> None:
        self.ids = ids
        if ids.dtype == object:
            self._place = {name: place for place, name in enumerate(ids.tolist())}
            self.distinct = len(self._place) == len(ids)
        else:
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
            self.distinct = not (self._sorted[1:] == self._sorted[:-1]).any()

    def find(self, ids: Column) -> Places:
        """Find the place of each id, NOWHERE where there is none."""
        if len(self.ids) == 0 or (ids.dtype == object) != (self.ids.dtype == object):
            return np.full(len(ids), NOWHERE, dtype=np.int64)
        if ids.dtype == object:
            return np.array([self._place.get(name, NOWHERE) for name in ids.tolist()], np.int64)
        places = np.minimum(np.searchsorted(self._sorted, ids), len(self.ids) - 1)
        return np.where(self._sorted[places] == ids, self._order[places], NOWHERE)


def candidate_index(candidates: Collection[Any], most: int) -> Index:
    """Index the candidates of one round.

    Raises:
        DataError: There are not 1 to `most`, each once.
    """
    index = Index(column(candidates))
    if not 1 <= len(index.ids) <= most:
        raise DataError(
            "a round has another number of candidates",
            found=len(index.ids),
            expected=f"1 to {most}",
        )
    if not index.distinct:
        raise DataError("a candidate is named twice in one round", expected="each once")
    return index


def read_votes(votes: Any, candidates: Index) -> tuple[Column, Votes]:
    """Read voters, and the places they vote for, from a mapping or from two aligned columns.

    Raises:
        DataError: The votes have another form, or one is for no candidate.
    """
    columns = (list(votes), list(votes.values())) if isinstance(votes, Mapping) else votes
    if not (isinstance(columns, tuple) and len(columns) == 2):
        raise DataError(
            "votes are neither a mapping nor two columns",
            found=type(votes).__name__,
            expected="{voter: candidate}, or (voters, candidates)",
        )
    voters, chosen = map(column, columns)
    if len(voters) != len(chosen):
        lengths = len(voters), len(chosen)
        raise DataError("the columns of votes are of different lengths", found=lengths)
    places = candidates.find(chosen)
    if (places == NOWHERE).any():
        row = int((places == NOWHERE).argmax())
        raise DataError(
            "a vote is for no candidate of this round",
            row=row + 1,
            found=chosen.tolist()[row],
            expected="one of the candidates, or no vote at all",
        )
    return voters, places.astype(np.uint16)


class Voters:
    """Rows of the voters, in the order of joining.

    A row is never given again: a voter who comes back is new. `ids` are those of all rows, of one
    kind; `present` (rows,) says who has not left.
    """

    def __init__(self, most: int) -> None:
        """Begin with nobody.

        Args:
            most: n, how many may be present at once.
        """
        self.most = most
        self.ids: Column = np.zeros(0, dtype=np.int64)
        self.present: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        self._keys: Words = np.zeros(0, dtype=np.uint64)
        self._rows: Places = np.zeros(0, dtype=np.int64)
        self._index = Index(self.ids)

    def join(self, voters: Any) -> None:
        """Give rows to those who have none.

        Raises:
            DataError: A voter cannot join; then none of them does.
        """
        named = column(voters)
        fresh = named[self._index.find(named) == NOWHERE]
        if len(fresh) == 0:
            return
        fresh = fresh[np.sort(np.unique(fresh, return_index=True)[1])]
        if len(self.ids) and fresh.dtype != self.ids.dtype:
            known = "whole numbers or text, as those who joined before"
            raise DataError("these voters' ids are of another kind", expected=known)
        if len(self._rows) + len(fresh) > self.most:
            raise DataError(
                "more voters than the run was set up for",
                expected=f"at most {self.most}",
                fix="Start a run with a larger bound; nobody of these joined.",
            )
        self._keys = np.append(self._keys, _keys(fresh))
        self.ids = np.concatenate([self.ids, fresh]) if len(self.ids) else fresh.copy()
        self.present = np.append(self.present, np.ones(len(fresh), dtype=bool))
        self._look_up()

    def leave(self, voters: Any) -> None:
        """Sign voters off: their rows stay and count for nobody.

        Raises:
            DataError: A person is no voter.
        """
        places = self._index.find(column(voters))
        if (places == NOWHERE).any():
            raise DataError("a person who is to leave is not a voter", expected="voters who joined")
        self.present[self._rows[places]] = False
        self._look_up()

    def admit(self, voters: Column) -> Places | slice:
        """Look up the rows of those who vote in a round; a voter without one joins.

        Raises:
            DataError: A voter votes twice, or cannot join; then nothing changes.
        """
        whole = len(voters) == len(self.ids) == len(self._rows)
        if whole and np.array_equal(voters, self.ids):
            return slice(None)
        if not Index(voters).distinct:
            raise DataError("a voter votes twice in one round", expected="one vote each, or none")
        self.join(voters)
        return self._rows[self._index.find(voters)]

    def default_votes(self, run: int, number: int, size: int) -> Votes:
        """Make everybody's vote in a round, unless they vote themselves: (rows,) places."""
        word = np.array([(run + number * _GOLDEN) & _MASK], dtype=np.uint64)
        mixed = _mix(self._keys ^ _mix(word)[0])
        return (mixed % np.uint64(size)).astype(np.uint16)

    def restore(self, ids: Column, present: NDArray[np.bool_]) -> None:
        """Go on with the rows of an earlier run.

        Raises:
            ValueError: The voters are not distinct, or too many.
        """
        self.ids = ids
        self.present = present
        self._keys = _keys(ids)
        self._look_up()
        if not self._index.distinct or len(self._rows) > self.most:
            raise ValueError("its voters are not distinct, or too many")

    def _look_up(self) -> None:
        self._rows = np.flatnonzero(self.present)
        self._index = Index(self.ids[self._rows])


def _keys(ids: Column) -> Words:
    """Hash each voter's id alone into a word: (rows,)."""
    if ids.dtype != object:
        return _mix(ids.view(np.uint64) + np.uint64(_GOLDEN))
    try:
        digests = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids.tolist()]
    except UnicodeEncodeError as error:
        raise DataError("a voter's id is no text that can be written", found=error.object) from None
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64) ^ np.uint64(_TEXT)


def _mix(words: Words) -> Words:
    """Take SplitMix64's last steps: every bit of a word moves every bit of the result."""
    words = words ^ (words >> np.uint64(30))
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words = words ^ (words >> np.uint64(27))
    words = words * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
