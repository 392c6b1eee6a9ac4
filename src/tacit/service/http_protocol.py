"""Bounds on connections, and on the bytes of a request before it is parsed.

uvicorn parses with httptools (llhttp, the parser of Node), which refuses requests that can be read
in two ways. `BoundedHttpProtocol` adds a bound on the size of a request's head; the rules that a
request names a path, and exactly one host if it is of HTTP/1.1; a time after which the connection
ends if the request has not arrived; bounds on the number of connections, and on the number of
requests that wait on a connection; and refusals in the same JSON form as all problems of the
service.
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
"""Most seconds from connecting, or from the first byte of a request, to its last byte. After that
the connection ends without an answer. A body has less time: if it is late, a problem refuses it
(`http_bodies.BODY_SECONDS`)."""
MOST_CONNECTIONS = 800
"""Most connections of one worker: below the 1024 files that a process commonly may open."""
MOST_CONNECTIONS_OF_NETWORK = 200
"""Most connections of one network, so that no network holds all of a worker's. It is not applied
behind a proxy, from which all connections come."""
MOST_PIPELINED = 16
"""Most requests that wait on a connection while an earlier one is answered. A single piece of data
could hold thousands, and each takes memory before the rate limits count it."""
_UNREADABLE = Problem(400, "This is not a request of HTTP/1.1.", closes=True)
"""The problem that answers bytes that are no request, and a request that `on_headers_complete`
refuses."""


class BoundedHttpProtocol(HttpToolsProtocol):
    """One connection, with bounds on its requests in size, number and time."""

    _deadline: asyncio.TimerHandle | None = None
    """Timer that closes the connection; None while it is not running."""
    _is_in_head = True
    """Whether the head of a request is arriving, or expected next."""
    _head_bytes = 0
    """Bytes that arrived since the last head or the last request was complete."""
    _refusal = _UNREADABLE
    """The problem that answers a request that is refused before the application sees it."""

    def connection_made(self, transport: Any) -> None:
        """Start the deadline. Close the connection if there are too many, with this one counted."""
        super().connection_made(transport)
        self._start_deadline()
        is_behind_proxy = self.config.proxy_headers
        most_of_network = MOST_CONNECTIONS if is_behind_proxy else MOST_CONNECTIONS_OF_NETWORK
        has_too_many = len(self.connections) > MOST_CONNECTIONS
        if has_too_many or self._count_connections_of_network() > most_of_network:
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the deadline."""
        self._cancel_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Pass bytes to the parser, and refuse a head that is too large."""
        # Also for bytes that begin no request: otherwise the connection could stay open for ever.
        self._start_deadline()
        self._head_bytes += len(data)
        super().data_received(data)
        head_is_too_large = self._is_in_head and self._head_bytes > MOST_HEAD_BYTES
        if head_is_too_large and not self.transport.is_closing():
            self._refusal = http_bodies.head_too_large()
            self.send_400_response("")

    def on_message_begin(self) -> None:
        """Start the deadline of a request."""
        self._start_deadline()
        self._is_in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Check a complete head: its path, its host, and the number of requests before it.

        If this raises a ValueError, httptools raises an error of its own, and uvicorn then calls
        `send_400_response`.
        """
        self._is_in_head = False
        self._head_bytes = 0
        if not self.url.startswith(b"/") or b"#" in self.url:
            raise ValueError("not a path of this service")
        n_hosts = [name for name, _ in self.headers].count(b"host")
        if n_hosts != 1 and self.parser.get_http_version() != "1.0":
            raise ValueError("not one host")
        if len(self.pipeline) >= MOST_PIPELINED:
            raise ValueError("too many requests ahead of their answers")
        super().on_headers_complete()
        if self.parser.should_upgrade():  # answered in HTTP/1.1; then the connection ends
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        """Stop the deadline, and count the bytes of the next request's head from 0."""
        super().on_message_complete()
        self._cancel_deadline()
        self._is_in_head = True
        self._head_bytes = 0

    def send_400_response(self, msg: str) -> None:
        """Answer a refused request with the problem `_refusal`, and end the connection.

        While an earlier request is being answered, only that answer is completed, and then the
        connection ends.

        Args:
            msg: uvicorn's own sentence, which is not sent.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self.transport.write(_encode_problem(self._refusal))
        self.transport.close()

    def _count_connections_of_network(self) -> int:
        """Count the connections from this one's network, itself included; 0 without an address."""
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
        """Start the timer, unless it runs; after REQUEST_SECONDS it closes the connection."""
        if self._deadline is None:
            self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _cancel_deadline(self) -> None:
        """Stop the timer that would close the connection."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _encode_problem(problem: Problem) -> bytes:
    """Encode a problem as the bytes of a response."""
    response = problems.problem_response(problem)
    head = b"".join(b"%b: %b\r\n" % header for header in response.raw_headers)
    return bytes(STATUS_LINE[problem.status] + head + b"\r\n" + response.body)
