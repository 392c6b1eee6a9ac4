"""Vendors that reach one another: carries encoded bytes between them, and nothing else.

Home sees a click on a neighbour's video itself with the chance `seen`: it is shown on its own page
always (1), now and then (a sample of users tells it), or never (0, as the paper has it).

A neighbour gets the clicks on its videos, and reports on them, unless `reported` is False or
home asks all neighbours: then a visitor tells nobody but home.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.messages import LARGEST
from tacit.designs.pdap.vendor import Vendor, Visit
from tacit.errors import ConfigError
from tacit.randomness import Source, integers_below

_PARTS = 1 << 20
Lie = Callable[[bytes], bytes | None]
"""What becomes of a message on its way: other bytes, or None for nothing at all."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a visitor got. vendor: who served it. reward: None if nobody knows what came of it."""

    vendor: str
    video: str
    reward: float | None


class Network:
    """offers, rewards: what becomes of a vendor's messages, by its name; left out: nothing."""

    def __init__(
        self,
        vendors: Mapping[str, Vendor],
        *,
        seen: float = 0.0,
        reported: bool = True,
        randomness: Source,
        offers: Mapping[str, Lie] | None = None,
        rewards: Mapping[str, Lie] | None = None,
    ) -> None:
        if not 0 <= seen <= 1:
            raise ConfigError(f"seen is a chance from 0 to 1; got {seen}.")
        self.vendors = dict(vendors)
        self._seen, self._reports = round(seen * _PARTS), reported
        self._source = randomness
        self._offers, self._rewards = dict(offers or {}), dict(rewards or {})

    def visit(
        self,
        home: str,
        context: NDArray[np.float64],
        click: Callable[[str, str], float | None],
    ) -> Shown:
        """One visit, end to end. click: vendor and video -> 0, 1, or None if it is not known."""
        vendor = self.vendors[home]
        visit = vendor.choose(context)
        answers = {name: self._ask(home, name, visit.forward) for name in visit.asks}
        if visit.peer is None:
            assert visit.video is not None
            return self._own(home, visit, visit.video, click)
        peer = visit.peer
        video = vendor.offered(visit, answers[peer])
        if not visit.waits():  # it had nothing
            return self._own(home, visit, video, click)
        reward = click(peer, video)
        if reward is not None:
            if self._sees():
                vendor.clicked(visit, reward)
            if self._reports and not vendor.asks_all:
                self._report(home, peer, visit.request, reward)
        return Shown(peer, video, reward)

    def _own(
        self, home: str, visit: Visit, video: str, click: Callable[[str, str], float | None]
    ) -> Shown:
        reward = click(home, video)
        if reward is not None:
            self.vendors[home].clicked(visit, reward)
        return Shown(home, video, reward)

    def _ask(self, home: str, peer: str, forward: bytes | None) -> bytes | None:
        asked = self.vendors.get(peer)
        if asked is None or forward is None:
            return None
        return _arrived(self._offers.get(peer), asked.serve(home, forward))

    def _report(self, home: str, peer: str, request: bytes, reward: float) -> None:
        sent = self.vendors[peer].guest_clicked(home, request, reward)
        data = None if sent is None else _arrived(self._rewards.get(peer), sent)
        if data is not None:
            self.vendors[home].rewarded(peer, data)

    def _sees(self) -> bool:
        if self._seen in (0, _PARTS):
            return self._seen > 0
        return bool(integers_below(self._source, _PARTS, 1)[0] < self._seen)


def _arrived(lie: Lie | None, data: bytes) -> bytes | None:
    """What is longer than any message is not read to its end."""
    found = data if lie is None else lie(data)
    return None if found is None or len(found) > LARGEST else found
