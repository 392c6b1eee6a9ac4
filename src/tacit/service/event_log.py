"""The service's log, in lines of JSON: requests, faults, and events such as "started".

A request's line has its operation, status and duration. The log holds no name of a person, nothing
of a request's body, and no message of an error.
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
    """Writes events to a stream, each as one line of JSON. Any thread may write.

    Args:
        stream: Stream of the lines; None: standard error.
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stderr if stream is None else stream

    def write_request(self, request_id: str, operation: str, status: int, seconds: float) -> None:
        """Write that a request was answered.

        Args:
            request_id: Id of the request, which the answer has in X-Request-Id.
            operation: Method and path of the operation, as the code writes them; "none" if the
                request reached no operation.
            status: Status of the answer; 0: none was sent.
            seconds: Time from the request's start to its answer.
        """
        self.write(
            "request",
            request_id=request_id,
            operation=operation,
            status=status,
            milliseconds=round(1000 * seconds, 1),
        )

    def write_fault(self, origin: str, error: BaseException) -> None:
        """Write the class of an error and where it was raised, never its message.

        Args:
            origin: Id of the request that failed; or the name of other work, such as "copy".
            error: The error.
        """
        kind = type(error).__name__
        self.write("fault", request_id=origin, kind=kind, place=_find_place_in_code(error))

    def write(self, event: str, **facts: Any) -> None:
        """Write an event, such as "started", with public facts about it."""
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        line = _write_json({**facts, "event": event, "time": now})
        if self._stream.closed:  # the process is ending
            return
        self._stream.write(line + "\n")
        self._stream.flush()


def redirect_library_warnings(log: EventLog) -> None:
    """Write the warnings and errors that libraries log to this log, without their messages."""
    root = logging.getLogger()
    root.handlers[:] = [_LibraryHandler(log)]
    root.setLevel(logging.WARNING)
    logging.captureWarnings(True)


class _LibraryHandler(logging.Handler):
    """Writes events about messages that libraries log, without the messages.

    An event has the logger's name, the level, and class and place of the error, if there is one.
    The message itself may hold people's data.
    """

    def __init__(self, log: EventLog) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        """Write an event about a message that a library logs."""
        error = record.exc_info[1] if record.exc_info else None
        self._log.write(
            "library",
            name=record.name,
            level=record.levelname.lower(),
            kind="" if error is None else type(error).__name__,
            place=_find_place_in_code(error),
        )


def _find_place_in_code(error: BaseException | None) -> str:
    """Return where an error was raised, as FILE:LINE; "" for None and if it was never raised."""
    if error is None:
        return ""
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return ""
    return f"{frames[-1].filename.rpartition('/')[2]}:{frames[-1].lineno}"
