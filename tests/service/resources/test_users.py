"""Forgetting a person, and the receipt for it."""

from __future__ import annotations

import json

import pytest

from tacit.ledger import Cap, Charge, Cost, Holder, LedgerUnavailable, Request
from tacit.service.resources import users
from tacit.service.served_models import ServedModel
from tacit.service.served_things import PersonalState
from tacit.service.stored_ratings import ratings_state_name

RATING = {"model": "films", "item": "1", "stars": 5}


def rate(shop, role="subject"):
    assert shop.post(role, "/api/feedback", json=RATING).is_success


def kept(shop, role="subject"):
    return shop.get(role, "/api/feedback").json()["ratings"]


def test_nothing_is_kept_afterwards(shop):
    """Ratings are gone, lists are everybody's again, and her key still works."""
    rate(shop)
    everybodys = shop.get("other", "/api/recommend/bob").json()
    assert shop.delete("subject", "/api/users/ann").status_code == 200
    assert kept(shop) == []
    assert shop.get("subject", "/api/recommend/ann").json() == everybodys
    state = shop.service.ledger.state(f"demo/{ratings_state_name('ann')}")
    assert state is not None
    assert state[16:] == b"{}"
    rate(shop)
    assert len(kept(shop)) == 1


def test_others_stay(shop):
    """Nobody else is forgotten with her."""
    rate(shop)
    rate(shop, "other")
    assert shop.delete("subject", "/api/users/ann").is_success
    assert len(kept(shop, "other")) == 1


def test_a_receipt_tells_nothing_of_what_is_gone(shop):
    """Receipts are kept for ever: they are the same whether there was anything or not."""
    rate(shop)
    full = shop.delete("subject", "/api/users/ann")
    empty = shop.delete("subject", "/api/users/ann")
    assert full.content == empty.content
    other = shop.delete("other", "/api/users/bob").text
    assert other == full.text.replace('"user":"ann"', '"user":"bob"')


def test_a_receipt_is_whole(shop):
    """It names what is gone, what is not, each card that bounds it, and what stays."""
    told = shop.delete("subject", "/api/users/ann").json()
    assert told["user"] == "ann"
    assert "the ratings that you gave, of every model" in told["gone"]
    assert any("copies of the database" in one for one in told["cannot_be_recalled"])
    assert any("the model 'films'" in one for one in told["cannot_be_recalled"])
    assert any("refunded" in one for one in told["kept"])
    cards = [
        (f"{one['noun']}/{one['name']}", card)
        for one in shop.get(None, "/api/guarantees").json()["guarantees"]
        for card in one["cards"]
    ]
    bounds = [(one["of"], one["sentence"], one["epsilon"]) for one in told["bounded_by"]]
    assert bounds == [(of, card["sentence"], card["epsilon"]) for of, card in cards]


def test_the_same_request_again(shop):
    """A retry has the same bytes, and forgets nothing that she gave since."""
    rate(shop)
    first = shop.delete("subject", "/api/users/ann", key="forget-me")
    rate(shop)
    head = shop.service.ledger.head
    again = shop.delete("subject", "/api/users/ann", key="forget-me")
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert len(kept(shop)) == 1
    assert shop.service.ledger.head == head


def test_a_request_that_broke_off_goes_on(shop, monkeypatch):
    """If the store fails before the receipt, the same request finishes what it began."""
    rate(shop)
    with monkeypatch.context() as patch:
        patch.setattr(users, "bounds_of", lost)
        assert shop.delete("subject", "/api/users/ann", key="forget-me").status_code == 503
    assert kept(shop) == []
    rate(shop)
    assert shop.delete("subject", "/api/users/ann", key="forget-me").json()["user"] == "ann"
    assert len(kept(shop)) == 1


def lost(*_, **__):
    raise LedgerUnavailable("gone")


def test_the_operator_forgets_anybody(shop):
    """The operator gets the receipt that the person would get."""
    rate(shop)
    receipt = shop.delete("operator", "/api/users/ann")
    assert kept(shop) == []
    assert shop.delete("subject", "/api/users/ann").content == receipt.content


def test_a_key_is_for_one_person(shop):
    """The operator's key for one person does not forget another."""
    rate(shop, "other")
    assert shop.delete("operator", "/api/users/ann", key="same-key").is_success
    assert shop.delete("operator", "/api/users/bob", key="same-key").status_code == 422
    assert len(kept(shop, "other")) == 1


def test_nobody_forgets_others(shop):
    """For another person there is nothing at this address, exactly as for an unknown one."""
    rate(shop, "other")
    known, unknown = (shop.delete("subject", f"/api/users/{name}") for name in ("bob", "nobody"))
    assert known.status_code == unknown.status_code == 404
    assert known.content == unknown.content
    assert len(kept(shop, "other")) == 1


@pytest.mark.parametrize(
    ("role", "status"), [(None, 401), ("analyst", 403), ("auditor", 403), ("vendor", 403)]
)
def test_who_may_not(shared_shop, role, status):
    """Only the person and the operator forget."""
    assert shared_shop.delete(role, "/api/users/ann").status_code == status


def test_a_name_that_cannot_be(shared_shop):
    """A name that nobody can have is refused."""
    assert shared_shop.delete("operator", f"/api/users/{'a' * 257}").status_code == 422


def test_every_noun_is_asked(shop, monkeypatch):
    """What a served thing says it keeps of her is taken out, and nothing else of that state."""
    ledger = shop.service.ledger
    name = "demo/votes/all"

    def put(source, _):
        return b"", json.dumps({"ann": 1, "bob": 2}).encode()

    ledger.release(Request("demo", "x", "test", "test-key", b""), (), put, state=name)

    def forget(self, user):
        def without(_, state):
            votes = json.loads(state)
            votes.pop(user, None)
            return json.dumps(votes).encode()

        return [PersonalState("votes/all", "your votes", without)]

    monkeypatch.setattr(ServedModel, "personal_states", forget)
    told = shop.delete("subject", "/api/users/ann").json()
    assert told["gone"].count("your votes") == 1
    assert json.loads(ledger.state(name)) == {"bob": 2}


def test_spent_budgets_stay(shop):
    """Forgetting refunds nothing."""
    ledger, holder = shop.service.ledger, Holder.subject("demo", "ann")
    ledger.open_budget(holder, Cap.pure(1))
    ledger.release(
        Request("demo", "ann", "test", "test-key", b""),
        [Charge(holder, Cost.pure("0.25"))],
        lambda _: b"",
    )
    assert shop.delete("subject", "/api/users/ann").is_success
    told = shop.get("subject", "/api/privacy/budget").json()["budgets"]
    assert [one["budget"]["spent"] for one in told if one["of"].startswith("everything")] == [
        "0.25"
    ]
