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
from tacit.service.http_bodies import LONGEST_HEAD
from tacit.service.limits import network_of
from tacit.service.problems import Problem

ARRIVES_WITHIN = 15.0
"""Seconds from connecting, or from the first byte of a request, to its last. A body alone has less
time, and then a problem is answered; here the connection just ends."""
MOST_CONNECTIONS = 800
"""Of one worker. Below the 1024 files that a process commonly may open."""
MOST_OF_ONE_ADDRESS = 200
"""Of these, so that nobody holds all places; a proxy in front, which everybody comes by, may."""
MOST_AHEAD = 16
"""Requests that wait on a connection behind the one that is answered. What comes in one piece could
be thousands, and each takes memory before anybody counts it."""
_UNREADABLE = Problem(400, "This is not a request of HTTP/1.1.", last=True)


class Wire(HttpToolsProtocol):
    _deadline: asyncio.TimerHandle | None = None
    _in_head = True
    _head = 0
    """Bytes that came since the last head was whole."""
    _refusal = _UNREADABLE

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait()
        clients = [one.client for one in self.connections if isinstance(one, HttpToolsProtocol)]
        networks = [network_of(client[0]) for client in clients if client]
        of_mine = networks.count(network_of(self.client[0])) if self.client else 0
        most = MOST_CONNECTIONS if self.config.proxy_headers else MOST_OF_ONE_ADDRESS
        if len(self.connections) > MOST_CONNECTIONS or of_mine > most:
            transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._wait()  # also for what begins no request: it ends the rest of the connection
        self._head += len(data)
        super().data_received(data)
        if self._in_head and self._head > LONGEST_HEAD and not self.transport.is_closing():
            self._refusal = http_bodies.head_too_large()
            self.send_400_response("")

    def on_message_begin(self) -> None:
        self._wait()
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """What is raised here comes back as an error of the reader, and is refused."""
        self._in_head, self._head = False, 0
        if not self.url.startswith(b"/") or b"#" in self.url:
            raise ValueError("not a path of this service")
        if [name for name, _ in self.headers].count(b"host") != 1 and (
            self.parser.get_http_version() != "1.0"
        ):
            raise ValueError("not one host")
        if len(self.pipeline) >= MOST_AHEAD:
            raise ValueError("too many requests ahead of their answers")
        super().on_headers_complete()
        if self.parser.should_upgrade():  # answered in this protocol, and nothing is read after it
            self.cycle.keep_alive = False

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._wait_no_more()

    def send_400_response(self, msg: str) -> None:
        """In the form of every problem; `msg` is uvicorn's own and says less. What is answered now
        is answered, and then the connection ends."""
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            self.flow.pause_reading()
            return
        self.transport.write(_refused(self._refusal))
        self.transport.close()

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(ARRIVES_WITHIN, self.transport.close)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _refused(problem: Problem) -> bytes:
    response = problems.response_of(problem)
    head = b"".join(b"%b: %b\r\n" % header for header in response.raw_headers)
    return bytes(STATUS_LINE[problem.status] + head + b"\r\n" + response.body)
