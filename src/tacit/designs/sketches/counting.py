"""Which tickets have answered, and what a checkpoint of counts has to be.

Runs at   the recommender. Sees tickets, which name a person within one campaign only.

A checkpoint's hash says that a file is as it was written, not that a server wrote it. Arrays go to
compiled code that trusts their shapes, and counts go on from where they stand, so each is held
against the campaign and against the others: a set of so many places adds so much to the totals,
whatever was answered.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches.messages import Campaign, is_integer, require

Words = NDArray[np.uint64]
_SHARDS, _SHIFT = 256, np.uint64(56)
_FULL, _GROWTH, _FIRST_SIZE = 0.8, 1.55, 32
Header = Mapping[str, Any]
Arrays = Mapping[str, NDArray[Any]]
_MOST_COUNTED = 1 << 62
"""Below the end of 64 bits, so that there is room for what comes."""
_HALF = 32


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
        return np.sort(np.concatenate([table[table != 0] for table in self._tables]))

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


def check_header(header: Header, reasons: Sequence[str]) -> None:
    """MessageError unless shards and refusals are such as a server has them."""
    count, shards = header["shard_count"], header["shards"]
    require(is_integer(count, 1, (1 << 64) - 1), "a number of shards is whole and above 0")
    require(type(shards) is list and len(shards) > 0, "a server has one shard or more")
    known = all(is_integer(shard, 0, count - 1) for shard in shards)
    require(
        known and len(set(shards)) == len(shards), "a shard is a number below how many there are"
    )
    require(type(header["keep_tickets"]) is bool, "tickets are kept or not")
    rejected = header["rejected"]
    named = type(rejected) is dict and set(rejected) == set(reasons)
    require(
        named and all(is_integer(number, 0, _MOST_COUNTED) for number in rejected.values()),
        "refusals are counted by reason",
    )


def check_arrays(header: Header, arrays: Arrays, campaign: Campaign, places: int) -> None:
    """MessageError unless the counts add up; places: how many are counted, items or pairs."""
    require(set(arrays) == {"totals", "ones", "tickets"}, "counts are totals, ones and tickets")
    totals, ones, tickets = arrays["totals"], arrays["ones"], arrays["tickets"]
    whole = all(array.dtype == np.int64 for array in arrays.values())
    require(whole, "counts and tickets are 64-bit integers")
    require(totals.shape == (2, places), "the totals are not those of the campaign's questions")
    require(ones.shape == (campaign.questions + 1,), "ones are counted by how many a report has")
    require(tickets.ndim == 1, "tickets are a list")
    for counts in (totals, ones):
        require(counts.min() >= 0 and counts.max() <= _MOST_COUNTED, "a count is out of bounds")
    reports = sum(ones.tolist())
    yes = sum(times * number for times, number in enumerate(ones.tolist()))
    size = campaign.set_size if campaign.senses else 1
    require(
        reports <= _MOST_COUNTED
        and _sum(totals[1]) == yes * size
        and _sum(totals[0]) == (reports * campaign.questions - yes) * size,
        "the totals are not those of so many reports",
    )
    _check_tickets(header, tickets.view(np.uint64), reports)


def _check_tickets(header: Header, tickets: NDArray[np.uint64], reports: int) -> None:
    """One for each report, or fewer where not all are kept; and all of these shards."""
    kept = header["keep_tickets"]
    fits = len(tickets) == reports if kept else len(tickets) <= reports
    require(fits, "there is not one ticket for each report")
    ascend = bool(np.all(tickets[1:] > tickets[:-1])) and (len(tickets) == 0 or tickets[0] > 0)
    require(ascend, "tickets are above 0, each once, in ascending order")
    homes = tickets % np.uint64(header["shard_count"])
    own = np.isin(homes, np.array(header["shards"], dtype=np.uint64))
    require(bool(own.all()), "a ticket belongs to another shard")


def _sum(counts: NDArray[np.int64]) -> int:
    """Exactly: 64 bits could run over, and a wrong total look right."""
    low = counts & ((1 << _HALF) - 1)
    return (int((counts >> _HALF).sum()) << _HALF) + int(low.sum())
