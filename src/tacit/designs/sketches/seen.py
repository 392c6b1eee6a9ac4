"""Which tickets have answered: 8 bytes each, in tables that are at least half full.

Runs at   the recommender. Sees tickets, which name a person within one campaign only.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_SHARDS, _SHIFT = 256, np.uint64(56)
_FULL, _GROWTH, _FIRST_SIZE = 0.8, 1.55, 32


class Seen:
    """A set of 64-bit tickets above 0. At most 16 bytes each once there are some ten thousands.

    Tickets are spread over tables by their leading bits, so that one table at a time grows and the
    memory for growing is small; places in a table depend on a secret, so that nobody can choose
    tickets which collide.
    """

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(8), dtype=np.uint64)[0]
        self._tables = [np.zeros(_FIRST_SIZE, dtype=np.uint64) for _ in range(_SHARDS)]
        self._used = [0] * _SHARDS

    def __len__(self) -> int:
        return sum(self._used)

    @property
    def nbytes(self) -> int:
        """Memory of the tables."""
        return sum(table.nbytes for table in self._tables)

    def add(self, tickets: Words) -> NDArray[np.bool_]:
        """(n,) whether each ticket is new; the first of several equal ones is."""
        from tacit.engine.sketch_compiled import by_shard, remember

        starts = np.zeros(_SHARDS + 1, dtype=np.int64)
        order = np.empty(len(tickets), dtype=np.int64)
        by_shard(tickets, _SHIFT, starts, order)
        grouped, found = tickets[order], np.empty(len(tickets), dtype=np.bool_)
        for shard in range(_SHARDS):
            part = slice(int(starts[shard]), int(starts[shard + 1]))
            if part.start < part.stop:
                self._make_room(shard, part.stop - part.start)
                self._used[shard] = remember(
                    self._tables[shard], self._used[shard], grouped[part], self._key, found[part]
                )
        new = np.empty(len(tickets), dtype=np.bool_)
        new[order] = found
        return new

    def tickets(self) -> Words:
        """All tickets, in ascending order."""
        return np.sort(np.concatenate(list(self._content())))

    def _content(self) -> Iterator[Words]:
        return (table[table != 0] for table in self._tables)

    def _make_room(self, shard: int, more: int) -> None:
        from tacit.engine.sketch_compiled import remember

        table, size = self._tables[shard], len(self._tables[shard])
        while (self._used[shard] + more) > _FULL * size:
            size = int(size * _GROWTH)
        if size > len(table):
            larger = np.zeros(size, dtype=np.uint64)
            kept = table[table != 0]
            remember(larger, 0, kept, self._key, np.empty(len(kept), dtype=np.bool_))
            self._tables[shard] = larger
