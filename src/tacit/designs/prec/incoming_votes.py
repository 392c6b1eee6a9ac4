"""What comes in with a round: ids of voters and candidates, turned into numbers and checked."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import DataError

Id = int | str
Column = NDArray[np.int64] | NDArray[np.object_]
"""Ids of one kind: whole numbers, or text as objects."""
Places = NDArray[np.int64]
NOWHERE = -1
_LOOSE = 4
"""Numbers up to so many times apart as there are ids are looked up in a table."""


def plain_id(value: Any) -> Id:
    """An id as JSON knows it: a whole number of 64 bits or a text."""
    if isinstance(value, np.integer):
        value = int(value)
    if type(value) is str or (type(value) is int and -(1 << 63) <= value < 1 << 63):
        return value
    raise DataError("an id is neither a whole number nor text", found=value)


def column(values: Any) -> Column:
    """Ids as one array; refused unless all are whole numbers or all are text."""
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
    """Finds the place of an id in a column of distinct ones."""

    def __init__(self, ids: Column) -> None:
        self.ids = ids
        if ids.dtype == object:
            self._place = {name: at for at, name in enumerate(ids.tolist())}
            self._distinct = len(self._place) == len(ids)
        else:
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]
            self._distinct = not (self._sorted[1:] == self._sorted[:-1]).any()
            self._table = _table(ids)

    @property
    def distinct(self) -> bool:
        return self._distinct

    def find(self, ids: Column) -> Places:
        """The place of each id, NOWHERE where there is none."""
        if len(self.ids) == 0 or (ids.dtype == object) != (self.ids.dtype == object):
            return np.full(len(ids), NOWHERE, dtype=np.int64)
        if ids.dtype == object:
            found = (self._place.get(name, NOWHERE) for name in ids.tolist())
            return np.fromiter(found, dtype=np.int64, count=len(ids))
        if self._table is not None:
            least, places = self._table
            steps = ids - least  # what wraps around lands outside the table
            inside = steps.view(np.uint64) < np.uint64(len(places))
            return np.where(inside, places[np.where(inside, steps, 0)], NOWHERE)
        at = np.minimum(np.searchsorted(self._sorted, ids), len(self.ids) - 1)
        return np.where(self._sorted[at] == ids, self._order[at], NOWHERE)


def _table(ids: Column) -> tuple[np.int64, Places] | None:
    """The least id and the place of every one from there on, if they lie close together."""
    if len(ids) == 0 or int(ids.max()) - int(ids.min()) > _LOOSE * len(ids):
        return None
    places = np.full(int(ids.max()) - int(ids.min()) + 1, NOWHERE, dtype=np.int64)
    places[ids - ids.min()] = np.arange(len(ids))
    return ids.min(), places


def candidate_index(candidates: Collection[Any], most: int) -> Index:
    """Of one round; refused unless there are 1 to `most`, each once."""
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


def read_votes(votes: Any, candidates: Index) -> tuple[Column, NDArray[np.uint16]]:
    """Who votes, and for which place, from a mapping or from two aligned columns."""
    if isinstance(votes, Mapping):
        voters, chosen = column(list(votes)), column(list(votes.values()))
    elif isinstance(votes, tuple) and len(votes) == 2:
        voters, chosen = column(votes[0]), column(votes[1])
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
    places = candidates.find(chosen)
    if (places == NOWHERE).any():
        row = int(np.flatnonzero(places == NOWHERE)[0])
        raise DataError(
            "a vote is for no candidate of this round",
            row=row + 1,
            found=chosen[row].item() if chosen.dtype != object else chosen[row],
            expected="one of the candidates, or no vote at all",
        )
    return voters, places.astype(np.uint16)
