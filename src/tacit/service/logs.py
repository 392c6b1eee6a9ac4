"""Lines of log in JSON: which operation, which status, how long. No names, nothing of a body."""

from __future__ import annotations

import logging
import sys
import traceback
from typing import Any, TextIO

import structlog


class Logger:
    """Writes to a stream, by default standard error."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._log: Any = structlog.wrap_logger(
            structlog.WriteLogger(sys.stderr if stream is None else stream),
            processors=[
                structlog.processors.TimeStamper(fmt="iso", utc=True, key="time"),
                structlog.processors.JSONRenderer(sort_keys=True),
            ],
        ).bind()  # now, or each line would be bound anew

    def request(self, request_id: str, operation: str, status: int, seconds: float) -> None:
        """One request that was answered."""
        self._log.msg(
            "request",
            request_id=request_id,
            operation=operation,
            status=status,
            milliseconds=round(1000 * seconds, 1),
        )

    def fault(self, request_id: str, error: BaseException | None) -> None:
        """Something that broke: its kind and its place in the code, never its message."""
        kind = type(error).__name__
        self._log.msg("fault", request_id=request_id, kind=kind, place=_place(error))

    def event(self, what: str, **public: Any) -> None:
        """Start and stop."""
        self._log.msg(what, **public)

    def library(self, name: str, level: str, error: BaseException | None) -> None:
        """Something that a library reports: who, how bad, and of what kind."""
        kind = type(error).__name__ if error is not None else ""
        self._log.msg("library", name=name, level=level, kind=kind, place=_place(error))


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
