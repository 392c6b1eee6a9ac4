"""Tickets that have answered: which they are, and which server counts them.

Runs at   the recommender. Sees tickets, which name a person within one campaign only.
"""

from __future__ import annotations

import os
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_TABLES = 256
_SHIFT = np.uint64(56)
_FULL = 0.8
_GROWTH = 1.55
_FIRST_SIZE = 32


class TicketSet:
    """A set of 64-bit tickets above 0. At most 16 bytes each once there are some ten thousands.

    Tickets are spread over tables by their leading bits, so that one table at a time grows and the
    memory for growing is small; places in a table depend on a secret, so that nobody can choose
    tickets which collide.
    """

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(8), dtype=np.uint64)[0]
        self._tables = [np.zeros(_FIRST_SIZE, dtype=np.uint64) for _ in range(_TABLES)]
        self._used = [0] * _TABLES

    def __len__(self) -> int:
        return sum(self._used)

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return sum(table.nbytes for table in self._tables)

    def add(self, tickets: Words) -> NDArray[np.bool_]:
        """(n,) whether each ticket is new; the first of several equal ones is."""
        from tacit.engine.sketch_compiled import remember

        homes = (tickets >> _SHIFT).astype(np.uint8)
        order = np.argsort(homes, kind="stable")
        ends = np.cumsum(np.bincount(homes, minlength=_TABLES)).tolist()
        group_by = tickets[order]
        found = np.empty(len(tickets), dtype=np.bool_)
        start = 0
        for home, end in enumerate(ends):
            if start < end:
                table = self._with_room(home, end - start)
                self._used[home] = remember(
                    table, self._used[home], group_by[start:end], self._key, found[start:end]
                )
            start = end
        new = np.empty(len(tickets), dtype=np.bool_)
        new[order] = found
        return new

    def tickets(self) -> Words:
        """List all tickets, in ascending order."""
        return np.sort(np.concatenate([table[table != 0] for table in self._tables]))

    def _with_room(self, home: int, more: int) -> Words:
        from tacit.engine.sketch_compiled import remember

        table = self._tables[home]
        size = len(self._tables[home])
        while (self._used[home] + more) > _FULL * size:
            size = int(size * _GROWTH)
        if size > len(table):
            retained = table[table != 0]
            larger = np.zeros(size, dtype=np.uint64)
            remember(larger, 0, retained, self._key, np.empty(len(retained), dtype=np.bool_))
            self._tables[home] = larger
        return self._tables[home]


def belong_to_shards(tickets: Words, shards: Collection[int], count: int) -> NDArray[np.bool_]:
    """(n,) whether each ticket is one of these of so many shards."""
    if len(shards) == count:
        return np.ones(len(tickets), dtype=np.bool_)
    return np.isin(tickets % np.uint64(count), np.array(sorted(shards), dtype=np.uint64))
