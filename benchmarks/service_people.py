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
PEOPLE = 400
CANDIDATES = (1, 2, 3)
OPERATOR = "the operator"
_CHANCE = secrets.SystemRandom()


class Keys:
    """The key of everybody."""

    def __init__(self, folder: Path, operator: str) -> None:
        secret = (folder / "service.secret").read_bytes()
        self._ring = KeyRing(folder / "keys.json", secret, "demo")
        self._known = {OPERATOR: operator}

    def of(self, person: str) -> str:
        if person not in self._known:
            self._known[person] = self._ring.person_key(person)
        return self._known[person]


@dataclass
class Request:
    """What is sent. octets: all of it, as it goes out."""

    name: str
    method: str
    path: str
    person: str | None = None
    body: bytes = b""
    kind: str = "application/json"
    octets: bytes = b""


class People:
    """Requests without end: the shares are in percent, 55 of them read.

    visits: that were answered and not yet rewarded, as person and visit.
    """

    def __init__(self, folder: Path) -> None:
        self.visits: deque[tuple[str, str]] = deque(maxlen=1000)
        self.reported: set[str] = set()
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
        """In an order by chance."""
        names = [name for name, (share, _) in self._shares.items() for _ in range(share)]
        number = 0
        while True:
            _CHANCE.shuffle(names)
            for name in names:
                number += 1
                yield self._shares[name][1](number)

    def answered(self, request: Request, status: int, body: bytes) -> None:
        """Notes what later requests, and the end of the run, need to know."""
        if status != 200 or request.person is None:
            return
        if request.name == "report":
            self.reported.add(request.person)
        if request.name == "visit":
            self.visits.append((request.person, json.loads(body)["visit"]))

    def _reward(self, number: int) -> Request:
        if not self.visits:
            return visit(number)
        person, made = self.visits.popleft()
        clicked = json.dumps({"clicked": number % 2 == 0}).encode()
        return Request(
            "reward", "POST", f"/api/vendors/cinema/visits/{made}/reward", person, clicked
        )


def opening() -> Request:
    """A round that people vote on."""
    candidates = json.dumps({"candidates": list(CANDIDATES)}).encode()
    return Request("announce", "POST", "/api/rounds/films/announce", OPERATOR, candidates)


def anybody() -> str:
    return f"person-{_CHANCE.randrange(PEOPLE)}"


def recommend(_: int) -> Request:
    person = anybody()
    return Request("recommend", "GET", f"/api/recommend/{person}?n=10", person)


def lists(number: int) -> Request:
    """A list from the model that is replaced under load, of a history that is sent."""
    history = {str(1 + (number + 7 * place) % 200): 5.0 for place in range(8)}
    question = json.dumps({"model": "lists", "history": history}).encode()
    return Request("lists", "POST", "/api/recommend", anybody(), question)


def model(_: int) -> Request:
    return Request("model", "GET", "/api/models/films/device")


def visit(number: int) -> Request:
    """Of a new person each time: it charges their budget, for life."""
    context = json.dumps({"context": [0.25, number % 100 / 100]}).encode()
    return Request("visit", "POST", "/api/vendors/cinema/visits", f"v-{number}", context)


def guarantees(_: int) -> Request:
    return Request("guarantees", "GET", "/api/guarantees/models/films")


def budget(_: int) -> Request:
    return Request("budget", "GET", "/api/privacy/budget", anybody())


def feedback(number: int) -> Request:
    rating = {"model": "films", "item": str(1 + number % 150), "stars": 1.0 + number % 5}
    return Request("feedback", "POST", "/api/feedback", anybody(), json.dumps(rating).encode())


def vote(number: int) -> Request:
    choice = {"candidate": CANDIDATES[number % len(CANDIDATES)]}
    path = "/api/rounds/films/votes"
    return Request("vote", "POST", path, anybody(), json.dumps(choice).encode())


def letters(folder: Path) -> Callable[[int], Request]:
    """The first letter of a new person each time: one is taken of each epoch."""
    model = load_model(folder / "gender.tacit")
    histories = [dict.fromkeys(range(1, 12 + n), 4.0) for n in range(20)]
    made = [model.device({"gender": "F"}).release(one, 0).encode() for one in histories]
    path, kind = "/api/disclosures/gender/letters", "application/octet-stream"
    return lambda number: Request("letter", "POST", path, f"w-{number}", made[number % 20], kind)


def reports(folder: Path) -> Callable[[int], Request]:
    """A report of a new person each time: it charges their budget, for life."""
    campaign = Campaign.decode((folder / "taste.campaign").read_bytes())
    items = json.loads((folder / "taste.items.json").read_text())
    path, kind = "/api/campaigns/taste/reports", "application/octet-stream"

    def make(number: int) -> Request:
        report = Device(new_secret(), {}).report(campaign, items, {1: 5.0, 2: 4.0}).encode()
        return Request("report", "POST", path, f"reporter-{number}", report, kind)

    return make


def sent(request: Request, keys: Keys) -> Request:
    """With the bytes that go out, so that nothing is made while the clock runs."""
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
    """One request after the other; each answer says how long it is."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._found = b""
        self._length = -1

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("it was closed"))

    def send(self, request: bytes) -> asyncio.Future[tuple[int, bytes]]:
        """Status and body, in a while."""
        assert self._transport is not None
        self._found, self._length = b"", -1
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def data_received(self, data: bytes) -> None:
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
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Pool:
    """Connections that are kept; a request waits for a free one, and that counts."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._free: asyncio.Queue[Connection] = asyncio.Queue()

    async def open(self) -> None:
        for _ in range(CONNECTIONS):
            await self._free.put(await self._new())

    def close(self) -> None:
        while not self._free.empty():
            self._free.get_nowait().close()

    async def send(self, request: Request) -> tuple[int, bytes]:
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
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, "127.0.0.1", self._port))[1]


async def all_budgets(pool: Pool, keys: Keys) -> list[dict[str, Any]]:
    found, after, tries = [], 0, 30
    while after is not None:
        path = f"/api/privacy/budgets?limit=1000&after={after}"
        asked = sent(Request("budgets", "GET", path, OPERATOR), keys)
        status, body = await pool.send(asked)
        if status == 503 and tries:  # a store that stands still ends no run of half an hour
            tries -= 1
            await asyncio.sleep(1)
            continue
        page = json.loads(body)
        found += page["budgets"]
        after = page["next"]
    return found
