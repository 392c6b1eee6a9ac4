"""Lines of log in JSON: which operation, which status, how long. No names, nothing of a body.

Counts for Prometheus, by operation and status alone: nothing of any person.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector


class Logger:
    """Writes to a stream, by default standard error: whole lines, whichever thread writes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream

    def request(self, request_id: str, operation: str, status: int, seconds: float) -> None:
        facts = {"operation": operation, "request_id": request_id, "status": status}
        self.event("request", milliseconds=round(1000 * seconds, 1), **facts)

    def fault(self, request_id: str, error: BaseException | None) -> None:
        """Something that broke: its kind and its place in the code, never its message."""
        kind = type(error).__name__
        self.event("fault", request_id=request_id, kind=kind, place=_place(error))

    def event(self, what: str, **public: Any) -> None:
        """Anything else, such as start and stop, by what is public of it."""
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = json.dumps({**public, "event": what, "time": now}, sort_keys=True)
        self._stream.write(line + "\n")
        self._stream.flush()


def adopt(log: Logger) -> None:
    """From now on the warnings of all libraries come here, without their messages."""
    root = logging.getLogger()
    root.handlers[:] = [_Adopted(log)]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)


class _Adopted(logging.Handler):
    """A library's message may hold what it worked on: its name and its kind are kept."""

    def __init__(self, log: Logger) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        kind = type(error).__name__ if error is not None else ""
        level, place = record.levelname.lower(), _place(error)
        self._log.event("library", name=record.name, level=level, kind=kind, place=place)


def _place(error: BaseException | None) -> str:
    places = traceback.extract_tb(error.__traceback__) if error is not None else []
    return f"{places[-1].filename.rpartition('/')[2]}:{places[-1].lineno}" if places else ""


METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""In the environment, where a service has several workers: the folder of their counts."""
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """One for each worker; of several, each shows those of all."""

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

    def observe(self, operation: str, status: int, seconds: float) -> None:
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def text(self) -> bytes:
        """In Prometheus's text format."""
        if METRICS in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self._registry)
