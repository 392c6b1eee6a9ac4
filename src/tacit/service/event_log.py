"""The service's log, in lines of JSON: which operation, which status, how long.

It holds no names of people, nothing of a body, and no message of an error.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, TextIO

_write_json = json.JSONEncoder(sort_keys=True).encode


class EventLog:
    """Writes whole lines to a stream, whichever thread writes.

    Args:
        stream: Where lines go; by default standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream

    def write_request(self, request_id: str, operation: str, status: int, seconds: float) -> None:
        """Write which operation was answered, with which status, after how long."""
        self.write(
            "request",
            request_id=request_id,
            operation=operation,
            status=status,
            milliseconds=round(1000 * seconds, 1),
        )

    def write_fault(self, request_id: str, error: BaseException | None) -> None:
        """Write the class of an error and where it was raised, never its message."""
        kind = type(error).__name__
        self.write("fault", request_id=request_id, kind=kind, place=_place_in_code(error))

    def write(self, event: str, **facts: Any) -> None:
        """Write any other event, such as start and stop, with public facts about it."""
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = _write_json({**facts, "event": event, "time": now})
        if self._stream.closed:  # the process is ending
            return
        self._stream.write(line + "\n")
        self._stream.flush()


def redirect_library_warnings(log: EventLog) -> None:
    """Have the warnings of all libraries written to this log, without their messages."""
    root = logging.getLogger()
    root.handlers[:] = [_LibraryHandler(log)]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)


class _LibraryHandler(logging.Handler):
    """Writes the name of a library and the class of its error, and no message.

    A message may hold people's data.
    """

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        self._log.write(
            "library",
            name=record.name,
            level=record.levelname.lower(),
            kind="" if error is None else type(error).__name__,
            place=_place_in_code(error),
        )


def _place_in_code(error: BaseException | None) -> str:
    """Return the file and line where an error was raised; "" if there is none."""
    if error is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}"
