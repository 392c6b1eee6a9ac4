"""Public facts that are shown with items: categories, price and picture.

The facts come from the columns of a catalogue and are stored in model files. They do not affect
lists.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.domains import SEPARATOR, split_list
from tacit.data.ratings import Column, Ratings
from tacit.data.tables.names import is_named
from tacit.recommenders.headers import names_from_header, read_array, read_places

MOST_CATEGORIES = 8
"""Largest number of categories of an item; further ones are left out."""
_FEW_CATEGORIES = 2**8
"""A file with at most this many categories stores their numbers in 8 bits, any other in 32."""


@dataclass(frozen=True, slots=True)
class ItemDetails:
    """Public facts about one item, as they are shown."""

    categories: tuple[str, ...] = ()
    """Names of the item's categories."""
    price: str | None = None
    """Price as the catalogue writes it, with or without a currency; None: unknown."""
    image: str | None = None
    """Address of a picture; None: there is none."""


Details = Mapping[Any, ItemDetails]
"""Item id to facts; items without any facts are left out."""


def read_details(ratings: Ratings) -> Details:
    """Read the items' categories, prices and pictures from the public item metadata of ratings."""
    category_column = _find_column(ratings, "category")
    price_column = _find_column(ratings, "price")
    image_column = _find_column(ratings, "image")
    categories: Sequence[Sequence[str]] = [()] * len(ratings.item_ids)
    if category_column is not None:
        categories = split_list(ratings, category_column)
    prices = _read_texts(ratings, price_column)
    images = _read_texts(ratings, image_column)
    details = {}
    for place, item in enumerate(ratings.item_ids.tolist()):
        facts = ItemDetails(
            tuple(categories[place][:MOST_CATEGORIES]), prices[place], images[place]
        )
        if facts != ItemDetails():
            details[item] = facts
    return details


def details_of_facts(facts: Mapping[str, Any]) -> ItemDetails:
    """Read categories, price and picture of one item from its row of a catalogue.

    Args:
        facts: The item's value, or list of values, by the header of the column. Of several prices
            or pictures the first one counts; an empty text or list, or None, is no fact.
    """
    categories: list[str] = []
    details = ItemDetails()
    for name, value in facts.items():
        parts = value if isinstance(value, list | tuple) else [value]
        values = [str(part) for part in parts if part is not None]
        first_value = values[0].strip() if values else ""
        if is_named("category", name):
            for text in values:
                categories += [part.strip() for part in text.split(SEPARATOR) if part.strip()]
        elif is_named("price", name):
            details = replace(details, price=details.price or first_value or None)
        elif is_named("image", name):
            details = replace(details, image=details.image or first_value or None)
    return replace(details, categories=tuple(dict.fromkeys(categories))[:MOST_CATEGORIES])


def title_of_facts(facts: Mapping[str, Any]) -> str | None:
    """Return an item's title from its row of a catalogue; None if there is no title.

    Args:
        facts: The item's values by the header of the column.
    """
    for name, value in facts.items():
        if is_named("title", name) and isinstance(value, str):
            return value
    return None


def details_to_parts(
    ids: Column, details: Details
) -> tuple[dict[str, Any] | None, dict[str, NDArray[Any]]]:
    """Turn facts about items into JSON values and arrays for a model file.

    Args:
        ids: (items,) ids.
        details: Facts about some of the items.

    Returns:
        The header: "categories", the names of all categories in alphabetical order; "prices" and
        "images", a list with the price or picture of each item, or None if no item has one. And the
        arrays: "category_counts" (items,) uint8, the number of categories of each item;
        "category_places", the indices in "categories" of each item's categories, item after item.
        If there are no facts: None, and no arrays.
    """
    if not details:
        return None, {}
    rows = [details.get(item, ItemDetails()) for item in ids.tolist()]
    names = sorted(set(itertools.chain.from_iterable(row.categories for row in rows)))
    numbers = {name: number for number, name in enumerate(names)}
    category_numbers: list[int] = []
    for row in rows:
        category_numbers += [numbers[name] for name in row.categories]
    prices = [row.price for row in rows]
    images = [row.image for row in rows]
    header = {
        "categories": names,
        "prices": prices if any(prices) else None,
        "images": images if any(images) else None,
    }
    number_type = np.uint8 if len(names) <= _FEW_CATEGORIES else np.int32
    arrays: dict[str, NDArray[Any]] = {
        "category_counts": np.array([len(row.categories) for row in rows], dtype=np.uint8),
        "category_places": np.array(category_numbers, dtype=number_type),
    }
    return header, arrays


def details_from_parts(
    ids: Column, header: Mapping[str, Any] | None, arrays: Mapping[str, NDArray[Any]]
) -> Details:
    """Read the facts that `details_to_parts` wrote; raise ValueError for anything else.

    Args:
        ids: (items,) ids.
        header: The header; None: there are no facts.
        arrays: The arrays, by name.
    """
    if header is None:
        return {}
    names = names_from_header(header["categories"])
    counts = read_array(arrays, "category_counts", len(ids))
    places = read_places(arrays, "category_places", len(names)).tolist()
    if counts.dtype != np.uint8 or int(counts.sum()) != len(places):
        raise ValueError("its numbers of categories do not fit its list of categories")
    prices = _texts_from_header(header["prices"], len(ids))
    images = _texts_from_header(header["images"], len(ids))
    details = {}
    start = 0
    for place, item in enumerate(ids.tolist()):
        end = start + int(counts[place])
        categories = tuple(names[number] for number in places[start:end])
        start = end
        facts = ItemDetails(categories, prices[place], images[place])
        if facts != ItemDetails():
            details[item] = facts
    return details


def _texts_from_header(values: Any, items: int) -> list[str | None]:
    """Read a list with a text or None for each item; None in its place means that no item has one.

    Raises:
        ValueError: The value is something else.
    """
    if values is None:
        return [None] * items
    if not isinstance(values, list) or len(values) != items:
        raise ValueError("its facts about items are no list with an entry for each item")
    if not all(value is None or isinstance(value, str) for value in values):
        raise ValueError("a fact about an item is no text")
    return values


def _find_column(ratings: Ratings, subject: str) -> str | None:
    """Return the name of the metadata column about a subject, such as "price"; None if absent."""
    for name in ratings.public_metadata:
        if is_named(subject, name):  # type: ignore[arg-type]  # callers give names of subjects
            return name
    return None


def _read_texts(ratings: Ratings, column: str | None) -> list[str | None]:
    """Read the text of each item in a column of the item metadata.

    Args:
        ratings: Ratings with the metadata.
        column: Name of the column; None: no item has a text.

    Returns:
        For each item its text without blanks at both ends; None for an empty text.
    """
    if column is None:
        return [None] * len(ratings.item_ids)
    texts: list[str | None] = []
    for value in ratings.public_metadata[column].tolist():
        text = "" if value is None else str(value).strip()
        texts.append(text or None)
    return texts
