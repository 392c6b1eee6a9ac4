"""Which requests are answered on the event loop, without a thread."""

from __future__ import annotations

from functools import partial

import pytest

from tacit.service.access import allow
from tacit.service.keys import Role
from tacit.service.operations import Operation, OperationTable
from tacit.service.problems import Problem
from tacit.service.resources import recommendations
from tacit.service.served_models import ServedModel
from tacit.service.stored_ratings import StoredRatings


def nothing() -> None:
    """An endpoint."""


def operation(path, method="GET"):
    return Operation(path, nothing, methods=[method], **allow(Role.ANONYMOUS))


PATHS = ("/", "/api/models", "/api/models/{model}/items", "/api/{other}", "/assets/{name}")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/", "/"),
        ("/api/models", "/api/models"),
        ("/api/models/films/items", "/api/models/{model}/items"),
        ("/api/news", "/api/{other}"),
        ("/assets/a.js", "/assets/{name}"),
    ],
)
def test_an_address_is_found_by_its_first_parts(path, found):
    """Whether these are fixed or not."""
    table = OperationTable([operation(one) for one in PATHS])
    scope = {"path": path, "method": "GET"}
    assert table.find(scope).path == found


@pytest.mark.parametrize("path", ["/api", "/api/models/", "/api/models\n", "/nothing/here", ""])
def test_other_addresses_are_not_found(path):
    """404, also where the first parts are known."""
    table = OperationTable([operation(one) for one in PATHS[:3]])
    with pytest.raises(Problem) as refused:
        table.find({"path": path, "method": "GET"})
    assert refused.value.status == 404


def test_methods_of_an_address_are_named():
    """405 with all of them."""
    table = OperationTable([operation("/api/models"), operation("/api/models", "POST")])
    with pytest.raises(Problem) as refused:
        table.find({"path": "/api/models", "method": "DELETE"})
    assert refused.value.headers["Allow"] == "GET, HEAD, POST"


def runs_on_loop(shop, path, **more):
    """Whether the list of a person, asked for by themselves, is made on the loop."""
    ann = shop.service.keys.find_caller(shop.keys["subject"])
    given = {"user": "ann", "model": "films", "category": None, "diversity": None, **more}
    (route,) = [one for one in shop.app.routes if one.path == path and "GET" in one.methods]
    call = partial(nothing, service=shop.service, caller=ann, n=10, seen=False, **given)
    return route.runs_on_loop(call)


LIST = "/api/recommend/{user}"


def test_a_list_needs_a_thread_until_the_ratings_are_in_memory(shop):
    """Reading them may wait for the disk, or for a commit; then the next list needs none."""
    assert not runs_on_loop(shop, LIST)
    before = shop.get("subject", "/api/recommend/ann?model=films").json()
    assert runs_on_loop(shop, LIST)
    assert shop.get("subject", "/api/recommend/ann?model=films").json() == before


def test_a_list_that_takes_long_needs_a_thread(shop, monkeypatch):
    """Of a category, with few of each category, or of a large catalogue."""
    shop.get("subject", "/api/recommend/ann?model=films")
    assert not runs_on_loop(shop, LIST, category="Drama")
    assert not runs_on_loop(shop, LIST, diversity=2)
    items = len(shop.service.deployment.find(ServedModel, "films").ids)
    monkeypatch.setattr(recommendations, "MOST_ITEMS_ON_LOOP", items)
    assert runs_on_loop(shop, LIST)
    monkeypatch.setattr(recommendations, "MOST_ITEMS_ON_LOOP", items - 1)
    assert not runs_on_loop(shop, LIST)


def test_a_list_of_many_stored_ratings_needs_a_thread(shop, monkeypatch):
    """They take as long as a long history that is sent."""
    shop.get("subject", "/api/recommend/ann?model=films")
    size = StoredRatings.cached_state_size(shop.service, "ann")
    assert size is not None
    monkeypatch.setattr(recommendations, "MOST_BYTES_ON_LOOP", size)
    assert runs_on_loop(shop, LIST)
    monkeypatch.setattr(recommendations, "MOST_BYTES_ON_LOOP", size - 1)
    assert not runs_on_loop(shop, LIST)


def test_a_list_of_another_person_is_refused_before_their_ratings_are_looked_for(shop):
    """404, whether or not anything of them is in memory."""
    with pytest.raises(Problem) as refused:
        runs_on_loop(shop, LIST, user="bob")
    assert refused.value.status == 404


def test_a_changed_rating_counts_in_the_next_list(shop):
    """The memory has what was committed, at once."""
    items = [row["item_id"] for row in shop.get("subject", "/api/recommend/ann").json()["items"]]
    model = shop.get(None, "/api/models").json()["models"][0]["name"]
    rating = {"model": model, "item": items[0], "stars": 5.0}
    assert shop.post("subject", "/api/feedback", json=rating).status_code == 200
    after = shop.get("subject", f"/api/recommend/ann?model={model}").json()
    assert after["personal"]
    assert items[0] not in [row["item_id"] for row in after["items"]]


def test_the_page_may_be_linked_to_with_any_query(shop):
    """A newsletter's link names its campaign; the operations of the document still refuse that."""
    plain, linked = (shop.get(None, path) for path in ("/", "/?utm_source=letter&utm_source=2"))
    assert (linked.status_code, linked.text) == (plain.status_code, plain.text)
    assert shop.get(None, "/api/models?utm_source=letter").status_code == 422
