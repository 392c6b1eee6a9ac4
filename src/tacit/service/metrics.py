"""Counts for Prometheus, by operation, status and model: nothing about any person.

Anyone who reads the share of the catalogue that was shown, before and after one list, would learn
how many items of that list were new to everybody. So it changes once in a hundred lists, in whole
percents.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

COUNTS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable that names the folder of the counts of all workers, where a service has
several."""
LISTS_BETWEEN_SHARES = 100
"""Lists of one model and kind after which the share of its catalogue is set again."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The counts of one worker. Where there are several, each shows the counts of all."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "tacit_requests", "Requests answered.", ("operation", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "tacit_request_seconds",
            "Seconds until the answer.",
            ("operation",),
            registry=self._registry,
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2),
        )

        self._lists = Counter(
            "tacit_lists", "Lists served.", ("model", "lists"), registry=self._registry
        )
        self._shown_share = Gauge(
            "tacit_catalogue_shown_ratio",
            "Share of the catalogue in lists since a worker's start, each hundred lists.",
            ("model", "lists"),
            registry=self._registry,
            multiprocess_mode="max",
        )
        self._counters: dict[tuple[str, int], Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        self._shown: dict[tuple[str, str], set[str]] = {}
        self._lock = threading.Lock()
        self._lists_since_share: dict[tuple[str, str], int] = {}

    def count_list(self, model: str, lists: str, items: Iterable[str], catalogue: int) -> None:
        """Count one list.

        Args:
            model: The model's name.
            lists: What the key's lists are: "personal" or "popularity".
            items: Items of the list. Whether an item was ever shown is stored, not how often.
            catalogue: Number of items of the model.
        """
        kind = (model, lists)
        self._lists.labels(*kind).inc()
        with self._lock:
            shown = self._shown.setdefault(kind, set())
            shown.update(items)
            self._lists_since_share[kind] = self._lists_since_share.get(kind, 0) + 1
            if self._lists_since_share[kind] < LISTS_BETWEEN_SHARES:
                return
            self._lists_since_share[kind] = 0
            percents = 100 * len(shown) // catalogue
        self._shown_share.labels(*kind).set(percents / 100)

    def observe(self, operation: str, status: int, seconds: float) -> None:
        """Count one answer of an operation."""
        answer = (operation, status)
        if answer not in self._counters:  # `labels` takes longer than counting: once is enough
            self._counters[answer] = self._requests.labels(operation, str(status))
            self._histograms[operation] = self._seconds.labels(operation)
        self._counters[answer].inc()
        self._histograms[operation].observe(seconds)

    def text(self) -> bytes:
        """Format the counts in Prometheus's text format."""
        if COUNTS_FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
