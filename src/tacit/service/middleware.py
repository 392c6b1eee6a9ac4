"""The door: what happens to every request before and after the resource that it is for.

Bounded reading, strict JSON, who asks, how often, how long it may take, one line of log. Nothing
of the request's content passes into a log, a metric or an error.

How often one key, or one address without a key, may do something: a bucket that refills.
"""

from __future__ import annotations

import asyncio
import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.errors import TacitError
from tacit.service import http_bodies, problems
from tacit.service.http_bodies import Answer
from tacit.service.keys import Caller, KeyRing
from tacit.service.monitoring import Logger, Metrics
from tacit.service.problems import Problem
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
            body = await http_bodies.body_of(scope, receive, self._settings.most_body)
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


MOST_BUCKETS = 100_000
"""Remembered at a time; the one that rested longest is forgotten: it comes back as a full one."""
HOUR, DAY = 3600, 86_400
_ADDRESS = "address/"
_NETWORK = 64


class Limits:
    """Buckets of `burst` that refill at `per_second`; one process counts for itself, in memory."""

    def __init__(
        self,
        per_second: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        said: str = "Too many requests. Wait, then go on.",
    ) -> None:
        self._clock = clock
        self._per_second = per_second
        self._burst = burst
        self._said = said
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    @classmethod
    def daily(cls, changes: int) -> Limits:
        """Of changes that cost nothing and are stored for ever."""
        said = "This is as much as one person may change in a day without its costing anything."
        return cls(changes / DAY, changes, said=f"{said} Wait, then go on.")

    def take(self, name: str) -> None:
        """Count one; Problem 429 if the bucket is empty. `address/IP` stands for its network."""
        if name.startswith(_ADDRESS):
            name = _ADDRESS + network_of(name.removeprefix(_ADDRESS))
        now = self._clock()
        with self._lock:
            left = self._left(name, now)
            self._buckets[name] = (left - 1 if left >= 1 else left, now)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        if left < 1:
            wait = math.ceil((1 - left) / self._per_second)
            raise Problem(429, self._said, retry_after=max(wait, 1))

    def give_back(self, name: str) -> None:
        """One that was taken and turned out to be nothing new."""
        now = self._clock()
        with self._lock:
            self._buckets[name] = (min(self._burst, self._left(name, now) + 1), now)

    def _left(self, name: str, now: float) -> float:
        """Inside the lock; the bucket is out of its place, and is put back as the newest."""
        left, since = self._buckets.pop(name, (float(self._burst), now))
        return min(self._burst, left + (now - since) * self._per_second)


class Newcomers:
    """How many new names one address may take; who comes back with theirs is not counted again."""

    def __init__(self, per_hour: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = Limits(
            per_hour / HOUR,
            per_hour,
            clock,
            said="Too many visitors came from this address. Wait, then go on.",
        )
        self._known: OrderedDict[str, None] = OrderedDict()
        self._lock = threading.Lock()

    def admit(self, address: str, name: str) -> None:
        """Problem 429 for a new name where this address has taken as many as it may."""
        with self._lock:
            if name in self._known:
                self._known.move_to_end(name)
                return
        self._limits.take(_ADDRESS + address)
        with self._lock:
            self._known[name] = None
            if len(self._known) > MOST_BUCKETS:
                self._known.popitem(last=False)


def network_of(address: str) -> str:
    """An address of IPv4 is itself; of IPv6 it is the /64, of which one subscriber has all 2^64."""
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, _NETWORK), strict=False))
