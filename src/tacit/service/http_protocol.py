"""HTTP as it comes from a connection: what is no request at all, or does not come to an end.

uvicorn reads with httptools (llhttp, the reader of Node), which refuses what has two meanings.
Added here: a head has a bound, a request has one host, it arrives in time or its connection ends,
there is a bound on connections, and a refusal has the form of every other.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tacit.service import http_bodies, problems
from tacit.service.http_bodies import MOST_HEAD_BYTES
from tacit.service.limits import network_of
from tacit.service.problems import Problem

REQUEST_SECONDS = 15.0
"""Time from connecting, or from the first byte of a request, to its last. A body alone has less
time, and then a problem is answered; here the connection just ends."""
MOST_CONNECTIONS = 800
"""Connections of one worker: below the 1024 files that a process commonly may open."""
MOST_CONNECTIONS_OF_NETWORK = 200
"""Connections of one network, so that nobody holds all places. It does not hold behind a proxy,
by which everybody comes."""
MOST_PIPELINED = 16
"""Requests that wait on a connection behind the one that is answered. What comes in one piece could
be thousands, and each takes memory before anybody counts it."""
_UNREADABLE = Problem(400, "This is not a request of HTTP/1.1.", closes=True)


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection, with bounds on its requests in size, number and time."""

    _deadline: asyncio.TimerHandle | None = None
    _is_in_head = True
    _head_bytes = 0
    """Bytes that came since the last head was complete."""
    _refusal = _UNREADABLE

    def connection_made(self, transport: Any) -> None:
        """Start the deadline; close what is beyond the bounds on connections."""
        super().connection_made(transport)
        self._start_deadline()
        most = MOST_CONNECTIONS if self.config.proxy_headers else MOST_CONNECTIONS_OF_NETWORK
        if len(self.connections) > MOST_CONNECTIONS or self._connections_of_network() > most:
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read bytes, and refuse a head that is too large."""
        self._start_deadline()  # also where no request starts: then the connection ends
        self._head_bytes += len(data)
        super().data_received(data)
        head_is_too_large = self._is_in_head and self._head_bytes > MOST_HEAD_BYTES
        if head_is_too_large and not self.transport.is_closing():
            self._refusal = http_bodies.head_too_large()
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start the deadline of a head."""
        self._start_deadline()
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check a complete head. What is raised comes back as an error of the reader: a refusal."""
        self._is_in_head = False
        self._head_bytes = 0
        if not self.url.startswith(b"/") or b"#" in self.url:
            raise ValueError("not a path of this service")
        hosts = [name for name, _ in self.headers].count(b"host")
        if hosts != 1 and self.parser.get_http_version() != "1.0":
            raise ValueError("not one host")
        if len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("too many requests ahead of their answers")
        super().on_headers_complete()
        if self.parser.should_upgrade():  # answered in this protocol, and nothing is read after it
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Stop the deadline of a request that is complete."""
        super().on_message_complete()
        self._cancel_deadline()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, in the form of every problem.

        What is answered now is answered, and then the connection ends.

        Args:
            msg: uvicorn's own sentence, which says less and is not sent.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self.transport.write(_encode_problem(self._refusal))
        self.transport.close()

    def _connections_of_network(self) -> int:
        """How many connections the network of this one's sender has."""
        if not self.client:
            return 0
        network = network_of(self.client[0])
        count = 0
        for connection in self.connections:
            if not isinstance(connection, HttpToolsProtocol) or not connection.client:
                continue
            if network_of(connection.client[0]) == network:
                count += 1
        return count

    def _start_deadline(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _encode_problem(problem: Problem) -> bytes:
    """The bytes of a problem response."""
    response = problems.problem_response(problem)
    head = b"".join(b"%b: %b\r\n" % header for header in response.raw_headers)
    return bytes(STATUS_LINE[problem.status] + head + b"\r\n" + response.body)
