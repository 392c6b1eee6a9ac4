"""What is refused of a request before anybody looks at what it asks for.

How an answer leaves: once, with the headers of every answer, and when its time has come.
"""

from __future__ import annotations

import asyncio
import secrets
import time

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from tacit.service import problems, strict_json
from tacit.service.problems import Problem

ARRIVES_WITHIN = 10.0
"""Seconds for the whole body of a request."""
LONGEST_HEAD = 16 * 1024
"""Bytes of a request's line and headers together."""
READ = ("application/json", "application/octet-stream")
_ONCE = ("authorization", "content-encoding", "content-type", "idempotency-key")
"""Headers that two of would have two meanings."""


async def body_of(scope: Scope, receive: Receive, most: int) -> bytes:
    """The body, whole; JSON comes out in one spelling, whatever it came in. Problem otherwise."""
    headers = Headers(scope=scope)
    if scope["http_version"] not in ("1.0", "1.1"):
        raise Problem(400, "This is not a request of HTTP/1.1.", last=True)
    if _size(scope) > LONGEST_HEAD:
        raise head_too_large()
    for name in _ONCE:
        if len(headers.getlist(name)) > 1:
            raise Problem(400, f"The header {name} is given once.")
    if "transfer-encoding" in headers:  # beside a length, or in odd chunks, it has two meanings
        raise Problem(411, "A request says how long it is, in Content-Length.", last=True)
    if headers.get("content-encoding", "identity").lower() != "identity":
        raise Problem(415, "Requests are sent without compression.")
    length = headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise _too_large(most)
    try:
        async with asyncio.timeout(ARRIVES_WITHIN):
            body = await _read(receive, most)
    except TimeoutError:
        raise Problem(408, "The request did not arrive in time.", last=True) from None
    return _checked(headers, body) if body else b""


def head_too_large() -> Problem:
    """It is not read to its end."""
    return Problem(431, f"A request's head has at most {LONGEST_HEAD} bytes.", last=True)


def _size(scope: Scope) -> int:
    """Of the line and the headers, as they were sent."""
    head = sum(len(name) + len(value) + 4 for name, value in scope["headers"])
    return head + len(scope.get("raw_path") or b"") + len(scope["query_string"])


async def _read(receive: Receive, most: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(400, "The request ended too early.")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > most:
            raise _too_large(most)
        if not message.get("more_body", False):
            return b"".join(parts)


def _too_large(most: int) -> Problem:
    return Problem(413, f"A request has at most {most} bytes.", last=True)


def _checked(headers: Headers, body: bytes) -> bytes:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in READ:
        raise Problem(415, f"Content is one of: {', '.join(READ)}.")
    if kind != "application/json":
        return body
    try:
        return strict_json.spelled(strict_json.parse(body))
    except strict_json.Refused as refused:
        raise Problem(400, f"The body is not read: {refused}.") from None


HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": (
        "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'; "
        "form-action 'self'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Of every answer that does not say otherwise."""
_ENCODED = [(name.encode(), text.encode()) for name, text in HEADERS.items()]


class Answer:
    """Sends at most one answer, and remembers its status. grid: seconds, or 0 for at once.
    bodiless: the answer to HEAD, which is that to GET without its body.

    With a grid an answer starts at a multiple of it after the request began, so that how long the
    work took shows in these steps only.
    """

    def __init__(self, send: Send, grid: float, *, bodiless: bool = False) -> None:
        self._send = send
        self._bodiless = bodiless
        self._grid = grid
        self._given_up = False
        self.started = time.perf_counter()
        self.request_id = secrets.token_hex(8)
        self.status = 0
        self.begun = False

    @property
    def seconds(self) -> float:
        """Since the request began."""
        return time.perf_counter() - self.started

    async def send(self, message: Message) -> None:
        """What the application sends; nothing any more after it was given up."""
        if not self._given_up:
            await self._pass(message)

    async def problem(self, scope: Scope, problem: Problem) -> None:
        """A problem, unless an answer has begun; what the application still sends is dropped."""
        if self.begun:
            return
        self._given_up = True
        await problems.response_of(problem)(scope, _nothing, self._pass)

    async def _pass(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            if self._grid:
                await asyncio.sleep(self._grid - self.seconds % self._grid)
            self.begun, self.status = True, message["status"]
            present = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(header for header in _ENCODED if header[0] not in present),
                (b"x-request-id", self.request_id.encode()),
            ]
        elif self._bodiless:
            message = {**message, "body": b""}
        await self._send(message)


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}
