"""Public facts about items in the header and arrays of a model file."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.recommenders.item_details import (
    ItemDetails,
    details_from_parts,
    details_of_facts,
    details_to_parts,
)

IDS = np.array([1, 2, 5, 9])
DETAILS = {
    1: ItemDetails(("b", "a"), "3 EUR", None),
    5: ItemDetails((), None, "https://example.org/5.png"),
    9: ItemDetails(("a",)),
}


def test_what_is_written_is_read() -> None:
    """In the order of each item's categories; an item without facts stays out."""
    header, arrays = details_to_parts(IDS, DETAILS)
    assert details_from_parts(IDS, header, arrays) == DETAILS


def test_without_facts_nothing_is_written() -> None:
    """Neither header nor array."""
    assert details_to_parts(IDS, {}) == (None, {})
    assert details_from_parts(IDS, None, {}) == {}


def test_more_than_256_categories_are_told_apart() -> None:
    """Their numbers then take 32 bits."""
    details = {item: ItemDetails((f"category {item}",)) for item in range(300)}
    ids = np.arange(300)
    header, arrays = details_to_parts(ids, details)
    assert arrays["category_places"].dtype == np.int32
    assert details_from_parts(ids, header, arrays) == details


@pytest.mark.parametrize(
    "change",
    [
        {"category_counts": np.array([2, 0, 0, 2], np.uint8)},
        {"category_counts": np.array([2, 0, 0, 1], np.int32)},
        {"category_places": np.array([0, 1, 2], np.uint8)},
        {"category_places": np.array([0, 1, -1], np.int32)},
    ],
)
def test_categories_that_do_not_fit_are_refused(change: dict[str, np.ndarray]) -> None:
    """More categories than there are, or another type."""
    header, arrays = details_to_parts(IDS, DETAILS)
    with pytest.raises(ValueError, match=r"'category_(counts|places)'|its numbers of categories"):
        details_from_parts(IDS, header, arrays | change)


@pytest.mark.parametrize("name", ["prices", "images"])
@pytest.mark.parametrize("values", ["abc", ["x"], [1, None, None, None]])
def test_texts_that_are_none_are_refused(name: str, values: object) -> None:
    """One text or nothing for each item."""
    header, arrays = details_to_parts(IDS, DETAILS)
    with pytest.raises(ValueError, match="fact"):
        details_from_parts(IDS, {**(header or {}), name: values}, arrays)


@pytest.mark.parametrize("value", [[], [None], None, "", " ", [""]])
def test_an_empty_fact_is_none(value: object) -> None:
    """Whether it is an empty list, an empty text or nothing at all."""
    assert details_of_facts({"price": value, "image": value, "genres": value}) == ItemDetails()
    facts = {"price": ["9.90", "8"], "image": value, "genres": ["red|blue", "red"]}
    assert details_of_facts(facts) == ItemDetails(("red", "blue"), "9.90")


def test_an_empty_column_does_not_hide_a_price_of_another() -> None:
    """Of several columns of prices the first one with a price counts."""
    assert details_of_facts({"price": "9.90", "list_price": ""}).price == "9.90"
    assert details_of_facts({"price": "", "list_price": "12"}).price == "12"
