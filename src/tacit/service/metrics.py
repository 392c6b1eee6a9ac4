"""Counts for Prometheus: of requests by operation and status, and of lists by model and kind.

No count is of one person.
Anyone who reads the share of the catalogue that was shown, before and after one list, would learn
how many items of that list had never been shown. So the share is set only once in a hundred lists,
and in whole percents.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

COUNTS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable of a service with several workers: the folder in which each worker stores
its counts. `prometheus_client` reads it."""
LISTS_BETWEEN_SHARES = 100
"""Number of lists of one model and kind after which the share of its catalogue is set again."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
"""Media type of Prometheus's text format."""


class Metrics:
    """The counts of one worker process. Of several workers, each shows the counts of all."""

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
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2),  # seconds
        )
        self._lists = Counter(
            "tacit_lists", "Lists served.", ("model", "lists"), registry=self._registry
        )
        self._shown_share = Gauge(
            "tacit_catalogue_shown_ratio",
            "Share of the catalogue in lists since a worker's start, set every hundred lists.",
            ("model", "lists"),
            registry=self._registry,
            multiprocess_mode="max",
        )
        self._counters: dict[tuple[str, int], Counter] = {}
        """Counter of requests by operation and status."""
        self._histograms: dict[str, Histogram] = {}
        """Histogram of seconds by operation."""
        self._shown: dict[tuple[str, str], set[str]] = {}
        """Items that were in a list, by model and kind of list."""
        self._lock = threading.Lock()
        """Held while `_shown` and `_lists_since_share` are changed."""
        self._lists_since_share: dict[tuple[str, str], int] = {}
        """Number of lists since the share was set, by model and kind of list."""

    def count_list(
        self, model: str, lists: str, items: Iterable[str], catalogue: Collection[str]
    ) -> None:
        """Count one list.

        Args:
            model: The model's name.
            lists: Kind of the list: "personal" or "popularity".
            items: Items of the list. Only whether an item was ever shown is stored, not how often.
            catalogue: Items of the model that is served now, at least one. Other items of the list
                are not stored, and those that were shown before are forgotten.
        """
        labels = (model, lists)
        self._lists.labels(*labels).inc()
        with self._lock:
            shown = self._shown.setdefault(labels, set())
            shown.update(item for item in items if item in catalogue)
            self._lists_since_share[labels] = self._lists_since_share.get(labels, 0) + 1
            if self._lists_since_share[labels] < LISTS_BETWEEN_SHARES:
                return
            self._lists_since_share[labels] = 0
            shown.intersection_update(catalogue)  # the model may have been replaced
            percents = 100 * len(shown) // len(catalogue)
        self._shown_share.labels(*labels).set(percents / 100)

    def observe(self, operation: str, status: int, seconds: float) -> None:
        """Count one request.

        Args:
            operation: Method and path of the operation that answered it; "none" if there was none.
            status: Status of the answer; 0: none was sent.
            seconds: Time from the request's start to its answer.
        """
        operation_and_status = (operation, status)
        if operation_and_status not in self._counters:  # `labels` takes longer than counting
            self._counters[operation_and_status] = self._requests.labels(operation, str(status))
            self._histograms[operation] = self._seconds.labels(operation)
        self._counters[operation_and_status].inc()
        self._histograms[operation].observe(seconds)

    def text(self) -> bytes:
        """Format the counts of all workers in Prometheus's text format."""
        if COUNTS_FOLDER not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
