"""Services for tests: a demonstration's folder, its application here, and real processes.

    def test_mine(shop):
        answer = shop.post("subject", "/api/feedback", json={...})

`shop` is an application on its own copy of the folder, so what a test changes stays its own.
`started("--workers", "2")` starts `tacit serve` on a free port of this machine.
"""

from __future__ import annotations

import fcntl
import io
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from tacit.recommenders.pdap.messages import Forward, Reward
from tacit.recommenders.sketches import Campaign, Device, new_secret
from tacit.service import Service, Settings, create_app
from tacit.service.demo import TENANT, Demo, make_demo
from tacit.service.deployment import Section
from tacit.service.disclosures import ServedDisclosure
from tacit.service.keys import KeyRing, Role, add_key, make_private, read_secret
from tacit.service.logs import Logger
from tacit.service.vendors.signatures import (
    audience_of,
    new_vendor_key,
    read_private_key,
    sign_request,
)

PEOPLE = {"subject": "ann", "other": "bob"}
"""Roles of people in tests, and their names."""


@dataclass
class Shop:
    """An application in this process. keys: by role; `subject` is ann, `other` is bob."""

    folder: Path
    service: Service
    app: FastAPI
    client: TestClient
    keys: dict[str, str]
    logged: io.StringIO

    def ask(self, role: str | None, method: str, path: str, **given: Any) -> Any:
        """A response; a new Idempotency-Key unless `key` names one. role None: anonymous."""
        headers = dict(given.pop("headers", {}))
        if role not in (None, "anonymous"):
            headers["authorization"] = f"Bearer {self.keys[role]}"
        if method in ("POST", "DELETE"):
            own = headers.pop("idempotency-key", secrets.token_hex(8))
            headers["idempotency-key"] = given.pop("key", own)
        return self.client.request(method, path, headers=headers, **given)

    def get(self, role: str | None, path: str, **given: Any) -> Any:
        return self.ask(role, "GET", path, **given)

    def post(self, role: str | None, path: str, **given: Any) -> Any:
        return self.ask(role, "POST", path, **given)

    def delete(self, role: str | None, path: str, **given: Any) -> Any:
        return self.ask(role, "DELETE", path, **given)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """The demonstration's folder, made once, also where tests run side by side in processes.

    Not to be served from: `folder` is a copy of it.
    """
    base = tmp_path_factory.getbasetemp()
    base = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    keys = base / "demo-keys.json"
    with (base / "demo-lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not keys.exists():
            made = make_demo(base / "demo")
            keys.write_text(json.dumps({**made.keys, "neighbour": _befriend(made.folder)}))
    return Demo(base / "demo", json.loads(keys.read_text()))


def _befriend(folder: Path) -> str:
    """Give the demonstration's vendor a neighbour, who is never at home; the neighbour's key."""
    public = new_vendor_key(folder / "neighbour.pem")
    new_vendor_key(folder / "vendor.pem")
    key = add_key(folder / "keys.json", "arthouse", Role.VENDOR, TENANT)
    make_private(folder / "neighbour.key", key.encode())
    toml = folder / "tacit.toml"
    section = "[vendors.cinema]\n"
    told = toml.read_text().replace(section, f'{section}key = "vendor.pem"\n')
    toml.write_text(
        f"""{told}
[vendors.cinema.peers.arthouse]
url = "http://127.0.0.1:9/api/vendors/arthouse"
public_key = "{public}"
api_key = "neighbour.key"
"""
    )
    return key


@pytest.fixture
def folder(demo: Demo, tmp_path: Path) -> Path:
    """A copy of the demonstration's folder, without a ledger yet."""
    return Path(shutil.copytree(demo.folder, tmp_path / "shop"))


@pytest.fixture
def shop(demo: Demo, folder: Path) -> Iterator[Shop]:
    """An application of its own, without limits on how often it is asked."""
    with open_shop(demo, folder) as opened:
        yield opened


@pytest.fixture(scope="module")
def shared_shop(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """One application for all tests of a file that do not mind each other."""
    copy = Path(shutil.copytree(demo.folder, tmp_path_factory.mktemp("shared") / "shop"))
    with open_shop(demo, copy) as opened:
        yield opened


@contextmanager
def open_shop(demo: Demo, folder: Path, **settings: Any) -> Iterator[Shop]:
    """`with open_shop(demo, folder, answer_within=5) as shop:`; more settings as in Settings."""
    free: dict[str, Any] = {"per_second": 1e6, "burst": 10**6, "visitors": True}
    free |= {"visitors_per_hour": 10**6, "changes_per_day": 10**6}
    log = io.StringIO()
    service = Service.open(Settings(folder, **{**free, **settings}))
    app = create_app(service, log=Logger(log))
    keys = {**demo.keys, **{role: service.keys.person_key(n) for role, n in PEOPLE.items()}}
    with TestClient(app, raise_server_exceptions=False) as client:
        yield Shop(folder, service, app, client, keys, log)


@pytest.fixture(scope="session")
def shops() -> Callable[..., Any]:
    """`open_shop`, for tests that choose the settings."""
    return open_shop


@dataclass
class Running:
    """A process of `tacit serve`. keys: by role, with those of ann and bob."""

    address: str
    folder: Path
    keys: dict[str, str]
    process: subprocess.Popen[str]
    reader: threading.Thread
    lines: list[str] = field(default_factory=list)

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def log(self) -> str:
        """What it wrote to standard error so far."""
        return "".join(self.lines)

    def stop(self, within: float = 12.0) -> int:
        """SIGTERM; gives the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(within)
        finally:
            self.process.kill()
            self.process.wait()
            self.reader.join(5)
            for stream in (self.process.stdout, self.process.stderr):
                assert stream is not None
                stream.close()


@pytest.fixture
def started(demo: Demo, folder: Path) -> Iterator[Callable[..., Running]]:
    """Starts services with flags of `tacit serve`; all are stopped at the end."""
    processes: list[Running] = []

    def start(*flags: str, where: Path = folder) -> Running:
        processes.append(_start(demo, where, flags))
        return processes[-1]

    yield start
    for running in processes:
        if running.process.stdout is not None and not running.process.stdout.closed:
            running.stop()  # unless the test did


@pytest.fixture(scope="module")
def running(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One process for all tests of a file that do not mind each other."""
    copy = Path(shutil.copytree(demo.folder, tmp_path_factory.mktemp("running") / "shop"))
    process = _start(demo, copy, ("--visitors",))
    yield process
    process.stop()


_FREE = {
    f"TACIT_{name}": "1000000"
    for name in ("PER_SECOND", "BURST", "VISITORS_PER_HOUR", "CHANGES_PER_DAY")
}
"""Processes too are without limits on how often they are asked."""


def _start(demo: Demo, folder: Path, flags: tuple[str, ...]) -> Running:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tacit.cli.app", "serve", str(folder)),
            *("--port", "0", "--json", *flags),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **_FREE},
    )
    assert process.stdout is not None
    log: list[str] = []
    reader = threading.Thread(target=_follow, args=(process, log), daemon=True)
    reader.start()
    line = process.stdout.readline()
    if not line:
        with process:  # it ended, or it is about to
            reader.join(5)
        raise AssertionError("".join(log))
    told = json.loads(line)
    ring = KeyRing(folder / "keys.json", read_secret(folder / "service.secret"), TENANT)
    people = {role: ring.person_key(name) for role, name in PEOPLE.items()}
    return Running(told["address"], folder, {**demo.keys, **people}, process, reader, log)


def _follow(process: subprocess.Popen[str], log: list[str]) -> None:
    assert process.stderr is not None
    log.extend(process.stderr)


@pytest.fixture
def wait_until() -> Callable[..., None]:
    """Calls a question until it is true; fails after `seconds`."""

    def wait(question: Callable[[], bool], seconds: float = 10.0) -> None:
        end = time.monotonic() + seconds
        while not question():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.02)

    return wait


@dataclass(frozen=True)
class Operation:
    """One operation of the interface, as the OpenAPI document describes it."""

    method: str
    path: str
    content: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def roles(self) -> frozenset[str]:
        return frozenset(self.content["x-tacit-roles"])

    @property
    def changes(self) -> bool:
        """Whether it takes an Idempotency-Key."""
        return any(one["name"] == "Idempotency-Key" for one in self.content.get("parameters", ()))

    @property
    def body(self) -> str | None:
        """The kind of content that it takes."""
        kinds = list(self.content.get("requestBody", {}).get("content", {}))
        return kinds[0] if kinds else None


def operations_of(app: FastAPI) -> list[Operation]:
    return [
        Operation(method.upper(), path, content)
        for path, methods in app.openapi()["paths"].items()
        for method, content in methods.items()
    ]


@pytest.fixture
def operations(shared_shop: Shop) -> list[Operation]:
    """All operations of the interface."""
    return operations_of(shared_shop.app)


@dataclass(frozen=True)
class Valid:
    """A request that is answered with success. by: the role that it is made for."""

    by: str
    path: str
    given: dict[str, Any] = field(default_factory=dict)
    before: tuple[Valid, ...] = ()
    """What has to be asked first, all of it with POST."""
    place: Callable[[Any], str] | None = None
    """Instead of `path`, from the last answer of what was asked before."""

    def prepared(self, shop: Shop) -> Valid:
        """The same after everything before it was asked."""
        path = self.path
        for one in self.before:
            answer = one.ask(shop, "POST")
            assert answer.status_code < 300, (one.path, answer.text)
            path = self.place(answer) if self.place is not None else path
        return Valid(self.by, path, self.given)

    def ask(self, shop: Shop, method: str, **more: Any) -> Any:
        ready = self.prepared(shop)
        return shop.ask(ready.by, method, ready.path, **{**ready.given, **more})


@pytest.fixture(scope="session")
def valid(demo: Demo) -> Callable[[str], Valid]:
    """A valid request of an operation, such as `valid("POST /api/feedback")`.

    A new operation needs a line here: without one the tests of all operations fail.
    """
    return lambda name: valid_request(demo, name)


def valid_request(demo: Demo, name: str) -> Valid:
    path = name.partition(" ")[2]
    if name in _PLAIN:
        by, *rest = _PLAIN[name].split(" ")
        return Valid(by, rest[0] if rest else path)
    return _MADE[name](demo)


_PLAIN = {
    "GET /": "anonymous",
    "GET /healthz": "anonymous",
    "GET /readyz": "anonymous",
    "GET /metrics": "operator",
    "GET /api/problems": "anonymous",
    "GET /api/models": "anonymous",
    "GET /api/models/{model}/items": "anonymous /api/models/films/items",
    "GET /api/recommend/{user}": "subject /api/recommend/ann?n=3",
    "GET /api/feedback": "subject",
    "GET /api/guarantees": "anonymous",
    "GET /api/guarantees/{noun}/{name}": "anonymous /api/guarantees/models/films",
    "GET /api/privacy/budget": "subject",
    "GET /api/privacy/budgets": "operator",
    "GET /api/privacy/ledger": "auditor",
    "GET /api/curves": "analyst",
    "GET /api/disclosures": "anonymous",
    "GET /api/disclosures/{name}": "anonymous /api/disclosures/gender",
    "GET /api/campaigns": "anonymous",
    "GET /api/campaigns/{name}": "anonymous /api/campaigns/taste",
    "GET /api/campaigns/{name}/catalogue": "anonymous /api/campaigns/taste/catalogue",
    "GET /api/campaigns/{name}/counts": "analyst /api/campaigns/taste/counts",
    "GET /api/rounds": "anonymous",
    "GET /api/vendors": "anonymous",
}
"""What needs nothing: who asks, and where if that is not the operation's own path."""


def _json(by: str, path: str, content: Any, *before: Valid) -> Valid:
    return Valid(by, path, {"json": content}, before)


def _rating(_: Demo) -> Valid:
    return _json("subject", "/api/feedback", {"model": "films", "item": "1001", "stars": 4.0})


def _history(_: Demo) -> Valid:
    history = {"model": "films", "history": {"1001": 4.0}, "n": 3}
    return _json("subject", "/api/recommend", history)


def _close(demo: Demo) -> Valid:
    return Valid("operator", "/api/campaigns/taste/close", before=(_report(demo),))


def _announce(_: Demo) -> Valid:
    return _json("operator", f"{_ROUNDS}/announce", {"candidates": [1, 2, 3]})


def _open(_: Demo) -> Valid:
    votes = {f"v{number}": 1 + number % 3 for number in range(30)}
    return _json("operator", f"{_ROUNDS}/open", {"candidates": [1, 2, 3], "votes": votes})


def _recommendation(demo: Demo) -> Valid:
    return Valid("subject", f"{_ROUNDS}/recommendations", before=(_open(demo),))


def _visit(_: Demo) -> Valid:
    return _json("subject", f"{_VENDOR}/visits", {"context": [0.5, 0.5]})


def _visit_reward(demo: Demo) -> Valid:
    nowhere = f"{_VENDOR}/visits/{'0' * 96}/reward"
    click = {"json": {"clicked": True}}
    return Valid(
        *("subject", nowhere, click, (_visit(demo),)),
        place=lambda visit: f"{_VENDOR}/visits/{visit.json()['visit']}/reward",
    )


def _guest_reward(_: Demo) -> Valid:
    return _json("operator", f"{_VENDOR}/guests/{'0' * 32}/reward", {"clicked": True})


_ROUNDS = "/api/rounds/films"
_VENDOR = "/api/vendors/cinema"
_MADE: dict[str, Callable[[Demo], Valid]] = {
    "POST /api/recommend": _history,
    "POST /api/feedback": _rating,
    "DELETE /api/feedback": lambda d: Valid("subject", "/api/feedback", before=(_rating(d),)),
    "DELETE /api/users/{user}": lambda d: Valid("subject", "/api/users/ann", before=(_rating(d),)),
    "POST /api/people": lambda _: _json("operator", "/api/people", {"name": "cleo"}),
    "POST /api/visitors": lambda _: _json("anonymous", "/api/visitors", {"token": "t" * 43}),
    "POST /api/disclosures/{name}/profiles": lambda d: _profile(d),
    "GET /api/campaigns/{name}/clusters": lambda d: Valid(
        "anonymous", "/api/campaigns/taste/clusters", before=(_close(d),)
    ),
    "POST /api/campaigns/{name}/reports": lambda d: _report(d),
    "POST /api/campaigns/{name}/close": _close,
    "POST /api/rounds/{name}/announce": _announce,
    "POST /api/rounds/{name}/open": _open,
    "POST /api/rounds/{name}/votes": lambda d: _json(
        "subject", f"{_ROUNDS}/votes", {"candidate": 1}, _announce(d)
    ),
    "POST /api/rounds/{name}/recommendations": _recommendation,
    "POST /api/rounds/{name}/feedback": lambda d: _json(
        "subject", f"{_ROUNDS}/feedback", {"liked": True}, _recommendation(d)
    ),
    "POST /api/vendors/{name}/visits": _visit,
    "POST /api/vendors/{name}/visits/{visit}/reward": _visit_reward,
    "POST /api/vendors/{name}/guests/{reference}/reward": _guest_reward,
    "POST /api/vendors/{name}/forwards": lambda d: _signed(d, "forwards", _forward()),
    "POST /api/vendors/{name}/rewards": lambda d: _signed(d, "rewards", _reward()),
}


def _octets(by: str, path: str, content: bytes) -> Valid:
    headers = {"content-type": "application/octet-stream"}
    return Valid(by, path, {"content": content, "headers": headers})


_MESSAGES: dict[str, bytes] = {}
"""Of this process: a device sends the same one again."""


def _profile(demo: Demo) -> Valid:
    if "release" not in _MESSAGES:
        section = Section(TENANT, "gender", demo.folder, {"file": "gender.tacit"})
        device = ServedDisclosure.from_section(section).model.device({"gender": "F"})
        _MESSAGES["release"] = device.release({1: 5.0, 2: 3.0, 5: 1.0}).encode()
    return _octets("subject", "/api/disclosures/gender/profiles", _MESSAGES["release"])


def _report(demo: Demo) -> Valid:
    if "report" not in _MESSAGES:
        campaign = Campaign.decode((demo.folder / "taste.campaign").read_bytes())
        items = json.loads((demo.folder / "taste.items.json").read_text())
        report = Device(new_secret(), {}).report(campaign, items, {1: 5.0, 7: 4.0})
        _MESSAGES["report"] = report.encode()
    return _octets("subject", "/api/campaigns/taste/reports", _MESSAGES["report"])


def _signed(demo: Demo, what: str, message: Forward | Reward) -> Valid:
    """From the neighbour, whose messages have their own number as Idempotency-Key."""
    path = f"{_VENDOR}/{what}"
    content = message.encode()
    key = read_private_key(demo.folder / "neighbour.pem")
    headers = sign_request(
        key,
        sender="arthouse",
        audience=audience_of("cinema", read_private_key(demo.folder / "vendor.pem").public_key()),
        path=path,
        body=content,
        nonce=message.request.hex(),
        now=time.time(),
    )
    return Valid("neighbour", path, {"content": content, "headers": headers})


def _forward() -> Forward:
    return Forward(secrets.token_bytes(16), 1_000_000, 2, (0, 1))


def _reward() -> Reward:
    return Reward(secrets.token_bytes(16), 500_000)
