"""Services for tests: a demonstration's folder, its application here, and real processes.

    def test_mine(shop):
        answer = shop.post("subject", "/api/feedback", json={...})

`shop` is an application on its own copy of the folder, so what a test changes stays its own.
`started("--port", "0")` starts `tacit serve` on a free port of this machine.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.service.demo import Demo, make_demo
from tacit.service.resources import budgets
from tests.support.seen import require_any
from tests.support.service_process import Running, start_process
from tests.support.service_requests import Operation, Valid, operations_of, valid_request
from tests.support.service_shop import PATIENT, Shop, befriend, open_shop


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
            keys.write_text(json.dumps({**made.keys, "neighbour": befriend(made.folder)}))
    return Demo(base / "demo", json.loads(keys.read_text()))


@pytest.fixture(autouse=True)
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay of the ledger's log is waited for, however long it takes."""
    monkeypatch.setattr(budgets, "REPLAY_SECONDS", PATIENT)


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


@pytest.fixture(scope="session")
def shops() -> Callable[..., Any]:
    """`open_shop`, for tests that choose the settings."""
    return open_shop


@pytest.fixture
def started(demo: Demo, folder: Path) -> Iterator[Callable[..., Running]]:
    """Starts services with flags of `tacit serve`; all are stopped at the end."""
    processes: list[Running] = []

    def start(*flags: str, where: Path = folder, **settings: str) -> Running:
        processes.append(start_process(demo, where, flags, **settings))
        return processes[-1]

    yield start
    for running in processes:
        if running.process.stdout is not None and not running.process.stdout.closed:
            running.stop()  # unless the test did


@pytest.fixture
def two_workers(
    started: Callable[..., Running], postgres: Any, tmp_path: Path
) -> Callable[..., Running]:
    """Starts a service of two workers, whose ledger is in PostgreSQL."""
    place = ("--database", postgres.database(), "--second", str(tmp_path / "head"))
    return lambda: started("--workers", "2", *place)


@pytest.fixture(scope="module")
def running(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One process for all tests of a file that do not mind each other."""
    copy = Path(shutil.copytree(demo.folder, tmp_path_factory.mktemp("running") / "shop"))
    process = start_process(demo, copy, ("--visitors",))
    yield process
    process.stop()


@pytest.fixture
def operations(shared_shop: Shop) -> list[Operation]:
    """All operations of the interface."""
    return require_any(operations_of(shared_shop.app))


@pytest.fixture(scope="session")
def valid(demo: Demo) -> Callable[[str], Valid]:
    """A valid request of an operation, such as `valid("POST /api/feedback")`.

    A new operation needs a line here: without one the tests of all operations fail.
    """
    return lambda name: valid_request(demo, name)
