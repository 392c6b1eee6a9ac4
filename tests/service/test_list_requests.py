"""A backend asks for lists: histories in three forms, unknown items, and what a list may hold."""

from __future__ import annotations

import pytest

from tacit.service.keys import Role, add_key
from tacit.service.served_models import ServedModel


@pytest.fixture(scope="module")
def served(shared_shop):
    """The private model, whose items have genres."""
    return shared_shop.service.deployment.find_all(ServedModel)["lists"]


def ask(shop, who="recommend", **question):
    """The answer to a question for one list."""
    answer = shop.post(who, "/api/recommend", json={"model": "lists", **question})
    assert answer.status_code == 200, answer.text
    return answer.json()


def listed(answer):
    """Ids of a list."""
    return [line["item_id"] for line in answer["items"]]


def test_a_history_has_three_forms(shared_shop, served):
    """Ids, ids with the most stars and ids with quantities give one list, as the model makes it."""
    expected = [str(row.item_id) for row in served.model.recommend(history={12: 5.0, 40: 5.0})]
    histories = (
        ["12", "40"],
        [12, 40],
        {"12": 5, "40": 5},
        [{"item": "12", "quantity": 3}, {"item": 40, "quantity": 0.5}],
        [{"item": "12", "stars": 5}, "40"],
    )
    assert [listed(ask(shared_shop, history=one)) for one in histories] == [expected] * 5


@pytest.mark.parametrize(
    "history",
    [
        [{"item": "12", "quantity": 0}],
        [{"item": "12", "quantity": -1}],
        [{"item": "12", "quantity": 1, "stars": 5}],
        [{"item": "12", "plays": 1}],
        [True],
        {"12": 9},
        "12",
    ],
)
def test_a_history_of_no_form_is_refused(shared_shop, history):
    """No quantity of zero, not stars beside it, no other field, no stars off the scale."""
    question = {"model": "lists", "history": history}
    assert shared_shop.post("recommend", "/api/recommend", json=question).status_code == 422


def test_unknown_items_are_named_and_refuse_nothing(shared_shop):
    """New products in every part of a question, each named once; the list is as without them."""
    plain = ask(shared_shop, history=["12"], exclude=["40"])
    with_unknown = ask(
        shared_shop,
        history=["NEW-1", "12", "NEW-1"],
        exclude=["40", "NEW-2"],
        candidates=None,
    )
    assert with_unknown["ignored"] == ["NEW-1", "NEW-2"]
    assert with_unknown["items"] == plain["items"]
    assert plain["ignored"] == []
    of_unknown = ask(shared_shop, history={"NEW-1": 5})
    assert (of_unknown["personal"], of_unknown["ignored"]) == (False, ["NEW-1"])


def test_a_list_is_of_the_candidates_and_without_the_excluded(shared_shop):
    """In the order of the whole list."""
    whole = listed(ask(shared_shop, history=["12"], n=100))
    candidates = whole[3:60:4]
    found = listed(ask(shared_shop, history=["12"], candidates=candidates, exclude=candidates[:2]))
    assert found == candidates[2:12]


def test_a_list_is_of_one_category(shared_shop, served):
    """All items that the category has, and no other."""
    category = served.items[0].categories[0]
    found = listed(ask(shared_shop, history=["12"], category=category, n=100))
    assert found
    assert all(category in served.categories[item] for item in found)
    assert listed(ask(shared_shop, history=["12"], category="no such thing")) == []


def test_diversity_is_at_most_so_many_of_a_category(shared_shop, served):
    """Each category is met at most twice, and what was passed over would have been a third."""
    ranked = served.model.recommend(history={12: 5.0}, n=len(served.ids))
    whole = [str(row.item_id) for row in ranked]
    found = ask(shared_shop, history=["12"], diversity=2, n=10)
    assert [line["rank"] for line in found["items"]] == list(range(1, len(found["items"]) + 1))
    counts = {}
    expected = []
    for item in whole:
        categories = served.categories[item]
        if all(counts.get(category, 0) < 2 for category in categories):
            expected.append(item)
            for category in categories:
                counts[category] = counts.get(category, 0) + 1
    assert max(counts.values()) == 2
    assert listed(found) == expected[:10]


def test_seen_items_stay_in_when_asked_for(shared_shop):
    """By default a list never holds what the history does."""
    best = listed(ask(shared_shop, n=1))
    assert best[0] not in listed(ask(shared_shop, history=best, n=100))
    assert best[0] in listed(ask(shared_shop, history=best, seen=True, n=100))


def test_lists_of_many_people_are_those_of_each(shared_shop):
    """In their order, with the ids that the shop gave, whatever these look like."""
    customers = ["Ann.Lee+1@Example.COM", "00042", "Zoë", "x" * 256]
    histories = [["12"], {"40": 1}, [], ["NEW-1"]]
    people = []
    for customer, history in zip(customers, histories, strict=True):
        people.append({"customer": customer, "history": history})
    question = {"model": "lists", "people": people, "n": 5}
    lists = shared_shop.post("recommend", "/api/recommend-many", json=question).json()["lists"]
    assert [one["customer"] for one in lists] == customers
    for one, history in zip(lists, histories, strict=True):
        alone = ask(shared_shop, history=history, n=5)
        assert (one["items"], one["ignored"]) == (alone["items"], alone["ignored"])


def test_similar_items_are_the_models(shared_shop, served):
    """By the model's own rule; an unknown item is not found."""
    answer = shared_shop.get("recommend", "/v1/models/lists/similar/12?n=7").json()
    expected = [str(row.item_id) for row in served.model.similar_items(12, n=7)]
    assert listed(answer) == expected
    assert shared_shop.get("recommend", "/v1/models/lists/similar/NEW-1").status_code == 404


def test_a_person_may_have_any_id(shared_shop):
    """An e-mail address gets a pseudonym, under which ratings are stored, listed and forgotten."""
    address = "Ann.Lee+1@Example.COM"
    made = shared_shop.post("operator", "/api/people", json={"name": address}).json()
    assert address not in made["name"]
    shared_shop.keys["email"] = made["key"]
    rating = {"model": "lists", "item": "12", "stars": 5}
    assert shared_shop.post("email", "/api/feedback", json=rating).is_success
    by_id = shared_shop.get("recommend", f"/api/recommend/{address}?model=lists").json()
    assert by_id == shared_shop.get("email", f"/api/recommend/{made['name']}?model=lists").json()
    assert by_id["personal"]
    assert shared_shop.ask("operator", "DELETE", f"/api/users/{address}").is_success
    assert not shared_shop.get("email", f"/api/recommend/{address}?model=lists").json()["personal"]


def test_a_key_may_get_popular_lists_to_compare_with(shared_shop):
    """The list of popular items without those of the history, and it is not personal."""
    file = shared_shop.folder / "keys.json"
    shared_shop.keys["b"] = add_key(file, "arm-b", Role.RECOMMEND, "demo", lists="popularity")
    popular = listed(ask(shared_shop, n=100))
    history = popular[1:3]
    found = ask(shared_shop, "b", history=history, n=5)
    assert not found["personal"]
    assert listed(found) == [item for item in popular if item not in history][:5]
    with_seen = ask(shared_shop, "b", history=history, n=5, seen=True)
    assert listed(with_seen) == popular[:5]


def test_lists_are_counted_without_persons(shared_shop):
    """By model and kind of lists."""

    def count(name):
        text = shared_shop.get("operator", "/metrics").text
        rows = [row for row in text.splitlines() if row.startswith(f"{name}{{")]
        return {row.rpartition(" ")[0]: float(row.rpartition(" ")[2]) for row in rows}

    row = 'tacit_lists_total{lists="personal",model="lists"}'
    before = count("tacit_lists_total").get(row, 0)
    ask(shared_shop, history=["12"], n=100, customer="Ann.Lee@example.com")
    assert count("tacit_lists_total")[row] == before + 1
    assert "Ann" not in shared_shop.get("operator", "/metrics").text


def test_no_metric_depends_on_the_items_of_lists(demo, folder, shops):
    """Whoever knows all lists but one learns nothing of that one from a number."""
    texts = []
    for history in (["12"], ["40"]):
        with shops(demo, folder) as shop:
            for _ in range(100):
                ask(shop, history=history, n=1, seen=True)
            rows = shop.get("operator", "/metrics").text.splitlines()
        is_of_time = ("tacit_request_seconds", "tacit_requests_created", "tacit_lists_created")
        texts.append([row for row in rows if not row.startswith(is_of_time)])
    assert texts[0] == texts[1]
    names = {row.split()[2] for row in texts[0] if row.startswith("# TYPE")}
    assert names >= {"tacit_requests_total", "tacit_lists_total"}
    assert not any("shown" in name for name in names)


def test_a_recommend_key_asks_for_lists_and_nothing_else(shared_shop, operations):
    """Of all operations with roles, those of lists and of clicks in them are open to it."""
    public = [one.name for one in operations if "anonymous" in one.roles]
    own = [one.name for one in operations if "recommend" in one.roles]
    assert public
    assert own == [
        "GET /api/recommend/{user}",
        "POST /api/recommend",
        "POST /api/recommend-many",
        "GET /v1/models/{model}/similar/{item}",
        "POST /api/splits/{name}/clicks",
    ]


def test_cold_items_are_listed_where_asked_for_and_marked(shared_shop, served):
    """New products with features, beside the others or alone; the default list has none."""
    genre = next(name for name in served.model.fitted_.feature_names if "=" in name)
    column, _, value = genre.partition("=")
    cold = [{"item": "NEW-1", "facts": {column: [value]}}, {"item": "NEW-2", "facts": {"x": "y"}}]
    alone = ask(shared_shop, history=["12"], candidates=[], cold=cold)
    assert [(line["item_id"], line["cold"]) for line in alone["items"]] == [("NEW-1", True)]
    assert alone["ignored"] == ["NEW-2"]
    plain = ask(shared_shop, history=["12"], n=100)
    beside = ask(shared_shop, history=["12"], n=100, cold=cold)
    assert not any(line["cold"] for line in plain["items"])
    rest = [line["item_id"] for line in beside["items"] if not line["cold"]]
    assert rest == listed(plain)[: len(rest)]


def test_a_model_that_scores_no_cold_items_says_so(shared_shop):
    """Status 422 and a sentence, where the design knows no features."""
    question = {"model": "films", "cold": [{"item": "NEW-1", "facts": {"genre": "Drama"}}]}
    answer = shared_shop.post("recommend", "/api/recommend", json=question)
    assert answer.status_code == 422
    assert "without ratings" in answer.json()["detail"]
