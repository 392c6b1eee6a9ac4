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
"""Buckets in memory at a time. The one unused for longest is dropped, and starts again as a full
one."""
SECONDS_PER_HOUR = 3600
SECONDS_PER_DAY = 86_400
_ADDRESS = "address/"
_IPV6_PREFIX_BITS = 64


class RateLimits:
    """Buckets of `burst` tokens that refill at `per_second`, in the memory of one process.

    Args:
        per_second: Tokens that return to each bucket in a second.
        burst: Tokens of a full bucket.
        clock: Seconds that never go back.
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
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def per_day(cls, changes: int, clock: Callable[[], float] = time.monotonic) -> RateLimits:
        """Limit how many free changes one person makes in a day, since each is stored for ever.

        Args:
            changes: How many one person may make in a day.
            clock: Seconds that never go back.
        """
        sentence = (
            "You have made as many free changes as one person may make in a day. Wait, then go on."
        )
        return cls(changes / SECONDS_PER_DAY, changes, clock, sentence=sentence)

    def take(self, name: str) -> None:
        """Take a token from the bucket of this name. `address/IP` names the address's network.

        Raises:
            Problem: Status 429; the bucket is empty.
        """
        if name.startswith(_ADDRESS):
            name = _ADDRESS + network_of(name.removeprefix(_ADDRESS))
        tokens = self._add_tokens(name, -1)
        if tokens < 1:
            wait = math.ceil((1 - tokens) / self._per_second)
            raise Problem(429, self._sentence, retry_after=max(wait, 1))

    def give_back(self, name: str) -> None:
        """Give back a token that was taken for a repetition, which is free."""
        self._add_tokens(name, 1)

    def _add_tokens(self, name: str, change: int) -> float:
        """Add to a bucket, or take from it where it holds enough.

        Returns:
            What the bucket held before.
        """
        with self._lock:
            now = self._clock()
            tokens, changed_at = self._buckets.pop(name, (float(self._burst), now))
            tokens = min(self._burst, tokens + (now - changed_at) * self._per_second)
            after = min(self._burst, tokens + change)
            if after < 0:
                after = tokens
            self._buckets[name] = (after, now)  # the newest entry
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        return tokens


class VisitorLimits:
    """How many new names one address may take; a name that comes back is not counted again.

    Args:
        per_hour: New names in an hour.
        clock: Seconds that never go back.
    """

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        sentence = "Too many visitors came from this address. Wait, then go on."
        self._limits = RateLimits(per_hour / SECONDS_PER_HOUR, per_hour, clock, sentence=sentence)
        self._admitted: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def admit(self, address: str, name: str) -> None:
        """Admit a visitor.

        Raises:
            Problem: Status 429; the name is new, and this address took as many as it may.
        """
        with self._lock:
            if name not in self._admitted:
                self._limits.take(_ADDRESS + address)
            self._admitted[name] = None
            self._admitted.move_to_end(name)
            if len(self._admitted) > MOST_BUCKETS:
                self._admitted.popitem(last=False)


def network_of(address: str) -> str:
    """The network that is counted as one sender.

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
