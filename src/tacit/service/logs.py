"""Lines of log in JSON: which operation, which status, how long. No names, nothing of a body."""

from __future__ import annotations

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
        )

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
        places = traceback.extract_tb(error.__traceback__) if error is not None else []
        place = f"{places[-1].filename.rpartition('/')[2]}:{places[-1].lineno}" if places else ""
        self._log.msg("fault", request_id=request_id, kind=type(error).__name__, place=place)

    def event(self, what: str, **public: Any) -> None:
        """Start and stop."""
        self._log.msg(what, **public)
