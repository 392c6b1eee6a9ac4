"""Ratings that a person keeps with the service: bounded, her own, changed once, and forgotten."""

from __future__ import annotations

import hashlib
import itertools
import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.randomness import secure
from tacit.service import stored_ratings
from tacit.service.stored_ratings import StoredRatings, all_ratings_state, ratings_state_name
from tests.support.service_process import store_of

SLOW = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PEOPLE = (f"rater-{number}" for number in itertools.count())
NAMES = st.text("abcdefghij0123456789_-", min_size=1, max_size=8)
KEPT = st.dictionaries(
    NAMES, st.dictionaries(st.text(max_size=8), st.floats(1, 5), min_size=1, max_size=5), max_size=3
)


def rating(item="1", stars=5, model="films"):
    return {"model": model, "item": item, "stars": stars}


def rate(shop, role, *given, **named):
    key = {"key": named.pop("key")} if "key" in named else {}
    return shop.post(role, "/api/feedback", json=rating(*given, **named), **key)


def kept(shop, role="subject"):
    told = shop.get(role, "/api/feedback").json()["ratings"]
    return {(one["model"], one["item_id"]): one["stars"] for one in told}


def state_of(shop, name):
    return shop.service.ledger.state(f"demo/{ratings_state_name(name)}")


@SLOW
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["1", "2", "1001"]), st.sampled_from([None, 1, 3, 5])),
        max_size=8,
    )
)
def test_what_was_said_last_is_kept(shared_shop, steps):
    """After any ratings, changes and withdrawals, what is kept is what was said last."""
    name = next(PEOPLE)
    shared_shop.keys[name] = shared_shop.service.keys.person_key(name)
    expected = {}
    for item, stars in steps:
        assert rate(shared_shop, name, item, stars).json() == {"done": True}
        expected.pop(("films", item), None)
        if stars is not None:
            expected["films", item] = stars
    assert kept(shared_shop, name) == expected


@given(of=KEPT)
def test_a_state_is_read_as_it_was_written(of):
    """Any ratings come back from a state as they were."""
    assert StoredRatings.decode(StoredRatings(of).encode(secure())).by_model == of


@given(of=KEPT)
def test_a_states_hash_tells_nothing(of):
    """The same ratings never give the same state: their SHA-256 in the log cannot be guessed."""
    one, another = (StoredRatings(of).encode(secure()) for _ in range(2))
    assert one[:16] != another[:16]
    assert one[16:] == another[16:]


@given(of=KEPT, model=NAMES, item=st.text(max_size=8))
def test_taking_back_undoes_a_rating(of, model, item):
    """A rating that was taken back is as one that was never given."""
    before = StoredRatings(of).without_rating(model, item)
    after = before.with_rating(model, item, 3.0)
    assert after is not None
    assert len(after) == len(before) + 1
    assert after.without_rating(model, item) == before


def test_a_retry_changes_nothing(shop):
    """The same request again has the same bytes and does not undo what was said since."""
    first = rate(shop, "subject", "1", 5, key="first-key")
    assert rate(shop, "subject", "1", 2).is_success
    again = rate(shop, "subject", "1", 5, key="first-key")
    assert again.content == first.content
    assert again.headers["idempotency-replayed"] == "true"
    assert kept(shop) == {("films", "1"): 2.0}


def test_a_key_is_for_one_rating(shop):
    """Another rating under the same key is refused and not kept."""
    assert rate(shop, "subject", "1", 5, key="first-key").is_success
    assert rate(shop, "subject", "1", 4, key="first-key").status_code == 422
    assert kept(shop) == {("films", "1"): 5.0}


def test_two_people_may_use_one_key(shop):
    """A key is known within one person's requests alone."""
    assert rate(shop, "subject", "1", 5, key="same-key").is_success
    assert rate(shop, "other", "2", 1, key="same-key").is_success
    assert kept(shop) == {("films", "1"): 5.0}
    assert kept(shop, "other") == {("films", "2"): 1.0}


def test_how_many_are_kept_is_bounded(shop, monkeypatch):
    """One rating more than is kept is refused, a change of one that is kept is not."""
    monkeypatch.setattr(stored_ratings, "MOST_RATINGS", 2)
    for item in ("1", "2"):
        assert rate(shop, "subject", item).is_success
    refused = rate(shop, "subject", "3", key="one-too-many")
    assert refused.status_code == 409
    assert rate(shop, "subject", "2", 1).is_success
    assert rate(shop, "subject", "1", None).is_success
    assert rate(shop, "subject", "3", key="one-too-many").content == refused.content
    assert rate(shop, "subject", "3").is_success
    assert kept(shop) == {("films", "2"): 1.0, ("films", "3"): 5.0}


def test_everything_can_be_forgotten(shop):
    """Forgetting is done once for its key: what was said since stays."""
    assert rate(shop, "subject", "1").is_success
    first = shop.delete("subject", "/api/feedback", key="forget-it")
    assert kept(shop) == {}
    assert rate(shop, "subject", "2").is_success
    assert shop.delete("subject", "/api/feedback", key="forget-it").content == first.content
    assert kept(shop) == {("films", "2"): 5.0}


def test_forgetting_what_never_was(shop):
    """The answer does not tell whether there was anything."""
    nothing = shop.delete("subject", "/api/feedback")
    assert rate(shop, "subject", "1").is_success
    assert shop.delete("subject", "/api/feedback").content == nothing.content


def test_nothing_of_a_rating_stays(shop):
    """After forgetting, no table of the ledger holds the rated item: answers and log never did."""
    item, stars = "1077", 4
    assert rate(shop, "subject", item, stars).is_success
    assert item.encode() in state_of(shop, "ann")
    tables = dump(shop)
    rows = [row for name in tables for row in tables[name] if not name.endswith("states")]
    assert rows
    assert not [row for row in rows if f'"{item}"' in row or '"films":' in row]
    assert shop.delete("subject", "/api/feedback").is_success
    assert not [row for rows in dump(shop).values() for row in rows if f'"{item}"' in row]


def dump(shop):
    """Every row of every table, as text."""
    with store_of(shop.folder) as database:
        names = [
            row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE type='table'")
        ]
        found = {name: [] for name in names}
        for name in names:
            for row in database.execute(f'SELECT * FROM "{name}"'):
                found[name].append(
                    " ".join(v.decode("latin1") if isinstance(v, bytes) else str(v) for v in row)
                )
    return found


def test_the_log_holds_no_hash_that_can_be_guessed(shop):
    """No SHA-256 of the log is that of the bare request or the bare ratings."""
    assert rate(shop, "subject", "1", 5).is_success
    log = "\n".join(row for name, rows in dump(shop).items() for row in rows if "log" in name)
    assert "feedback" in log
    request = json.dumps(rating("1", 5.0), sort_keys=True, separators=(",", ":")).encode()
    state = b'{"films":{"1":5.0}}'
    assert state_of(shop, "ann")[16:] == state
    for bare in (request, state):
        assert hashlib.sha256(bare).hexdigest() not in log


@pytest.mark.parametrize("role", [None, "operator", "analyst", "auditor", "vendor"])
def test_only_people_rate(shared_shop, role):
    """Feedback is of the person whose key it is: nobody else gives it, sees it or forgets it."""
    status = 401 if role is None else 403
    assert rate(shared_shop, role).status_code == status
    assert shared_shop.get(role, "/api/feedback").status_code == status
    assert shared_shop.delete(role, "/api/feedback").status_code == status


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"model": "books"}, 404),
        ({"item": "0"}, 422),
        ({"item": ""}, 422),
        ({"item": 1}, 422),
        ({"stars": 0}, 422),
        ({"stars": 2.5}, 422),
        ({"stars": "5"}, 422),
        ({"stars": True}, 422),
        ({"user": "bob"}, 422),
    ],
)
def test_what_does_not_fit_is_refused(shared_shop, changed, status):
    """Unknown models and items, stars off the scale: refused by what is public, and not stored."""
    head = shared_shop.service.ledger.head
    answer = shared_shop.post("subject", "/api/feedback", json={**rating(), **changed})
    assert answer.status_code == status
    assert shared_shop.service.ledger.head == head


def test_a_key_is_required(shared_shop):
    """Without an Idempotency-Key nothing is changed."""
    head = shared_shop.service.ledger.head
    bearer = {"authorization": f"Bearer {shared_shop.keys['subject']}"}
    answer = shared_shop.client.post("/api/feedback", json=rating(), headers=bearer)
    assert answer.status_code == 422
    assert shared_shop.client.delete("/api/feedback", headers=bearer).status_code == 422
    assert shared_shop.service.ledger.head == head


def test_a_rating_that_does_not_fit_any_more_is_passed_over(shop):
    """Ratings of items and models that are gone are shown to their owner and used for nothing."""
    old = StoredRatings({"films": {"9999": 5.0, "1": 3.5}, "plays": {"1": 2.0}})
    name = f"demo/{ratings_state_name('ann')}"
    from tacit.ledger import Request

    shop.service.ledger.release(
        Request("demo", "ann", "test", "test-key", b""),
        (),
        lambda source, _: (b"", old.encode(source)),
        state=name,
    )
    assert set(kept(shop)) == {("films", "9999"), ("films", "1"), ("plays", "1")}
    assert shop.get("subject", "/api/recommend/ann").json()["personal"] is False
    assert rate(shop, "subject", "9999", None).is_success
    assert ("films", "9999") not in kept(shop)


def test_the_longest_names_have_states():
    """The name of a state is short enough whatever people and tenants are called."""
    from tacit.ledger.states import check_state_name

    check_state_name(f"{'t' * 64}/{all_ratings_state('p' * 64).state_name}")


def test_ratings_at_the_same_time_are_all_kept(shop):
    """Of requests that come together none is lost, and a retry beside them changes nothing."""
    items = [str(number) for number in range(1, 25)]
    with ThreadPoolExecutor(8) as pool:
        answers = list(
            pool.map(
                lambda item: rate(shop, "subject", item, 4, key=f"key-of-{item}"),
                [*items, *items],
            )
        )
    assert {answer.status_code for answer in answers} == {200}
    assert kept(shop) == {("films", item): 4.0 for item in items}


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=4) | st.dictionaries(st.text(max_size=8), inside),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    path=st.sampled_from(["feedback", "recommend", "people", "visitors"]),
    body=ANYTHING
    | st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("model", "item", "stars", "history", "n", "name", "token", "user"), ANYTHING
        ),
    )
    | st.fixed_dictionaries({"model": st.just("films"), "item": st.just("1"), "stars": ANYTHING})
    | st.fixed_dictionaries({"model": st.just("films"), "history": ANYTHING}),
)
def test_whatever_is_sent_is_answered(shared_shop, path, body):
    """Any JSON and what is none gets an answer that is no fault of the service."""
    role = "operator" if path == "people" else "subject"
    answer = shared_shop.post(
        role,
        f"/api/{path}",
        content=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
    )
    assert answer.status_code in (200, 400, 404, 422)
