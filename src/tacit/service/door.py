"""The door: what happens to every request before and after the resource that it is for.

Bounded reading, strict JSON, who asks, how often, how long it may take, one line of log. Nothing
of the request's content passes into a log, a metric or an error.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.service import problems, strict_json
from tacit.service.keys import Caller, KeyRing
from tacit.service.limits import Limits
from tacit.service.logs import Logger
from tacit.service.metrics import Metrics
from tacit.service.problems import Problem
from tacit.service.settings import Settings

ARRIVES_WITHIN = 10.0
"""Seconds for the whole body of a request."""
READ = ("application/json", "application/octet-stream")
SECURITY = {
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


class Door:
    """Wraps the application."""

    def __init__(
        self, app: ASGIApp, *, settings: Settings, keys: KeyRing, metrics: Metrics, log: Logger
    ) -> None:
        self._app = app
        self._settings = settings
        self._keys = keys
        self._metrics = metrics
        self._log = log
        self._limits = Limits(settings.per_second, settings.burst)
        self._late: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        answer = _Answer(send, secrets.token_hex(8))
        try:
            caller = self._who(scope)
            self._limits.take(_counted(scope, caller))
            body = await self._body(scope, receive)
            scope.setdefault("state", {})["caller"] = caller
            await self._within(scope, body, answer)
        except Problem as problem:
            await _problem(scope, receive, answer, problem)
        except Exception as error:  # the last place: nothing may leave with the data in it
            self._log.fault(answer.request_id, error)
            await _problem(scope, receive, answer, Problem(500, problems.FAULT.detail))
        finally:
            spent = time.perf_counter() - begun
            operation = _operation(scope)
            self._metrics.observe(operation, answer.status, spent)
            self._log.request(answer.request_id, operation, answer.status, spent)

    def _who(self, scope: Scope) -> Caller:
        given = Headers(scope=scope).getlist("authorization")
        if not given:
            key = None
        else:
            kind, _, key = given[0].partition(" ")
            if len(given) > 1 or kind.lower() != "bearer":
                raise Problem(401, "A key is given once, as  Authorization: Bearer KEY.")
        caller = self._keys.caller(key)
        if caller is None:
            raise Problem(401, "Nobody is known by this key.")
        return caller

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        headers = Headers(scope=scope)
        if headers.get("content-encoding", "identity") != "identity":
            raise Problem(415, "Requests are sent without compression.")
        try:
            async with asyncio.timeout(ARRIVES_WITHIN):
                body = await _read(receive, self._settings.most_body)
        except TimeoutError:
            raise Problem(408, "The request did not arrive in time.") from None
        if body:
            kind = headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind not in READ:
                raise Problem(415, f"Content is one of: {', '.join(READ)}.")
            if kind == "application/json":
                _check_json(body)
        return body

    async def _within(self, scope: Scope, body: bytes, answer: _Answer) -> None:
        """The resource's answer, or 503 when it takes too long; what it then still does is kept."""
        task = asyncio.ensure_future(self._app(scope, _given(body), answer.send))
        done, _ = await asyncio.wait({task}, timeout=self._settings.answer_within)
        if not done and not answer.begun:
            self._late.add(task)
            task.add_done_callback(self._forget)
            await answer.instead(scope, problems.UNAVAILABLE.status, problems.UNAVAILABLE.detail)
            return
        await task

    def _forget(self, task: asyncio.Task[None]) -> None:
        self._late.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._log.fault("late", task.exception())


class _Answer:
    """Sends at most one answer, and remembers its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._replaced = False
        self.request_id = request_id
        self.status = 0
        self.begun = False

    async def send(self, message: Message) -> None:
        if not self._replaced:
            await self._pass(message)

    async def instead(self, scope: Scope, status: int, detail: str) -> None:
        self._replaced = True
        late = problems.response(status, detail, dict(problems.LATER))
        await late(scope, _given(b""), self._pass)

    async def _pass(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun, self.status = True, message["status"]
            extra = {**SECURITY, "x-request-id": self.request_id}
            present = {name.lower() for name, _ in message["headers"]}
            message["headers"] = [
                *message["headers"],
                *(
                    (name.encode(), text.encode())
                    for name, text in extra.items()
                    if name.encode() not in present
                ),
            ]
        await self._send(message)


async def _problem(scope: Scope, receive: Receive, answer: _Answer, problem: Problem) -> None:
    if answer.begun:
        return
    headers = None
    if problem.retry_after is not None:
        headers = {"Retry-After": str(problem.retry_after)}
    await problems.response(problem.status, problem.detail, headers)(scope, receive, answer.send)


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
            raise Problem(413, f"A request has at most {most} bytes.")
        if not message.get("more_body", False):
            return b"".join(parts)


def _given(body: bytes) -> Receive:
    """The body again, for whoever reads it next."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()  # nobody hangs up on us: the deadline ends what takes long
        raise AssertionError

    return receive


def _check_json(body: bytes) -> None:
    try:
        strict_json.parse(body)
    except strict_json.Refused as refused:
        raise Problem(400, f"The body is not read: {refused}.") from None


def _counted(scope: Scope, caller: Caller) -> str:
    """Whose requests are counted together: a key's, or those of an address without one."""
    if caller.name:
        return f"{caller.role}/{caller.name}"
    client = scope.get("client")
    return f"address/{client[0]}" if client else "address"


def _operation(scope: Scope) -> str:
    """The route as it is written in the code: never the address that was asked for."""
    path = getattr(scope.get("route"), "path", None)
    return "none" if path is None else f"{scope['method']} {path}"
