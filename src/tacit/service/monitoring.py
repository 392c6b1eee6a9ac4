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
from json.encoder import encode_basestring_ascii as quoted
from typing import Any, TextIO

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

_JSON = json.JSONEncoder(sort_keys=True)


def _now() -> str:
    return datetime.now(UTC).isoformat().replace("+00:00", "Z")


class Logger:
    """Writes to a stream, by default standard error: whole lines, whichever thread writes."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream

    def _write(self, event: str, **facts: Any) -> None:
        self._put(_JSON.encode({**facts, "event": event, "time": _now()}))

    def _put(self, line: str) -> None:
        self._stream.write(line + "\n")
        self._stream.flush()

    def request(self, request_id: str, operation: str, status: int, seconds: float) -> None:
        """One request that was answered."""
        self._put(  # as `_write` would, in less time
            f'{{"event": "request", "milliseconds": {round(1000 * seconds, 1)}, "operation": '
            f'{quoted(operation)}, "request_id": {quoted(request_id)}, "status": {status}, '
            f'"time": "{_now()}"}}'
        )

    def fault(self, request_id: str, error: BaseException | None) -> None:
        """Something that broke: its kind and its place in the code, never its message."""
        kind = type(error).__name__
        self._write("fault", request_id=request_id, kind=kind, place=_place(error))

    def event(self, what: str, **public: Any) -> None:
        """Start and stop."""
        self._write(what, **public)

    def library(self, name: str, level: str, error: BaseException | None) -> None:
        """Something that a library reports: who, how bad, and of what kind."""
        kind = type(error).__name__ if error is not None else ""
        self._write("library", name=name, level=level, kind=kind, place=_place(error))


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
        self._log.library(record.name, record.levelname.lower(), error)


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
        self._known: dict[tuple[str, int], tuple[Counter, Histogram]] = {}

    def observe(self, operation: str, status: int, seconds: float) -> None:
        """Count one request."""
        if (operation, status) not in self._known:
            count, took = (
                self._requests.labels(operation, str(status)),
                self._seconds.labels(operation),
            )
            self._known[operation, status] = count, took
        count, took = self._known[operation, status]
        count.inc()
        took.observe(seconds)

    def text(self) -> bytes:
        """In Prometheus's text format."""
        if METRICS in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            return generate_latest(registry)
        return generate_latest(self._registry)
