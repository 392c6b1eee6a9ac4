"""A model of too few people, on the page: everyone gets the popular items, and the page says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tacit.designs.private.device import DeviceLists
from tacit.recommenders import load_model
from tests.service.page.conftest import Served, run_service
from tests.service.page.test_ease import JUDGED, LOUD, axe
from tests.service.page.test_model_alone import choose, shown_list
from tests.support.program import type_commands

__all__ = ["axe"]  # a fixture

COMMANDS = (
    "data generate few.csv --seed 1 --users 60 --items 40 --ratings 900 --labels 4",
    "fit private few.csv --catalogue few-items.csv --scale 1:5:1 --epsilon 0.3 -o few.tacit",
)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A model of sixty people."""
    folder = tmp_path_factory.mktemp("few")
    type_commands(folder, COMMANDS)
    return folder / "few.tacit"


@pytest.fixture(scope="module")
def served(built_page: Any, few: Any) -> Iterator[Served]:
    """`tacit serve few.tacit`."""
    with run_service(few) as (address, keys):
        yield Served(address, keys["operator"])


def test_the_list_is_called_popular_and_only_leaves_chosen_items_out(visit: Any, few: Any) -> None:
    """It is the Python device's, and promises no list of one's own."""
    lists = DeviceLists.decode(load_model(few).device_file())
    assert lists.header["mode"] == "popularity"
    titles = dict(zip(lists.items, lists.header["titles"], strict=True))
    person = visit()
    choose(person, 0, 3)
    person.page.get_by_role("button", name="Next: your list").click()
    shown = shown_list(person)
    popular = [item for item, _ in lists.rank({}, n=len(lists.items))]
    left = [item for place, item in enumerate(popular) if place not in (0, 3)]
    assert shown == [titles[item] for item in left[:10]]
    assert person.page.locator("h1#made").inner_text() == "Popular items"
    person.page.get_by_text("learned from too few people").wait_for()
    assert person.page.get_by_text("For you", exact=True).count() == 0


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_serious_beside_popular_items(visit, axe, scheme, width):
    """Nor is the page wider than the screen."""
    person = visit(path="/#list", width=width, color_scheme=scheme, bypass_csp=True)
    shown_list(person)
    person.page.evaluate(axe)
    judged = person.page.evaluate(JUDGED)
    assert judged["passes"] > 10
    assert [rule for rule, impact in judged["violations"] if impact in LOUD] == []
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
