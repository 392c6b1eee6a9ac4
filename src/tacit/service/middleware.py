"""What happens to every request before and after the resource that it is for.

Bounded reading, strict JSON, who asks, how often, how long it may take, one line of log. Nothing
of the request's content passes into a log, a metric or an error.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Collection, Sequence

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tacit.errors import TacitError
from tacit.service import access, http_bodies, problems
from tacit.service.access import Operation
from tacit.service.commits import UNTIL
from tacit.service.deployment import Service
from tacit.service.keys import Caller
from tacit.service.limits import Limits
from tacit.service.monitoring import Logger, Metrics
from tacit.service.problems import Invalid, Problem

ALWAYS = "/healthz"
"""Answered however many wait: who asks whether the process lives must not hear that it is dead
because it is busy."""
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
        began, request_id, status = time.perf_counter(), secrets.token_hex(8), 0
        bodiless, grid = scope["method"] == "HEAD", self.settings.grid
        if bodiless:  # the server's own scope stays: its answer has no body
            scope = {**scope, "method": "GET"}
        try:
            response = await self._response(self._answered(scope, receive), request_id)
            if grid:  # how long the work took shows in these steps only
                await asyncio.sleep(grid - (time.perf_counter() - began) % grid)
            status, headers = response.status_code, _headers_of(response, request_id)
            await send({"type": "http.response.start", "status": status, "headers": headers})
            body = b"" if bodiless else response.body
            await send({"type": "http.response.body", "body": body})
        finally:
            # The route as it is written in the code, never the address that was sent.
            route, seconds = scope.get("route"), time.perf_counter() - began
            operation = f"{scope['method']} {route.path}" if route else "none"
            self._metrics.observe(operation, status, seconds)
            self._log.request(request_id, operation, status, seconds)

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
            refused = problems.of_error(error)
            if refused.status == 500:
                self._log.fault(request_id, error)
            return problems.response_of(refused)

    async def _answered(self, scope: Scope, receive: Receive) -> Response:
        caller = self._admitted(scope)
        octets, value = await http_bodies.body_of(scope, receive, self.settings.most_body)
        operation = access.find(self._operations, scope)
        operation.check_role(caller)
        asked = {"caller": caller, "octets": octets, "value": value, "place": self.room}
        scope.setdefault("state", {}).update(asked)
        return await self._within(operation, Request(scope))

    def _admitted(self, scope: Scope) -> Caller:
        try:
            caller = self._keys.caller(_key(scope))
        except (TacitError, OSError):  # the file is being edited by hand
            raise Problem(503, "Keys cannot be checked now: tell the operator.") from None
        if scope["path"] != ALWAYS:
            self._limits.take(_counted(scope, caller))
            if self._waiting >= self.settings.most_waiting:
                raise problems.not_now(problems.BUSY)
        if caller is None:
            raise Problem(401, "Nobody is known by this key.")
        return caller

    async def _within(self, operation: Operation, request: Request) -> Response:
        """The operation's answer, or 503 when it takes too long. What has not begun by then does
        not begin. What a thread already does it does to its end, and its answer is stored for the
        retry."""
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
        raise problems.not_now(problems.LATE)

    async def _place(self, end: float) -> None:
        """One of those that may run at a time; Problem 503 where none is free in time."""
        if not self.room.locked():
            await self.room.acquire()
            return
        if self._waiting >= self.settings.most_waiting:
            raise problems.not_now(problems.BUSY)
        self._waiting += 1
        try:
            async with asyncio.timeout_at(end):
                await self.room.acquire()
        except TimeoutError:
            raise problems.not_now(problems.BUSY) from None
        finally:
            self._waiting -= 1

    def _left(self, work: asyncio.Future[Response]) -> None:
        self.in_hand.discard(work)
        self.room.release()

    def _late(self, work: asyncio.Future[Response]) -> None:
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, Problem | TacitError):
            self._log.fault("late", error)  # the others are answered to a retry


def _headers_of(response: Response, request_id: str) -> list[tuple[bytes, bytes]]:
    own = response.raw_headers
    present = {name for name, _ in own}
    more = [header for header in _ENCODED if header[0] not in present]
    return [*own, *more, (b"x-request-id", request_id.encode())]


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
