"""How often one key, or one address without a key, may do something: a bucket that refills."""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from tacit.service.problems import Problem

MOST_BUCKETS = 100_000
"""Remembered at a time; the one that rested longest is forgotten: it comes back as a full one."""
HOUR, DAY = 3600, 86_400
_ADDRESS = "address/"
_NETWORK = 64


class Limits:
    """Buckets of `burst` that refill at `per_second`; one process counts for itself, in memory."""

    def __init__(
        self,
        per_second: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        sentence: str = "Too many requests. Wait, then go on.",
    ) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._sentence = sentence
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def daily(cls, changes: int, clock: Callable[[], float] = time.monotonic) -> Limits:
        """Of changes that cost nothing and are stored for ever."""
        sentence = "This is as much as one person may change in a day without its costing anything."
        return cls(changes / DAY, changes, clock, sentence=f"{sentence} Wait, then go on.")

    def take(self, name: str) -> None:
        """Count one; Problem 429 if the bucket is empty. `address/IP` stands for its network."""
        if name.startswith(_ADDRESS):
            name = _ADDRESS + network_of(name.removeprefix(_ADDRESS))
        left = self._change(name, -1)
        if left < 1:
            wait = math.ceil((1 - left) / self._per_second)
            raise Problem(429, self._sentence, retry_after=max(wait, 1))

    def give_back(self, name: str) -> None:
        """One that was taken and turned out to be nothing new."""
        self._change(name, 1)

    def _change(self, name: str, by: int) -> float:
        """What the bucket held before. It is the newest now; where it holds too little it stays."""
        with self._lock:
            now = self._clock()
            left, since = self._buckets.pop(name, (float(self._burst), now))
            left = min(self._burst, left + (now - since) * self._per_second)
            after = min(self._burst, left + by)
            self._buckets[name] = (after if after >= 0 else left, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return left


class Newcomers:
    """How many new names one address may take; who comes back with theirs is not counted again."""

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        sentence = "Too many visitors came from this address. Wait, then go on."
        self._limits = Limits(per_hour / HOUR, per_hour, clock, sentence=sentence)
        self._known: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def admit(self, address: str, name: str) -> None:
        """Problem 429 for a new name where this address has taken as many as it may."""
        with self._lock:
            if name not in self._known:
                self._limits.take(_ADDRESS + address)
            self._known[name] = None
            self._known.move_to_end(name)
            if len(self._known) > MOST_BUCKETS:
                self._known.popitem(last=False)


def network_of(address: str) -> str:
    """An address of IPv4 is itself; of IPv6 it is the /64, of which one subscriber has all 2^64."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _NETWORK), strict=False))
