"""A set of the tickets of counted reports, and the shard to which a ticket belongs.

Runs at   the recommender.
Sees      tickets: random numbers, which a device draws anew for every campaign.
"""

from __future__ import annotations

import os
from collections.abc import Collection

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
_TABLES = 256
"""Number of hash tables."""
_SHIFT = np.uint64(56)
"""A ticket that is shifted right by this keeps its 8 leading bits: the number of its table."""
_LARGEST_LOAD = 0.8
"""Largest share of a table's cells that are used; above it the table grows."""
_GROWTH = 1.55
"""Factor by which a table grows."""
_FIRST_SIZE = 32
"""Number of cells of a new table."""


class TicketSet:
    """A set of 64-bit tickets above 0.

    If there are ten thousand or more, each takes at most about 16 bytes. The set consists of hash
    tables, in which 0 is an empty cell. A ticket's leading bits choose its table, so that one table
    grows at a time, which needs little extra memory. Positions within a table depend on a secret
    key, so that nobody can choose tickets that collide.
    """

    def __init__(self) -> None:
        self._key = np.frombuffer(os.urandom(8), dtype=np.uint64)[0]
        self._tables = [np.zeros(_FIRST_SIZE, dtype=np.uint64) for _ in range(_TABLES)]
        self._used_cells = [0] * _TABLES

    def __len__(self) -> int:
        return sum(self._used_cells)

    @property
    def nbytes(self) -> int:
        """Bytes of all tables."""
        return sum(table.nbytes for table in self._tables)

    def add(self, tickets: Words) -> NDArray[np.bool_]:
        """Add tickets to the set.

        Returns:
            (n,) whether each ticket is new to the set; of several equal ones only the first can be.
        """
        from tacit.engine.sketch_compiled import add_tickets

        table_numbers = (tickets >> _SHIFT).astype(np.uint8)
        order = np.argsort(table_numbers, kind="stable")
        ends = np.cumsum(np.bincount(table_numbers, minlength=_TABLES)).tolist()
        sorted_tickets = tickets[order]
        sorted_is_new = np.empty(len(tickets), dtype=np.bool_)
        start = 0
        for number, end in enumerate(ends):
            if start < end:
                table = self._reserve_cells(number, end - start)
                self._used_cells[number] = add_tickets(
                    table,
                    self._used_cells[number],
                    sorted_tickets[start:end],
                    self._key,
                    sorted_is_new[start:end],
                )
            start = end
        is_new = np.empty(len(tickets), dtype=np.bool_)
        is_new[order] = sorted_is_new
        return is_new

    def tickets(self) -> Words:
        """List all tickets, in ascending order."""
        return np.sort(np.concatenate([table[table != 0] for table in self._tables]))

    def _reserve_cells(self, number: int, new_tickets: int) -> Words:
        """Return a table with free cells for new tickets; it grows first if it has too few.

        Args:
            number: Number of the table, from 0.
            new_tickets: Number of tickets that will be added, duplicates included.
        """
        from tacit.engine.sketch_compiled import add_tickets

        table = self._tables[number]
        size = len(table)
        while self._used_cells[number] + new_tickets > _LARGEST_LOAD * size:
            size = int(size * _GROWTH)
        if size > len(table):
            stored = table[table != 0]
            larger = np.zeros(size, dtype=np.uint64)
            add_tickets(larger, 0, stored, self._key, np.empty(len(stored), dtype=np.bool_))
            self._tables[number] = larger
        return self._tables[number]


def belong_to_shards(tickets: Words, shards: Collection[int], count: int) -> NDArray[np.bool_]:
    """Tell for each ticket whether it belongs to one of some shards: (n,).

    Args:
        tickets: (n,) tickets.
        shards: Numbers of the shards; ticket t belongs to shard t % count.
        count: Number of all shards.
    """
    if len(shards) == count:
        return np.ones(len(tickets), dtype=np.bool_)
    return np.isin(tickets % np.uint64(count), np.array(sorted(shards), dtype=np.uint64))
