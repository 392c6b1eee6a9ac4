"""Every operation of the interface, at the same door: refusals, limits, deadline, log and counts.

The operations come from the OpenAPI document, so one that is added is walked as well.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from decimal import Decimal

from tacit.service.operations import Operation
from tacit.service.security_headers import HEADERS

ALWAYS = "GET /healthz"
"""Not limited: whoever asks whether the process lives must hear it."""


def told(answer, status: int) -> str:
    """What kind of problem it is; a problem of this status, with the headers of every answer."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    return answer.json()["type"].rpartition("#")[2]


def place_of(operation) -> str:
    """An address of it. Only the route is looked at."""
    return re.sub(r"\{[^}]+\}", "x" * 8, operation.path)


def test_one_line_and_one_count(shared_shop, operations, valid):
    """A request of each is one line of the log and one count, both by the operation's own name."""
    for operation in operations:
        ready = valid(operation.name).prepared(shared_shop)
        counted = count(shared_shop, operation.name)
        shared_shop.logged.seek(0)
        shared_shop.logged.truncate()
        answer = shared_shop.ask(ready.by, operation.method, ready.path, **ready.given)
        assert answer.status_code == 200, operation.name
        lines = [json.loads(line) for line in shared_shop.logged.getvalue().splitlines()]
        (line,) = [one for one in lines if one["request_id"] == answer.headers["x-request-id"]]
        assert (line["event"], line["operation"], line["status"]) == (
            "request",
            operation.name,
            200,
        )
        expected = dict(HEADERS)
        if operation.name.endswith("/officer"):  # a page with its style in it, and no script
            policy = answer.headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
            expected["content-security-policy"] = policy
        assert {name: answer.headers[name] for name in HEADERS} == expected
        one_more = 2 if operation.name == "GET /metrics" else 1  # that which asks for the count too
        assert count(shared_shop, operation.name) == counted + one_more, operation.name


def count(shop, name: str) -> float:
    text = shop.get("operator", "/metrics").text
    known = f'tacit_requests_total{{operation="{name}",status="200"}} '
    return next((float(one.split()[-1]) for one in text.splitlines() if one.startswith(known)), 0.0)


def test_methods_and_queries(shared_shop, operations, valid):
    """HEAD is GET without a body; another method is 405 with all that there are; what is not known
    of a query is 422."""
    methods: dict[str, set[str]] = {}
    for operation in operations:
        methods.setdefault(operation.path, set()).add(operation.method)
    for operation in operations:
        there = methods[operation.path] | ({"HEAD"} if "GET" in methods[operation.path] else set())
        refused = shared_shop.ask("operator", "PATCH", place_of(operation))
        assert told(refused, 405) == "not-this-method"
        assert {*refused.headers["allow"].split(", ")} >= there
        ready = valid(operation.name).prepared(shared_shop)
        path = f"{ready.path}{'&' if '?' in ready.path else '?'}not-known=1"
        unknown = shared_shop.ask(ready.by, operation.method, path, **ready.given)
        assert told(unknown, 422) == "not-sound"
        if operation.method == "GET":
            whole, head = (
                shared_shop.ask(ready.by, method, ready.path) for method in ("GET", "HEAD")
            )
            assert (head.status_code, head.content) == (200, b"")
            if operation.path not in ("/metrics", "/api/privacy/ledger"):  # other at each time
                assert head.headers["content-length"] == whole.headers["content-length"]


def test_limits(demo, shops, folder, operations):
    """Of each, what comes too often is 429, and what nobody has a place for is 503, with when to
    come back; a body that is too large and a key that nobody has are refused at the door."""
    with shops(demo, folder, per_second=1e-9, burst=1) as often:
        often.get(None, "/api/problems")
        for operation in operations:
            if operation.name != ALWAYS:
                answer = often.ask(None, operation.method, place_of(operation))
                assert told(answer, 429) == "too-many"
                assert int(answer.headers["retry-after"]) >= 1
    with shops(demo, folder) as full:
        object.__setattr__(full.service.settings, "most_waiting", 0)
        full.keys["made up"] = "tacit_operator." + "0" * 64
        for operation in operations:
            if operation.name != ALWAYS:
                answer = full.ask("operator", operation.method, place_of(operation))
                assert (told(answer, 503), answer.headers["retry-after"]) == ("not-available", "1")
            answer = full.ask("made up", operation.method, place_of(operation))
            assert answer.status_code == (401 if operation.name == ALWAYS else 503)
    with shops(demo, folder, most_body=10) as small:
        for operation in operations:
            answer = small.ask("operator", operation.method, place_of(operation), content=b" " * 11)
            assert told(answer, 413) == "too-large"


def test_a_deadline(demo, shops, folder, operations, valid, monkeypatch):
    """What does not answer in time is 503 of each that waits for anything; the others are those
    that need neither the ledger nor a long computation, and are answered on the loop."""
    with shops(demo, folder) as shop:
        ready = {one.name: valid(one.name).prepared(shop) for one in operations}
        object.__setattr__(shop.service.settings, "answer_within", 0.02)
        monkeypatch.setattr(
            Operation, "start", lambda *_: asyncio.get_running_loop().create_future()
        )
        at_once = set()
        for one in operations:
            monkeypatch.setattr(shop.app.middleware_app, "places", asyncio.Semaphore(1))
            asked = ready[one.name]
            answer = shop.ask(asked.by, one.method, asked.path, **asked.given)
            if answer.status_code == 200:
                at_once.add(one.name)
            else:
                assert (told(answer, 503), answer.headers["retry-after"]) == ("not-available", "1")
    assert at_once == {
        "GET /healthz",
        "GET /api/problems",
        "GET /api/models/{model}/device",
        "GET /api/guarantees/{noun}/{name}",
        "GET /api/recommend/{user}",  # what was stored of the person is in memory
        "POST /api/recommend",
    }


def test_a_clock_that_jumps(demo, shops, folder, valid, monkeypatch):
    """An hour forwards or back changes neither an answer nor a price, and refills no bucket."""
    jump, now, nanoseconds = [0], time.time, time.time_ns
    monkeypatch.setattr(time, "time", lambda: now() + jump[0])
    monkeypatch.setattr(time, "time_ns", lambda: nanoseconds() + jump[0] * 10**9)
    with shops(demo, folder, per_second=1e-3, burst=40) as shop:

        def ask(name: str, key: str):
            return valid(name).ask(shop, name.partition(" ")[0], key=key)

        def left() -> str:
            (own,) = shop.get("subject", "/api/privacy/budget").json()["budgets"]
            return own["budget"]["left"]

        changes = ("POST /api/feedback", "POST /api/vendors/{name}/visits")
        first, before = {name: ask(name, "asked-first") for name in changes}, left()
        price = None
        for number, jump[0] in enumerate((3600, -3600)):
            for name in changes:
                again = ask(name, "asked-first")
                assert (again.status_code, again.content) == (200, first[name].content)
            assert left() == before
            assert ask(changes[1], f"asked-anew-{number}").status_code == 200
            paid, before = Decimal(before) - Decimal(left()), left()
            assert paid == (price or paid) > 0
            price = paid
        asked = [shop.get("subject", "/api/privacy/budget").status_code for _ in range(40)]
        assert asked == sorted(asked)
        assert 429 in asked
        jump[0] = 3600  # would be 7 more requests
        assert shop.get("subject", "/api/privacy/budget").status_code == 429
