"""Nothing that a person may read depends on what another one said."""

from __future__ import annotations

from tacit.ledger import Cap, Charge, Cost, Holder, Request
from tacit.service.idempotency import SALT_BYTES
from tests.support.service_process import store_of


def readable(shop, operations, valid):
    """Every answer that ann may read, by operation, without what is counted of the process."""
    found = {}
    for operation in operations:
        if operation.method != "GET" or not operation.roles & {"subject", "anonymous"}:
            continue
        answer = shop.get("subject", valid(operation.name).path)
        headers = {name: text for name, text in answer.headers.items() if name != "x-request-id"}
        found[operation.name] = (answer.status_code, headers, answer.content)
    return found


def test_no_answer_changes_with_another_person(shop, operations, valid):
    """Bob rates, spends, repeats, forgets: every byte that ann may read stays as it was."""
    before = readable(shop, operations, valid)
    assert "GET /api/recommend/{user}" in before
    assert "GET /api/privacy/budget" in before
    for item, stars in (("1", 5), ("2", 1), ("1001", 5), ("1", None)):
        rating = {"model": "films", "item": item, "stars": stars}
        assert shop.post("other", "/api/feedback", json=rating).is_success
    holder = Holder.subject("demo", "bob")
    shop.service.ledger.open_budget(holder, Cap.pure(1))
    charge = Charge(holder, Cost.pure("0.5"))
    request = Request("demo", "bob", "test", "test-key", b"")
    shop.service.ledger.release(request, [charge], lambda _: b"")
    assert readable(shop, operations, valid) == before
    assert shop.delete("other", "/api/users/bob").is_success
    assert readable(shop, operations, valid) == before


def test_the_log_of_requests_names_nobody(shop):
    """Lines of log hold no person, no item and no stars."""
    rating = {"model": "films", "item": "1077", "stars": 5}
    assert shop.post("other", "/api/feedback", json=rating).is_success
    assert shop.get("other", "/api/recommend/bob?n=3").is_success
    assert shop.delete("other", "/api/users/bob").is_success
    logged = shop.logged.getvalue()
    assert "/api/users/{user}" in logged
    for told in ("bob", '"1077"', "films"):
        assert told not in logged


def test_metrics_name_nobody(shop):
    """Counts are by operation and status alone."""
    assert shop.get("other", "/api/recommend/bob").is_success
    told = shop.get("operator", "/metrics").text
    assert "/api/recommend/{user}" in told
    assert "bob" not in told


def test_stored_answers_hold_nothing_that_was_said(shop):
    """The table of answers, which is kept for ever, has neither items nor stars of anybody."""
    for item in ("1077", "1078"):
        rating = {"model": "films", "item": item, "stars": 5}
        assert shop.post("other", "/api/feedback", json=rating).is_success
    assert shop.delete("other", "/api/feedback").is_success
    with store_of(shop.folder) as database:
        answers = database.execute("SELECT answer FROM ledger_answers").fetchall()
    stored = {bytes(row[0])[SALT_BYTES:] for row in answers}
    assert stored == {b'200 application/json\n{"done":true}'}
