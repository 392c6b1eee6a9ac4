"""Which tickets have answered, and what a checkpoint of counts has to be.

Runs at   the recommender. Sees tickets, which name a person within one campaign only.

A checkpoint's hash says that a file is as it was written, not that a server wrote it. Arrays go to
compiled code that trusts their shapes, and counts go on from where they stand, so each is held
against the campaign and against the others: a set of so many places adds so much to the totals,
whatever was answered.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches.messages import Campaign, is_integer, require

Words = NDArray[np.uint64]
_TABLES, _SHIFT = 256, np.uint64(56)
_FULL, _GROWTH, _FIRST_SIZE = 0.8, 1.55, 32
_MOST_COUNTED = 1 << 62
"""Below the end of 64 bits, so that there is room for what comes."""


class Seen:
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
        grouped, found = tickets[order], np.empty(len(tickets), dtype=np.bool_)
        start = 0
        for home, end in enumerate(ends):
            if start < end:
                table = self._with_room(home, end - start)
                self._used[home] = remember(
                    table, self._used[home], grouped[start:end], self._key, found[start:end]
                )
            start = end
        new = np.empty(len(tickets), dtype=np.bool_)
        new[order] = found
        return new

    def tickets(self) -> Words:
        """All tickets, in ascending order."""
        return np.sort(np.concatenate([table[table != 0] for table in self._tables]))

    def _with_room(self, home: int, more: int) -> Words:
        from tacit.engine.sketch_compiled import remember

        table, size = self._tables[home], len(self._tables[home])
        while (self._used[home] + more) > _FULL * size:
            size = int(size * _GROWTH)
        if size > len(table):
            retained, larger = table[table != 0], np.zeros(size, dtype=np.uint64)
            remember(larger, 0, retained, self._key, np.empty(len(retained), dtype=np.bool_))
            self._tables[home] = larger
        return self._tables[home]


def check_counts(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], campaign: Campaign
) -> None:
    """MessageError unless a server can have saved these."""
    shards, count, keeps = header["shards"], header["shard_count"], header["keep_tickets"]
    known = is_integer(count, 1, (1 << 64) - 1) and all(is_integer(k, 0, count - 1) for k in shards)
    require(
        known and len(shards) > 0 and shards == sorted({*shards}),
        "shards are numbers below how many there are, each once",
    )
    require(type(keeps) is bool, "tickets are kept or not")
    refused = dict(header["rejected"]).values()
    require(all(is_integer(each, 0, _MOST_COUNTED) for each in refused), "refusals are counted")
    require(set(arrays) == {"totals", "ones", "tickets"}, "counts are totals, ones and tickets")
    totals, ones, tickets = arrays["totals"], arrays["ones"], arrays["tickets"]
    integers = all(array.dtype == np.int64 for array in arrays.values())
    shapes = (totals.shape, ones.shape, tickets.ndim)
    fits = integers and shapes == ((2, campaign.places), (campaign.questions + 1,), 1)
    require(fits, "counts and tickets are 64-bit integers, as many as the campaign asks for")
    for counts in (totals, ones):
        require(counts.min() >= 0 and counts.max() <= _MOST_COUNTED, "a count is out of bounds")
    reports = sum(ones.tolist())
    yes = sum(times * number for times, number in enumerate(ones.tolist()))
    size = campaign.set_size if campaign.senses else 1
    expected = [(reports * campaign.questions - yes) * size, yes * size]
    require(totals.sum(axis=1).tolist() == expected, "the totals are not those of so many reports")
    words = tickets.view(np.uint64)
    require(
        len(words) == reports if keeps else len(words) <= reports,
        "there is not one ticket for each report",
    )
    ascend = bool(np.all(words[1:] > words[:-1])) and (len(words) == 0 or words[0] > 0)
    require(ascend, "tickets are above 0, each once, in ascending order")
    require(of_shards(words, shards, count).all(), "a ticket belongs to another shard")


def of_shards(tickets: Words, shards: Collection[int], count: int) -> NDArray[np.bool_]:
    """(n,) whether each ticket is one of these of so many shards."""
    if len(shards) == count:
        return np.ones(len(tickets), dtype=np.bool_)
    return np.isin(tickets % np.uint64(count), np.array(sorted(shards), dtype=np.uint64))
