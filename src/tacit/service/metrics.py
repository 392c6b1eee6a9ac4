"""Counts for Prometheus: of requests by operation and status, and of lists by model and kind.

No count is of one person, and none depends on the items of a list: anyone who reads a number
that does, and knows all other lists, learns from it what is in the remaining one.
"""

from __future__ import annotations

import os

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

COUNTS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""Environment variable of a service with several workers: the folder in which each worker stores
its counts. `prometheus_client` reads it."""
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
        self._counters: dict[tuple[str, int], Counter] = {}
        """Counter of requests by operation and status."""
        self._histograms: dict[str, Histogram] = {}
        """Histogram of seconds by operation."""

    def count_list(self, model: str, lists: str) -> None:
        """Count one list.

        Args:
            model: The model's name.
            lists: Kind of the list: "personal" or "popularity".
        """
        self._lists.labels(model, lists).inc()

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
