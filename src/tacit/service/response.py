"""How an answer leaves: once, with the headers of every answer, and when its time has come."""

from __future__ import annotations

import asyncio
import secrets
import time

from starlette.types import Message, Scope, Send

from tacit.service import problems
from tacit.service.problems import Problem

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
