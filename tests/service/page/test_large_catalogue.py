"""The page of a catalogue of 3,000 items: the same list as the device's, however many there are.

How long it takes is printed by `benchmarks/page_load.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tacit import Private
from tacit.data.domains import on_catalogue
from tacit.data.synthetic import generate
from tacit.designs.private.device import DeviceLists
from tests.service.page.conftest import Served, run_service
from tests.service.page.test_model_alone import choose, chosen_items, shown_list

ITEMS = 3000


@pytest.fixture(scope="module")
def lists(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, DeviceLists]:
    """A model of 3,000 items with titles, as devices get it, and its file."""
    ratings = generate(users=2000, items=ITEMS, ratings=60_000, labels=8, seed=3)
    items = ratings.item_ids.tolist()
    genres = dict(zip(items, ratings.item_metadata["genres"].tolist(), strict=True))
    titles = {item: f"Thing {item}" for item in items}
    metadata = {"title": titles, "genres": genres}
    shop = on_catalogue(ratings, dict.fromkeys(items, "things"), metadata=metadata)
    path = tmp_path_factory.mktemp("large") / "large.tacit"
    model = Private(4.0).fit(shop)
    model.save(path)
    return path, DeviceLists.decode(model.device_file())


@pytest.fixture(scope="module")
def served(built_page: Path, lists: tuple[Path, DeviceLists]) -> Iterator[Served]:
    """`tacit serve large.tacit`."""
    with run_service(lists[0]) as (address, keys):
        yield Served(address, keys["operator"])


@pytest.mark.parametrize("width", [1280, 390])
def test_a_list_out_of_3000_items_is_the_devices(visit, lists, width):
    """Choosing among them, and the list made of all of them, equal the Python device's."""
    _, device = lists
    assert len(device.items) == ITEMS
    person = visit(width=width)
    choose(person, 0, 2, 4)
    person.page.get_by_role("button", name="Next: your list").click()
    history = dict.fromkeys(chosen_items(device, 0, 2, 4), 5.0)
    expected = [f"Thing {item}" for item, _ in device.rank(history)]
    assert shown_list(person) == expected
    assert person.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
