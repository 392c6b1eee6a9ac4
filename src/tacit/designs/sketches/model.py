"""A whole campaign in one process: devices that answer, and the clusters that are learned."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import Clustering, pair_clusters, score_clusters
from tacit.designs.sketches.device import Device, Limits, new_secret
from tacit.designs.sketches.guarantees import cards
from tacit.designs.sketches.messages import ItemId, Report
from tacit.designs.sketches.server import Server, item_counts, pair_counts
from tacit.privacy import Guarantee


class Sketches:
    """items: the catalogue. epsilon: nats of a report. Other settings: those of `new_campaign`."""

    def __init__(
        self, items: Sequence[ItemId], *, rated: int = 50, epsilon: float = 1.0, **settings: Any
    ) -> None:
        self.items = tuple(items)
        self.campaign = new_campaign(self.items, rated=rated, epsilon=epsilon, **settings)
        self.server = Server(self.campaign)

    def device(self, secret: bytes | None = None, limits: Limits | None = None) -> Device:
        """A person's device: `device.report(campaign, items, history)` is all that leaves it."""
        return Device(new_secret() if secret is None else secret, {}, limits)

    def receive(self, *reports: Report) -> int:
        """Count the reports of devices; how many were accepted."""
        now = int(time.time())
        receipt = self.server.fold_each([report.encode() for report in reports], now=now)
        return receipt.accepted

    def clusters(self, number: int | None = None) -> Clustering:
        """Of items; number: None to have it chosen."""
        return cluster(self.server, number)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Of one report."""
        return cards(self.campaign)

    def __repr__(self) -> str:
        return f"Sketches({len(self.items)} items, {self.server.reports:,} reports)"


def cluster(server: Server, clusters: int | None = None, *, resamples: int = 1) -> Clustering:
    """What the counts of a server say about items, by the campaign's own method."""
    if server.campaign.senses:
        return score_clusters(item_counts(server), clusters, resamples=resamples)
    return pair_clusters(pair_counts(server), clusters, resamples=resamples)
