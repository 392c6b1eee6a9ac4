"""Two vendors in this process, that reach one another without a network."""

from __future__ import annotations

import io
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tacit.designs.pdap.joint import JointLearner
from tacit.designs.pdap.serve.demo import NAMES, make_two_deployments
from tacit.designs.pdap.serve.neighbours import Reach
from tacit.designs.pdap.serve.served_vendor import ServedVendor
from tacit.service import Service, Settings, create_app, open_service
from tacit.service.event_log import EventLog
from tacit.service.idempotency import read_salted_state

ADDRESSES = ("http://127.0.0.1:8001", "http://127.0.0.1:8002")


class Wire(httpx2.AsyncBaseTransport):
    """From one vendor to the other. crossed: what went over. answers: instead of the other."""

    def __init__(self, app: FastAPI) -> None:
        self._inner = httpx2.ASGITransport(app=app)
        self.crossed: list[tuple[str, bytes, dict[str, str]]] = []
        self.answers: Callable[[httpx2.Request], Any] | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "POST":
            self.crossed.append((request.url.path, request.content, dict(request.headers)))
            if self.answers is not None:
                answer = await self.answers(request)
                if answer is not None:
                    return answer
        return await self._inner.handle_async_request(request)


@dataclass
class One:
    """One of the two. path: of its vendor."""

    name: str
    service: Service
    app: FastAPI
    client: TestClient
    keys: dict[str, str]
    logged: io.StringIO
    wire: Wire | None = field(default=None)

    @property
    def path(self) -> str:
        return f"/api/vendors/{self.name}"

    @property
    def served(self) -> ServedVendor:
        return self.service.deployment.find_all(ServedVendor)[self.name]

    def post(self, user: str | None, path: str, key: str | None = None, **given: Any) -> Any:
        """user: a person's name, or `operator`, or a whole key."""
        bearer = self.keys.get(str(user)) or self.service.keys.person_key(str(user))
        headers = {
            "authorization": f"Bearer {bearer}",
            "idempotency-key": key or secrets.token_hex(8),
            **given.pop("headers", {}),
        }
        return self.client.post(self.path + path, headers=headers, **given)

    def visit(self, user: str = "ann", key: str | None = None, at: Any = (0.2, 0.7)) -> Any:
        return self.post(user, "/visits", key, json={"context": list(at)})

    def reward(self, visit: Any, user: str = "ann", clicked: bool = True, **given: Any) -> Any:
        path = f"/visits/{visit['visit']}/reward"
        return self.post(user, path, json={"clicked": clicked}, **given)

    def kept(self) -> bytes | None:
        """Content of its stored state."""
        return read_salted_state(self.service, f"vendors/{self.name}")


@dataclass
class Pair:
    """home asks other, and the other way round."""

    home: One
    other: One


def open_pair(folder: Path, **settings: float) -> Iterator[Pair]:
    folders = (folder / NAMES[0], folder / NAMES[1])
    keys = make_two_deployments(folders, ADDRESSES, **{"share": 1.0, **settings})
    yield from _opened(folders, keys)


def _opened(folders: tuple[Path, Path], keys: tuple[dict[str, str], dict[str, str]]) -> Any:
    ones = []
    for name, place, known in zip(NAMES, folders, keys, strict=True):
        log = io.StringIO()
        service = open_service(Settings(place, per_second=1e6, burst=10**6, answer_within=300))
        app = create_app(service, log=EventLog(log))
        client = TestClient(app, base_url="http://localhost", raise_server_exceptions=False)
        ones.append(One(name, service, app, client, known, log))
    for one, two in (ones, ones[::-1]):
        one.wire = Wire(two.app)
        calls = one.served.reach.calls
        assert calls is not None
        calls.transports[two.name] = one.wire  # type: ignore[index]
    with ones[0].client, ones[1].client:
        yield Pair(*ones)


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Two vendors of their own."""
    yield from open_pair(tmp_path)


@pytest.fixture(scope="module")
def one_pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """Two for all tests of a file that do not mind each other."""
    yield from open_pair(tmp_path_factory.mktemp("vendors"))


@pytest.fixture
def pairs(tmp_path: Path) -> Callable[..., Any]:
    """`pairs(lifetime=5.0)`: a generator of one pair with these settings."""
    return lambda **settings: open_pair(tmp_path, **settings)


@pytest.fixture
def again(tmp_path: Path) -> Callable[[Pair], Any]:
    """The same two folders, opened anew after the services of the pair have let go of them."""
    folders = (tmp_path / NAMES[0], tmp_path / NAMES[1])

    def opened(pair: Pair) -> Any:
        for one in (pair.home, pair.other):
            one.service.close()
        return _opened(folders, (pair.home.keys, pair.other.keys))

    return opened


@pytest.fixture
def ready(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours are always up."""
    monkeypatch.setattr(Reach, "peers_up", lambda reach: tuple(peer.name for peer in reach.peers))


@pytest.fixture
def asking(ready: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """And their offers are chosen whenever they can be."""
    chosen = JointLearner.select

    def select(self: JointLearner, context: Any, arms: Any = None) -> Any:
        allowed = [*self.own, *self.neighbours] if arms is None else arms
        theirs = [arm for arm in allowed if arm in self.neighbours]
        return chosen(self, context, theirs or arms)

    monkeypatch.setattr(JointLearner, "select", select)
