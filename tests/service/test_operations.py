"""What the operator's page shows: spending by day, the ledger's places, and its log."""

from __future__ import annotations

import hashlib
import json

import pytest

from tacit.ledger import Cap, Charge, Cost, Holder, Request
from tacit.ledger.chain import START
from tacit.service.resources import log_overview

ANN, FILMS = Holder.subject("demo", "ann"), Holder.dataset("demo", "some films")


def spend(shop, key, *holders, tenant="demo"):
    """A quarter from each."""
    request = Request(tenant, "ann", "test", key, b"")
    charges = [Charge(holder, Cost.pure("0.25")) for holder in holders]
    shop.service.ledger.release(request, charges, lambda _: b"answer")


@pytest.fixture
def spent(shop):
    """Two requests that charged both, and one of another tenant."""
    other = Holder.subject("elsewhere", "secret-name")
    for holder in (ANN, FILMS, other):
        shop.service.ledger.open_budget(holder, Cap.pure("2"))
    spend(shop, "key-1", FILMS, ANN)
    spend(shop, "key-2", FILMS, ANN)
    spend(shop, "key-3", other, tenant="elsewhere")
    return shop


def days(shop):
    """All that is counted so far."""
    return shop.get("operator", "/api/operations").json()["days"]


def test_a_day_is_what_was_charged_on_it(spent, monkeypatch):
    """Requests, charges and sums of each kind; what comes later is added, in small portions too."""
    monkeypatch.setattr(log_overview, "ENTRIES_AT_ONCE", 2)
    (day,) = days(spent)
    wanted = {"counted_in": "epsilon, in nats", "charges": 2, "amount": "0.5"}
    assert day["spent"] == [{"kind": kind, **wanted} for kind in ("dataset", "subject")]
    before = day["requests"]
    spend(spent, "key-4", ANN)
    (day,) = days(spent)
    assert day["requests"] == before + 1
    assert day["spent"][1] == {**wanted, "kind": "subject", "charges": 3, "amount": "0.75"}


def test_a_long_log_is_read_from_answer_to_answer(spent, monkeypatch):
    """An answer never takes longer than its share; it says how far it came."""
    monkeypatch.setattr(log_overview, "ENTRIES_AT_ONCE", 1)
    monkeypatch.setattr(log_overview, "READING_SECONDS", 0.0)
    first, second = (spent.get("operator", "/api/operations").json() for _ in range(2))
    assert first["read"] + 1 == second["read"] < second["entries"]


def test_nothing_of_another_tenant_is_shown(spent):
    """Not in the sums, and not in the log, whose links to it stay."""
    listed = spent.get("operator", "/api/operations/log").text
    assert "secret-name" not in listed
    assert "elsewhere" not in listed
    withheld = [entry for entry in json.loads(listed)["entries"] if entry["body"] is None]
    assert [entry["kind"] for entry in withheld] == ["budget", "release"]


def test_the_log_comes_page_by_page_and_can_be_checked(shop):
    """Every hash is that of the entry and of the hash before, as docs/ledger.md says."""
    for key in ("key-1", "key-2"):
        spend(shop, key)
    found, after = [], 0
    while after is not None:
        page = shop.get("auditor", f"/api/operations/log?after={after}&limit=2").json()
        found, after = found + page["entries"], page["next"]
    assert len(found) == shop.service.ledger.head.sequence
    before = START
    for one in found:
        text = "\n".join([before, str(one["sequence"]), one["kind"], one["body"]])
        before = hashlib.sha256(text.encode()).hexdigest()
        assert before == one["hash"]
    facts = json.loads(found[-1]["body"])
    assert facts["answer"] == hashlib.sha256(b"answer").hexdigest()


def test_the_places_of_the_ledger_are_told(shop):
    """Where the ledger is, and that its second place lies beside it."""
    store = shop.get("operator", "/api/operations").json()["store"]
    assert store == {"place": "file", "second": "file", "apart": False}
