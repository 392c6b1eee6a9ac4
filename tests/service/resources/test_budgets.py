"""Who sees which budget, in exact decimals; and whether the log of them is sound."""

from __future__ import annotations

import threading
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.private.refits import cap_of_lifetime
from tacit.ledger import Balance, Cap, Charge, Cost, Holder, Request
from tacit.ledger.amounts import ATTO, LARGEST_AMOUNT, MICRO, Unit
from tacit.service.resources import budgets
from tacit.service.resources.budgets import describe_budget
from tests.support.ledger_requests import by_hand

AMOUNTS = st.integers(1, LARGEST_AMOUNT)


def spend(shop, holder, cost, key="some-key"):
    request = Request("demo", "ann", "test", key, b"")
    shop.service.ledger.release(request, [Charge(holder, cost)], lambda _: b"answer")


@given(cap=AMOUNTS, share=st.fractions(0, 1), delta=st.integers(0, ATTO), part=st.fractions(0, 1))
def test_amounts_are_exact(cap, share, delta, part):
    """Every amount is told exactly, and what is left and what was spent make the cap."""
    spent, gone = int(share * cap), int(part * delta)
    holder = Holder.subject("shop", "ann")
    cap_of_both = Cap(Unit.APPROXIMATE, cap, delta)
    told = describe_budget(Balance(1, holder, cap_of_both, spent, gone, epoch_spent=spent))
    assert Fraction(told.cap) * MICRO == cap
    assert Fraction(told.spent) * MICRO == Fraction(told.spent_in_epoch) * MICRO == spent
    assert Fraction(told.spent) + Fraction(told.left) == Fraction(told.cap)
    assert Fraction(told.delta_spent) * ATTO == gone
    assert Fraction(told.delta_spent) + Fraction(told.delta_left) == Fraction(told.delta_cap)
    assert not any("E" in getattr(told, name) for name in ("cap", "spent", "left", "delta_cap"))


def test_ones_own_budget(shop):
    """A person sees what was spent on her, to the last decimal, and what is left."""
    holder = Holder.subject("demo", "ann")
    shop.service.ledger.open_budget(holder, Cap.pure("2.5", per_epoch="1"))
    spend(shop, holder, Cost.pure("0.100001"))
    (told,) = shop.get("subject", "/api/privacy/budget").json()["budgets"]
    assert told["budget"] == {
        "epsilon": "0.1001",
        "epsilon_cap": "2.5",
        "epsilon_delta": "0",
        "counted_in": "epsilon, in nats",
        "cap": "2.5",
        "spent": "0.100001",
        "left": "2.399999",
        "delta_cap": "0",
        "delta_spent": "0",
        "delta_left": "0",
        "per_epoch": "1",
        "spent_in_epoch": "0.100001",
    }


def test_nobody_elses(shop):
    """Another person's budget and those of data sets change nothing of what a person is told."""
    before = shop.get("subject", "/api/privacy/budget").content
    for holder in (Holder.subject("demo", "bob"), Holder.dataset("demo", "anns")):
        shop.service.ledger.open_budget(holder, Cap.pure(3))
        spend(shop, holder, Cost.pure(1), key=f"key-of-{holder.name}")
    assert shop.get("subject", "/api/privacy/budget").content == before


def test_what_bounds_the_rest(shared_shop):
    """Where no budget is one's own, each card says what bounds it."""
    told = shared_shop.get("subject", "/api/privacy/budget").json()["statements"]
    (films,) = (one for one in told if one["of"] == "models/films")
    (card,) = shared_shop.get(None, "/api/guarantees/models/films").json()["cards"]
    assert films == {
        "of": "models/films",
        "sentence": card["sentence"],
        "unit": "add or remove one user",
        "epsilon": card["epsilon"],
        "delta": card["delta"],
        "lifetime": card["lifetime"],
        "lifetime_epsilon": card["lifetime_epsilon"],
        "lifetime_delta": card["lifetime_delta"],
    }


def test_statements_are_those_of_a_receipt(shop):
    """What bounds what is learned is the same before somebody has herself forgotten and after."""
    before = shop.get("subject", "/api/privacy/budget").json()["statements"]
    assert shop.delete("subject", "/api/users/ann").json()["bounded_by"] == before
    assert len(before) >= 5


def test_a_budget_is_told_in_epsilon(shop):
    """A budget that counts mu^2 / 2 says the epsilon that was set, and what it stores."""
    holder = Holder.dataset("demo", "ratings")
    shop.service.ledger.open_budget(holder, cap_of_lifetime(5.0, 1e-6))
    budgets = shop.get("operator", "/api/privacy/budgets?limit=1000").json()["budgets"]
    (told,) = [one["budget"] for one in budgets if one["name"] == "ratings"]
    assert (told["epsilon"], told["epsilon_cap"], told["epsilon_delta"]) == ("0", "5", "1e-06")
    assert (told["cap"], told["delta_spent"]) == ("0.520564351421", "0")
    assert told["counted_in"] == "half of mu squared"


def test_a_nouns_own_budgets_are_found(shop, monkeypatch):
    """A served thing that names budgets of a person has them shown to her."""
    ((name, thing), *_) = shop.service.deployment.served.items()
    holder = Holder.subject("demo", "films/ann")
    monkeypatch.setattr(
        type(thing), "personal_holders", lambda self, user: [holder] if user == "ann" else []
    )
    assert shop.get("subject", "/api/privacy/budget").json()["budgets"] == []
    shop.service.ledger.open_budget(holder, Cap.zcdp("0.5"))
    (told,) = shop.get("subject", "/api/privacy/budget").json()["budgets"]
    assert (told["of"], told["budget"]["counted_in"]) == (name, "rho")
    assert shop.get("other", "/api/privacy/budget").json()["budgets"] == []


@pytest.mark.parametrize("role", ["operator", "auditor"])
def test_all_budgets_page_by_page(shop, role):
    """Those who oversee see every budget of this tenant, each once, in the order of opening."""
    opened = len(shop.get(role, "/api/privacy/budgets?limit=1000").json()["budgets"])
    for number in range(5):
        shop.service.ledger.open_budget(Holder.subject("demo", f"p{number}"), Cap.pure(1 + number))
    shop.service.ledger.open_budget(Holder.subject("another", "p9"), Cap.pure(1))
    found, after = [], 0
    while after is not None:
        page = shop.get(role, f"/api/privacy/budgets?limit=2&after={after}").json()
        assert len(page["budgets"]) <= 2
        found += page["budgets"]
        after = page["next"]
    mine = found[opened:]
    assert [(one["kind"], one["name"]) for one in mine] == [("subject", f"p{n}") for n in range(5)]
    assert [Decimal(one["budget"]["cap"]) for one in mine] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("path", "roles"),
    [
        ("/api/privacy/budget", ("subject",)),
        ("/api/privacy/budgets", ("operator", "auditor")),
        ("/api/privacy/ledger", ("operator", "auditor")),
    ],
)
def test_who_sees_what(shared_shop, path, roles):
    """Everybody else is refused."""
    for role in (None, "subject", "analyst", "auditor", "vendor", "operator"):
        wanted = 200 if role in roles else 401 if role is None else 403
        assert shared_shop.get(role, path).status_code == wanted


@pytest.mark.parametrize(
    "query", ["after=-1", "limit=0", "limit=1001", "after=x", "after=" + "9" * 30]
)
def test_pages_are_bounded(shared_shop, query):
    """A page has a size and a beginning."""
    assert shared_shop.get("operator", f"/api/privacy/budgets?{query}").status_code == 422


def test_the_log_is_replayed(shop):
    """The head is the ledger's, and a replay of everything up to it agrees; again after more."""
    for key in ("key-one-", "key-two-"):
        rating = {"model": "films", "item": "1", "stars": 5}
        assert shop.post("subject", "/api/feedback", json=rating, key=key).is_success
        told = shop.get("auditor", "/api/privacy/ledger").json()
        head = shop.service.ledger.head
        assert (told["ledger"], told["entries"], told["head"]) == (
            head.ledger,
            head.sequence,
            head.hash,
        )
        assert told["replayed"]["sound"] is True
        assert told["replayed"]["problems"] == []
        assert (told["replayed"]["entries"], told["replayed"]["head"]) == (head.sequence, head.hash)


def test_a_log_that_did_not_grow_is_not_replayed_again(shop, monkeypatch):
    """Asking again costs nothing until there is something new."""
    calls = counted(shop, monkeypatch)
    for _ in range(3):
        assert shop.get("auditor", "/api/privacy/ledger").json()["replayed"]["sound"]
    assert len(calls) == 1


def test_a_long_replay_goes_on(shop, monkeypatch):
    """Where a replay takes longer than an answer may, that says so, and a later one has it."""
    monkeypatch.setattr(budgets, "REPLAY_SECONDS", 0.05)
    go = threading.Event()
    calls = counted(shop, monkeypatch, before=lambda: go.wait())
    for _ in range(2):
        assert shop.get("auditor", "/api/privacy/ledger").json()["replayed"] is None
    go.set()
    while shop.get("auditor", "/api/privacy/ledger").json()["replayed"] is None:
        pass
    assert len(calls) == 1


def test_a_ledger_that_was_changed_is_told(shop):
    """An amount that somebody changed in the store is found by the replay."""
    holder = Holder.subject("demo", "ann")
    shop.service.ledger.open_budget(holder, Cap.pure(2))
    spend(shop, holder, Cost.pure(1))
    assert shop.get("auditor", "/api/privacy/ledger").json()["replayed"]["sound"]
    with by_hand(shop.folder / "budgets.db") as database:
        database.execute("UPDATE ledger_budgets SET spent = spent + 5")
    rating = {"model": "films", "item": "1", "stars": 5}
    assert shop.post("subject", "/api/feedback", json=rating).is_success
    told = shop.get("auditor", "/api/privacy/ledger").json()["replayed"]
    assert told["sound"] is False
    assert told["problems"]
    assert "ann" not in str(told)


def counted(shop, monkeypatch, before=lambda: None):
    """Calls of the ledger's replay, as a list that grows."""
    ledger, calls = shop.service.ledger, []
    real = ledger.verify

    def verify():
        calls.append(1)
        before()
        return real()

    monkeypatch.setattr(ledger, "verify", verify)
    return calls
