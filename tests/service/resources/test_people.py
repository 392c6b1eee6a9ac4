"""Keys for people: made from their names, kept nowhere."""

from __future__ import annotations

import secrets

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.service.keys import Role
from tacit.service.limits import VisitorLimits
from tacit.service.problems import Problem

SLOW = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TOKENS = st.text(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", min_size=43, max_size=128
)


def visit(shop, token):
    return shop.client.post("/api/visitors", json={"token": token})


def test_a_key_is_that_persons(shop):
    """The operator gets a person's key; with it she is known by her name, and by no other."""
    told = shop.post("operator", "/api/people", json={"name": "zoe"}).json()
    assert shop.service.keys.find_caller(told["key"]).name == "zoe"
    shop.keys["zoe"] = told["key"]
    assert shop.get("zoe", "/api/recommend/zoe").status_code == 200
    assert shop.get("zoe", "/api/recommend/ann").status_code == 404


def test_a_key_is_the_same_again(shared_shop):
    """Asking again gives the same bytes, and nothing is stored."""
    head = shared_shop.service.ledger.head
    one, another = (
        shared_shop.post("operator", "/api/people", json={"name": "zoe"}) for _ in range(2)
    )
    assert one.content == another.content
    assert shared_shop.service.ledger.head == head


@pytest.mark.parametrize("role", [None, "subject", "analyst", "auditor", "vendor"])
def test_the_operator_alone_names_people(shared_shop, role):
    """Whoever could name people could become anybody."""
    answer = shared_shop.post(role, "/api/people", json={"name": "bob"})
    assert answer.status_code == (401 if role is None else 403)


@pytest.mark.parametrize("name", ["", "a" * 257, "visitor-1", "customer-1", 3, None])
def test_names_that_nobody_has(shared_shop, name):
    """Empty or too long ones and the service's own names are refused."""
    assert shared_shop.post("operator", "/api/people", json={"name": name}).status_code == 422


def test_a_name_with_a_control_character(shared_shop):
    """No text of a request has one: it is refused before it is looked at."""
    assert shared_shop.post("operator", "/api/people", json={"name": "a\x07b"}).status_code == 400


@SLOW
@given(token=TOKENS, other=TOKENS)
def test_a_visitor_is_her_token(shared_shop, token, other):
    """The same token gives the same name and key, another token another person."""
    told = visit(shared_shop, token)
    assert told.status_code == 200
    assert visit(shared_shop, token).content == told.content
    assert (visit(shared_shop, other).json()["name"] == told.json()["name"]) == (token == other)
    caller = shared_shop.service.keys.find_caller(told.json()["key"])
    assert (caller.name, caller.role) == (told.json()["name"], Role.SUBJECT)
    assert token not in told.text


@pytest.mark.parametrize("token", ["", "a" * 42, "a" * 129, "a" * 42 + "!", "é" * 43, 7])
def test_tokens_are_long(shared_shop, token):
    """A token that could be guessed is refused, and not repeated."""
    answer = visit(shared_shop, token)
    assert answer.status_code == 422
    assert "aaaa" not in answer.text


def test_visitors_are_welcome_only_where_it_says_so(demo, folder, shops):
    """Without the setting there is nothing at this address."""
    with shops(demo, folder, visitors=False) as shop:
        closed = visit(shop, secrets.token_urlsafe(32))
        assert closed.status_code == 404
        assert closed.json()["detail"] == "There is nothing at this address."


def test_keys_are_kept_nowhere(shop):
    """No file of the folder holds a person's key or a visitor's token, and neither does the log."""
    token = secrets.token_urlsafe(32)
    keys = [
        shop.post("operator", "/api/people", json={"name": "zoe"}).json()["key"],
        visit(shop, token).json()["key"],
    ]
    written = b"".join(path.read_bytes() for path in shop.folder.iterdir() if path.is_file())
    written += shop.logged.getvalue().encode()
    for secret in (*keys, token):
        assert secret.rpartition(".")[2].encode() not in written


def test_an_address_takes_so_many_new_names(demo, folder, shops):
    """Beyond them there is 429 with when to come back; who has a name has it again."""
    with shops(demo, folder, visitors_per_hour=3) as shop:
        tokens = [secrets.token_urlsafe(32) for _ in range(4)]
        answers = [visit(shop, token) for token in tokens]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        assert 0 < int(answers[-1].headers["retry-after"]) <= 1200
        assert answers[-1].json()["type"].endswith("#too-many")
        assert [visit(shop, token).status_code for token in tokens] == [200, 200, 200, 429]


def test_newcomers_are_counted_by_network():
    """Addresses of one /64 are one, other ones are not, and an hour later there is room."""
    now = [0.0]
    newcomers = VisitorLimits(2, clock=lambda: now[0])
    newcomers.admit("2001:db8::1", "a")
    newcomers.admit("2001:db8::2", "b")
    with pytest.raises(Problem):
        newcomers.admit("2001:db8::3", "c")
    newcomers.admit("2001:db8:0:1::3", "c")
    newcomers.admit("2001:db8::9", "a")
    now[0] += 1800
    newcomers.admit("2001:db8::3", "d")


def test_memory_of_newcomers_is_bounded(monkeypatch):
    """The name that was away longest is forgotten, and counts as new when it comes back."""
    monkeypatch.setattr("tacit.service.limits.MOST_BUCKETS", 2)
    newcomers = VisitorLimits(4, clock=lambda: 0.0)
    for name in ("a", "b", "a", "c"):
        newcomers.admit("192.0.2.1", name)
    newcomers.admit("192.0.2.1", "a")
    newcomers.admit("192.0.2.1", "b")
    with pytest.raises(Problem):
        newcomers.admit("192.0.2.1", "c")
