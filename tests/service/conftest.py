"""Services for tests: a demonstration's folder, its application here, and real processes.

    def test_mine(shop):
        answer = shop.post("subject", "/api/feedback", json={...})

`shop` is an application on its own copy of the folder, so what a test changes stays its own.
`started("--workers", "2")` starts `tacit serve` on a free port of this machine.
"""

from __future__ import annotations

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
        """A response; a new Idempotency-Key unless `key` names one. role None: nobody."""
        headers = dict(given.pop("headers", {}))
        if role is not None:
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
    """The demonstration's folder, made once. Not to be served from: `folder` is a copy of it."""
    return make_demo(tmp_path_factory.mktemp("demo") / "shop")


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
