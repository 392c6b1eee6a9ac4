"""Two device lives that differ only in what is held back, through the whole service.

The Python client speaks HTTP to a small door on this machine, which notes every request and its
second and hands it to the application. Everything that the service sees, keeps, logs and counts is
then compared. A device that speaks with each rating fails the same comparison.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tacit.client import Account, Client, Memory
from tacit.designs.standard_scheme import Device, State
from tacit.designs.standard_scheme.epochs import calendar_epoch, epoch_start
from tacit.errors import ConfigError
from tacit.recommenders.model_files import load_model
from tests.support.service_process import store_of

SECRET, OWN = bytes(range(40, 72)), {"gender": "F"}
HOUR, DAY = 3600, 86_400
WEEKS = 3
STEP = 6 * HOUR
"""Seconds between two times at which the program is open."""


@dataclass
class Seen:
    """requests: second, method, path, headers and body. answers: status and body."""

    requests: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    kept: list = field(default_factory=list)
    logged: list = field(default_factory=list)
    counted: list = field(default_factory=list)


class Clock:
    """The time of device and service."""

    def __init__(self) -> None:
        self.now = 0

    def time(self) -> float:
        return float(self.now)


@pytest.fixture
def clock(monkeypatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(time, "time", clock.time)
    return clock


@pytest.fixture(scope="module")
def tables(demo):
    return load_model(demo.folder / "gender.tacit").disclosure_


@pytest.fixture(scope="module")
def lives(tables):
    """Two histories, item to (stars, day of entry): equal in what is shown, not in the rest."""
    every = {item: 1.0 + number % 5 for number, item in enumerate(tables.items)}
    state = State(created=0)
    Device(tables, OWN, state, SECRET).release(every, 0)
    decided = {item: record.level for item, record in state.records.items()}
    shown = [item for item in tables.items if decided.get(item) is not None][:40]
    held_back = [item for item in tables.items if item in decided and decided[item] is None]
    assert len(held_back) >= 10
    both = {item: (every[item], number % (7 * WEEKS)) for number, item in enumerate(shown)}
    more = {item: (5.0, 3 * number) for number, item in enumerate(held_back)}
    never = [item for item in tables.items if item not in decided]
    return both, both | more | dict.fromkeys(never, (2.0, 1))


def live(shops, demo, where, clock, history, speak) -> Seen:
    """One account from its creation on, on a service of its own; `speak` is how it speaks."""
    week = 7 * DAY
    made = epoch_start(calendar_epoch(1_800_000_000, week), week) + DAY
    clock.now, seen = made, Seen()
    with shops(demo, where) as shop, door(shop, clock, seen) as url:
        client = Client(
            url,
            shop.service.keys.person_key("ann"),
            account=Account(SECRET, made),
            memory=Memory(),
        )
        for clock.now in range(made, made + WEEKS * week, STEP):
            entered = {
                item: made + day * DAY
                for item, (_, day) in history.items()
                if made + day * DAY <= clock.now
            }
            stars = {item: history[item][0] for item in entered}
            speak(client, stars, entered)
            client.recommend_on_device("gender", stars)
        shop.delete("subject", "/api/users/ann", key="forget-ann")
        seen.kept = kept(shop.folder)
        seen.logged = [without_times(line) for line in shop.logged.getvalue().splitlines()]
        metrics = shop.get("operator", "/metrics").text.splitlines()
        seen.counted = [line for line in metrics if "tacit_requests_total" in line]
        seen.counted += shop.get("operator", "/api/privacy/budgets").json()["budgets"]
    return seen


@contextmanager
def door(shop, clock, seen):
    """An address whose requests the application answers, with the second noted."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            del headers["host"]  # it has the door's port
            seen.requests.append((clock.now, self.command, self.path, headers, body))
            answer = shop.client.request(self.command, self.path, content=body, headers=headers)
            seen.answers.append((answer.status_code, answer.content))
            self.send_response(answer.status_code)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        def do_GET(self):
            self.answer()

        def do_POST(self):
            self.answer()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def kept(folder) -> list:
    """The ledger's rows, but for random bytes and the hashes of what begins with them; the log."""
    questions = (
        "select tenant, subject, operation, request_key, payload from ledger_requests",
        "select name, sequence, length(state) from ledger_states",
        "select sequence, length(answer) from ledger_answers",
        "select sequence, kind from ledger_log",
    )
    with store_of(folder) as store:
        rows = [row for question in questions for row in sorted(store.execute(question))]
    return [*rows, (folder / "gender.digests").read_bytes()]


def without_times(line: str) -> dict:
    content = json.loads(line)
    return {name: content[name] for name in content if name in ("event", "operation", "status")}


def by_the_calendar(client, stars, entered):
    """As the client does it; asked twice, and with lists and predictions in between."""
    for _ in range(2):
        client.send_letter("gender", OWN, stars, entered=entered)
        with suppress(ConfigError):  # before the first letter there are no scores
            client.recommend_from_letter("gender", stars)
            client.predict("gender", OWN)


class WithEachRating:
    """As a program would do it that begins a visit with each rating."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, client, stars, entered):
        for _ in range(len(stars) - self._count):
            client.disclosure("gender")
        self._count = len(stars)
        client.send_letter("gender", OWN, stars, entered=entered)


@pytest.fixture
def folders(demo, tmp_path):
    """Two copies of one deployment: the same model, and the same secret of the service."""
    first = tmp_path / "first"
    shutil.copytree(demo.folder, first)
    (first / "service.secret").write_bytes(bytes(32))
    (first / "service.secret").chmod(0o600)
    return first, shutil.copytree(first, tmp_path / "second")


def test_what_is_held_back_does_not_show(shops, demo, folders, clock, lives):
    """Every byte and second of every request, every answer, row, log line and count is equal."""
    one, other = (
        live(shops, demo, where, clock, history, by_the_calendar)
        for where, history in zip(folders, lives, strict=True)
    )
    letters = [body for _, _, path, _, body in one.requests if path.endswith("/letters")]
    assert len(set(letters)) == len(letters) == 2 + WEEKS
    assert all(status == 200 for status, _ in one.answers)
    assert one.requests == other.requests
    assert one.answers == other.answers
    assert one.kept == other.kept
    assert one.logged == other.logged
    assert one.counted == other.counted


def test_the_comparison_finds_a_device_that_counts(shops, demo, folders, clock, lives):
    """A program that asks for something with each rating is told apart by the same comparison."""
    one, other = (
        live(shops, demo, where, clock, history, WithEachRating())
        for where, history in zip(folders, lives, strict=True)
    )
    assert one.requests != other.requests
    assert one.logged != other.logged
    assert one.counted != other.counted
