"""The recommender half of the sketches: reports are counted, and nothing is stored of them.

Source      Banerjee, Hegde, Massoulié (2012): the sums of Figures 1 to 3 (`counting` reads them).
Runs at     the recommender.
Sees        reports: a ticket and randomised bits; never a rating, never who sent it.
Releases    counts by item or pair; what is made of them needs no further protection.

Questions are drawn anew from each ticket and never stored. Counts are sums, so servers that each
take some of the tickets can be merged. Tickets that answered are kept (at most 16 bytes each).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches.files import (
    Checkpoint,
    read_checkpoint,
    unreadable_checkpoint_error,
    write_checkpoint,
)
from tacit.designs.sketches.messages import REPORT_HEAD, Campaign
from tacit.designs.sketches.sensing import halves
from tacit.designs.sketches.tickets import TicketSet, belong_to_shards
from tacit.errors import ConfigError

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

REASONS = ("accepted", "malformed", "another campaign", "another shard", "late", "duplicate")
"""Fate of a report, by its code in `Receipt.codes`."""
_ACCEPTED, _MALFORMED, _OTHER, _SHARD, _LATE, _DUPLICATE = range(6)
MOST_PAIR_ITEMS = 10_000
_RECORD = [("head", ">u2"), ("campaign", ">u8"), ("ticket", ">u8"), ("bits", ">u4")]
TICKET = (10, 8)
"""Where the ticket stands in a report, behind what is the same in all of them, and its bytes."""
_BLOCK = 1 << 19  # reports taken at once: memory beyond the counts stays the same


@dataclass(frozen=True, eq=False)
class Receipt:
    """Fate of each report of a batch."""

    codes: Bytes
    """(n,) uint8, places in REASONS."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of reports by reason."""
        counts = np.bincount(self.codes, minlength=len(REASONS)).tolist()
        return dict(zip(REASONS, counts, strict=True))

    @property
    def accepted_count(self) -> int:
        """How many reports were counted."""
        return self.counts["accepted"]


class Server:
    """Counts the reports of one campaign."""

    def __init__(
        self, campaign: Campaign, *, shard: tuple[int, int] = (0, 1), keep_tickets: bool = True
    ) -> None:
        """Begin with no report.

        Args:
            campaign: The question.
            shard: (k, n): this is the k-th of n servers, from 0, and takes tickets with
                ticket % n = k, so that no two of them count one person twice.
            keep_tickets: False where the caller that hands reports over has made sure that they
                are distinct; memory then does not grow at all. After a checkpoint only what came
                later may then be sent again; `reports` says how many had come.

        Raises:
            ConfigError: There is no such shard, or there are too many items for pairs.
        """
        if not 0 <= shard[0] < shard[1]:
            raise ConfigError(f"A shard is a number below how many there are; got {shard}.")
        self.campaign = campaign
        self.shards = {shard[0]}
        self.shard_count = shard[1]
        if not campaign.senses and campaign.items > MOST_PAIR_ITEMS:
            raise ConfigError(
                f"Pairs are counted for at most {MOST_PAIR_ITEMS} items; there are "
                f"{campaign.items}. Sense sets."
            )
        width = campaign.questions + 1
        self.cells = np.zeros(width + 2 * campaign.places, dtype=np.int64)
        self.ones = self.cells[:width]
        self.totals = self.cells[width:].reshape(2, -1)
        self.rejected = dict.fromkeys(REASONS[1:], 0)
        self.keep_tickets = keep_tickets
        self._seen = TicketSet()
        self._busy = threading.Lock()
        self._record = record(campaign)

    @property
    def reports(self) -> int:
        """How many reports were accepted."""
        return int(self.ones.sum())

    @property
    def nbytes(self) -> int:
        """Bytes of the counts and of the tickets."""
        return self.totals.nbytes + self._seen.nbytes

    def fold(self, data: bytes | memoryview, *, now: int) -> Receipt:
        """Count reports that lie one behind the other.

        A batch that ends within a report is refused as a whole, as one malformed report: what came
        from strangers goes through `fold_each`, or is checked for its length first.

        Args:
            data: The reports' bytes.
            now: Unix seconds at which they came.
        """
        if len(data) % self._record.itemsize:
            self.rejected["malformed"] += 1
            return Receipt(np.full(1, _MALFORMED, dtype=np.uint8))
        records = np.frombuffer(data, dtype=self._record)
        codes = np.empty(len(records), dtype=np.uint8)
        with self._busy:
            for start in range(0, len(records), _BLOCK):
                part = slice(start, start + _BLOCK)
                self._fold(records[part], now, codes[part])
        return Receipt(codes)

    def fold_each(self, messages: Sequence[bytes], *, now: int) -> Receipt:
        """Count one report from each device; the receipt has their codes in the same order.

        A message of the wrong length is refused by itself: joined to the others, it would shift
        and spoil those after it.
        """
        width = self.campaign.report_bytes
        codes = np.full(len(messages), _MALFORMED, dtype=np.uint8)
        whole = [place for place, message in enumerate(messages) if len(message) == width]
        self.rejected["malformed"] += len(messages) - len(whole)
        codes[whole] = self.fold(b"".join(messages[place] for place in whole), now=now).codes
        return Receipt(codes)

    def merge(self, other: Server) -> None:
        """Take in the counts of another shard, which ends with it.

        Raises:
            ConfigError: It is of another campaign, or the shards overlap.
        """
        if other.campaign != self.campaign or other.shard_count != self.shard_count:
            raise ConfigError("Only shards of one campaign, equally many, can be merged.")
        if self.shards & other.shards:
            raise ConfigError("These servers took the same tickets: people would count twice.")
        self.keep_tickets &= other.keep_tickets
        self._seen.add(other._seen.tickets())
        self.shards |= other.shards
        self.cells += other.cells
        for reason, count in other.rejected.items():
            self.rejected[reason] += count

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, whole or not at all. What came after it can be sent again.

        Waits for a batch that another thread folds.

        Raises:
            ConfigError: Counting was interrupted in the middle of a batch; an earlier checkpoint
                stays as it is.
        """
        with self._busy:
            write_checkpoint(path, self._checkpoint())

    @classmethod
    def load(cls, path: str | Path) -> Server:
        """Go on from a checkpoint.

        Raises:
            ModelFileError: The file is no checkpoint.
        """
        saved = read_checkpoint(path)
        try:
            server = cls(saved.campaign, keep_tickets=saved.keep_tickets)
            server.rejected = {reason: saved.rejected[reason] for reason in REASONS[1:]}
        except (KeyError, ConfigError) as error:
            raise unreadable_checkpoint_error(path, error) from None
        server.shards = set(saved.shards)
        server.shard_count = saved.shard_count
        server.totals[:] = saved.totals
        server.ones[:] = saved.ones
        server._seen.add(saved.tickets)
        return server

    def _checkpoint(self) -> Checkpoint:
        return Checkpoint(
            campaign=self.campaign,
            shards=tuple(sorted(self.shards)),
            shard_count=self.shard_count,
            keep_tickets=self.keep_tickets,
            rejected=dict(self.rejected),
            totals=self.totals,
            ones=self.ones,
            tickets=self._seen.tickets(),
        )

    def _fold(self, records: Any, now: int, codes: Bytes) -> None:
        self._read(records, now, codes)
        retained = np.flatnonzero(codes == _ACCEPTED)
        if self.keep_tickets:
            new = self._seen.add(records["ticket"][retained].astype(np.uint64))
            codes[retained[~new]] = _DUPLICATE
            retained = retained[new]
        self._count(records if len(retained) == len(records) else records[retained])
        for reason, count in Receipt(codes).counts.items():
            if reason != "accepted":
                self.rejected[reason] += count

    def _read(self, records: Any, now: int, codes: Bytes) -> None:
        """Find what is wrong with each record, but for duplicates."""
        head, own = head_of(self.campaign)
        tickets = records["ticket"].astype(np.uint64)
        malformed = (records["head"] != head) | (tickets == 0)
        malformed |= records["bits"] >= 1 << self.campaign.questions
        if self.campaign.names_pair:
            one, other = records["pair"].T
            malformed |= (one >= other) | (other >= self.campaign.items)
        codes[:] = _LATE if now > self.campaign.closes else _ACCEPTED
        codes[~belong_to_shards(tickets, self.shards, self.shard_count)] = _SHARD
        codes[records["campaign"] != own] = _OTHER
        codes[malformed] = _MALFORMED

    def _count(self, records: Any) -> None:
        from tacit.engine.sketch_compiled import count_pairs, count_sets

        campaign = self.campaign
        first, second = map(np.uint64, halves(campaign.seed))
        tickets = records["ticket"].astype(np.uint64)
        bits = records["bits"].astype(np.uint32)
        self.ones += np.bincount(np.bitwise_count(bits), minlength=campaign.questions + 1)
        answers = first, second, tickets, bits, campaign.questions
        if campaign.senses:
            count_sets(*answers, campaign.set_size, self.totals)
        elif not campaign.names_pair:
            count_pairs(*answers, np.uint64(campaign.items), self.totals)
        else:
            # Pair (i, j), i < j, stands at i (2 N - i - 1) / 2 + j - i - 1 of the pairs in order.
            one, other = records["pair"].T.astype(np.int64)
            place = one * (2 * campaign.items - one - 1) // 2 + other - one - 1
            np.add.at(self.totals, (bits.astype(np.int64), place), 1)


def record(campaign: Campaign) -> np.dtype[Any]:
    """Describe the fields of a report in its bytes; `pair` where devices choose it."""
    pair = [("pair", ">u4", 2)] if campaign.names_pair else []
    return np.dtype([*_RECORD, *pair])


def head_of(campaign: Campaign) -> tuple[int, int]:
    """Compute the fields `head` and `campaign` of a campaign's reports."""
    return int.from_bytes(REPORT_HEAD, "big"), int.from_bytes(campaign.id, "big")


def counts_of(messages: Sequence[bytes], campaign: bytes, now: int) -> NDArray[np.int64]:
    """Count reports into cells and refusals, one behind the other.

    Of equal tickets the first counts: all reports of a ticket belong in one part.
    """
    server = Server(Campaign.decode(campaign))
    server.fold_each(messages, now=now)
    return np.concatenate([server.cells, [*server.rejected.values()]])


def server_of(campaign: bytes, counts: NDArray[np.int64]) -> Server:
    """Make a server that has these counts, and no tickets."""
    server = Server(Campaign.decode(campaign), keep_tickets=False)
    cells, refused = np.split(counts, [server.cells.size])
    server.cells[:] = cells
    server.rejected = dict(zip(server.rejected, refused.tolist(), strict=True))
    return server
