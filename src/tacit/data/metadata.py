"""Item metadata as features: which columns, and the values of each item.

Metadata are public and come from outside: genres, tags, categories, prices, years of a catalogue.
Columns made of the ratings themselves, such as tags by the same people or embeddings of their
events, are private data and no metadata. Several values of one item are joined by '|'.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.data.ratings import Ratings
from tacit.errors import DataError

SEPARATOR = "|"
KNOWN_FEATURES = (
    "genres",
    "genre",
    "tags",
    "tag",
    "categories",
    "category",
    "price",
    "year",
)
"""Columns that are features unless others are named, compared in lower case, in this order."""

Values = list[list[str]]
"""The distinct values of each item in the order of `item_ids`; an empty list where unknown."""


def item_features(ratings: Ratings, names: Sequence[str] | None = None) -> dict[str, Values]:
    """Column name to the values of every item of the catalogue, as texts.

    names: columns of `item_metadata`; None: the known ones that there are, which may be none;
    empty: none. DataError if a named column is not there.
    """
    if names is None:
        lowered = {name.strip().lower(): name for name in ratings.item_metadata}
        names = [lowered[name] for name in KNOWN_FEATURES if name in lowered]
    return {name: listed(ratings, name) for name in dict.fromkeys(names)}


def listed(ratings: Ratings, column: str) -> Values:
    """The distinct values of each item in one column, as they are listed."""
    values = ratings.item_metadata.get(column)
    if values is None:
        raise DataError(
            f"no item metadata '{column}'",
            found=", ".join(ratings.item_metadata) or "no item metadata at all",
            fix="Name a file of items with --items, or read a MovieLens folder.",
        )
    cells = [("" if value is None else str(value)).split(SEPARATOR) for value in values.tolist()]
    return [list(dict.fromkeys(part.strip() for part in cell if part.strip())) for cell in cells]
