"""The owner of a ledger in a file, and how the workers of a service reach it.

A file has one owner (`ledger/sqlite.py`). With one worker that is the worker itself. Of several,
each does what needs no ledger: HTTP, keys, roles, limits, deadlines, the page and the models. What
passed that door goes to the owner's process as one frame, with who asks and how long they still
wait; there it is checked and executed as in a service of one process, and shares its commit with
what came from the other workers. The charge, the draw and the answer stay
one transaction: nothing of it crosses a process.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Callable, Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope

from tacit.errors import DataError, TacitError
from tacit.ledger import Ledger, frames
from tacit.ledger.frames import Frame, Kind, Line
from tacit.service import problems
from tacit.service.access import Operation
from tacit.service.keys import Caller, Role
from tacit.service.middleware import Middleware
from tacit.service.monitoring import Logger

_HERE = ("/", "/assets/{name}", "/metrics", "/api/openapi.json", problems.ADDRESS)
_BELOW = "/api/models"
"""What a worker executes itself, beside what is answered at once: it needs no ledger."""
_CONNECTS_WITHIN = 1.0
"""Seconds."""


class Executes(Protocol):
    """An application that executes what workers hand to it."""

    answers: Middleware


class _Asker(Line):
    """At the owner. Who does not read their answers is not read either: nothing piles up."""

    def __init__(self, owner: Owner) -> None:
        super().__init__(self._asked, self._lost)
        self._owner = owner
        self.copies: list[Path] = []
        """What this connection got, for as long as it lasts."""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._owner.askers.add(self)

    def pause_writing(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None and self.open:
            self._transport.resume_reading()

    def _asked(self, frame: Frame) -> None:
        self._owner.answer(frame, self)

    def _lost(self, error: Exception | None) -> None:
        self._owner.askers.discard(self)
        _remove(self.copies)
        if error is not None:
            self._owner.fault(error)


class Owner:
    """Listens at the store's own address while the service runs: for who wants a copy of the store,
    and for the workers, if there are any."""

    def __init__(
        self, store: Path, ledger: Ledger, log: Logger, failed: Callable[[], None] | None = None
    ) -> None:
        """failed: called when the disk failed under the ledger."""
        self._store, self._ledger, self._log, self._failed = store, ledger, log, failed
        self._in_hand: set[asyncio.Task[None]] = set()
        self.askers: set[_Asker] = set()
        self._ending = False
        self._server: asyncio.Server | None = None
        self._app: Executes | None = None

    async def open(self, app: Executes | None) -> None:
        """app: executes what workers ask; None where there are none."""
        self._app = app
        self._server = await asyncio.get_running_loop().create_unix_server(
            lambda: _Asker(self), sock=frames.listen(self._store)
        )

    async def close(self, within: float) -> None:
        """What is in hand gets so many seconds, and what comes meanwhile is asked again later."""
        self._ending = True
        if self._server is not None:
            self._server.close()
        if self._in_hand:
            await asyncio.wait(self._in_hand, timeout=within)
        for asker in list(self.askers):  # nothing comes to threads that are gone
            asker.close()
        frames.left(self._store)

    def answer(self, frame: Frame, asker: _Asker) -> None:
        """In a while, to who asked."""
        task = asyncio.ensure_future(self._answer(frame, asker))
        self._in_hand.add(task)
        task.add_done_callback(self._in_hand.discard)

    def fault(self, error: Exception) -> None:
        """What was wrong with a connection."""
        self._log.fault("frame", error)

    async def _answer(self, frame: Frame, asker: _Asker) -> None:
        try:
            if frame.kind is Kind.COPY:
                answer = await self._copied(frame, asker.copies)
            elif frame.kind is Kind.ASK and self._app is not None:
                answer = await self._executed(frame, self._app)
            else:
                raise DataError("This is nothing to ask an owner.")
            if asker.open:
                asker.send(answer.encode())
            else:
                _remove(asker.copies)
        except (DataError, OSError) as error:  # what was answered stands in the ledger
            asker.close(error)

    async def _copied(self, frame: Frame, copies: list[Path]) -> Frame:
        name = f"copy-{secrets.token_hex(8)}"
        copies.append(frames.folder_of(self._store) / name)
        try:
            await asyncio.to_thread(self._ledger.copy, copies[-1])
        except TacitError as error:
            self._log.fault("copy", error)
            return Frame(Kind.REFUSED, frame.number)
        return Frame(Kind.COPIED, frame.number, {"file": name})

    async def _executed(self, frame: Frame, app: Executes) -> Frame:
        scope, caller, end = asked_of(frame)
        scope["app"] = app
        within = end - time.monotonic()
        if self._ending or within <= 0:  # nobody waits for it any more
            made = problems.response_of(problems.unavailable())
        else:
            made = await app.answers.handed(scope, _given(frame.body), caller, within)
        if self._failed is not None and self._ledger.failed:
            self._failed()
        head = {"status": made.status_code, "headers": _texts(made.raw_headers)}
        return Frame(Kind.TOLD, frame.number, head, bytes(made.body))


def _remove(files: list[Path]) -> None:
    for one in files:
        one.unlink(missing_ok=True)


@dataclass
class _Asked:
    """What the owner has not answered. timer: of giving it up."""

    answer: asyncio.Future[Response]
    timer: asyncio.TimerHandle


Questions = dict[int, _Asked]
"""Of one connection, by number."""


class Link:
    """A worker's connection to the owner. Answers come in any order, by their number."""

    def __init__(self, store: Path) -> None:
        self._store = store
        self._numbers = count(1)
        self.opened: tuple[Line, Questions] | None = None
        """The connection, and what waits on it."""
        self._opening = asyncio.Lock()

    def takes(self, operation: Operation) -> bool:
        """Whether it is the owner's to execute."""
        return operation.path not in _HERE and not operation.path.startswith(_BELOW)

    def hand(self, request: Request, end: float) -> asyncio.Future[Response]:
        """Begin it there. end: of the wait for it, in the loop's time. It becomes what the owner
        answers; Problem 503 if it cannot be reached, goes meanwhile, or does not answer in time."""
        if self.opened is not None and self.opened[0].open:
            return self._ask(*self.opened, request, end)
        return asyncio.ensure_future(self._begun(request, end))

    async def _begun(self, request: Request, end: float) -> Response:
        async with self._opening:
            if asyncio.get_running_loop().time() >= end:
                raise problems.late()
            if self.opened is None or not self.opened[0].open:
                self.opened = await self._open()
        return await self._ask(*self.opened, request, end)

    def _ask(
        self, line: Line, asked: Questions, request: Request, end: float
    ) -> asyncio.Future[Response]:
        loop = asyncio.get_running_loop()
        number, answer = next(self._numbers), loop.create_future()
        head, body = _head(request.scope, end - loop.time()), request.state.body.octets
        try:
            line.send(Frame(Kind.ASK, number, head, body).encode())
        except DataError as error:  # it ends alone
            answer.set_exception(error)
            return answer
        # The others' connection stays.
        asked[number] = _Asked(answer, loop.call_at(end, _give_up, asked, number))
        return answer

    async def _open(self) -> tuple[Line, Questions]:
        asked: Questions = {}
        try:
            connection = await asyncio.to_thread(frames.connect, self._store, _CONNECTS_WITHIN)
            _, line = await asyncio.get_running_loop().create_unix_connection(
                lambda: Line(partial(_told, asked), partial(_ended, asked)), sock=connection
            )
        except OSError:
            raise problems.unavailable() from None
        return line, asked


def _told(asked: Questions, frame: Frame) -> None:
    if frame.number not in asked:
        return  # it took too long
    found = _response(frame)
    given = asked.pop(frame.number)
    given.timer.cancel()
    if not given.answer.done():
        given.answer.set_result(found)


def _give_up(asked: Questions, number: int) -> None:
    given = asked.pop(number)
    given.timer.cancel()
    if not given.answer.done():
        given.answer.set_exception(problems.late())


def _ended(asked: Questions, _: Exception | None) -> None:
    for number in list(asked):
        _give_up(asked, number)


_KEY = b"authorization"
"""It was looked at, and goes no further."""


def _head(scope: Scope, within: float) -> dict[str, Any]:
    """Its end is a time of the machine's clock, which is one for all processes: what waits on the
    way does not get more of it."""
    caller: Caller = scope["state"]["caller"]
    return {
        "method": scope["method"],
        "path": scope["path"],
        "query": scope["query_string"].decode("latin-1"),
        "headers": _texts([one for one in scope["headers"] if one[0].lower() != _KEY]),
        "scheme": scope["scheme"],
        "client": scope.get("client"),
        "caller": [caller.tenant, caller.role, caller.name],
        "end": time.monotonic() + within,
        "request": scope["state"]["request_id"],
    }


def asked_of(frame: Frame) -> tuple[Scope, Caller, float]:
    """What was asked, as the application takes it, by whom, and until when they wait.
    DataError for a head that is not exactly one."""
    with _exactly():
        head = dict(frame.head)
        tenant, role, name = map(_text, head.pop("caller"))
        client, end = head.pop("client"), float(head.pop("end"))
        path, query = _text(head.pop("path")), _text(head.pop("query"))
        scope: Scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": _text(head.pop("method")),
            "scheme": _text(head.pop("scheme")),
            "path": path,
            "raw_path": path.encode("utf-8"),
            "root_path": "",
            "query_string": query.encode("latin-1"),
            "headers": _octets(head.pop("headers")),
            "client": None if client is None else (_text(client[0]), int(client[1])),
            "server": None,
            "state": {"request_id": _text(head.pop("request"))},
        }
        if head or not end < float("inf"):
            raise ValueError
        return scope, Caller(tenant, Role(role), name), end


def _response(frame: Frame) -> Response:
    with _exactly():
        if frame.kind is not Kind.TOLD or set(frame.head) != {"status", "headers"}:
            raise ValueError
        made = Response(frame.body, status_code=int(frame.head["status"]))
        made.raw_headers = _octets(frame.head["headers"])
        return made


@contextmanager
def _exactly() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, OverflowError):
        raise DataError("A frame does not say what it has to.") from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _texts(headers: list[tuple[bytes, bytes]]) -> list[list[str]]:
    return [[name.decode("latin-1"), value.decode("latin-1")] for name, value in headers]


def _octets(headers: list[list[str]]) -> list[tuple[bytes, bytes]]:
    return [
        (_text(name).encode("latin-1"), _text(value).encode("latin-1")) for name, value in headers
    ]


def _given(body: bytes) -> Receive:
    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
