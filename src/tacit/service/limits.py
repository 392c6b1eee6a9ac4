"""How many requests one key, or one address without a key, may send: a bucket that refills."""

from __future__ import annotations

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from tacit.service.problems import Problem

MOST_BUCKETS = 100_000
"""Remembered at a time; the one that rested longest is forgotten, and it is full again by then."""


class Limits:
    """Buckets of `burst` requests that refill at `per_second`; one process counts for itself."""

    def __init__(
        self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """Count one request; Problem 429 if the bucket is empty."""
        now = self._clock()
        with self._lock:
            left, since = self._buckets.pop(name, (float(self._burst), now))
            left = min(self._burst, left + (now - since) * self._per_second)
            self._buckets[name] = (max(left - 1, 0.0) if left >= 1 else left, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) / self._per_second)
            raise Problem(429, "Too many requests. Wait, then go on.", retry_after=max(wait, 1))
