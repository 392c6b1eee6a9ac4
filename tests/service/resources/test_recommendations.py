"""Lists over HTTP are the model's own, for the person who asks and nobody else."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.service.served_models import ServedModel
from tacit.service.stored_ratings import ratings_state_name

SLOW = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
PEOPLE = (f"person-{number}" for number in itertools.count())
ITEMS = [str(number) for number in (*range(1, 201), *range(1001, 1101))]
HISTORIES = st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0]))


def own_list(shop, history, n):
    """What the model itself recommends, as the service writes it."""
    model = shop.service.deployment.find_all(ServedModel)["films"].model
    own = {int(item): stars for item, stars in history.items()}
    return [
        {
            "rank": row.rank,
            "item_id": str(row.item_id),
            "score": row.score,
            "title": model.titles_[row.item_id],
            "cold": False,
        }
        for row in model.recommend(history=own, n=n)
    ]


def new_person(shop):
    name = next(PEOPLE)
    shop.keys[name] = shop.service.keys.person_key(name)
    return name


@SLOW
@given(history=st.dictionaries(st.sampled_from(ITEMS), st.integers(1, 5), max_size=6))
def test_feedback_then_a_list(shared_shop, history):
    """After any feedback the list is exactly what the model recommends from that history."""
    name = new_person(shared_shop)
    for item, stars in history.items():
        rating = {"model": "films", "item": item, "stars": stars}
        assert shared_shop.post(name, "/api/feedback", json=rating).status_code == 200
    told = shared_shop.get(name, f"/api/recommend/{name}?n=20&model=films").json()
    assert told["items"] == own_list(shared_shop, history, 20)
    assert told["personal"] == bool(history)


@SLOW
@given(history=HISTORIES, n=st.integers(1, 100))
def test_a_history_is_used_and_forgotten(shared_shop, history, n):
    """A list from a history that is sent is the model's own, and leaves no entry and no state."""
    ledger = shared_shop.service.ledger
    head = ledger.head
    asked = {"model": "films", "history": history, "n": n}
    told = shared_shop.post("subject", "/api/recommend", json=asked)
    assert told.json()["items"] == own_list(shared_shop, history, n)
    assert ledger.head == head
    assert ledger.state(f"demo/{ratings_state_name('ann')}") is None


def test_without_feedback_it_is_everybodys(shared_shop):
    """Somebody without ratings gets the list of the model for nobody, and is told so."""
    told = shared_shop.get("subject", "/api/recommend/ann?model=films").json()
    assert told == {
        "model": "films",
        "personal": False,
        "items": own_list(shared_shop, {}, 10),
        "ignored": [],
    }


def test_others_are_not_told_from_nobody(shared_shop):
    """Asking about another person gives the very bytes of asking about somebody unknown."""
    assert shared_shop.post(
        "other", "/api/feedback", json={"model": "films", "item": "1", "stars": 5}
    ).is_success
    known, unknown = (
        shared_shop.get("subject", f"/api/recommend/{name}") for name in ("bob", "nobody")
    )
    assert known.status_code == unknown.status_code == 404
    assert known.content == unknown.content
    named = [dict(answer.headers) for answer in (known, unknown)]
    for headers in named:
        headers.pop("x-request-id")
    assert named[0] == named[1]


def test_one_persons_ratings_change_nobody_elses_list(shared_shop):
    """A list depends on the model and one's own ratings alone."""
    name = new_person(shared_shop)
    before = shared_shop.get(name, f"/api/recommend/{name}").content
    for item in ITEMS[:5]:
        rating = {"model": "films", "item": item, "stars": 1}
        assert shared_shop.post("other", "/api/feedback", json=rating).is_success
    assert shared_shop.get(name, f"/api/recommend/{name}").content == before


def test_the_operator_asks_for_anybody(shared_shop):
    """The operator gets the list that the person gets."""
    name = new_person(shared_shop)
    rating = {"model": "films", "item": "1001", "stars": 5}
    assert shared_shop.post(name, "/api/feedback", json=rating).is_success
    path = f"/api/recommend/{name}"
    assert shared_shop.get("operator", path).content == shared_shop.get(name, path).content


@pytest.mark.parametrize(
    ("role", "status"), [(None, 401), ("analyst", 403), ("auditor", 403), ("vendor", 403)]
)
def test_others_do_not_ask(shared_shop, role, status):
    """Lists are for people and the operator."""
    asked = {"model": "films", "history": {}}
    assert shared_shop.get(role, "/api/recommend/ann").status_code == status
    assert shared_shop.post(role, "/api/recommend", json=asked).status_code == status


@pytest.mark.parametrize("n", ["0", "101", "-1", "ten", "1e2", "9" * 400])
def test_a_list_has_a_length(shared_shop, n):
    """1 to 100 lines, otherwise it is refused."""
    assert shared_shop.get("subject", "/api/recommend/ann", params={"n": n}).status_code == 422


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"model": "books"}, 404),
        ({"model": None}, 422),
        ({"history": {"1": 3.5}}, 422),
        ({"history": {"1": 6}}, 422),
        ({"history": {"1": True}}, 422),
        ({"history": {"1": "3"}}, 422),
        ({"history": {"1" * 201: 3}}, 422),
        ({"history": {str(number): 3 for number in range(1001)}}, 422),
        ({"history": [1.5]}, 422),
        ({"n": 0}, 422),
        ({"n": 101}, 422),
        ({"n": 1.5}, 422),
        ({"user": "bob"}, 422),
    ],
)
def test_what_does_not_fit_is_refused(shared_shop, changed, status):
    """Unknown models, stars off the scale, and too much of anything; with no echo."""
    asked = {"model": "films", "history": {"1": 3}, "n": 3, **changed}
    answer = shared_shop.post("subject", "/api/recommend", json=asked)
    assert answer.status_code == status
    assert "3.5" not in answer.text


def test_an_unknown_model_of_the_query(shared_shop):
    """A model that is not served is nothing at this address."""
    assert shared_shop.get("subject", "/api/recommend/ann?model=books").status_code == 404
    assert shared_shop.get("subject", "/api/recommend/ann?model=Films!").status_code == 422
