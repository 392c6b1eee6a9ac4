"""The door: what happens to every request before and after the resource that it is for.

Bounded reading, strict JSON, who asks, how often, how long it may take, one line of log. Nothing
of the request's content passes into a log, a metric or an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import TacitError
from tacit.service import problems, request_body
from tacit.service.keys import Caller, KeyRing
from tacit.service.limits import Limits
from tacit.service.logs import Logger
from tacit.service.metrics import Metrics
from tacit.service.problems import Problem
from tacit.service.response import Answer
from tacit.service.settings import Settings

ALWAYS = "/healthz"
"""Answered however many wait: who asks whether the process lives must not hear that it is dead
because it is busy."""


class Middleware:
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
        self._room = asyncio.Semaphore(settings.threads)
        self._in_hand: set[asyncio.Task[None]] = set()
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = Answer(send, self._settings.grid, bodiless=scope["method"] == "HEAD")
        if scope["method"] == "HEAD":
            scope = {**scope, "method": "GET"}
        try:
            caller = self._admitted(scope)
            body = await request_body.body_of(scope, receive, self._settings.most_body)
            scope.setdefault("state", {}).update(caller=caller, body=body, place=self._room)
            await self._within(scope, body, answer)
        except Problem as problem:
            await answer.problem(scope, problem)
        except Exception as error:  # the last place: nothing may leave with the data in it
            self._log.fault(answer.request_id, error)
            await answer.problem(scope, problems.fault())
        finally:
            operation = _operation(scope)
            self._metrics.observe(operation, answer.status, answer.seconds)
            self._log.request(answer.request_id, operation, answer.status, answer.seconds)

    def _admitted(self, scope: Scope) -> Caller:
        caller = self._caller(scope)
        if scope["path"] != ALWAYS:
            self._limits.take(_counted(scope, caller))
            if self._waiting >= self._settings.most_waiting:
                raise problems.busy()
        if caller is None:
            raise Problem(401, "Nobody is known by this key.")
        return caller

    def _caller(self, scope: Scope) -> Caller | None:
        try:
            return self._keys.caller(_key(scope))
        except (TacitError, OSError):  # the file is being edited by hand
            raise Problem(503, "Keys cannot be checked now: tell the operator.") from None

    async def _within(self, scope: Scope, body: bytes, answer: Answer) -> None:
        """The resource's answer, or 503 when it takes too long.

        What has not begun by then does not begin. What a thread already does it does to its end,
        and its answer is stored for the retry.
        """
        if scope["path"] == ALWAYS:
            await self._app(scope, _given(body), answer.send)
            return
        end = asyncio.get_running_loop().time() + self._settings.answer_within
        self._waiting += 1
        try:
            async with asyncio.timeout_at(end):
                await self._room.acquire()
        except TimeoutError:
            raise problems.busy() from None
        finally:
            self._waiting -= 1
        task = asyncio.ensure_future(self._app(scope, _given(body), answer.send))
        self._in_hand.add(task)
        task.add_done_callback(self._left)
        left = end - asyncio.get_running_loop().time()
        done, _ = await asyncio.wait({task}, timeout=left)
        if done or answer.begun:
            await task
            return
        task.add_done_callback(self._late)
        raise problems.late()

    def _left(self, task: asyncio.Task[None]) -> None:
        self._in_hand.discard(task)
        self._room.release()

    def _late(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            self._log.fault("late", task.exception())


def _key(scope: Scope) -> str | None:
    given = Headers(scope=scope).getlist("authorization")
    if not given:
        return None
    kind, _, key = given[0].partition(" ")
    if len(given) > 1 or kind.lower() != "bearer":
        raise Problem(401, "A key is given once, as  Authorization: Bearer KEY.")
    return key


def _counted(scope: Scope, caller: Caller | None) -> str:
    """Whose requests are counted together: a key's, or those of an address without one."""
    if caller is not None and caller.name:
        return f"{caller.role}/{caller.name}"
    client = scope.get("client")
    return f"address/{client[0]}" if client else "address"


def _given(body: bytes) -> Receive:
    """The body again, for the next reader."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> MutableMapping[str, Any]:
        if waiting:
            return waiting.pop()
        await asyncio.Event().wait()  # nobody hangs up on us: the deadline ends what takes long
        raise AssertionError

    return receive


def _operation(scope: Scope) -> str:
    """The route as it is written in the code: never the address or the method that was sent."""
    route = scope.get("route")
    if route is None or scope["method"] not in (getattr(route, "methods", None) or ()):
        return "none"
    return f"{scope['method']} {route.path}"
