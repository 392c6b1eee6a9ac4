"""A network of vendors, some of whom lie about offers and rewards."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tacit.designs.pdap.experiment.network import Network
from tacit.designs.pdap.vendor import Vendor, Visit

Lie = Callable[[bytes], bytes | None]
"""Changes a message on its way: other bytes, or None for nothing at all."""


class Lying(Network):
    """A network in which some vendors lie.

    Args:
        vendors: Vendors by name.
        seen: Chance that home sees a click on a neighbour's video itself, too.
        seed: Seed of that chance.
        offers: Changes of a vendor's offers, by its name; none for others.
        rewards: Changes of a vendor's rewards, by its name; none for others.
    """

    def __init__(
        self,
        vendors: Mapping[str, Vendor],
        *,
        seen: float,
        seed: int,
        offers: Mapping[str, Lie] | None = None,
        rewards: Mapping[str, Lie] | None = None,
    ) -> None:
        super().__init__(vendors, own_vendor_sees_clicks=False)
        self._chance = seen
        self._generator = np.random.default_rng([seed, 2])
        self._offers = offers or {}
        self._rewards = rewards or {}

    def offer(self, own_vendor: str, peer: str, forward: bytes) -> bytes | None:
        """Pass the offer on as the liar changes it."""
        found = super().offer(own_vendor, peer, forward)
        return found if found is None or peer not in self._offers else self._offers[peer](found)

    def report(self, own_vendor: str, visit: Visit, reward: float) -> None:
        """Report a click as the liar changes it, after what home saw itself."""
        peer = visit.peer or ""
        if self._generator.random() < self._chance:
            self.vendors[own_vendor].observe_click(visit, reward)
        sent = self.vendors[peer].observe_guest_click(own_vendor, visit.request, reward)
        if sent is not None and peer in self._rewards:
            sent = self._rewards[peer](sent)
        if sent is not None:
            self.vendors[own_vendor].receive_reward(peer, sent)
