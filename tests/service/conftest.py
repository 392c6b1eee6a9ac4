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

from tacit.service import Service, Settings, create_app
from tacit.service.demo import TENANT, Demo, make_demo
from tacit.service.keys import KeyRing, read_secret
from tacit.service.logs import Logger

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
            headers["idempotency-key"] = given.pop("key", secrets.token_hex(8))
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
            keys.write_text(json.dumps(make_demo(base / "demo").keys))
    return Demo(base / "demo", json.loads(keys.read_text()))


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


def _start(demo: Demo, folder: Path, flags: tuple[str, ...]) -> Running:
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "tacit.cli.app", "serve", str(folder)),
            *("--port", "0", "--json", *flags),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    log: list[str] = []
    reader = threading.Thread(target=_follow, args=(process, log), daemon=True)
    reader.start()
    line = process.stdout.readline()
    if not line:
        process.wait(10)
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
    """What has to be asked first."""

    def ask(self, shop: Shop, method: str, **more: Any) -> Any:
        for one in self.before:
            answer = one.ask(shop, "POST")
            assert answer.status_code < 300, answer.text
        return shop.ask(self.by, method, self.path, **{**self.given, **more})


@pytest.fixture(scope="session")
def valid(demo: Demo) -> Callable[[str], Valid]:
    """A valid request of an operation, such as `valid("POST /api/feedback")`.

    A new operation needs a line here: without one the tests of all operations fail.
    """
    return valid_requests(demo).__getitem__


def valid_requests(demo: Demo) -> dict[str, Valid]:
    token = "t" * 43
    return {
        "GET /healthz": Valid("anonymous", "/healthz"),
        "GET /readyz": Valid("anonymous", "/readyz"),
        "GET /metrics": Valid("operator", "/metrics"),
        "GET /api/problems": Valid("anonymous", "/api/problems"),
        "GET /api/models": Valid("anonymous", "/api/models"),
        "GET /api/models/{model}/items": Valid("anonymous", "/api/models/films/items"),
        "GET /api/recommend/{user}": Valid("subject", "/api/recommend/ann?n=3"),
        "POST /api/recommend": Valid(
            "subject",
            "/api/recommend",
            {"json": {"model": "films", "history": {"1001": 4.0}, "n": 3}},
        ),
        "POST /api/feedback": _feedback(),
        "GET /api/feedback": Valid("subject", "/api/feedback"),
        "DELETE /api/feedback": Valid("subject", "/api/feedback", before=(_feedback(),)),
        "GET /api/guarantees": Valid("anonymous", "/api/guarantees"),
        "GET /api/guarantees/{noun}/{name}": Valid("anonymous", "/api/guarantees/models/films"),
        "GET /api/privacy/budget": Valid("subject", "/api/privacy/budget"),
        "GET /api/privacy/budgets": Valid("operator", "/api/privacy/budgets"),
        "GET /api/privacy/ledger": Valid("auditor", "/api/privacy/ledger"),
        "GET /api/curves": Valid("analyst", "/api/curves"),
        "DELETE /api/users/{user}": Valid("subject", "/api/users/ann", before=(_feedback(),)),
        "POST /api/people": Valid("operator", "/api/people", {"json": {"name": "cleo"}}),
        "POST /api/visitors": Valid("anonymous", "/api/visitors", {"json": {"token": token}}),
        "GET /api/disclosures": Valid("anonymous", "/api/disclosures"),
        "GET /api/disclosures/{name}": Valid("anonymous", "/api/disclosures/gender"),
        "POST /api/disclosures/{name}/profiles": Valid(
            "subject", "/api/disclosures/gender/profiles", _octets(_release(demo))
        ),
        "GET /api/campaigns": Valid("anonymous", "/api/campaigns"),
        "GET /api/campaigns/{name}": Valid("anonymous", "/api/campaigns/taste"),
        "GET /api/campaigns/{name}/catalogue": Valid("anonymous", "/api/campaigns/taste/catalogue"),
        "GET /api/campaigns/{name}/clusters": Valid(
            "anonymous", "/api/campaigns/taste/clusters", before=(_close(demo),)
        ),
        "POST /api/campaigns/{name}/reports": _report(demo),
        "POST /api/campaigns/{name}/close": _close(demo),
        "GET /api/campaigns/{name}/counts": Valid("analyst", "/api/campaigns/taste/counts"),
    }


def _feedback() -> Valid:
    rating = {"model": "films", "item": "1001", "stars": 4.0}
    return Valid("subject", "/api/feedback", {"json": rating})


def _octets(content: bytes) -> dict[str, Any]:
    return {"content": content, "headers": {"content-type": "application/octet-stream"}}


def _release(demo: Demo) -> bytes:
    from tacit.service.deployment import Section
    from tacit.service.disclosures import ServedDisclosure

    section = Section(TENANT, "gender", demo.folder, {"file": "gender.tacit"})
    device = ServedDisclosure.from_section(section).model.device({"gender": "F"})
    return bytes(device.release({1: 5.0, 2: 3.0, 5: 1.0}).encode())


def _report(demo: Demo) -> Valid:
    from tacit.recommenders.sketches import Campaign, Device, new_secret

    campaign = Campaign.decode((demo.folder / "taste.campaign").read_bytes())
    items = json.loads((demo.folder / "taste.items.json").read_text())
    report = Device(new_secret(), {}).report(campaign, items, {1: 5.0, 7: 4.0}).encode()
    return Valid("subject", "/api/campaigns/taste/reports", _octets(report))


def _close(demo: Demo) -> Valid:
    return Valid("operator", "/api/campaigns/taste/close", before=(_report(demo),))
