"""Items that no one rated, on the page: listed by features, marked, and not to choose from."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.service.model_folder import make_model_folder
from tests.service.page.conftest import Served, run_service
from tests.service.page.test_ease import JUDGED, LOUD, axe
from tests.support.program import type_commands

__all__ = ["axe"]  # a fixture

FIT = "fit private shop.csv --catalogue shop-items.csv --scale 1:5:1 --epsilon 30 --mode taste"
COLOURS = ("blue", "green", "red", "yellow")
PEOPLE, ITEMS = 400, 40


def write_shop(folder: Path) -> None:
    """Write ratings of people who like one colour each, and a catalogue with the colours."""
    chance = np.random.default_rng(5)
    ratings = ["user,item,rating"]
    for person in range(PEOPLE):
        chosen = chance.choice(ITEMS, 12, replace=False).tolist()
        stars = [5 if item % 4 == person % 4 else 2 for item in chosen]
        ratings += [f"{person},{item},{star}" for item, star in zip(chosen, stars, strict=True)]
    (folder / "shop.csv").write_text("\n".join(ratings))
    items = [f"{item},Thing {item},{COLOURS[item % 4]}" for item in range(ITEMS)]
    (folder / "shop-items.csv").write_text("\n".join(["item_id,title,genres", *items]))


@pytest.fixture(scope="module")
def served(built_page: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A shop with twelve new products, three of each colour."""
    folder = tmp_path_factory.mktemp("cold")
    write_shop(folder)
    type_commands(folder, [f"{FIT} -o shop.tacit"])
    home, keys = make_model_folder(folder / "shop.tacit", "product")
    new = [f"N-{n},{COLOURS[n % 4]},New thing {n}\n" for n in range(12)]
    (home / "new.csv").write_text("sku,genres,title\n" + "".join(new))
    with (home / "tacit.toml").open("a") as settings:
        settings.write('cold_items = "new.csv"\n')
    with run_service(home) as (address, _):
        yield Served(address, keys["operator"])


def test_a_new_item_is_listed_and_marked(visit: Any) -> None:
    """It says New, and why it is there; the others say nothing of that kind."""
    page = visit().page
    page.wait_for_selector(".offered li")
    page.get_by_label("Category").select_option("red")
    for place in range(4):
        page.locator(".offered button.like").nth(place).click()
    page.get_by_role("button", name="Next: your list").click()
    page.locator(".made li").nth(9).wait_for()
    for row in page.locator(".made li").all():
        is_new = row.locator("h2").inner_text().startswith("New thing")
        assert row.locator(".new").count() == is_new
    marked = page.locator(".made li", has=page.locator(".new")).first
    marked.locator("summary").click()
    marked.locator(".why").wait_for()
    assert "Nobody rated it yet" in marked.locator(".why").inner_text()


def test_a_new_item_is_not_offered(visit: Any) -> None:
    """No list can be made of it: a search for its title finds nothing."""
    page = visit().page
    page.wait_for_selector(".offered li")
    page.get_by_label("Search").fill("New thing")
    page.get_by_text("No product was found").wait_for()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing_serious_beside_new_items(visit, axe, scheme, width):
    """With the reason of a new item open; nor is the page wider than the screen."""
    person = visit(width=width, color_scheme=scheme, bypass_csp=True)
    page = person.page
    page.wait_for_selector(".offered li")
    page.get_by_label("Category").select_option("red")
    for place in range(4):
        page.locator(".offered button.like").nth(place).click()
    page.get_by_role("button", name="Next: your list").click()
    page.locator(".made li", has=page.locator(".new")).first.locator("summary").click()
    page.evaluate(axe)
    judged = page.evaluate(JUDGED)
    assert judged["passes"] > 10
    assert [rule for rule, impact in judged["violations"] if impact in LOUD] == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
