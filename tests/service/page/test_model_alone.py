"""`tacit serve shop.tacit`, as the README writes it: choose items, get a list, send nothing."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tacit.designs.private.device import DeviceLists
from tacit.recommenders import load_model
from tests.service.page.conftest import Served, run_service
from tests.service.page.test_ease import JUDGED, LOUD, axe, headed, tab_to
from tests.support.program import type_commands

__all__ = ["axe"]  # a fixture

README = (
    "data generate shop.csv --seed 1 --users 2000 --items 300 --ratings 60000 --labels 6",
    "fit private shop.csv --catalogue shop-items.csv --scale 1:5:1 --epsilon 1 -o shop.tacit",
)
"""The README's commands that make the model; the next one is  tacit serve shop.tacit."""


@pytest.fixture(scope="module")
def shop_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The README's shop.tacit."""
    folder = tmp_path_factory.mktemp("readme")
    type_commands(folder, README)
    return folder / "shop.tacit"


@pytest.fixture(scope="module")
def served(built_page: Path, shop_model: Path) -> Iterator[Served]:
    """`tacit serve shop.tacit`."""
    with run_service(shop_model) as (address, keys):
        yield Served(address, keys["operator"])


@pytest.fixture(scope="module")
def lists(shop_model: Path) -> DeviceLists:
    """The model as devices get it."""
    return DeviceLists.decode(load_model(shop_model).device_file())


@pytest.fixture(scope="module")
def titles(lists: DeviceLists) -> dict[Any, str]:
    """Title of each item."""
    return dict(zip(lists.items, lists.header["titles"], strict=True))


def choose(person: Any, *places: int) -> None:
    """Choose items by their places on the page, where the most popular come first."""
    person.page.wait_for_selector(".offered li")
    for place in places:
        person.page.locator(".offered button.like").nth(place).click()


def chosen_items(lists: DeviceLists, *places: int) -> list[Any]:
    """The items at these places of the page."""
    popular = [item for item, _ in lists.rank({}, n=len(lists.items))]
    return [popular[place] for place in places]


def shown_list(person: Any) -> list[str]:
    """Titles of the list."""
    person.page.locator(".made li").nth(9).wait_for()
    found: list[str] = person.page.locator(".made h2").all_inner_texts()
    return found


def ranked(lists: DeviceLists, titles: dict[Any, str], history: Any, **wish: Any) -> list[str]:
    """Titles in the order of the Python device."""
    return [titles[item] for item, _ in lists.rank(history, **wish)]


@pytest.mark.parametrize("width", [1280, 390])
def test_a_list_is_made_here_and_nothing_is_sent(visit, lists, titles, width):
    """The list is that of the Python device, and what is asked for is public and the same whatever
    was chosen."""
    asked = []
    for places in ((0, 3, 5), (1, 2)):
        person = visit(width=width)
        choose(person, *places)
        person.page.get_by_role("button", name="Next: your list").click()
        history = dict.fromkeys(chosen_items(lists, *places), 5.0)
        assert shown_list(person) == ranked(lists, titles, history)
        person.page.get_by_text("differentially private").first.wait_for()
        person.page.wait_for_load_state("networkidle")
        assert {request.method for request in person.sent} == {"GET"}
        assert not any(request.post_data_buffer for request in person.sent)
        assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        asked.append({request.url for request in person.sent})
    assert asked[0] == asked[1]


def test_before_any_choice_the_list_is_of_popular_items(visit, lists, titles):
    """And the page says so."""
    person = visit(path="/#list")
    assert shown_list(person) == ranked(lists, titles, {})
    person.page.get_by_text("These are popular items").wait_for()


def test_search_and_category_find_items(visit, lists, titles, shop_model):
    """Any part of a title, in any case; and a category is the catalogue's."""
    person = visit()
    person.page.get_by_label("Search").fill("ITEM 29")
    expected = sorted(title for title in titles.values() if "29" in title)
    person.page.get_by_text(f"{len(expected)} items", exact=True).wait_for()
    assert sorted(person.page.locator(".offered h2").all_inner_texts()) == expected
    person.page.get_by_label("Search").fill("nothing like that")
    person.page.get_by_text("No item was found").wait_for()
    person.page.get_by_label("Search").fill("")
    with (shop_model.parent / "shop-items.csv").open() as file:
        labels = [row["genres"].split("|") for row in csv.DictReader(file)]
    of_label = sum("label 2" in each for each in labels)
    person.page.get_by_label("Category").select_option("label 2")
    person.page.get_by_text(f"{of_label} items", exact=True).wait_for()


def test_what_does_not_interest_leaves_the_list_and_can_come_back(visit, lists, titles):
    """Not interested counts as the fewest stars, left out for nothing; both can be undone."""
    person = visit()
    choose(person, 0, 3, 5)
    person.step("Your list")
    history = dict.fromkeys(chosen_items(lists, 0, 3, 5), 5.0)
    first = [item for item, _ in lists.rank(history)]
    before = shown_list(person)
    person.page.get_by_role("button", name=f"Not interested in {titles[first[1]]}").click()
    person.page.locator("button:focus", has_text="Undo").wait_for()
    disliked = history | {first[1]: 1.0}
    assert shown_list(person) == ranked(lists, titles, disliked)
    left_out = lists.rank(disliked)[0][0]
    person.page.get_by_role("button", name=f"Leave out {titles[left_out]}", exact=True).click()
    person.page.get_by_text("counts for nothing").wait_for()
    assert shown_list(person) == ranked(lists, titles, disliked, exclude=[left_out])
    person.page.reload()
    assert shown_list(person) == ranked(lists, titles, disliked, exclude=[left_out])
    for item in (first[1], left_out):
        name = f"Take back what you said of {titles[item]}"
        person.page.get_by_role("button", name=name, exact=True).click()
    assert shown_list(person) == before


def test_a_list_may_be_of_one_category(visit, lists, titles, shop_model):
    """The list is that of the category's items alone."""
    with (shop_model.parent / "shop-items.csv").open() as file:
        rows = [row for row in csv.DictReader(file) if "label 3" in row["genres"].split("|")]
    candidates = {int(row["item_id"]) for row in rows}
    assert candidates
    person = visit()
    choose(person, 0, 3)
    person.step("Your list")
    person.page.get_by_label("Only from").select_option("label 3")
    history = dict.fromkeys(chosen_items(lists, 0, 3), 5.0)
    expected = ranked(lists, titles, history, candidates=candidates)
    person.page.locator(".made h2").first.get_by_text(expected[0], exact=True).wait_for()
    assert shown_list(person) == expected


def test_each_item_has_reasons(visit, lists, titles):
    """The chosen items without which it would stand lower, as the Python device finds them."""
    person = visit()
    choose(person, 0, 3, 5)
    person.step("Your list")
    history = dict.fromkeys(chosen_items(lists, 0, 3, 5), 5.0)
    items = [item for item, _ in lists.rank(history)]
    reasons = lists.reasons(history, items)
    assert any(reasons)
    for place in range(10):
        row = person.page.locator(".made li").nth(place)
        row.locator("summary").click()
        said = row.locator(".why").inner_text()
        names = re.findall(r"Item \d+", said)
        assert names == [titles[own] for own, _ in reasons[place]]


def test_no_item_is_called_a_film(visit):
    """Neither while choosing nor beside the list, the card included."""
    person = visit()
    choose(person, 0)
    texts = [person.page.locator("body").inner_text()]
    person.step("Your list")
    shown_list(person)
    for summary in person.page.locator("summary").all():
        summary.click()
    person.page.wait_for_load_state("networkidle")
    texts.append(person.page.locator("body").inner_text())
    assert all("item" in text.lower() for text in texts)
    assert not any("film" in text.lower() for text in texts)


def test_the_promise_is_one_sentence(visit):
    """With the basis above it and the rest behind a fold."""
    person = visit(path="/#list")
    promise = person.page.locator(".guarantee .promise")
    promise.wait_for()
    text = promise.inner_text()
    assert "differentially private" in text
    assert text.count(". ") == 0


def test_choices_are_forgotten_when_asked(visit):
    """Nothing of them stays in the browser."""
    person = visit()
    choose(person, 0, 1)
    person.step("Your list")
    person.page.get_by_role("button", name="Forget all 2 items").click()
    person.page.get_by_text("These are popular items").wait_for()
    kept = json.loads(person.page.evaluate("JSON.stringify(Object.keys(localStorage))"))
    assert "tacit.choices" not in kept


def test_a_visit_to_a_model_needs_no_mouse(visit):
    """Choices by the space bar, the list by Enter, an item left out and brought back by Enter."""
    person = visit()
    keyboard = person.page.keyboard
    person.page.wait_for_selector(".offered li")
    for _ in range(2):
        tab_to(person, "Choose Item")
        keyboard.press("Space")
    person.page.get_by_text("2 items chosen").wait_for()
    tab_to(person, "Next: your list")
    keyboard.press("Enter")
    assert headed(person) == "For you"
    before = shown_list(person)
    tab_to(person, "Leave out")
    keyboard.press("Enter")
    person.page.locator("button:focus", has_text="Undo").wait_for()
    assert shown_list(person) != before
    keyboard.press("Enter")
    person.page.get_by_role("button", name="Undo").wait_for(state="detached")
    assert shown_list(person) == before


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 320)])
def test_axe_finds_nothing_serious_beside_a_model(visit, axe, scheme, width):
    """WCAG 2.2 AA as far as a program can judge it, and nothing is wider than the screen."""
    person = visit(width=width, color_scheme=scheme, bypass_csp=True)
    choose(person, 0, 3)
    found = {}
    for name in ("choose", "list"):
        if name == "list":
            person.step("Your list")
            person.page.get_by_role("button", name="Not interested").first.click()
            for summary in person.page.locator("summary").all():
                summary.click()
            person.page.wait_for_load_state("networkidle")
        person.page.evaluate(axe)
        judged = person.page.evaluate(JUDGED)
        assert judged["passes"] > 10
        found[name] = [rule for rule, impact in judged["violations"] if impact in LOUD]
        assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert found == {"choose": [], "list": []}
