"""HTTP as it comes from the wire: what is no request at all, or does not come to an end.

uvicorn reads with h11, which refuses two lengths and over-long heads. Added here: a request arrives
in time or its connection ends, there is a bound on connections, and a refusal has the form of every
other.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from tacit.service import problems

ARRIVES_WITHIN = 15.0
"""Seconds from connecting, or from the first byte of a request, to its last. A body alone has less
time, and then a problem is answered; here the connection just ends."""
MOST_CONNECTIONS = 800
"""Of one worker. Below the 1024 files that a process commonly may open."""
_ARRIVING = (h11.IDLE, h11.SEND_BODY)


class Wire(H11Protocol):
    """One connection."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > MOST_CONNECTIONS:
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._deadline is None:
            self._wait()
        super().data_received(data)
        if self.conn.their_state not in _ARRIVING:
            self._wait_no_more()

    def send_400_response(self, msg: str) -> None:
        """In the form of every problem; `msg` is uvicorn's own and says less."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self._refuse()
        self.transport.close()

    def _refuse(self) -> None:
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

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(ARRIVES_WITHIN, self._too_slow)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.close()
