"""The recommender half of the sketches: reports come in and are counted, nothing is stored of them.

Source      Banerjee, Hegde, Massoulié (2012): scores B of Figures 2 and 3, matrix A of Figure 1.
Runs at     the recommender.
Sees        reports: a ticket and randomised bits; never a rating, never who sent it.
Releases    counts by item or pair; what is made of them needs no further protection.
Deviations  scores are divided by how often an item was asked about: the same mean, less noise.

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

from tacit import container
from tacit.designs.sketches.counting import Seen, check_counts, of_shards
from tacit.designs.sketches.messages import REPORT_HEAD, Campaign, MessageError
from tacit.designs.sketches.sensing import halves
from tacit.errors import ConfigError, ModelFileError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

REASONS = ("accepted", "malformed", "another campaign", "another shard", "late", "duplicate")
"""What became of a report, by its code in `Receipt.codes`."""
_ACCEPTED, _MALFORMED, _OTHER, _SHARD, _LATE, _DUPLICATE = range(6)
MOST_PAIR_ITEMS = 10_000
_RECORD = [("head", ">u2"), ("campaign", ">u8"), ("ticket", ">u8"), ("bits", ">u4")]
TICKET = (10, 8)
"""Where the ticket stands in a report, behind what is the same in all of them, and its bytes."""
_BLOCK = 1 << 19  # reports taken at once: memory beyond the counts stays the same
_CHECKPOINT = "sketch-counts"


@dataclass(frozen=True, eq=False)
class Receipt:
    """What became of a batch. codes: (n,) uint8, places in REASONS."""

    codes: Bytes

    @property
    def counts(self) -> dict[str, int]:
        """By reason."""
        counts = np.bincount(self.codes, minlength=len(REASONS)).tolist()
        return dict(zip(REASONS, counts, strict=True))

    @property
    def accepted(self) -> int:
        return self.counts["accepted"]


class Server:
    """Counts the reports of one campaign.

    shard: (k, n), this is the k-th of n servers, from 0, and takes tickets with ticket % n = k: so
    that no two of them count one person twice. keep_tickets: False where the caller that hands
    reports over has made sure that they are distinct; memory then does not grow at all. After a
    checkpoint only what came later may then be sent again; `reports` says how many had come.
    """

    def __init__(
        self, campaign: Campaign, *, shard: tuple[int, int] = (0, 1), keep_tickets: bool = True
    ) -> None:
        if not 0 <= shard[0] < shard[1]:
            raise ConfigError(f"A shard is a number below how many there are; got {shard}.")
        self.campaign = campaign
        self.shards, self.shard_count = {shard[0]}, shard[1]
        if not campaign.senses and campaign.items > MOST_PAIR_ITEMS:
            raise ConfigError(
                f"Pairs are counted for at most {MOST_PAIR_ITEMS} items; there are "
                f"{campaign.items}. Sense sets."
            )
        width = campaign.questions + 1
        self.cells = np.zeros(width + 2 * campaign.places, dtype=np.int64)
        self.ones, self.totals = self.cells[:width], self.cells[width:].reshape(2, -1)
        self.rejected = dict.fromkeys(REASONS[1:], 0)
        self.keep_tickets = keep_tickets
        self._seen = Seen()
        self._busy = threading.Lock()
        self._record = record(campaign)

    @property
    def reports(self) -> int:
        """How many were accepted."""
        return int(self.ones.sum())

    @property
    def nbytes(self) -> int:
        """Memory of the counts and of the tickets."""
        return self.totals.nbytes + self._seen.nbytes

    def fold(self, data: bytes | memoryview, *, now: int) -> Receipt:
        """Count reports that lie one behind the other; now: Unix seconds at which they came.

        A batch that ends within a report is refused as a whole, as one malformed report: what came
        from strangers goes through `fold_each`, or is checked for its length first.
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
        """Count reports as they came, one from each device; codes are in their order.

        What has the wrong length is malformed alone: laid behind one another, such messages would
        shift or spoil those of everybody else.
        """
        width = self.campaign.report_bytes
        codes = np.full(len(messages), _MALFORMED, dtype=np.uint8)
        whole = [place for place, message in enumerate(messages) if len(message) == width]
        self.rejected["malformed"] += len(messages) - len(whole)
        codes[whole] = self.fold(b"".join(messages[place] for place in whole), now=now).codes
        return Receipt(codes)

    def merge(self, other: Server) -> None:
        """Take in the counts of another shard, which ends with it; ConfigError if they overlap."""
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
        """A checkpoint, whole or not at all. What came after it can be sent again.

        Waits for a batch that another thread folds. ConfigError where counting was interrupted, in
        the middle of a batch: an earlier checkpoint stays as it is.
        """
        with self._busy:
            header = {
                "kind": _CHECKPOINT,
                "campaign": self.campaign.encode().hex(),
                "shards": sorted(self.shards),
                "shard_count": self.shard_count,
                "keep_tickets": self.keep_tickets,
                "rejected": self.rejected,
            }
            arrays = {
                "totals": self.totals,
                "ones": self.ones,
                "tickets": self._seen.tickets().view(np.int64),
            }
            try:  # held against itself: this checkpoint may replace the last good one
                check_counts(header, arrays, self.campaign)
            except MessageError as error:
                raise ConfigError(
                    f"These counts are not whole ({error}): a batch was interrupted. Load the last "
                    "checkpoint and send again what came after it."
                ) from None
            container.write(path, header, arrays)

    @classmethod
    def load(cls, path: str | Path) -> Server:
        """Go on from a checkpoint; ModelFileError for anything else."""
        header, arrays = container.read(path)
        if header.get("kind") != _CHECKPOINT:
            raise ModelFileError(f"{path}: holds no counts of sketches.")
        try:
            campaign = Campaign.decode(bytes.fromhex(header["campaign"]))
            # Before a server is made: a file must not claim more memory than it has itself.
            check_counts(header, arrays, campaign)
            server = cls(campaign, keep_tickets=header["keep_tickets"])
            server.shards, server.shard_count = {*header["shards"]}, header["shard_count"]
            # Files of a time when a server counted alone lack one of the reasons.
            server.rejected |= {name: header["rejected"].get(name, 0) for name in REASONS[1:]}
        except (KeyError, TypeError, ValueError, ConfigError) as error:
            raise ModelFileError(
                f"{path}: its content is not what a server saves ({error}). Count again."
            ) from None
        server.totals[:] = arrays["totals"]
        server.ones[:] = arrays["ones"]
        server._seen.add(arrays["tickets"].view(np.uint64))
        return server

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
        """What is wrong with each record, but for duplicates."""
        head, own = head_of(self.campaign)
        tickets = records["ticket"].astype(np.uint64)
        malformed = (records["head"] != head) | (tickets == 0)
        malformed |= records["bits"] >= 1 << self.campaign.questions
        if self.campaign.names_pair:
            one, other = records["pair"].T
            malformed |= (one >= other) | (other >= self.campaign.items)
        codes[:] = _LATE if now > self.campaign.closes else _ACCEPTED
        codes[~of_shards(tickets, self.shards, self.shard_count)] = _SHARD
        codes[records["campaign"] != own] = _OTHER
        codes[malformed] = _MALFORMED

    def _count(self, records: Any) -> None:
        from tacit.engine.sketch_compiled import count_pairs, count_sets

        asks, (first, second) = self.campaign, map(np.uint64, halves(self.campaign.seed))
        tickets, bits = records["ticket"].astype(np.uint64), records["bits"].astype(np.uint32)
        self.ones += np.bincount(np.bitwise_count(bits), minlength=asks.questions + 1)
        drawn = first, second, tickets, bits, asks.questions
        if asks.senses:
            count_sets(*drawn, asks.set_size, self.totals)
        elif not asks.names_pair:
            count_pairs(*drawn, np.uint64(asks.items), self.totals)
        else:
            one, other = records["pair"].T.astype(np.int64)
            place = one * (2 * asks.items - one - 1) // 2 + other - one - 1
            np.add.at(self.totals, (bits.astype(np.int64), place), 1)


@dataclass(frozen=True, eq=False)
class ItemCounts:
    """By item: how often it was asked about, and how often the answer was 1. Both (N,) int64."""

    asked: Ints
    ones: Ints

    @property
    def normalised(self) -> Floats:
        """Share of ones among the answers; for an item nobody was asked about, that of all."""
        overall = self.ones.sum() / max(1, self.asked.sum())
        shares: Floats = np.where(self.asked > 0, self.ones / np.maximum(self.asked, 1), overall)
        return shares


@dataclass(frozen=True, eq=False)
class PairCounts:
    """By pair (i, j), i < j, in the order of `np.triu_indices(items, 1)`: asked, and answered 1."""

    items: int
    asked: Ints
    ones: Ints

    def matrix(self) -> Floats:
        """(N, N) A of the paper: symmetric counts of ones, 0 on the diagonal."""
        full = np.zeros((self.items, self.items))
        full[np.triu_indices(self.items, 1)] = self.ones
        return full + full.T

    def by_item(self) -> ItemCounts:
        """A pair counts for both of its items."""
        one, other = np.triu_indices(self.items, 1)
        asked, ones = (
            np.bincount(one, each, self.items) + np.bincount(other, each, self.items)
            for each in (self.asked, self.ones)
        )
        return ItemCounts(asked.astype(np.int64), ones.astype(np.int64))


def item_counts(server: Server) -> ItemCounts:
    """Of a campaign that senses sets; ConfigError for pairs."""
    if not server.campaign.senses:
        raise ConfigError("This campaign asks about pairs: use pair_counts.")
    totals = server.totals[:, : server.campaign.items]
    return ItemCounts(totals.sum(axis=0), totals[1].copy())


def pair_counts(server: Server) -> PairCounts:
    """Of a campaign that asks about pairs; ConfigError for sets."""
    if server.campaign.senses:
        raise ConfigError("This campaign senses sets: use item_counts.")
    totals = server.totals
    return PairCounts(server.campaign.items, totals.sum(axis=0), totals[1].copy())


def record(campaign: Campaign) -> np.dtype[Any]:
    """Fields of a report in its bytes; `pair` where devices choose it."""
    pair = [("pair", ">u4", 2)] if campaign.names_pair else []
    return np.dtype([*_RECORD, *pair])


def head_of(campaign: Campaign) -> tuple[int, int]:
    """The fields `head` and `campaign` of its reports."""
    return int.from_bytes(REPORT_HEAD, "big"), int.from_bytes(campaign.id, "big")


def counts_of(messages: Sequence[bytes], campaign: bytes, now: int) -> NDArray[np.int64]:
    """Cells and refusals of these reports, one behind the other. Of equal tickets the first
    counts: all reports of a ticket belong in one part."""
    server = Server(Campaign.decode(campaign))
    server.fold_each(messages, now=now)
    return np.concatenate([server.cells, [*server.rejected.values()]])


def server_of(campaign: bytes, counts: NDArray[np.int64]) -> Server:
    """A server that has these counts, and no tickets."""
    server = Server(Campaign.decode(campaign), keep_tickets=False)
    cells, refused = np.split(counts, [server.cells.size])
    server.cells[:] = cells
    server.rejected = dict(zip(server.rejected, refused.tolist(), strict=True))
    return server
