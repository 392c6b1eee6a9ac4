"""Public facts about items that are shown beside them: categories, price and picture.

They come from the catalogue's columns, are kept in model files, and change no list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.data.domains import split_list
from tacit.data.ratings import Column, Ratings
from tacit.data.tables.names import is_named

MOST_CATEGORIES = 8
"""Categories of one item that are kept, the first ones."""


@dataclass(frozen=True, slots=True)
class ItemDetails:
    """Public facts about one item, each as it is shown."""

    categories: tuple[str, ...] = ()
    price: str | None = None
    """As the catalogue writes it, with or without a currency."""
    image: str | None = None
    """Address of a picture."""


Details = Mapping[Any, ItemDetails]
"""Facts by item id; an item without any is left out."""


def read_details(ratings: Ratings) -> Details:
    """Read categories, prices and pictures from public item metadata."""
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


def details_to_header(ids: Column, details: Details) -> dict[str, Any] | None:
    """Facts as JSON values, one list for each kind; None where there are none."""
    if not details:
        return None
    rows = [details.get(item, ItemDetails()) for item in ids.tolist()]
    return {
        "categories": [list(row.categories) for row in rows],
        "prices": [row.price for row in rows],
        "images": [row.image for row in rows],
    }


def details_from_header(ids: Column, header: Mapping[str, Any] | None) -> Details:
    """Read what `details_to_header` wrote; ValueError for anything else."""
    if header is None:
        return {}
    columns = (header["categories"], header["prices"], header["images"])
    if not all(isinstance(column, list) and len(column) == len(ids) for column in columns):
        raise ValueError("its facts about items are not one for each item")
    details = {}
    for item, categories, price, image in zip(ids.tolist(), *columns, strict=True):
        texts = [*categories, price or "", image or ""]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("a fact about an item is no text")
        facts = ItemDetails(tuple(categories), price, image)
        if facts != ItemDetails():
            details[item] = facts
    return details


def _find_column(ratings: Ratings, subject: str) -> str | None:
    """Name of the column that holds these facts; None where there is none."""
    for name in ratings.public_metadata:
        if is_named(subject, name):  # type: ignore[arg-type]  # a name of the caller's
            return name
    return None


def _read_texts(ratings: Ratings, column: str | None) -> list[str | None]:
    """The texts of one column by item; None where there is none."""
    if column is None:
        return [None] * len(ratings.item_ids)
    texts: list[str | None] = []
    for value in ratings.public_metadata[column].tolist():
        text = "" if value is None else str(value).strip()
        texts.append(text or None)
    return texts
