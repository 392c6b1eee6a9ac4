"""What must not be written down: planted in a whole visit, and then looked for everywhere."""

from __future__ import annotations

import json
import secrets
import urllib.error
import urllib.request

import pytest

from tests.support.seen import require_any

PERSON = "planted-person-7f3a"
TOKEN = "planted-token-" + secrets.token_urlsafe(32)
ITEM = "planted-item-91bc"
STARS = 3.141592
CONTEXT = 0.271828
IDEMPOTENCY = "planted-key-55aa"
PLANTED = (PERSON, TOKEN, ITEM, str(STARS), str(CONTEXT), IDEMPOTENCY)


@pytest.fixture(scope="module")
def visit(running):
    """A person's whole visit to a service in a process of its own; gives what was answered."""
    told: list[str] = []

    def ask(method: str, path: str, key: str | None, content: object = None) -> dict:
        headers = {"content-type": "application/json", "idempotency-key": IDEMPOTENCY}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(
            running.address + path, data, headers=headers, method=method
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return json.loads(answer.read() or b"{}")
        except urllib.error.HTTPError as problem:
            with problem:
                told.append(problem.read().decode() + str(problem.headers))
            return {}

    operator = running.keys["operator"]
    person = ask("POST", "/api/people", operator, {"name": PERSON})["key"]
    visitor = ask("POST", "/api/visitors", None, {"token": TOKEN})["key"]
    rating = {"model": "films", "item": "1001", "stars": 4.0}
    for key in (person, visitor, person[:-1] + "x", f"{person}\x7f"):
        ask("POST", "/api/feedback", key, rating)
        ask("POST", "/api/feedback", key, {**rating, "item": ITEM})
        ask("POST", "/api/feedback", key, {**rating, "stars": STARS})
        ask("POST", "/api/recommend", key, {"model": "films", "history": {ITEM: STARS}})
        ask("POST", "/api/vendors/cinema/visits", key, {"context": [CONTEXT, CONTEXT]})
        ask("POST", "/api/vendors/cinema/visits", key, {"context": [CONTEXT]})
        ask("GET", f"/api/recommend/{PERSON}?n=5", key)
        ask("GET", f"/api/recommend/{PERSON}?{ITEM}={STARS}", key)
        ask("GET", f"/api/{PERSON}/{ITEM}", key)
        ask("DELETE", f"/api/users/{PERSON}", key)
    with urllib.request.urlopen(
        urllib.request.Request(
            f"{running.address}/metrics", headers={"authorization": f"Bearer {operator}"}
        )
    ) as answer:
        metrics = answer.read().decode()
    return {"problems": told, "metrics": metrics, "keys": (person, visitor)}


def secrets_of(visit) -> list[str]:
    """What a key consists of: nobody needs its head to use it."""
    return [key.rpartition(".")[2] for key in visit["keys"]]


def test_the_log(running, visit):
    """No line holds anything of it."""
    log = running.log()
    assert log.count('"request"') > 30
    for planted in (*PLANTED, *secrets_of(visit)):
        assert planted not in log


def test_the_metrics(visit):
    """No metric holds anything of it."""
    assert "tacit_requests" in visit["metrics"]
    for planted in (*PLANTED, *secrets_of(visit)):
        assert planted not in visit["metrics"]


def test_problems(visit):
    """No problem and no header repeats anything of it."""
    assert len(visit["problems"]) > 15
    for told in visit["problems"]:
        for planted in (*PLANTED, *secrets_of(visit)):
            assert planted not in told


def test_files(running, visit):
    """No file of the service holds a key, a visitor's token or a list that was only asked for."""
    files = [file for file in running.folder.rglob("*") if file.is_file()]
    for file in require_any(files):
        content = file.read_bytes()
        for planted in (TOKEN, ITEM, str(STARS), str(CONTEXT), *secrets_of(visit)):
            assert planted.encode() not in content, file.name
        for role in ("operator", "analyst", "auditor"):
            secret = running.keys[role].rpartition(".")[2]
            assert secret.encode() not in content, file.name
