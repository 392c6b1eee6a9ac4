"""Voters: their ids, their rows in the state, and a vote for each of them in every round.

A voter who abstains gets a vote from a hash of the run, the voter's own id and the round. The hash
reads no votes, so a voter's votes still depend only on their own history. To leave abstainers out
of a round would break the proof: shares would be shares of those who voted, and a few voters could
vote in round after round while all others, who abstain, never lose credit (docs: p-REC).
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
Ids = NDArray[np.int64] | NDArray[np.object_]
"""(n,) ids of one kind: whole numbers, or texts as objects."""
Positions = NDArray[np.int64]
NOT_FOUND = -1
"""Position of an id that an index does not have."""
_GOLDEN_RATIO = 0x9E3779B97F4A7C15
"""2^64 over the golden ratio, the step of SplitMix64."""
_WORD_MASK = (1 << 64) - 1
_TEXT_TAG = 0x7465787400000000
"""Changes the hashes of ids that are text. The bytes spell "text"."""


def read_id(value: Any) -> Id:
    """Read an id as a Python `int` of 64 bits or a `str`, which JSON can hold.

    Raises:
        DataError: The value is neither.
    """
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is str or (type(value) is int and -(1 << 63) <= value < 1 << 63):
        return value
    raise DataError("an id is neither a whole number nor text", found=value)


def read_ids(values: Any) -> Ids:
    """Read a list or array of ids as one array.

    Raises:
        DataError: They are not all whole numbers or all text.
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise DataError("this is no list of ids", found=values, expected="a list of ids")
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim == 1 and array.dtype.kind == "i":
        return array.astype(np.int64, copy=False)
    listed = values if array is None else array.tolist()
    ids = [read_id(value) for value in listed]
    if all(type(value) is int for value in ids):
        return np.array(ids, dtype=np.int64)
    if any(type(value) is int for value in ids):
        raise DataError("some ids are whole numbers and some are text", expected="one kind")
    texts = np.empty(len(ids), dtype=object)
    texts[:] = ids
    return texts


class IdIndex:
    """Finds positions of ids in an array; `is_distinct` says whether each id is there once."""

    def __init__(self, ids: Ids) -> None:
        self.ids = ids
        if ids.dtype == object:
            self._positions = {name: position for position, name in enumerate(ids.tolist())}
            self.is_distinct = len(self._positions) == len(ids)
        else:
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
            self.is_distinct = not (self._sorted[1:] == self._sorted[:-1]).any()

    def find(self, ids: Ids) -> Positions:
        """Find the (n,) positions of n ids; NOT_FOUND for an id that is not in the index."""
        if len(self.ids) == 0 or (ids.dtype == object) != (self.ids.dtype == object):
            return np.full(len(ids), NOT_FOUND, dtype=np.int64)
        if ids.dtype == object:
            positions = [self._positions.get(name, NOT_FOUND) for name in ids.tolist()]
            return np.array(positions, np.int64)
        nearest = np.minimum(np.searchsorted(self._sorted, ids), len(self.ids) - 1)
        return np.where(self._sorted[nearest] == ids, self._order[nearest], NOT_FOUND)


def index_candidates(candidates: Collection[Any], most: int) -> IdIndex:
    """Index the candidates of one round.

    Raises:
        DataError: There are not 1 to `most`, each once.
    """
    index = IdIndex(read_ids(candidates))
    if not 1 <= len(index.ids) <= most:
        raise DataError(
            "a round has another number of candidates",
            found=len(index.ids),
            expected=f"1 to {most}",
        )
    if not index.is_distinct:
        raise DataError("a candidate is named twice in one round", expected="each once")
    return index


def read_votes(votes: Any, candidates: IdIndex) -> tuple[Ids, Votes]:
    """Read the votes of a round from a mapping or from two aligned columns.

    Args:
        votes: Voter id to candidate id, or the pair (voters, candidates).
        candidates: Candidates of the round.

    Returns:
        (n,) ids of the voters, and (n,) positions of the candidates that they vote for.

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
    voters = read_ids(columns[0])
    chosen = read_ids(columns[1])
    if len(voters) != len(chosen):
        lengths = len(voters), len(chosen)
        raise DataError("the columns of votes are of different lengths", found=lengths)
    positions = candidates.find(chosen)
    is_missing = positions == NOT_FOUND
    if is_missing.any():
        row = int(is_missing.argmax())
        raise DataError(
            "a vote is for no candidate of this round",
            row=row + 1,
            found=chosen.tolist()[row],
            expected="one of the candidates, or no vote at all",
        )
    return voters, positions.astype(np.uint16)


class Voters:
    """All voters of a run: each has a row in the state, in the order of joining.

    A row is never reused: a voter who comes back gets a new one.
    """

    def __init__(self, most: int) -> None:
        """Begin without voters.

        Args:
            most: n, how many may be present at once.
        """
        self.most = most
        self.ids: Ids = np.zeros(0, dtype=np.int64)
        """(rows,) the voters' ids, all of one kind."""
        self.present: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        """(rows,) whether a voter has not left."""
        self._id_hashes: Words = np.zeros(0, dtype=np.uint64)
        """(rows,) hashes of the ids, from which the votes of those who abstain follow."""
        self._index_present_voters()

    def join(self, voters: Any) -> None:
        """Give a row to each voter who has none; others keep theirs.

        Raises:
            DataError: A voter cannot join; then none of them does.
        """
        ids = read_ids(voters)
        new_ids = ids[self._index.find(ids) == NOT_FOUND]
        if len(new_ids) == 0:
            return
        _, first_positions = np.unique(new_ids, return_index=True)
        new_ids = new_ids[np.sort(first_positions)]  # each once, in the order given
        if len(self.ids) and new_ids.dtype != self.ids.dtype:
            expected = "whole numbers or text, as those who joined before"
            raise DataError("these voters' ids are of another kind", expected=expected)
        if len(self._present_rows) + len(new_ids) > self.most:
            raise DataError(
                "more voters than the run was set up for",
                expected=f"at most {self.most}",
                fix="Start a run with a larger bound; nobody of these joined.",
            )
        self._id_hashes = np.append(self._id_hashes, _hash_ids(new_ids))
        self.ids = np.concatenate([self.ids, new_ids]) if len(self.ids) else new_ids.copy()
        self.present = np.append(self.present, np.ones(len(new_ids), dtype=bool))
        self._index_present_voters()

    def leave(self, voters: Any) -> None:
        """Mark voters as gone: their rows stay and count for no client.

        Raises:
            DataError: One of the ids is not that of a voter.
        """
        positions = self._index.find(read_ids(voters))
        if (positions == NOT_FOUND).any():
            raise DataError("a person who is to leave is not a voter", expected="voters who joined")
        self.present[self._present_rows[positions]] = False
        self._index_present_voters()

    def find_or_add_rows(self, voters: Ids) -> Positions | slice:
        """Find the rows of those who vote in a round; voters without a row join.

        Returns:
            (n,) the row of each voter, or `slice(None)` if they are all rows in order.

        Raises:
            DataError: A voter votes twice, or cannot join; then nothing changes.
        """
        may_be_all_rows = len(voters) == len(self.ids) == len(self._present_rows)
        if may_be_all_rows and np.array_equal(voters, self.ids):
            return slice(None)
        if not IdIndex(voters).is_distinct:
            raise DataError("a voter votes twice in one round", expected="one vote each, or none")
        self.join(voters)
        return self._present_rows[self._index.find(voters)]

    def default_votes(self, run_number: int, round_number: int, candidates: int) -> Votes:
        """Compute the votes that voters have in a round if they abstain.

        Args:
            run_number: Number of the run, below 2^64.
            round_number: Number of the round, from 1.
            candidates: How many candidates the round has.

        Returns:
            (rows,) positions of candidates.
        """
        round_word = (run_number + round_number * _GOLDEN_RATIO) & _WORD_MASK
        round_hash = _mix(np.array([round_word], dtype=np.uint64))[0]
        mixed = _mix(self._id_hashes ^ round_hash)
        return (mixed % np.uint64(candidates)).astype(np.uint16)

    def restore(self, ids: Ids, present: NDArray[np.bool_]) -> None:
        """Continue with the voters of a saved run.

        Args:
            ids: (rows,) ids of the voters.
            present: (rows,) whether a voter has not left.

        Raises:
            ValueError: The voters are not distinct, or too many.
        """
        self.ids = ids
        self.present = present
        self._id_hashes = _hash_ids(ids)
        self._index_present_voters()
        if not self._index.is_distinct or len(self._present_rows) > self.most:
            raise ValueError("its voters are not distinct, or too many")

    def _index_present_voters(self) -> None:
        """Find the voters who have not left, and index their ids."""
        self._present_rows: Positions = np.flatnonzero(self.present)
        """(present,) rows of the voters who have not left."""
        self._index = IdIndex(self.ids[self._present_rows])
        """Index of the ids of these voters, in the order of `_present_rows`."""


def _hash_ids(ids: Ids) -> Words:
    """Hash each id by itself: (n,) words of 64 bits."""
    if ids.dtype != object:
        return _mix(ids.view(np.uint64) + np.uint64(_GOLDEN_RATIO))
    try:
        digests = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids.tolist()]
    except UnicodeEncodeError as error:
        raise DataError("a voter's id is no text that can be written", found=error.object) from None
    words = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    return words ^ np.uint64(_TEXT_TAG)


def _mix(words: Words) -> Words:
    """Apply SplitMix64's last steps: every bit of a word affects every bit of the result."""
    words = words ^ (words >> np.uint64(30))
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words = words ^ (words >> np.uint64(27))
    words = words * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
