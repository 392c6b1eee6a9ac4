"""The people of a load on the service: what they ask, and the connections that they ask by."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.designs.sketches import Campaign, Device, new_secret
from tacit.recommenders.model_files import load_model
from tacit.service.keys import KeyRing

CONNECTIONS = 64
"""Open connections to a server."""
PEOPLE = 400
"""People who return; some requests are of new people instead."""
CANDIDATES = (1, 2, 3)
"""Ids of the items that people vote on."""
OPERATOR = "the operator"
"""Name by which `Keys` finds the operator's key."""
_CHANCE = secrets.SystemRandom()


class Keys:
    """The keys of all people of a load, and of the operator."""

    def __init__(self, folder: Path, operator: str) -> None:
        """Open the key ring of a served folder; `operator` is the operator's key."""
        secret = (folder / "service.secret").read_bytes()
        self._ring = KeyRing(folder / "keys.json", secret, "demo")
        self._known = {OPERATOR: operator}

    def of(self, person: str) -> str:
        """Return a person's key."""
        if person not in self._known:
            self._known[person] = self._ring.person_key(person)
        return self._known[person]


@dataclass
class Request:
    """A request of a load."""

    name: str
    """Name of the kind of request, for the figures."""
    method: str
    """Method of HTTP."""
    path: str
    """Path and query of the address."""
    person: str | None = None
    """Who sends it; None for a request without a key."""
    body: bytes = b""
    """The content."""
    kind: str = "application/json"
    """Type of the content."""
    octets: bytes = b""
    """All bytes that are sent; empty before `sent` makes them."""


class People:
    """The people of a load, and the requests that they make.

    Attributes:
        visits: Visits that were answered and not yet rewarded, as pairs of person and visit.
        reported: People whose report was answered.
    """

    def __init__(self, folder: Path) -> None:
        """Read from a served folder what the requests need."""
        self.visits: deque[tuple[str, str]] = deque(maxlen=1000)
        self.reported: set[str] = set()
        # For each kind of request, its share in percent, and the function that makes one.
        self._shares: dict[str, tuple[int, Callable[[int], Request]]] = {
            "recommend": (35, recommend),
            "lists": (5, lists),
            "model": (5, model),
            "guarantees": (5, guarantees),
            "budget": (5, budget),
            "feedback": (15, feedback),
            "visit": (10, visit),
            "reward": (5, self._reward),
            "letter": (5, letters(folder)),
            "report": (5, reports(folder)),
            "vote": (5, vote),
        }

    def requests(self) -> Iterator[Request]:
        """Yield requests without end, in random order, by their shares."""
        names: list[str] = []  # one hundred
        for name, (share, _) in self._shares.items():
            names += [name] * share
        number = 0
        while True:
            _CHANCE.shuffle(names)
            for name in names:
                number += 1
                yield self._shares[name][1](number)

    def answered(self, request: Request, status: int, body: bytes) -> None:
        """Note from an answer what later requests, and the end of the run, need."""
        if status != 200 or request.person is None:
            return
        if request.name == "report":
            self.reported.add(request.person)
        if request.name == "visit":
            self.visits.append((request.person, json.loads(body)["visit"]))

    def _reward(self, number: int) -> Request:
        """Make a reward for the oldest visit without one; a visit if there is none."""
        if not self.visits:
            return visit(number)
        person, visit_id = self.visits.popleft()
        clicked = json.dumps({"clicked": number % 2 == 0}).encode()
        path = f"/api/vendors/cinema/visits/{visit_id}/reward"
        return Request("reward", "POST", path, person, clicked)


def opening() -> Request:
    """Make the announcement of the round on which people vote."""
    candidates = json.dumps({"candidates": list(CANDIDATES)}).encode()
    return Request("announce", "POST", "/api/rounds/films/announce", OPERATOR, candidates)


def anybody() -> str:
    """Draw a person."""
    return f"person-{_CHANCE.randrange(PEOPLE)}"


def recommend(_: int) -> Request:
    """Make a request for a person's list."""
    person = anybody()
    return Request("recommend", "GET", f"/api/recommend/{person}?n=10", person)


def lists(number: int) -> Request:
    """Make a request for a list from a history, by the model that is replaced under load."""
    history = {str(1 + (number + 7 * place) % 200): 5.0 for place in range(8)}
    question = json.dumps({"model": "lists", "history": history}).encode()
    return Request("lists", "POST", "/api/recommend", anybody(), question)


def model(_: int) -> Request:
    """Make a request for the file of a model for devices."""
    return Request("model", "GET", "/api/models/films/device")


def visit(number: int) -> Request:
    """Make a visit of a new person; it charges the person's lifetime budget."""
    context = json.dumps({"context": [0.25, number % 100 / 100]}).encode()
    return Request("visit", "POST", "/api/vendors/cinema/visits", f"v-{number}", context)


def guarantees(_: int) -> Request:
    """Make a request for a model's guarantees."""
    return Request("guarantees", "GET", "/api/guarantees/models/films")


def budget(_: int) -> Request:
    """Make a request for a person's own budget."""
    return Request("budget", "GET", "/api/privacy/budget", anybody())


def feedback(number: int) -> Request:
    """Make a rating of an item."""
    rating = {"model": "films", "item": str(1 + number % 150), "stars": 1.0 + number % 5}
    return Request("feedback", "POST", "/api/feedback", anybody(), json.dumps(rating).encode())


def vote(number: int) -> Request:
    """Make a vote for one of the candidates."""
    choice = {"candidate": CANDIDATES[number % len(CANDIDATES)]}
    path = "/api/rounds/films/votes"
    return Request("vote", "POST", path, anybody(), json.dumps(choice).encode())


def letters(folder: Path) -> Callable[[int], Request]:
    """Return a function that makes the first letter of a new person."""
    model = load_model(folder / "gender.tacit")
    histories = [dict.fromkeys(range(1, 12 + n), 4.0) for n in range(20)]
    made = [model.device({"gender": "F"}).release(history, 0).encode() for history in histories]
    path, kind = "/api/disclosures/gender/letters", "application/octet-stream"
    return lambda number: Request("letter", "POST", path, f"w-{number}", made[number % 20], kind)


def reports(folder: Path) -> Callable[[int], Request]:
    """Return a function that makes a new person's report; it charges their lifetime budget."""
    campaign = Campaign.decode((folder / "taste.campaign").read_bytes())
    items = json.loads((folder / "taste.items.json").read_text())
    path, kind = "/api/campaigns/taste/reports", "application/octet-stream"

    def make(number: int) -> Request:
        """Make the report of a new person."""
        report = Device(new_secret(), {}).report(campaign, items, {1: 5.0, 2: 4.0}).encode()
        return Request("report", "POST", path, f"reporter-{number}", report, kind)

    return make


def sent(request: Request, keys: Keys) -> Request:
    """Add to a request the bytes that are sent, so that they are not made during the load."""
    lines = [f"{request.method} {request.path} HTTP/1.1", "Host: localhost"]
    if request.person is not None:
        lines.append(f"Authorization: Bearer {keys.of(request.person)}")
    if request.method != "GET":
        lines.append(f"Idempotency-Key: {secrets.token_hex(8)}")
        lines.append(f"Content-Length: {len(request.body)}")
    if request.body:
        lines.append(f"Content-Type: {request.kind}")
    request.octets = "\r\n".join([*lines, "", ""]).encode() + request.body
    return request


class Connection(asyncio.Protocol):
    """A connection that sends one request after the other; each answer states its length."""

    def __init__(self) -> None:
        """Begin without a request."""
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._found = b""
        self._length = -1

    def connection_made(self, transport: Any) -> None:
        """Store the transport, by which requests are sent."""
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        """Fail the request that waits for its answer."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("it was closed"))

    def send(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Send a request; the returned future gets the status and the body of the answer."""
        assert self._transport is not None
        self._found, self._length = b"", -1
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
        """Collect the answer, and finish the request when it is complete."""
        self._found += data
        head, end, body = self._found.partition(b"\r\n\r\n")
        if not end or self._answer is None:
            return
        if self._length < 0:
            self._length = int(head.lower().partition(b"\r\ncontent-length: ")[2].split(b"\r")[0])
        if len(body) >= self._length and not self._answer.done():
            self._answer.set_result((int(head[9:12]), body))

    @property
    def open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close the connection."""
        if self._transport is not None:
            self._transport.close()


class Pool:
    """Open connections. A request waits for a free one; the wait is a part of its time."""

    def __init__(self, port: int) -> None:
        """Prepare a pool of connections to a port of this machine."""
        self._port = port
        self._free: asyncio.Queue[Connection] = asyncio.Queue()

    async def open(self) -> None:
        """Open all connections."""
        for _ in range(CONNECTIONS):
            await self._free.put(await self._new())

    def close(self) -> None:
        """Close all connections that are free."""
        while not self._free.empty():
            self._free.get_nowait().close()

    async def send(self, request: Request) -> tuple[int, bytes]:
        """Send a request on a free connection, and return status and body of the answer."""
        connection = await self._free.get()
        try:
            if not connection.open:  # it rested for too long
                connection = await self._new()
            answer = await connection.send(request.octets)
        except BaseException:
            connection.close()
            connection = await self._new()
            raise
        finally:
            self._free.put_nowait(connection)
        return answer

    async def _new(self) -> Connection:
        """Open a connection."""
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, "127.0.0.1", self._port))[1]


async def all_budgets(pool: Pool, keys: Keys) -> list[dict[str, Any]]:
    """Fetch all budgets, page by page; while the store is busy, try again for half a minute."""
    found, after, tries = [], 0, 30
    while after is not None:
        path = f"/api/privacy/budgets?limit=1000&after={after}"
        asked = sent(Request("budgets", "GET", path, OPERATOR), keys)
        status, body = await pool.send(asked)
        if status == 503 and tries:
            tries -= 1
            await asyncio.sleep(1)
            continue
        page = json.loads(body)
        found += page["budgets"]
        after = page["next"]
    return found
