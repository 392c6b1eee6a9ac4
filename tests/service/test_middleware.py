"""The door: limits, deadlines, what is written down, and what an answer carries."""

from __future__ import annotations

import asyncio
import io
import json
import threading
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from fastapi import APIRouter

from tacit.errors import ConfigError, ModelFileError
from tacit.ledger import (
    BudgetExhausted,
    DrawFailed,
    KeyReused,
    LedgerRefused,
    LedgerUnavailable,
    UnknownBudget,
)
from tacit.service import Settings, application, middleware
from tacit.service.deployment import Deployment
from tacit.service.event_log import EventLog, redirect_library_warnings
from tacit.service.limits import RateLimits
from tacit.service.operations import Operation
from tacit.service.problems import KINDS, Problem, problem_body, problem_of_error
from tacit.service.security_headers import HEADERS
from tacit.service.service import Service


def test_every_answer_has_its_headers(shared_shop):
    """Success, problem and what is not found: each forbids caching, framing and sniffing."""
    for path in ("/healthz", "/metrics", "/nothing", "/api/models"):
        answer = shared_shop.client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS
        assert len(answer.headers["x-request-id"]) == 16


def test_an_address_has_one_spelling(shared_shop):
    """Nothing redirects: an address that is spelled otherwise is nothing."""
    for path in ("/api/models/", "//api/models", "/API/models", "/api//models", "/healthz/"):
        assert shared_shop.client.get(path, follow_redirects=False).status_code == 404


@pytest.mark.parametrize("host", ["shop.example", "localhost.x.example", "", "127.0.0.2", "[::2]"])
def test_a_foreign_name_of_the_service_is_refused(shared_shop, host):
    """A web page that points its own name at this machine reads nothing, not even liveness."""
    for path in ("/healthz", "/api/models", "/"):
        answer = shared_shop.client.get(path, headers={"host": host})
        assert answer.status_code == 400
        assert "hosts" in answer.json()["detail"]


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8000", "127.0.0.1:9", "[::1]:8000"])
def test_this_machine_is_known_by_its_own_names(shared_shop, host):
    """With and without a port, in capitals too."""
    assert shared_shop.client.get("/healthz", headers={"host": host}).status_code == 200


def test_hosts_are_those_of_the_settings(tmp_path):
    """Named ones replace this machine's; behind a proxy any is answered until some are named."""
    assert Settings(tmp_path).known_hosts == {"localhost", "127.0.0.1", "::1"}
    assert Settings(tmp_path, hosts="Shop.example, b.example").known_hosts == {
        "shop.example",
        "b.example",
    }
    assert Settings(tmp_path, behind_tls=True).known_hosts is None
    assert Settings(tmp_path, hosts="*").known_hosts is None


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json; charset=utf-16", 415),
        ('application/json; a=b; Charset="UTF-16LE"', 415),
        ("application/json; charset=latin-1", 415),
        ("application/json; charset=utf-8", 401),
        ('application/json;charset="UTF-8"', 401),
        ("application/json", 401),
    ],
)
def test_a_body_is_utf_8(shared_shop, kind, status):
    """Another charset is refused before the text is read; UTF-8 may be said."""
    headers = {"content-type": kind, "idempotency-key": "12345678"}
    answer = shared_shop.client.post("/api/people", content=b"{}", headers=headers)
    assert answer.status_code == status


def test_no_other_site_reads(shared_shop):
    """A page from elsewhere is not allowed to read, nor to ask with a key."""
    asked = {"origin": "https://elsewhere.example", "access-control-request-method": "POST"}
    for method in ("GET", "OPTIONS"):
        answer = shared_shop.client.request(method, "/api/models", headers=asked)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_too_many(demo, shops, folder):
    """Beyond the burst there is 429 with when to come back; others are answered meanwhile."""
    with shops(demo, folder, per_second=0.5, burst=3) as shop:
        answers = [shop.get("operator", "/metrics") for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert shop.get("auditor", "/metrics").status_code == 200
        assert shop.get(None, "/healthz").status_code == 200


def test_wrong_keys_count_too(demo, shops, folder):
    """Guessing keys is counted by address."""
    with shops(demo, folder, per_second=0.01, burst=3) as shop:
        shop.keys["wrong"] = "tacit_operator." + "0" * 64
        found = [shop.get("wrong", "/metrics").status_code for _ in range(5)]
        assert found == [401, 401, 401, 429, 429]


@pytest.mark.parametrize("headers", ["Basic x", "Bearer", "x"])
def test_malformed_keys_count_too(demo, shops, folder, headers):
    """By address, and liveness is answered all the same."""
    with shops(demo, folder, per_second=0.01, burst=3) as shop:
        sent = {"authorization": headers}
        found = [shop.client.get("/metrics", headers=sent).status_code for _ in range(5)]
        assert found == [401, 401, 401, 429, 429]
        assert shop.client.get("/healthz", headers=sent).status_code == 401
        assert shop.get(None, "/healthz").status_code == 200


def test_a_bucket_refills():
    """As many as refilled meanwhile are let through, never more than the burst."""
    now = [0.0]
    limits = RateLimits(per_second=2.0, burst=4, clock=lambda: now[0])

    def let_through() -> int:
        count = 0
        try:
            while True:
                limits.take("ann")
                count += 1
        except Problem:
            return count

    assert let_through() == 4
    now[0] += 1.0
    assert let_through() == 2
    now[0] += 1000.0
    assert let_through() == 4


@pytest.mark.parametrize(
    ("one", "another", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:0:0:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("2001:db8::1%eth0", "2001:db8::2", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("no:address", "no:address", True),
    ],
)
def test_addresses_are_counted_by_network(one, another, same):
    """A subscriber of IPv6 has 2^64 addresses, and one bucket. Names of keys stay what they are."""
    limits = RateLimits(per_second=1.0, burst=1, clock=lambda: 0.0)
    limits.take(f"address/{one}")
    if same:
        with pytest.raises(Problem):
            limits.take(f"address/{another}")
    else:
        limits.take(f"address/{another}")


@pytest.fixture
def held(monkeypatch):
    """Guarantees are not told before `held.go` is set; `held.begun` counts who asked."""
    gate = SimpleNamespace(begun=[], go=threading.Event())

    def guarantees(self) -> dict:
        if threading.current_thread() is not threading.main_thread():  # which opens the service
            gate.begun.append(1)
            gate.go.wait()
        return {}

    monkeypatch.setattr(Deployment, "cards", property(guarantees))
    yield gate
    gate.go.set()


def test_an_answer_in_time_or_none(demo, shops, folder, held, wait_until):
    """What takes too long is 503 with Retry-After, and the service goes on."""
    with shops(demo, folder, answer_within=0.2) as shop:
        answer = shop.get(None, "/api/guarantees")
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
        held.go.set()
        wait_until(lambda: shop.get(None, "/api/models").status_code == 200)


def test_what_waited_too_long_does_not_begin(demo, shops, folder, held, wait_until):
    """While all threads are busy, what gets no thread in time is given up and never run."""
    with shops(demo, folder, threads=2) as shop:
        asking = [Asking(shop, "/api/guarantees") for _ in range(2)]
        wait_until(lambda: len(held.begun) == 2)
        object.__setattr__(shop.service.settings, "answer_within", 0.3)
        late = [Asking(shop, "/api/guarantees") for _ in range(6)]
        assert [one.status() for one in late] == [503] * 6
        assert shop.get(None, "/healthz").status_code == 200
        held.go.set()
        assert [one.status() for one in asking] == [200] * 2
        wait_until(lambda: shop.get(None, "/api/models").status_code == 200)
        assert len(held.begun) == 2


def test_a_bound_on_what_waits(demo, shops, folder, held, wait_until):
    """Beyond the bound a request is turned away at once, not after a wait."""
    with shops(demo, folder, threads=1, most_waiting=1) as shop:
        asking = [Asking(shop, "/api/guarantees")]
        wait_until(lambda: len(held.begun) == 1)
        asking += [Asking(shop, "/api/guarantees") for _ in range(5)]
        wait_until(lambda: sum(one.answered() for one in asking) == 4)
        held.go.set()
        assert sorted(one.status() for one in asking) == [200, 200, 503, 503, 503, 503]


class Asking(threading.Thread):
    """A request of its own thread, which has begun."""

    def __init__(self, shop, path: str) -> None:
        super().__init__()
        self._ask = lambda: shop.get(None, path).status_code
        self._found: list[int] = []
        self.start()

    def run(self) -> None:
        self._found.append(self._ask())

    def answered(self) -> bool:
        return bool(self._found)

    def status(self) -> int:
        self.join()
        return self._found[0]


def test_a_fault_tells_nothing(demo, shops, folder, monkeypatch):
    """What breaks is 500 without its message; the log has its kind and its place alone."""

    def broken(self):
        raise RuntimeError("c4n4ry of ann")

    with shops(demo, folder) as shop:
        monkeypatch.setattr(Deployment, "cards", property(broken))
        answer = shop.get(None, "/api/guarantees")
        assert answer.status_code == 500
        assert answer.json()["type"].endswith("#fault")
        assert "c4n4ry" not in answer.text
        log = shop.logged.getvalue()
        assert "c4n4ry" not in log
        faults = [one for one in map(json.loads, log.splitlines()) if one["event"] == "fault"]
        assert [one["kind"] for one in faults] == ["RuntimeError"]
        assert faults[0]["place"].startswith("test_middleware.py:")
        assert faults[0]["request_id"] == answer.headers["x-request-id"]


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (LedgerUnavailable("c4n4ry"), 503, "not-available"),
        (LedgerRefused("c4n4ry"), 503, "not-available"),
        (BudgetExhausted(), 409, "budget-exhausted"),
        (KeyReused(), 422, "key-reused"),
        (DrawFailed(), 409, "not-now"),
        (UnknownBudget(), 422, "not-sound"),
        (ConfigError("c4n4ry"), 422, "not-sound"),
        (ModelFileError("c4n4ry"), 500, "fault"),
    ],
)
def test_errors_of_the_library(error, status, kind):
    """Each becomes its own kind of problem, without the sentence that it came with."""
    problem = problem_of_error(error)
    told = problem_body(problem.status, problem.detail, problem.kind)
    assert (told["status"], told["type"].rpartition("#")[2]) == (status, kind)
    assert "c4n4ry" not in str(told)


def test_kinds_of_problems_are_listed(shared_shop):
    """The type of every problem is a line of the list that it points to."""
    listed = shared_shop.get(None, "/api/problems").json()["problems"]
    assert len({one["type"] for one in listed}) == len(KINDS)
    told = shared_shop.get(None, "/metrics").json()
    assert told["type"] in {one["type"] for one in listed}
    assert told["type"].partition("#")[0] == "/api/problems"


def test_an_operation_without_roles(shared_shop):
    """There is none: it is refused when it is written, also in an application that is served."""
    router = APIRouter(route_class=Operation)
    for place in (router, shared_shop.app):
        with pytest.raises(ConfigError, match="/open names no roles"):

            @place.get("/open")
            def unguarded() -> None: ...


def test_every_route_is_an_operation(shared_shop):
    """No router came in with routes of another class, which would check nothing."""
    assert {type(route) for route in shared_shop.app.routes} == {Operation}


def test_a_line_for_each_request(demo, shops, folder):
    """Operation, status and time, never an address or a method that somebody made up."""
    with shops(demo, folder) as shop:
        shop.get("subject", "/api/recommend/ann")
        shop.get(None, "/c4n4ry")
        shop.client.request("C4N4RY", "/api/models")
        lines = [json.loads(line) for line in shop.logged.getvalue().splitlines()]
        asked = [line for line in lines if line["event"] == "request"]
        assert [line["operation"] for line in asked] == [
            "GET /api/recommend/{user}",
            "none",
            "none",
        ]
        assert {*asked[0]} == {
            *("event", "milliseconds", "operation", "request_id", "status", "time"),
        }
        metrics = shop.get("operator", "/metrics").text
        assert 'operation="GET /api/recommend/{user}"' in metrics
        assert "C4N4RY" not in metrics


def test_libraries_are_logged_without_their_messages():
    """What a library warns of is told by name and kind."""
    import logging

    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        redirect_library_warnings(EventLog(stream))
        logging.getLogger("asyncio").error("c4n4ry", exc_info=ValueError("c4n4ry"))
        logging.getLogger("quiet").info("c4n4ry")
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        logging.captureWarnings(False)
    (line,) = stream.getvalue().splitlines()
    assert "c4n4ry" not in line
    assert {name: json.loads(line)[name] for name in ("event", "name", "level", "kind")} == {
        "event": "library",
        "name": "asyncio",
        "level": "error",
        "kind": "ValueError",
    }


def test_the_ledger_is_closed_after_an_error_of_background_work(demo, shops, folder, monkeypatch):
    """The error is raised, and another process may open the ledger."""

    @asynccontextmanager
    async def fail_at_the_end(*_):
        yield
        raise AttributeError

    monkeypatch.setattr(application, "watch_models", fail_at_the_end)
    closed = []
    close = Service.close
    monkeypatch.setattr(Service, "close", lambda service: (closed.append(1), close(service)))
    with pytest.raises(AttributeError), shops(demo, folder):
        pass
    assert closed


def test_answers_on_a_grid(demo, shops, folder, monkeypatch):
    """With a grid, an answer starts at a multiple of it, whether it succeeds or not."""
    waits = []
    sleep = asyncio.sleep

    async def noted(seconds, *rest):
        waits.append(seconds)
        await sleep(0, *rest)

    sleeping = {**vars(asyncio), "sleep": noted}
    monkeypatch.setattr(middleware, "asyncio", SimpleNamespace(**sleeping))
    clock = iter(i * 0.037 for i in range(10**6))
    monkeypatch.setattr(middleware, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    with shops(demo, folder, grid=0.1) as shop:
        for path in ("/api/models", "/nothing", "/metrics"):
            shop.get(None, path)
    assert waits == pytest.approx([0.1 - 0.037] * 3)
