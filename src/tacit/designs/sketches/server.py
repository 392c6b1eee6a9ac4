"""The recommender half of the sketches: a server that counts reports, and does not store them.

Source      Banerjee, Hegde, Massoulié (2012): the sums of Figures 1 to 3, which `counting` reads.
Runs at     the recommender.
Sees        reports: a ticket and randomised bits, and for RATED_METHODS two rated items; no stars,
            and not who sent the report.
Releases    counts by item or pair; results computed from them need no further protection.

The questions of a report follow from its ticket, or are about the pair it names, and are never
stored. Counts are sums, so servers that each count a part of the tickets (a shard) can be merged.
To count each ticket once, a server stores the tickets of counted reports, unless `keep_tickets` is
False.
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
from tacit.designs.sketches.sensing import seed_words
from tacit.designs.sketches.tickets import TicketSet, belong_to_shards
from tacit.errors import ConfigError

Ints = NDArray[np.int64]
Bytes = NDArray[np.uint8]

REASONS = ("accepted", "malformed", "another campaign", "another shard", "late", "duplicate")
"""Outcomes of a report: accepted, or the reason of its refusal. A code is a position in REASONS."""
_ACCEPTED, _MALFORMED, _OTHER_CAMPAIGN, _OTHER_SHARD, _LATE, _DUPLICATE = range(6)
MOST_PAIR_ITEMS = 10_000
"""Largest number of items of a campaign about pairs, since there is a count of every pair."""
_REPORT_FIELDS = [("head", ">u2"), ("campaign", ">u8"), ("ticket", ">u8"), ("bits", ">u4")]
TICKET = (10, 8)
"""Position of the ticket in the bytes of a report, and its length in bytes."""
_REPORTS_AT_ONCE = 1 << 19
"""Number of reports that are counted at once, so that memory does not grow with a batch."""


@dataclass(frozen=True, eq=False)
class Receipt:
    """Outcomes of the reports of a batch."""

    codes: Bytes
    """(n,) uint8, positions in REASONS."""

    @property
    def counts(self) -> dict[str, int]:
        """Number of reports by outcome."""
        counts = np.bincount(self.codes, minlength=len(REASONS)).tolist()
        return dict(zip(REASONS, counts, strict=True))

    @property
    def accepted_count(self) -> int:
        """Number of reports that were counted."""
        return self.counts["accepted"]


class Server:
    """Counts the reports of one campaign."""

    def __init__(
        self, campaign: Campaign, *, shard: tuple[int, int] = (0, 1), keep_tickets: bool = True
    ) -> None:
        """Begin without reports.

        Args:
            campaign: The campaign whose reports are counted.
            shard: (k, n): this is server k of n, from 0, and counts the tickets with
                ticket % n = k. So no two servers count the same ticket.
            keep_tickets: Whether to store tickets and refuse duplicates. If False, memory does not
                grow, and the caller has to make sure that each report comes once. After a restart
                from a checkpoint, only reports that came after the checkpoint may be sent again;
                `reports` of the loaded server is the number of reports in the checkpoint.

        Raises:
            ConfigError: There is no such shard, or there are too many items for pairs.
        """
        if not 0 <= shard[0] < shard[1]:
            raise ConfigError(f"A shard is (k, n) with 0 <= k < n; got {shard}.")
        self.campaign = campaign
        self.shards = {shard[0]}
        self.shard_count = shard[1]
        if not campaign.asks_about_sets and campaign.n_items > MOST_PAIR_ITEMS:
            raise ConfigError(
                f"Pairs are counted for at most {MOST_PAIR_ITEMS} items; there are "
                f"{campaign.n_items}. Sense sets."
            )
        numbers_of_ones = campaign.questions + 1  # a report has 0 to `questions` ones
        self.cells = np.zeros(numbers_of_ones + 2 * campaign.places, dtype=np.int64)
        """All counts in one array, of which `ones` and `totals` are views."""
        self.ones = self.cells[:numbers_of_ones]
        """(questions + 1,) numbers of reports with 0, 1, .. ones."""
        self.totals = self.cells[numbers_of_ones:].reshape(2, -1)
        """(2, places) numbers of answers 0 and of answers 1 about each place: a place of the wheel
        (`sensing.py`), or a pair of items."""
        self.rejected = dict.fromkeys(REASONS[1:], 0)
        """Number of refused reports by reason."""
        self.keep_tickets = keep_tickets
        self._tickets = TicketSet()
        self._lock = threading.Lock()
        self._dtype = report_dtype(campaign)

    @property
    def reports(self) -> int:
        """Number of reports that were accepted."""
        return int(self.ones.sum())

    @property
    def nbytes(self) -> int:
        """Bytes of the counts by place and of the tickets."""
        return self.totals.nbytes + self._tickets.nbytes

    def fold(self, data: bytes | memoryview, *, now: int) -> Receipt:
        """Count a batch of reports whose bytes are concatenated.

        A batch is refused as a whole, as one malformed report, if its length is no multiple of a
        report's length. So bytes of untrusted senders go through `fold_each`, or their lengths are
        checked first. A file of such bytes is split by `report_files.read_messages`.

        Args:
            data: The reports' bytes.
            now: Unix seconds at which they arrived.

        Returns:
            The code of each report, in order; one code for a batch that is refused as a whole.
        """
        if len(data) % self._dtype.itemsize:
            with self._lock:
                self.rejected["malformed"] += 1
            return Receipt(np.full(1, _MALFORMED, dtype=np.uint8))
        records = np.frombuffer(data, dtype=self._dtype)
        codes = np.empty(len(records), dtype=np.uint8)
        with self._lock:
            for start in range(0, len(records), _REPORTS_AT_ONCE):
                part = slice(start, start + _REPORTS_AT_ONCE)
                self._fold_records(records[part], now, codes[part])
        return Receipt(codes)

    def fold_each(self, messages: Sequence[bytes], *, now: int) -> Receipt:
        """Count reports that came as separate messages.

        Messages of the wrong length are refused before the others are joined for `fold`, since they
        would shift the bytes of all reports after them.

        Args:
            messages: The bytes of one report each.
            now: Unix seconds at which they arrived.

        Returns:
            The code of each message, in order.
        """
        codes = np.full(len(messages), _MALFORMED, dtype=np.uint8)
        positions = []
        for position, message in enumerate(messages):
            if len(message) == self.campaign.report_bytes:
                positions.append(position)
        with self._lock:
            self.rejected["malformed"] += len(messages) - len(positions)
        data = b"".join(messages[position] for position in positions)
        codes[positions] = self.fold(data, now=now).codes
        return Receipt(codes)

    def merge(self, other: Server) -> None:
        """Add the counts of another server, which must not be used afterwards.

        A batch that another thread is counting at either server is completed first.

        Raises:
            ConfigError: The other server counted another campaign, it divides the tickets into
                another number of shards, or both servers counted the same shard.
        """
        if other.campaign != self.campaign or other.shard_count != self.shard_count:
            raise ConfigError("Merge servers of one campaign that have the same number of shards.")
        # One lock at a time: two servers that merge each other would wait for ever with both
        with other._lock:
            shards = set(other.shards)
            keep_tickets = other.keep_tickets
            tickets = other._tickets.tickets()
            cells = other.cells.copy()
            rejected = dict(other.rejected)
        with self._lock:
            if self.shards & shards:
                raise ConfigError(
                    "These servers counted the same shard of the tickets: people would count twice."
                )
            self.keep_tickets = self.keep_tickets and keep_tickets
            self._tickets.add(tickets)
            self.shards |= shards
            self.cells += cells
            for reason, count in rejected.items():
                self.rejected[reason] += count

    def save(self, path: str | Path) -> None:
        """Write a checkpoint, completely or not at all.

        A batch that another thread is counting is completed first. Reports that come after the
        checkpoint can be sent again to a server that is loaded from this checkpoint.

        Raises:
            ConfigError: Counting was interrupted in the middle of a batch, so the counts do not fit
                each other; an earlier file at this path stays as it is.
        """
        with self._lock:
            write_checkpoint(path, self._checkpoint())

    @classmethod
    def load(cls, path: str | Path) -> Server:
        """Make a server that continues from a checkpoint.

        Raises:
            ModelFileError: The file is not a checkpoint.
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
        server._tickets.add(saved.tickets)
        return server

    def _checkpoint(self) -> Checkpoint:
        """Return the present state, as a checkpoint stores it."""
        return Checkpoint(
            campaign=self.campaign,
            shards=tuple(sorted(self.shards)),
            shard_count=self.shard_count,
            keep_tickets=self.keep_tickets,
            rejected=dict(self.rejected),
            totals=self.totals,
            ones=self.ones,
            tickets=self._tickets.tickets(),
        )

    def _fold_records(self, records: Any, now: int, codes: Bytes) -> None:
        """Check records, count those that are accepted, and write the code of each into `codes`.

        Args:
            records: (n,) reports, with the fields of `report_dtype`.
            now: Unix seconds at which they arrived.
            codes: (n,) changed in place.
        """
        self._check_records(records, now, codes)
        accepted = np.flatnonzero(codes == _ACCEPTED)
        if self.keep_tickets:
            is_new = self._tickets.add(records["ticket"][accepted].astype(np.uint64))
            codes[accepted[~is_new]] = _DUPLICATE
            accepted = accepted[is_new]
        self._count(records if len(accepted) == len(records) else records[accepted])
        for reason, count in Receipt(codes).counts.items():
            if reason != "accepted":
                self.rejected[reason] += count

    def _check_records(self, records: Any, now: int, codes: Bytes) -> None:
        """Write the code of each record into `codes`, without looking for duplicates.

        A record with several faults gets the code that comes first in REASONS after 'accepted'.
        """
        head, campaign_id = report_head(self.campaign)
        tickets = records["ticket"].astype(np.uint64)
        is_malformed = (records["head"] != head) | (tickets == 0)
        is_malformed |= records["bits"] >= 1 << self.campaign.questions
        if self.campaign.names_pair:
            first, second = records["pair"].T
            is_malformed |= (first >= second) | (second >= self.campaign.n_items)
        codes[:] = _LATE if now > self.campaign.closes else _ACCEPTED
        codes[~belong_to_shards(tickets, self.shards, self.shard_count)] = _OTHER_SHARD
        codes[records["campaign"] != campaign_id] = _OTHER_CAMPAIGN
        codes[is_malformed] = _MALFORMED

    def _count(self, records: Any) -> None:
        """Add the answers of accepted records to the counts."""
        from tacit.engine.sketch_compiled import count_pairs, count_sets

        campaign = self.campaign
        first_word, second_word = map(np.uint64, seed_words(campaign.seed))
        tickets = records["ticket"].astype(np.uint64)
        bits = records["bits"].astype(np.uint32)
        self.ones += np.bincount(np.bitwise_count(bits), minlength=campaign.questions + 1)
        answers = first_word, second_word, tickets, bits, campaign.questions
        if campaign.asks_about_sets:
            count_sets(*answers, campaign.set_size, self.totals)
        elif not campaign.names_pair:
            count_pairs(*answers, np.uint64(campaign.n_items), self.totals)
        else:
            # Pair (i, j), i < j, has position i (2 N - i - 1) / 2 + j - i - 1 among all pairs.
            i, j = records["pair"].T.astype(np.int64)
            pair_position = i * (2 * campaign.n_items - i - 1) // 2 + j - i - 1
            np.add.at(self.totals, (bits.astype(np.int64), pair_position), 1)


def report_dtype(campaign: Campaign) -> np.dtype[Any]:
    """Return the NumPy type of a report's bytes; it has a field `pair` if devices name pairs."""
    pair = [("pair", ">u4", 2)] if campaign.names_pair else []
    return np.dtype([*_REPORT_FIELDS, *pair])


def report_head(campaign: Campaign) -> tuple[int, int]:
    """Return the fields `head` and `campaign` of all reports to a campaign, as integers."""
    return int.from_bytes(REPORT_HEAD, "big"), int.from_bytes(campaign.id, "big")


def count_messages(messages: Sequence[bytes], campaign: bytes, now: int) -> NDArray[np.int64]:
    """Count one part of the reports of a distributed count, with a new server.

    Of several reports with the same ticket only the first is counted. So all reports with one
    ticket have to be in the same part.

    Args:
        messages: The bytes of one report each.
        campaign: The bytes of the campaign.
        now: Unix seconds at which the reports arrived.

    Returns:
        `Server.cells`, then the numbers of refused reports, in the order of REASONS[1:].
    """
    server = Server(Campaign.decode(campaign))
    server.fold_each(messages, now=now)
    return np.concatenate([server.cells, [*server.rejected.values()]])


def make_server(campaign: bytes, counts: NDArray[np.int64]) -> Server:
    """Make a server from the counts of all parts of a distributed count. It has no tickets.

    Args:
        campaign: The bytes of the campaign.
        counts: Sum of the arrays that `count_messages` returned.
    """
    server = Server(Campaign.decode(campaign), keep_tickets=False)
    cells, rejected = np.split(counts, [server.cells.size])
    server.cells[:] = cells
    server.rejected = dict(zip(server.rejected, rejected.tolist(), strict=True))
    return server
