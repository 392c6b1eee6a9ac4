"""Steps of every request on its way to a resource and back.

A request is admitted by its key and its rate, read up to a limit, as strict JSON or as bytes,
answered within a deadline, and logged in one line. No value of the request enters a log, a metric
or an error.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tacit.errors import TacitError
from tacit.service import problems
from tacit.service.commits import REQUEST_DEADLINE
from tacit.service.event_log import EventLog
from tacit.service.http_bodies import MISSING, UnreadableContent, read_body
from tacit.service.keys import Caller
from tacit.service.limits import RateLimits
from tacit.service.metrics import Metrics
from tacit.service.operations import Operation, OperationTable
from tacit.service.problems import InvalidRequest, Problem
from tacit.service.security_headers import HEADERS
from tacit.service.service import Service

LIVENESS_PATH = "/healthz"
"""Path that is answered even when too many requests wait, so that a monitor does not take a busy
process for a dead one."""
_RAW_HEADERS = [(name.encode(), text.encode()) for name, text in HEADERS.items()]
"""The headers that all answers of `Middleware` have, in ASGI's form."""


class Middleware:
    """The ASGI application that answers HTTP requests.

    Args:
        operations: All operations; see `OperationTable`.
        service: The service.
        metrics: Where answers are counted.
        log: Where answers and faults are written.
        documented_names: Names of parameters and fields in the OpenAPI document. A problem may
            contain these, and no other name that a request has.
    """

    def __init__(
        self,
        operations: Sequence[Operation],
        service: Service,
        metrics: Metrics,
        log: EventLog,
        documented_names: Collection[str],
    ) -> None:
        self._operations = OperationTable(operations)
        self._keys = service.keys
        self._metrics = metrics
        self._log = log
        self._documented_names = documented_names
        self._deployment = service.deployment
        self.settings = service.settings
        self._known_hosts = self.settings.known_hosts
        self._rate_limits = RateLimits(self.settings.per_second, self.settings.burst)
        self.places = asyncio.Semaphore(self.settings.threads)
        """One place for each operation that may run at a time."""
        self.running: set[asyncio.Future[Response]] = set()
        """The operations that were started and have not ended."""
        self._waiting = 0
        """Number of requests that wait for a place."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, and write one line of log about it."""
        started = time.perf_counter()
        request_id = secrets.token_hex(8)
        status = 0  # while no answer was sent
        is_head = scope["method"] == "HEAD"
        if is_head:  # answered as GET, without the body; in a copy, since the server uses its scope
            scope = {**scope, "method": "GET"}
        try:
            response = await self._answer_or_problem(self._answer(scope, receive), request_id)
            grid = self.settings.grid
            if grid:  # wait until a multiple of `grid`, which hides how long the work took
                await asyncio.sleep(grid - (time.perf_counter() - started) % grid)
            status = response.status_code
            headers = _list_headers(response, request_id)
            await send({"type": "http.response.start", "status": status, "headers": headers})
            body = b"" if is_head else response.body
            await send({"type": "http.response.body", "body": body})
        finally:
            # The route's path as the code writes it. The path that was sent may name a person.
            route = scope.get("route")
            operation = f"{scope['method']} {route.path_format}" if route else "none"
            seconds = time.perf_counter() - started
            self._metrics.observe(operation, status, seconds)
            self._log.write_request(request_id, operation, status, seconds)

    async def _answer_or_problem(self, answer: Awaitable[Response], request_id: str) -> Response:
        """Wait for an answer and return it; if an exception is raised instead, return a problem.

        No `Exception` leaves this method, since a server would log its text, which could hold a
        person's data.
        """
        try:
            return await answer
        except Problem as problem:
            return problems.problem_response(problem)
        except InvalidRequest as invalid:
            detail = problems.describe_invalid(invalid.errors, self._documented_names)
            return problems.problem_response(Problem(422, detail))
        except Exception as error:
            refusal = problems.problem_of_error(error)
            if refusal.status == 500:
                self._log.write_fault(request_id, error)
            return problems.problem_response(refusal)

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        """Admit a request, read it, and run its operation."""
        if self._known_hosts is not None and _read_host(scope) not in self._known_hosts:
            raise Problem(400, "No service of this name is here: see `hosts` in tacit.toml.")
        caller = self._admit(scope)
        try:
            octets, value = await read_body(scope, receive, self._find_body_limit(scope["path"]))
        except UnreadableContent as refusal:
            return await self._refuse_unreadable(scope, caller, refusal)
        operation = self._operations.find(scope)
        operation.check_role(caller)
        return await self._run(operation, self._make_request(scope, caller, octets, value))

    async def _refuse_unreadable(
        self, scope: Scope, caller: Caller, refusal: UnreadableContent
    ) -> Response:
        """Refuse a request whose body cannot be read, after its operation did what comes before.

        Raises:
            UnreadableContent: The refusal.
            Problem: Status 503, as for a request that is run.
        """
        scope = dict(scope)  # the log names no operation for a request that cannot be read
        try:
            operation = self._operations.find(scope)
            operation.check_role(caller)
        except Problem:
            raise refusal from None
        request = self._make_request(scope, caller, refusal.body, MISSING)
        call = operation.prepare_refusal(request, refusal)
        return await self._run_in_place(operation, request, call, self._deadline())

    def _make_request(self, scope: Scope, caller: Caller, octets: bytes, value: Any) -> Request:
        """Make the request that an operation reads, from its scope, caller and body."""
        state = dict(scope.get("state", {}))
        state |= {"caller": caller, "octets": octets, "value": value, "places": self.places}
        scope["state"] = state
        return Request(scope)

    def _find_body_limit(self, path: str) -> int:
        """Return the most bytes that a body may have at an address."""
        return max(self.settings.most_body, self._deployment.largest_bodies.get(path, 0))

    def _admit(self, scope: Scope) -> Caller:
        """Find the caller of a request, and count the request against the caller's rate.

        Requests for LIVENESS_PATH are not counted, and are admitted even if too many requests wait.
        A request with a malformed header Authorization counts against its address.

        Raises:
            Problem: Status 401, the key is unknown or malformed; 429, this caller sent too many
                requests; 503, too many requests wait, or keys cannot be checked.
        """
        try:
            caller = self._keys.find_caller(_read_key(scope))
        except Problem:  # a malformed header
            self._count_request(scope, None)
            raise
        except (TacitError, OSError):  # such as while the keys' file is edited by hand
            raise Problem(503, "Keys cannot be checked now: tell the operator.") from None
        self._count_request(scope, caller)
        if caller is None:
            raise Problem(401, "Nobody is known by this key.")
        return caller

    def _count_request(self, scope: Scope, caller: Caller | None) -> None:
        """Count a request, unless it is for LIVENESS_PATH.

        Args:
            scope: The request's ASGI scope.
            caller: Sender of the request; None for a key that is unknown or malformed.

        Raises:
            Problem: Status 429, this caller sent too many requests; 503, too many requests wait.
        """
        if scope["path"] == LIVENESS_PATH:
            return
        self._rate_limits.take(_name_bucket(scope, caller))
        if self._waiting >= self.settings.most_waiting:
            raise problems.retry_later(problems.BUSY)

    async def _run(self, operation: Operation, request: Request) -> Response:
        """Run an operation, and return its answer.

        A quick operation runs at once on the event loop. Another one waits for a place, and has a
        deadline.

        Raises:
            InvalidRequest: The request does not fit the OpenAPI document.
            Problem: Status 503; the operation did not start or end before the deadline, or too many
                requests wait. An operation that has started goes on to its end, so that a retry
                gets the answer that it stores.
            Exception: What the operation raises.
        """
        deadline = self._deadline()
        try:
            call = operation.prepare(request)
        except InvalidRequest as invalid:
            refuse = operation.prepare_refusal(request, invalid)
            return await self._run_in_place(operation, request, refuse, deadline)
        if operation.runs_on_loop(call):
            return operation.make_response(call())
        return await self._run_in_place(operation, request, call, deadline)

    def _deadline(self) -> float:
        """Return the time, by the event loop's clock, until which an answer is waited for."""
        return asyncio.get_running_loop().time() + self.settings.answer_within

    async def _run_in_place(
        self, operation: Operation, request: Request, call: Callable[[], Any], deadline: float
    ) -> Response:
        """Wait for a place, run a call of an operation, and return its answer; see `_run`."""
        loop = asyncio.get_running_loop()
        await self._acquire_place(deadline)
        REQUEST_DEADLINE.set(deadline)
        work = operation.start(request, call)
        self.running.add(work)  # a reference, without which the loop may drop it
        work.add_done_callback(self._leave_place)
        done, _ = await asyncio.wait({work}, timeout=deadline - loop.time())
        if done:
            return work.result()
        work.add_done_callback(self._log_late_fault)
        raise problems.retry_later(problems.LATE)

    async def _acquire_place(self, deadline: float) -> None:
        """Wait for a place for one operation.

        Raises:
            Problem: Status 503; too many requests wait, or no place is free before the deadline.
        """
        if not self.places.locked():
            await self.places.acquire()
            return
        if self._waiting >= self.settings.most_waiting:
            raise problems.retry_later(problems.BUSY)
        self._waiting += 1
        try:
            async with asyncio.timeout_at(deadline):
                await self.places.acquire()
        except TimeoutError:
            raise problems.retry_later(problems.BUSY) from None
        finally:
            self._waiting -= 1

    def _leave_place(self, work: asyncio.Future[Response]) -> None:
        """Free the place of an operation that ended, for the next one."""
        self.running.discard(work)
        self.places.release()

    def _log_late_fault(self, work: asyncio.Future[Response]) -> None:
        """Log an error of an operation that ended after its request was answered.

        Refusals and errors of tacit are expected, and not logged: a retry of the request gets the
        refusal.
        """
        error = None if work.cancelled() else work.exception()
        if error is not None and not isinstance(error, Problem | InvalidRequest | TacitError):
            self._log.write_fault("late", error)


def _list_headers(response: Response, request_id: str) -> list[tuple[bytes, bytes]]:
    """List the headers to send: the response's own, the common ones it lacks, the request's id."""
    headers = list(response.raw_headers)
    own_names = {name for name, _ in headers}
    headers += [(name, text) for name, text in _RAW_HEADERS if name not in own_names]
    headers.append((b"x-request-id", request_id.encode()))
    return headers


def _read_host(scope: Scope) -> str | None:
    """Read the name in the header Host, without port; None for no such header or several."""
    values: list[bytes] = [value for name, value in scope["headers"] if name == b"host"]
    if len(values) != 1:
        return None
    host = values[0].decode("latin-1").lower()
    if host.startswith("["):  # an IPv6 address
        return host[1:].partition("]")[0]
    return host.partition(":")[0]


def _read_key(scope: Scope) -> str | None:
    """Read the key in the header Authorization; None without the header.

    Raises:
        Problem: Status 401; there are several such headers, or one of another form.
    """
    values: list[bytes] = [value for name, value in scope["headers"] if name == b"authorization"]
    if not values:
        return None
    scheme, _, key = values[0].decode("latin-1").partition(" ")
    if len(values) > 1 or scheme.lower() != "bearer":
        raise Problem(401, "Give one key, as  Authorization: Bearer KEY.")
    return key


def _name_bucket(scope: Scope, caller: Caller | None) -> str:
    """Name the bucket that counts a request: the caller's, or else the network address's.

    Args:
        scope: The request's ASGI scope.
        caller: Sender of the request; ANONYMOUS without a key, None for a key that is unknown or
            malformed.
    """
    if caller is not None and caller.name:
        return f"{caller.role}/{caller.name}"
    client = scope.get("client")
    return f"address/{client[0]}" if client else "address"
