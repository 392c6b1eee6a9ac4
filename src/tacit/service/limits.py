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
_AT_ONCE = 2
"""Buckets that are looked at when one is counted."""
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
        said: str = "Too many requests. Wait, then go on.",
    ) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._said = said
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def daily(cls, changes: int, clock: Callable[[], float] = time.monotonic) -> Limits:
        """Of changes that cost nothing and are stored for ever."""
        said = "This is as much as one person may change in a day without its costing anything."
        return cls(changes / DAY, changes, clock, said=f"{said} Wait, then go on.")

    def __len__(self) -> int:
        """How many are remembered."""
        return len(self._buckets)

    def take(self, name: str) -> None:
        """Count one; Problem 429 if the bucket is empty. `address/IP` stands for its network."""
        if name.startswith(_ADDRESS):
            name = _ADDRESS + network_of(name.removeprefix(_ADDRESS))
        now = self._clock()
        with self._lock:
            left = self._left(name, now)
            self._buckets[name] = (left - 1 if left >= 1 else left, now)
            self._forget(now)
        if left < 1:
            wait = math.ceil((1 - left) / self._per_second)
            raise Problem(429, self._said, retry_after=max(wait, 1))

    def give_back(self, name: str) -> None:
        """One that was taken and turned out to be nothing new."""
        now = self._clock()
        with self._lock:
            self._buckets[name] = (min(self._burst, self._left(name, now) + 1), now)

    def _forget(self, now: float) -> None:
        """Inside the lock. Those at the front that are full again are as good as unknown; a few at
        a time, and more than come."""
        for _ in range(_AT_ONCE):
            left, since = next(iter(self._buckets.values()))
            full = left + (now - since) * self._per_second >= self._burst
            if not full and len(self._buckets) <= MOST_BUCKETS:
                return
            self._buckets.popitem(last=False)

    def _left(self, name: str, now: float) -> float:
        """Inside the lock; the bucket is out of its place, and is put back as the newest."""
        left, since = self._buckets.pop(name, (float(self._burst), now))
        return min(self._burst, left + (now - since) * self._per_second)


class Newcomers:
    """How many new names one address may take; who comes back with theirs is not counted again."""

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = Limits(
            per_hour / HOUR,
            per_hour,
            clock,
            said="Too many visitors came from this address. Wait, then go on.",
        )
        self._known: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def admit(self, address: str, name: str) -> None:
        """Problem 429 for a new name where this address has taken as many as it may."""
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
                return
        self._limits.take(_ADDRESS + address)
        with self._lock:
            self._known[name] = None
            if len(self._known) > MOST_BUCKETS:
                self._known.popitem(last=False)


def network_of(address: str) -> str:
    """An address of IPv4 is itself; of IPv6 it is the /64, of which one subscriber has all 2^64."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, _NETWORK), strict=False))
