"""A whole campaign in one process: devices, server, and learned clusters."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from tacit.designs.sketches.campaigns import new_campaign
from tacit.designs.sketches.clustering import Clustering, cluster_items
from tacit.designs.sketches.device import Device, Limits, new_secret
from tacit.designs.sketches.guarantees import cards
from tacit.designs.sketches.messages import ItemId, Report
from tacit.designs.sketches.server import Server
from tacit.privacy import Guarantee


class Sketches:
    """Holds a campaign and its server, and makes devices.

    Args:
        items: Item ids of the catalogue, in the campaign's order.
        rated: Number of items that a person is assumed to have rated.
        epsilon: Nats of a whole report.
        settings: Further arguments of `new_campaign`, by name.

    Raises:
        ConfigError: `new_campaign` or `Server` refuses an argument.
    """

    def __init__(
        self, items: Sequence[ItemId], *, rated: int = 50, epsilon: float = 1.0, **settings: Any
    ) -> None:
        self.items = tuple(items)
        self.campaign = new_campaign(self.items, rated=rated, epsilon=epsilon, **settings)
        self.server = Server(self.campaign)

    def device(self, secret: bytes | None = None, limits: Limits | None = None) -> Device:
        """Make a person's device, which answers by `device.report(campaign, items, history)`.

        The device has sent nothing before, and its memory is not stored.

        Args:
            secret: Secret of the person's account; None for a new one.
            limits: Limits of the owner; None for the defaults of `Limits`.
        """
        if secret is None:
            secret = new_secret()
        return Device(secret, memory={}, limits=limits)

    def receive(self, *reports: Report) -> int:
        """Count the reports of devices, and return how many were accepted."""
        messages = [report.encode() for report in reports]
        return self.server.fold_each(messages, now=int(time.time())).accepted_count

    def clusters(self, number: int | None = None) -> Clustering:
        """Cluster the items by the counts so far.

        Args:
            number: Number of clusters; None to choose it by the noise.

        Raises:
            ConfigError: The number is below 1 or above the number of items.
        """
        return cluster_items(self.server, number)

    def guarantees(self) -> tuple[Guarantee, ...]:
        """Return the guarantee cards of one report, as `guarantees.cards` does.

        Raises:
            ConfigError: The campaign has no noise.
        """
        return cards(self.campaign)

    def __repr__(self) -> str:
        return f"Sketches({len(self.items)} items, {self.server.reports:,} reports)"
