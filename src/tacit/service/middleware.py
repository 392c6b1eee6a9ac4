"""The door: what happens to every request before and after the resource that it is for.

Bounded reading, strict JSON, who asks, how often, how long it may take, one line of log. Nothing
of the request's content passes into a log, a metric or an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tacit.errors import TacitError
from tacit.service import access, http_bodies, problems
from tacit.service.access import Operation
from tacit.service.commits import UNTIL
from tacit.service.deployment import Service
from tacit.service.http_bodies import Answer
from tacit.service.keys import Caller
from tacit.service.limits import Limits
from tacit.service.monitoring import Logger, Metrics
from tacit.service.problems import Invalid, Problem

ALWAYS = "/healthz"
"""Answered however many wait: who asks whether the process lives must not hear that it is dead
because it is busy."""


class Middleware:
    """What is served, as an application of ASGI. names: what a problem may call wrong."""

    def __init__(
        self,
        operations: Sequence[Operation],
        service: Service,
        metrics: Metrics,
        log: Logger,
        names: Collection[str],
    ) -> None:
        self._operations = operations
        self._keys, self._metrics, self._log, self._names = service.keys, metrics, log, names
        self.settings = settings = service.settings
        self._limits = Limits(settings.per_second, settings.burst)
        self.room = asyncio.Semaphore(settings.threads)
        self.in_hand: set[asyncio.Future[Response]] = set()
        """What was begun and is not done."""
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = Answer(send, self.settings.grid, bodiless=scope["method"] == "HEAD")
        if scope["method"] == "HEAD":  # the server's own scope stays: its answer has no body
            scope = {**scope, "method": "GET"}
        scope.setdefault("state", {})["request_id"] = answer.request_id
        try:
            answered = self._answered(scope, receive)
            await answer.send(await self._response(answered, answer.request_id))
        finally:
            operation = _operation(scope)
            self._metrics.observe(operation, answer.status, answer.seconds)
            self._log.request(answer.request_id, operation, answer.status, answer.seconds)

    async def _response(self, answered: Awaitable[Response], request_id: str) -> Response:
        """What an operation answers, or a problem: nothing else may leave, with the data in it."""
        try:
            return await answered
        except Problem as problem:
            return problems.response_of(problem)
        except Invalid as invalid:
            detail = problems.where(invalid.errors, self._names)
            return problems.response_of(Problem(422, detail))
        except Exception as error:
            found = problems.of_error(error)
            if found.status == 500:
                self._log.fault(request_id, error)
            return problems.response_of(found)

    async def _answered(self, scope: Scope, receive: Receive) -> Response:
        caller = self._admitted(scope)
        body = await http_bodies.body_of(scope, receive, self.settings.most_body)
        operation = access.find(self._operations, scope)
        operation.check_role(caller)
        scope["state"].update(caller=caller, body=body, place=self.room)
        return await self._within(operation, Request(scope))

    def _admitted(self, scope: Scope) -> Caller:
        try:
            caller = self._keys.caller(_key(scope))
        except (TacitError, OSError):  # the file is being edited by hand
            raise Problem(503, "Keys cannot be checked now: tell the operator.") from None
        if scope["path"] != ALWAYS:
            self._limits.take(_counted(scope, caller))
            if self._waiting >= self.settings.most_waiting:
                raise problems.busy()
        if caller is None:
            raise Problem(401, "Nobody is known by this key.")
        return caller

    async def _within(self, operation: Operation, request: Request) -> Response:
        """The operation's answer, or 503 when it takes too long.

        What has not begun by then does not begin. What a thread already does it does to its end,
        and its answer is stored for the retry.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + self.settings.answer_within
        call = operation.prepare(request)
        if operation.at_once:
            return operation.response(call())
        await self._place(end)
        UNTIL.set(end)
        work = operation.begin(request, call)
        self.in_hand.add(work)  # the loop itself forgets what nobody waits for
        work.add_done_callback(self._left)
        done, _ = await asyncio.wait({work}, timeout=end - loop.time())
        if done:
            return work.result()
        work.add_done_callback(self._late)
        raise problems.late()

    async def _place(self, end: float) -> None:
        """One of those that may run at a time; Problem 503 where none is free in time."""
        if not self.room.locked():
            await self.room.acquire()
            return
        if self._waiting >= self.settings.most_waiting:
            raise problems.busy()
        self._waiting += 1
        try:
            async with asyncio.timeout_at(end):
                await self.room.acquire()
        except TimeoutError:
            raise problems.busy() from None
        finally:
            self._waiting -= 1

    def _left(self, work: asyncio.Future[Response]) -> None:
        self.in_hand.discard(work)
        self.room.release()

    def _late(self, work: asyncio.Future[Response]) -> None:
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, Problem | TacitError):
            self._log.fault("late", error)  # the others are answered to a retry


def _key(scope: Scope) -> str | None:
    given: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if not given:
        return None
    kind, _, key = given[0].decode("latin-1").partition(" ")
    if len(given) > 1 or kind.lower() != "bearer":
        raise Problem(401, "A key is given once, as  Authorization: Bearer KEY.")
    return key


def _counted(scope: Scope, caller: Caller | None) -> str:
    """Whose requests are counted together: a key's, or those of an address without one."""
    if caller is not None and caller.name:
        return f"{caller.role}/{caller.name}"
    client = scope.get("client")
    return f"address/{client[0]}" if client else "address"


def _operation(scope: Scope) -> str:
    """The route as it is written in the code: never the address or the method that was sent."""
    route = scope.get("route")
    return "none" if route is None else f"{scope['method']} {route.path}"
