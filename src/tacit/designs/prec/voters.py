"""Voters: their ids, their rows in the state, and a vote for each of them in every round.

A voter who abstains gets a vote from a hash of the run, the voter's own id and the round. The hash
reads no votes, so a voter's votes depend only on their own history. Leaving abstainers out of a
round would break the proof: an object's share would then be its share of the votes cast, and a few
voters could decide round after round, while all others abstain and never lose credit (docs: p-REC).
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
"""(n,) ids of one kind: whole numbers, or texts in an array of Python objects."""
Positions = NDArray[np.int64]
"""(n,) positions in an array."""
NOT_FOUND = -1
"""What `IdIndex.find` returns for an id that it does not have."""
_GOLDEN_RATIO = 0x9E3779B97F4A7C15
"""2^64 divided by the golden ratio, the step of SplitMix64."""
_WORD_MASK = (1 << 64) - 1
"""The 64 low bits, for whole numbers modulo 2^64."""
_TEXT_TAG = 0x7465787400000000
"""Changes the hashes of ids that are text; its first bytes spell "text"."""


def read_id(value: Any) -> Id:
    """Read an id as a Python `int` or `str`, which JSON can hold.

    Raises:
        DataError: The value is neither text nor a whole number of 64 bits with sign.
    """
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is str or (type(value) is int and -(1 << 63) <= value < 1 << 63):
        return value
    raise DataError(
        "an id is neither a whole number nor text",
        found=value,
        expected="text, or a whole number of 64 bits with sign",
    )


def read_ids(values: Any) -> Ids:
    """Read an iterable of ids as one array.

    Raises:
        DataError: `values` is a single text or cannot be iterated over, an id is not valid
            (`read_id`), or some ids are whole numbers and others text.
    """
    is_single_value = isinstance(values, np.ndarray) and values.ndim == 0
    if isinstance(values, str | bytes) or not isinstance(values, Iterable) or is_single_value:
        raise DataError("this is no list of ids", found=values, expected="a list of ids")
    if isinstance(values, np.ndarray):
        if values.ndim == 1 and values.dtype.kind == "i":
            return values.astype(np.int64, copy=False)
        values = values.tolist()
    ids = [read_id(value) for value in values]
    if all(type(value) is int for value in ids):
        return np.array(ids, dtype=np.int64)
    if any(type(value) is int for value in ids):
        raise DataError("some ids are whole numbers and some are text", expected="one kind")
    texts = np.empty(len(ids), dtype=object)
    texts[:] = ids
    return texts


class IdIndex:
    """Finds the positions of ids in an array."""

    def __init__(self, ids: Ids) -> None:
        """Index the positions of (n,) ids.

        Args:
            ids: The ids. If an id occurs several times, `find` returns one of its positions.
        """
        self.ids = ids
        self.is_distinct: bool
        """Whether no id is in `ids` twice."""
        if ids.dtype == object:
            self._position_by_text = {name: position for position, name in enumerate(ids.tolist())}
            self.is_distinct = len(self._position_by_text) == len(ids)
        else:
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
            self.is_distinct = not bool((self._sorted[1:] == self._sorted[:-1]).any())

    def find(self, ids: Ids) -> Positions:
        """Find the (n,) positions of (n,) ids; NOT_FOUND for an id that is not in the index."""
        if len(self.ids) == 0 or (ids.dtype == object) != (self.ids.dtype == object):
            return np.full(len(ids), NOT_FOUND, dtype=np.int64)
        if ids.dtype == object:
            positions = [self._position_by_text.get(name, NOT_FOUND) for name in ids.tolist()]
            return np.array(positions, np.int64)
        # The position of each id in `_sorted`, if the id is there
        sorted_positions = np.minimum(np.searchsorted(self._sorted, ids), len(self.ids) - 1)
        is_found = self._sorted[sorted_positions] == ids
        return np.where(is_found, self._order[sorted_positions], NOT_FOUND)


def index_candidates(candidates: Collection[Any], most: int) -> IdIndex:
    """Index the candidates of one round.

    Args:
        candidates: Their ids.
        most: The most candidates that a round may have.

    Raises:
        DataError: There are none or too many, one is named twice, an id is not valid, or some ids
            are whole numbers and others text.
    """
    index = IdIndex(read_ids(candidates))
    if not 1 <= len(index.ids) <= most:
        raise DataError(
            "a round has too few or too many candidates",
            found=len(index.ids),
            expected=f"1 to {most}",
        )
    if not index.is_distinct:
        raise DataError("a candidate is named twice in one round", expected="each once")
    return index


def read_votes(votes: Any, candidates: IdIndex) -> tuple[Ids, Votes]:
    """Read the votes of a round from a mapping or from two aligned columns.

    Args:
        votes: Mapping of voter id to candidate id, or a pair of aligned columns (voters,
            candidates).
        candidates: Candidates of the round.

    Returns:
        (n,) ids of the voters, and (n,) positions of the candidates that they vote for.

    Raises:
        DataError: The votes have another form, or one is for no candidate.
    """
    columns = votes
    if isinstance(votes, Mapping):
        columns = (list(votes), list(votes.values()))
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
    """All voters of a run: each has a row in the run's arrays, in the order of joining.

    A row is never reused: a voter who left and comes back gets a new one.
    """

    def __init__(self, most: int) -> None:
        """Begin without voters.

        Args:
            most: n, how many may be present at once.
        """
        self.most = most
        self.ids: Ids = np.zeros(0, dtype=np.int64)
        """(rows,) the voters' ids, all of one kind. A saved run has 0 or "" in place of the ids of
        voters who left."""
        self.present: NDArray[np.bool_] = np.zeros(0, dtype=bool)
        """(rows,) whether a voter is present: they joined and have not left."""
        self._id_hashes: Words = np.zeros(0, dtype=np.uint64)
        """(rows,) hashes of the ids, which determine the votes of voters who abstain."""
        self._index_present_voters()

    def join(self, voters: Any) -> None:
        """Give a row to each voter who has none; the others keep their rows.

        Args:
            voters: Ids of the voters.

        Raises:
            DataError: An id is invalid or of another kind than those before, or there would be too
                many voters. Then nobody joins.
        """
        ids = read_ids(voters)
        new_ids = ids[self._index.find(ids) == NOT_FOUND]
        if len(new_ids) == 0:
            return
        _, first_positions = np.unique(new_ids, return_index=True)
        new_ids = new_ids[np.sort(first_positions)]  # each id once, in the order of `voters`
        if len(self.ids) and new_ids.dtype != self.ids.dtype:
            expected = "whole numbers or text, as for the voters who joined before"
            raise DataError("these voters' ids are of another kind", expected=expected)
        if len(self._present_rows) + len(new_ids) > self.most:
            raise DataError(
                "more voters than the run was set up for",
                expected=f"at most {self.most}",
                fix="Start a run with a larger bound; none of these voters joined.",
            )
        self._id_hashes = np.append(self._id_hashes, _hash_ids(new_ids))
        self.ids = np.concatenate([self.ids, new_ids]) if len(self.ids) else new_ids.copy()
        self.present = np.append(self.present, np.ones(len(new_ids), dtype=bool))
        self._index_present_voters()

    def leave(self, voters: Any) -> None:
        """Mark voters as no longer present; their rows stay.

        Args:
            voters: Ids of the voters.

        Raises:
            DataError: An id belongs to no voter who is present. Then nobody leaves.
        """
        positions = self._index.find(read_ids(voters))
        if (positions == NOT_FOUND).any():
            raise DataError(
                "one of those who are to leave is not a voter",
                expected="voters who joined and have not left",
            )
        self.present[self._present_rows[positions]] = False
        self._index_present_voters()

    def find_or_add_rows(self, voters: Ids) -> Positions | slice:
        """Find the rows of the voters who vote in a round; those without a row join.

        Args:
            voters: (n,) ids of the voters.

        Returns:
            (n,) the row of each voter; or `slice(None)` if the voters are those of all rows, in the
            order of the rows.

        Raises:
            DataError: A voter votes twice, or cannot join. Then nothing changes.
        """
        may_be_all_rows = len(voters) == len(self.ids) == len(self._present_rows)
        if may_be_all_rows and np.array_equal(voters, self.ids):
            return slice(None)
        if not IdIndex(voters).is_distinct:
            raise DataError("a voter votes twice in one round", expected="one vote each, or none")
        self.join(voters)
        return self._present_rows[self._index.find(voters)]

    def default_votes(self, run_number: int, round_number: int, candidates: int) -> Votes:
        """Compute the vote that each voter gets in a round if they abstain.

        Args:
            run_number: Number of the run, below 2^64.
            round_number: Number of the round, from 1.
            candidates: How many candidates the round has.

        Returns:
            (rows,) the position of a candidate for each voter. Each candidate occurs about equally
            often.
        """
        round_word = (run_number + round_number * _GOLDEN_RATIO) & _WORD_MASK
        round_hash = _mix(np.array([round_word], dtype=np.uint64))[0]
        mixed = _mix(self._id_hashes ^ round_hash)
        return (mixed % np.uint64(candidates)).astype(np.uint16)

    def restore(self, ids: Ids, present: NDArray[np.bool_]) -> None:
        """Continue with the voters of a saved run.

        Args:
            ids: (rows,) ids of the voters.
            present: (rows,) whether a voter is present.

        Raises:
            ValueError: Two voters who are present have the same id, or too many are present.
            DataError: An id cannot be encoded as UTF-8.
        """
        self.ids = ids
        self.present = present
        self._id_hashes = _hash_ids(ids)
        self._index_present_voters()
        if not self._index.is_distinct or len(self._present_rows) > self.most:
            raise ValueError("its voters are not distinct, or too many")

    def _index_present_voters(self) -> None:
        """Index the ids of the voters who have not left."""
        self._present_rows: Positions = np.flatnonzero(self.present)
        """(present,) rows of the voters who have not left."""
        self._index = IdIndex(self.ids[self._present_rows])
        """Index of the ids of these voters, in the order of `_present_rows`."""


def _hash_ids(ids: Ids) -> Words:
    """Hash each id by itself: (n,) words of 64 bits.

    Raises:
        DataError: A text has characters that UTF-8 cannot encode.
    """
    if ids.dtype != object:
        return _mix(ids.view(np.uint64) + np.uint64(_GOLDEN_RATIO))
    try:
        digests = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in ids.tolist()]
    except UnicodeEncodeError as error:
        raise DataError("a voter's id cannot be encoded as UTF-8", found=error.object) from None
    words = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    return words ^ np.uint64(_TEXT_TAG)


def _mix(words: Words) -> Words:
    """Apply SplitMix64's last steps: every bit of a word affects every bit of the result."""
    words = words ^ (words >> np.uint64(30))
    words = words * np.uint64(0xBF58476D1CE4E5B9)
    words = words ^ (words >> np.uint64(27))
    words = words * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
