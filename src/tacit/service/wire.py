"""HTTP as it comes from the wire: what is no request at all, or does not come to an end.

uvicorn reads with h11, which refuses two lengths, a length beside chunks and over-long heads. Added
here: a head must arrive in time, and a refusal has the form of every other.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tacit.service import problems

HEAD_WITHIN = 10.0
"""Seconds from the first byte of a request, or from connecting, to the end of its head."""
LONGEST_HEAD = 16 * 1024
"""Bytes of a request's line and headers together."""


class Wire(H11Protocol):
    """One connection."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_arrived()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None and self._between_requests():
            self._expect_head()
        super().data_received(data)
        if not self._between_requests():
            self._head_arrived()

    def send_400_response(self, msg: str) -> None:
        """In the form of every problem; `msg` is uvicorn's own and says less."""
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.close()
            return
        body = json.dumps(problems.body(400, "This is not a request of HTTP/1.1.")).encode()
        headers = [
            (b"content-type", problems.MEDIA_TYPE.encode()),
            (b"content-length", str(len(body)).encode()),
            (b"connection", b"close"),
        ]
        for event in (
            h11.Response(status_code=400, headers=headers, reason=b"Bad Request"),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _between_requests(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def _expect_head(self) -> None:
        self._deadline = self.loop.call_later(HEAD_WITHIN, self._too_slow)

    def _head_arrived(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
