"""Limits on how often a key, or a network address without a key, may do something.

A key or an address has a bucket of tokens that refills. A request takes a token, and is refused if
the bucket is empty. `VisitorLimits` uses such buckets for the new names of a network.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple

from tacit.service.problems import Problem

MOST_BUCKETS = 100_000
"""Most buckets, and most visitors' names, in memory. Beyond that, the one unused for longest is
dropped. A dropped bucket is full when it is used again, and a dropped name counts as new."""
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86_400
_ADDRESS_PREFIX = "address/"
"""First characters of the name of an address's bucket."""
_IPV6_PREFIX_BITS = 64
"""Bits of an IPv6 address that name a subscriber's network."""


class RateLimits:
    """Buckets of `burst` tokens that refill at `per_second`, in the memory of one process.

    Args:
        per_second: Tokens that return to each bucket in a second.
        burst: Tokens of a full bucket.
        clock: Monotonic clock, in seconds.
        sentence: Detail of the problem that refuses a request.
    """

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
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()
        """Buckets by name, the one unused for longest first."""
        self._lock = threading.Lock()

    @classmethod
    def per_day(cls, changes: int, clock: Callable[[], float] = time.monotonic) -> RateLimits:
        """Make limits on changes that cost no budget, with a bucket for each person.

        A bucket that is empty is full again after a day. In one day a person can thus make up to
        twice `changes` in each worker: those of a full bucket, and those that return.

        Args:
            changes: Number of these changes that one person may make at once, and a day on average.
            clock: Monotonic clock, in seconds.
        """
        sentence = (
            "You have made as many free changes as one person may make at once. Wait, then go on."
        )
        return cls(changes / SECONDS_PER_DAY, changes, clock, sentence=sentence)

    def take(self, name: str) -> None:
        """Take a token from a bucket.

        Args:
            name: Name of the bucket; `address/IP` names the bucket of the address's network.

        Raises:
            Problem: Status 429; the bucket is empty.
        """
        if name.startswith(_ADDRESS_PREFIX):
            name = _ADDRESS_PREFIX + network_of(name.removeprefix(_ADDRESS_PREFIX))
        tokens_before = self._add_tokens(name, -1)
        if tokens_before < 1:
            seconds = math.ceil((1 - tokens_before) / self._per_second)
            raise Problem(429, self._sentence, retry_after=max(seconds, 1))

    def give_back(self, name: str) -> None:
        """Give back a token that was taken for a request that does not count, such as a retry.

        Args:
            name: Name of the bucket. The bucket of an address cannot be named here.
        """
        self._add_tokens(name, 1)

    def _add_tokens(self, name: str, change: int) -> float:
        """Add tokens to a bucket, up to its burst; or take tokens from it if it holds as many.

        Args:
            name: Name of the bucket.
            change: Number of tokens to add; below 0: to take.

        Returns:
            Tokens in the bucket before the change.
        """
        with self._lock:
            now = self._clock()
            bucket = self._buckets.pop(name, _Bucket(float(self._burst), now))
            refilled = (now - bucket.changed_at) * self._per_second
            before = min(self._burst, bucket.tokens + refilled)
            after = min(self._burst, before + change)
            if after < 0:
                after = before
            self._buckets[name] = _Bucket(after, now)  # at the end: used last
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return before


class _Bucket(NamedTuple):
    """The tokens of one name at the last change of their number."""

    tokens: float
    """Number of tokens after the change."""
    changed_at: float
    """Time of the change, by the clock."""


class VisitorLimits:
    """Limits how many new names the visitors from one network may take.

    A name counts once, as long as it is one of the MOST_BUCKETS names that came last.

    Args:
        per_hour: Number of new names from one network at once, and an hour on average.
        clock: Monotonic clock, in seconds.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        sentence = "Too many visitors came from this address. Wait, then go on."
        self._limits = RateLimits(per_hour / SECONDS_PER_HOUR, per_hour, clock, sentence=sentence)
        self._admitted: OrderedDict[str, None] = OrderedDict()
        """Names that were admitted, the one that came back least recently first."""
        self._lock = threading.Lock()

    def admit(self, address: str, name: str) -> None:
        """Admit a visitor.

        Args:
            address: IP address of the visitor.
            name: Name of the visitor.

        Raises:
            Problem: Status 429; the name is new, and its network may take no more new names now.
        """
        with self._lock:
            if name not in self._admitted:
                self._limits.take(_ADDRESS_PREFIX + address)
            self._admitted[name] = None
            self._admitted.move_to_end(name)
            if len(self._admitted) > MOST_BUCKETS:
                self._admitted.popitem(last=False)


def network_of(address: str) -> str:
    """Return the network of an address, which counts as one sender.

    An IPv4 address is its own network. The network of an IPv6 address is its /64, since one
    subscriber has all 2^64 addresses of it.
    """
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((parsed, _IPV6_PREFIX_BITS), strict=False))
