"""The ledger's store is stopped, killed or locked under a running service.

While it is away nothing is released and 503 comes soon; afterwards the service goes on by itself,
and what was asked in vain is asked again with the same key and charged once.
"""

from __future__ import annotations

import errno
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tacit.ledger import BudgetExhausted, Cap, Holder
from tacit.service.keys import KeyRing
from tests.support.ledger_requests import ask

FEW, MANY = 40, pytest.param(100, marks=pytest.mark.long)
"""People who ask while the store is away, one every tenth of a second."""
SOON = {"TACIT_ANSWER_WITHIN": "1.8"}
"""Seconds until a request is given up, as by default."""


@dataclass
class Asked:
    """One answer."""

    person: str
    status: int
    content: bytes


class People:
    """Everybody reports once, one after the other, until told to stop; each in her own thread."""

    def __init__(self, running: Any, request: Any) -> None:
        secret = (running.folder / "service.secret").read_bytes()
        self._ring = KeyRing(running.folder / "keys.json", secret, "demo")
        self._running = running
        self._request = request
        self._client = httpx2.Client(base_url=running.address, timeout=300)
        self._threads: list[threading.Thread] = []
        self.asked: list[Asked] = []

    def report(self, person: str) -> Asked:
        """Her report, with the key that is hers."""
        headers = {
            **self._request.given["headers"],
            "authorization": f"Bearer {self._ring.person_key(person)}",
            "idempotency-key": f"report-of-{person}",
        }
        answer = self._client.post(
            self._request.path, content=self._request.given["content"], headers=headers
        )
        return Asked(person, answer.status_code, answer.content)

    def until_taken(self, person: str) -> Asked:
        """Again with her key, until it is answered."""
        while (asked := self.report(person)).status == 503:
            time.sleep(0.1)
        return asked

    def all_report(self, count: int, every: float = 0.1) -> None:
        """So many new people; returns when all of them were answered."""
        for _ in range(count):
            person = f"p{len(self._threads)}"
            thread = threading.Thread(target=lambda p=person: self.asked.append(self.report(p)))
            thread.start()
            self._threads.append(thread)
            time.sleep(every)
        for thread in self._threads:
            thread.join()

    def get(self, path: str, role: str = "operator") -> Any:
        headers = {"authorization": f"Bearer {self._running.keys[role]}"}
        return self._client.get(path, headers=headers)

    def close(self) -> None:
        self._client.close()


@contextmanager
def people_of(running: Any, valid: Any) -> Iterator[People]:
    people = People(running, valid("POST /api/campaigns/{name}/reports"))
    try:
        yield people
    finally:
        people.close()


def outage(people: People, away, count: int, wait_until) -> None:
    """People report before, while and after the store is away; then what must hold is checked."""
    people.all_report(8)
    assert {people.until_taken(one.person).status for one in people.asked} == {200}
    before = len(people.asked)
    with away():
        people.all_report(count)  # all are answered before the store is back
        assert people.get("/healthz").status_code == 200
        wait_until(lambda: people.get("/api/campaigns/taste/catalogue").status_code == 200)
        assert people.get("/readyz").status_code == 503
    during = people.asked[before:]
    assert len(during) == count
    assert {one.status for one in during} == {503}
    assert all(b"demo" not in one.content for one in during)
    recover(people, wait_until)


def recover(people: People, wait_until) -> None:
    """Without a restart everybody is answered, again with the same key, and charged once."""
    wait_until(lambda: people.get("/readyz").status_code == 200)
    for one in list(people.asked):
        again = people.until_taken(one.person)
        assert again.status == 200
        assert one.status == 503 or again.content == one.content
    wait_until(lambda: people.get("/api/privacy/budgets?limit=1000").status_code == 200)
    budgets = people.get("/api/privacy/budgets?limit=1000").json()["budgets"]
    spent = {row["name"]: row["budget"]["spent"] for row in budgets if row["kind"] == "subject"}
    assert {one.person for one in people.asked} <= {*spent}
    assert len(set(spent.values())) == 1
    wait_until(lambda: people.get("/api/privacy/ledger").json().get("replayed") is not None)
    assert people.get("/api/privacy/ledger").json()["replayed"]["sound"]


def everybody(master: int) -> list[int]:
    """A process and its children."""
    children = Path(f"/proc/{master}/task/{master}/children").read_text().split()
    return [master, *map(int, children)]


@pytest.fixture
def on_postgres(started, postgres, tmp_path):
    """A service whose ledger is in PostgreSQL."""
    return started("--database", postgres.database(), "--second", str(tmp_path / "head"), **SOON)


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_server_that_stands_still(on_postgres, postgres, valid, count, wait_until):
    """Every process of the server stopped in its tracks: it takes requests and answers none."""

    @contextmanager
    def frozen() -> Iterator[None]:
        processes = everybody(postgres.process.pid)
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    with people_of(on_postgres, valid) as people:
        outage(people, frozen, count, wait_until)
    assert "Traceback" not in on_postgres.log()


@pytest.mark.parametrize("count", [FEW, MANY])
def test_a_server_that_is_gone(on_postgres, postgres, valid, count, wait_until):
    """The server killed, and started again later."""

    @contextmanager
    def killed() -> Iterator[None]:
        postgres.kill()
        try:
            yield
        finally:
            postgres.start()

    with people_of(on_postgres, valid) as people:
        outage(people, killed, count, wait_until)
    assert "Traceback" not in on_postgres.log()


@pytest.mark.parametrize(
    "error",
    [errno.ENOSPC, errno.EIO, pytest.param(errno.EROFS, marks=pytest.mark.long)],
    ids=errno.errorcode.get,
)
def test_a_disk_that_fails(started, valid, shim, tmp_path, wait_until, error):
    """Every write to the ledger's files fails for a time: 503, nothing is released. After a full
    disk the service goes on by itself; a disk that failed is trusted again after a restart."""
    switch = tmp_path / "outage"
    faults = {"LD_PRELOAD": str(shim), "TACIT_FAULTS": "/budgets.db", "TACIT_OUTAGE": str(switch)}
    running = started(**SOON, **faults)

    @contextmanager
    def failing() -> Iterator[None]:
        switch.write_text(str(error))
        try:
            yield
        finally:
            switch.unlink()

    with people_of(running, valid) as people:
        people.all_report(4)
        with failing():
            people.all_report(4)
            assert people.get("/healthz").status_code == 200
        assert [one.status for one in people.asked] == [200] * 4 + [503] * 4
        if error == errno.ENOSPC:
            recover(people, wait_until)
        else:
            assert people.report("later").status == 503
            assert b"tell the operator" in people.report("later").content
    assert "Traceback" not in running.log()


def test_a_clock_that_is_set(shop, monkeypatch):
    """An hour forward, two back: nothing is renewed, nothing waits, and the log stays sound."""
    now, moved = time.time, [0.0]
    monkeypatch.setattr(time, "time", lambda: now() + moved[0])
    holder = Holder.subject("demo", "ann")
    shop.service.ledger.open_budget(holder, Cap.pure("0.000002"))
    for number, step in enumerate((0.0, 3600.0, -3600.0)):
        moved[0] = step
        began = time.monotonic()
        if number < 2:
            ask(shop.service.ledger, f"k{number}", holder)
        else:
            with pytest.raises(BudgetExhausted):
                ask(shop.service.ledger, f"k{number}", holder)
        assert shop.get("subject", "/api/privacy/budget").is_success
        assert time.monotonic() - began < 60
    assert shop.service.ledger.verify().is_sound


def test_a_service_without_its_server(folder, capsys, tmp_path):
    """A service whose ledger cannot be reached does not start, and says so in a sentence."""
    from tacit.cli.app import main

    where = f"postgresql://tacit:c4n4ry@/x?host={tmp_path}"
    words = ["serve", str(folder), "--port", "0", "--database", where]
    assert main([*words, "--second", str(tmp_path / "head")]) == 1
    told = capsys.readouterr().err
    assert "cannot be reached" in told
    assert "c4n4ry" not in told


def test_stopping_while_the_store_is_away(on_postgres, postgres, valid):
    """SIGTERM while requests hang on the store: it ends before the store is back."""
    processes = everybody(postgres.process.pid)
    with people_of(on_postgres, valid) as people:
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            people.all_report(5)
            on_postgres.stop()
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)


def test_a_frozen_server_holds_no_thread(
    demo, shops, folder, postgres, valid, tmp_path, wait_until
):
    """More requests than there are threads meet a server that was stopped in its tracks: each is
    503, no thread waits on for it, what needs no store is answered, and afterwards all goes on."""
    where = {"database": postgres.database(), "second": str(tmp_path / "head")}
    with shops(demo, folder, answer_within=1.8, **where) as shop:
        ask = valid("POST /api/feedback")
        wait_until(lambda: ask.ask(shop, "POST").status_code == 200)
        processes = everybody(postgres.process.pid)
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            with ThreadPoolExecutor(100) as people:
                statuses = list(people.map(lambda _: ask.ask(shop, "POST").status_code, range(100)))
            assert statuses == [503] * 100
            wait_until(lambda: not shop.app.middleware_app.running)
            catalogue = "/api/campaigns/taste/catalogue"
            wait_until(lambda: shop.get(None, catalogue).status_code == 200)
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)
        wait_until(lambda: ask.ask(shop, "POST").status_code == 200)
