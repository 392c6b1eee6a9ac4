"""The counts of a campaign as a kept state, and what they tell.

Counts take the same room however many reports came, and no report is in them: the state before is
written over in the transaction that answers. Only how often each place was asked about and said 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.designs.sketches import (
    Campaign,
    Clusters,
    Server,
    item_counts,
    pair_clusters,
    pair_counts,
    publish,
    score_clusters,
)
from tacit.designs.sketches.messages import WHOLE, ItemId

Ints = NDArray[np.int64]
_OPEN, _CLOSED = b"o", b"c"
_COUNT = np.dtype("<i8")


@dataclass(frozen=True, eq=False)
class CampaignCounts:
    """counts: of the reports so far. closed: no more are taken. clusters: bytes, once made."""

    counts: Server
    closed: bool = False
    clusters: bytes = b""

    @classmethod
    def decode(cls, campaign: Campaign, kept: bytes | None) -> Self:
        """What `encode` gave; no reports yet where nothing was kept."""
        counts = Server(campaign, keep_tickets=False)  # the ledger takes one report of each person
        if kept is None:
            return cls(counts)
        at = 1
        for array in (counts.ones, counts.totals):
            array[:] = np.frombuffer(kept, _COUNT, array.size, at).reshape(array.shape)
            at += array.nbytes
        return cls(counts, kept[:1] == _CLOSED, kept[at:])

    def encode(self) -> bytes:
        """For the ledger."""
        arrays = (self.counts.ones, self.counts.totals)
        numbers = b"".join(array.astype(_COUNT).tobytes() for array in arrays)
        return (_CLOSED if self.closed else _OPEN) + numbers + self.clusters

    def with_report(self, report: bytes, now: int) -> Self | None:
        """With one more report, which these counts become part of; None if it comes too late."""
        if self.closed or not self.counts.fold_each([report], now=now).accepted:
            return None
        return self

    def clustered(self) -> bytes:
        """Clusters of the items as these counts have them: the same every time."""
        campaign = self.counts.campaign
        if campaign.senses:
            found = score_clusters(item_counts(self.counts), resamples=1)
        else:
            found = pair_clusters(pair_counts(self.counts), resamples=1)
        return publish(campaign, found).encode()

    def told(self, items: tuple[ItemId, ...]) -> dict[str, Any]:
        """For analysts. estimate: unbiased share of true yes among questions about an item; error:
        its standard deviation by the noise and by chance. None where nobody was asked.
        """
        asked, ones = self._by_item()
        truth = self.counts.campaign.truth / WHOLE
        signal = 2 * truth - 1
        rows = []
        for item, total, yes in zip(items, asked.tolist(), ones.tolist(), strict=True):
            share = yes / total if total else math.nan
            estimate = (share - (1 - truth)) / signal if total else None
            error = math.sqrt(share * (1 - share) / total) / signal if total else None
            rows.append({"item": item, "asked": total, "estimate": estimate, "error": error})
        return {"reports": self.counts.reports, "closed": self.closed, "items": rows}

    def _by_item(self) -> tuple[Ints, Ints]:
        """(items,) each: asked, and answered 1; a pair counts for both of its items."""
        if self.counts.campaign.senses:
            counts = item_counts(self.counts)
            return counts.asked, counts.ones
        pairs = pair_counts(self.counts)
        return _of_either(pairs.asked, pairs.items), _of_either(pairs.ones, pairs.items)


def _of_either(pairs: Ints, items: int) -> Ints:
    first, second = np.triu_indices(items, 1)
    both = np.bincount(first, pairs, items) + np.bincount(second, pairs, items)
    return both.astype(np.int64)


def described_clusters(data: bytes) -> dict[str, Any]:
    """How many clusters, and how many items are in each, by label."""
    sizes = np.bincount(np.frombuffer(Clusters.decode(data).labels, dtype=np.uint8)).tolist()
    return {"clusters": len(sizes), "sizes": sizes}
