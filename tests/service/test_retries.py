"""An answer that is lost on its way: the retry gives the same bytes, and nothing happens twice.

Generated from the OpenAPI document: every operation that takes an Idempotency-Key.
"""

from __future__ import annotations

import json
import secrets
import time
from concurrent.futures import ThreadPoolExecutor

CHANGED = {
    "POST /api/feedback": {"model": "films", "item": "1001", "stars": 1.0},
    "POST /api/rounds/{name}/announce": {"candidates": [4, 5]},
    "POST /api/rounds/{name}/open": {"candidates": [4, 5], "votes": {}},
    "POST /api/rounds/{name}/votes": {"candidate": 2},
    "POST /api/rounds/{name}/feedback": {"liked": False},
    "POST /api/vendors/{name}/articles": {"articles": ["Another article"]},
    "POST /api/vendors/{name}/visits": {"context": [0.1, 0.9]},
    "POST /api/vendors/{name}/visits/{visit}/reward": {"clicked": False},
}
"""Another body that is as valid."""
NO_BODY = {
    "DELETE /api/feedback",
    "DELETE /api/users/{user}",
    "DELETE /api/vendors/{name}/articles/{article}",
    "POST /api/campaigns/{name}/close",
    "POST /api/rounds/{name}/recommendations",
}
MESSAGES = {  # octets: a message has one form, and its own tests hold another one against it
    "POST /api/disclosures/{name}/letters",
    "POST /api/campaigns/{name}/reports",
    "POST /api/vendors/{name}/forwards",
}


def changing(operations):
    return [operation for operation in operations if operation.changes]


def wait_for_log(shop, operation) -> None:
    """After visits, wait until no entry has come for a second: their second one follows later."""
    sequence = -1
    while "visits" in operation.name and sequence != shop.service.ledger.head.sequence:
        sequence = shop.service.ledger.head.sequence
        time.sleep(1)


def everything(shop) -> tuple:
    """What could have changed: every budget, every entry of the log."""
    budgets = [(one.holder, one.spent, one.delta_spent) for one in shop.service.ledger.balances()]
    return budgets, shop.service.ledger.head


def test_every_change_is_listed(operations):
    """An operation that changes something has its line above."""
    assert {one.name for one in changing(operations)} == {*CHANGED, *NO_BODY, *MESSAGES}


def test_every_change_takes_a_key(operations):
    """POST and DELETE take an Idempotency-Key, except where nothing is changed, or where a second
    time changes nothing: a person clicks once a day."""
    without = {one.name for one in operations if one.method in ("POST", "DELETE", "PUT", "PATCH")}
    without -= {one.name for one in changing(operations)}
    assert without == {
        "POST /api/recommend",
        "POST /api/recommend-many",
        "POST /api/people",
        "POST /api/splits/{name}/clicks",
        "POST /api/visitors",
    }


def test_a_lost_answer(shop, operations, valid):
    """The retry gives the same status and bytes; budgets and log stand as after the first."""
    for operation in changing(operations):
        request = valid(operation.name).prepared(shop)
        key = request.given.get("headers", {}).get("idempotency-key", "lost-on-the-way")
        before = everything(shop)
        first = request.ask(shop, operation.method, key=key)
        wait_for_log(shop, operation)
        after = everything(shop)
        assert first.status_code == 200, (operation.name, first.text)
        assert before != after, operation.name
        for _ in range(3):
            again = request.ask(shop, operation.method, key=key)
            assert again.status_code == first.status_code, operation.name
            assert again.content == first.content, operation.name
            assert again.headers["content-type"] == first.headers["content-type"]
            assert everything(shop) == after, operation.name


def test_a_key_for_something_else(shop, operations, valid):
    """The same key with another body is 422, and changes nothing."""
    tried = set()
    for operation in changing(operations):
        if operation.name in CHANGED:
            request = valid(operation.name).prepared(shop)
            request.ask(shop, operation.method, key="used-before")
            wait_for_log(shop, operation)
            after = everything(shop)
            other = request.ask(
                shop, operation.method, key="used-before", json=CHANGED[operation.name]
            )
            assert other.status_code == 422, (operation.name, other.text)
            assert other.json()["type"].endswith("#key-reused"), operation.name
            assert everything(shop) == after
            tried.add(operation.name)
    assert tried == {*CHANGED}


def test_after_a_restart(demo, shops, folder, operations, valid):
    """What was stored by one process is answered by the next, byte for byte."""
    stored = {}
    with shops(demo, folder) as shop:
        for operation in changing(operations):
            request = valid(operation.name).prepared(shop)
            key = request.given.get("headers", {}).get("idempotency-key", "before-the-end")
            stored[operation.name] = (
                request,
                key,
                request.ask(shop, operation.method, key=key).content,
            )
    with shops(demo, folder) as shop:
        for name, (request, key, content) in stored.items():
            again = request.ask(shop, name.partition(" ")[0], key=key)
            assert again.content == content, name


def test_many_at_once(shop):
    """Twenty copies at the same time are one: one entry, twenty equal answers."""
    rating = {"model": "films", "item": "1001", "stars": 4.0}

    def ask(_: int) -> bytes:
        return shop.post("subject", "/api/feedback", json=rating, key="all-at-once").content

    shop.post("subject", "/api/feedback", json={**rating, "item": "1002"})
    before = shop.service.ledger.head.sequence
    with ThreadPoolExecutor(20) as pool:
        assert len(set(pool.map(ask, range(20)))) == 1
    assert shop.service.ledger.head.sequence == before + 1


def test_keys_are_each_persons_own(shop):
    """Two people with the same key are two requests; so are two operations."""
    rating = {"model": "films", "item": "1001", "stars": 4.0}
    for role in ("subject", "other"):
        answer = shop.post(role, "/api/feedback", json=rating, key="shared-key")
        assert answer.status_code == 200
        assert "idempotency-replayed" not in answer.headers
    gone = shop.delete("subject", "/api/feedback", key="shared-key")
    assert gone.status_code == 200
    assert "idempotency-replayed" not in gone.headers


def test_a_retry_says_so(shop):
    """The answer to a retry is marked in its head, not in its body."""
    rating = {"model": "films", "item": "1001", "stars": 4.0}
    first, again = (
        shop.post("subject", "/api/feedback", json=rating, key="said-so-1") for _ in range(2)
    )
    assert "idempotency-replayed" not in first.headers
    assert again.headers["idempotency-replayed"] == "true"


def test_spelling_does_not_matter(shop):
    """The same body in another order, with other spaces, is the same request."""
    rating = {"model": "films", "item": "1001", "stars": 4.0}
    kind = {"content-type": "application/json"}
    key = secrets.token_hex(8)
    first = shop.post("subject", "/api/feedback", json=rating, key=key)
    turned = json.dumps(dict(reversed(rating.items())), indent=3).encode()
    again = shop.post("subject", "/api/feedback", content=turned, headers=kind, key=key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
