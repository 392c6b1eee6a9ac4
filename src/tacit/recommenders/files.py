"""Model files by name: which recommender wrote one, and reading it back."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit import container
from tacit.data.ratings import Column, Ratings
from tacit.errors import ModelFileError, TacitError

KINDS = {
    "standard-scheme": ("tacit.designs.standard_scheme", "StandardScheme"),
    "private": ("tacit.designs.private", "Private"),
    "xmap": ("tacit.designs.xmap", "XMap"),
    "popularity": ("tacit.recommenders.baselines", "Popularity"),
    "item-mean": ("tacit.recommenders.baselines", "ItemMean"),
    "matrix-factorization": ("tacit.recommenders.baselines", "MatrixFactorization"),
    "user-average": ("tacit.recommenders.baselines", "UserAverage"),
    "user-item-mean": ("tacit.recommenders.baselines", "UserItemMean"),
    "item-knn": ("tacit.recommenders.baselines", "ItemKNN"),
    "remote-user": ("tacit.recommenders.baselines", "RemoteUser"),
    "ease": ("tacit.recommenders.baselines", "EASE"),
    "item-item": ("tacit.recommenders.baselines", "ItemItem"),
    "als": ("tacit.recommenders.baselines", "ALS"),
    "private-popularity": ("tacit.recommenders.baselines", "PrivatePopularity"),
    "ridge": ("tacit.recommenders.baselines", "Ridge"),
    "x-map": ("tacit.designs.xmap", "XMap"),
}
"""Recommender name in a model file: where its class lives. Only these are ever loaded."""


def load_model(path: str | Path) -> Any:
    """The fitted recommender in a model file. Loading runs no code from the file."""
    header, arrays = container.read(path)
    kind = header.get("recommender")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelFileError(f"{path}: holds a recommender this tacit does not know ({kind!r}).")
    module, name = KINDS[kind]
    try:
        return getattr(import_module(module), name).from_parts(header, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, TacitError) as error:
        raise ModelFileError(
            f"{path}: its content cannot be used ({error}). Fit it again."
        ) from None


def shaped(arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None) -> NDArray[Any]:
    """One array of a file; ValueError unless it has this shape (None: any extent)."""
    array = arrays[name]
    fits = len(array.shape) == len(shape) and all(
        wanted is None or extent == wanted
        for extent, wanted in zip(array.shape, shape, strict=True)
    )
    if not fits:
        raise ValueError(f"'{name}' does not fit the list of items")
    return array


Titles = Mapping[Any, str]
"""Item id to a name people know; only for showing."""


def titles_of(ratings: Ratings) -> Titles:
    """Titles from item metadata, of the items that have one."""
    column = ratings.item_metadata.get("title")
    if column is None:
        return {}
    named = zip(ratings.item_ids.tolist(), column.tolist(), strict=True)
    return {item: str(title) for item, title in named if title is not None}


def items_to_header(ids: Column, titles: Titles) -> dict[str, Any]:
    """Ids and titles as JSON values; integers stay integers."""
    items = list(ids.tolist())
    return {"items": items, "titles": [titles.get(item) for item in items] if titles else None}


def titles_from_header(header: Mapping[str, Any]) -> Titles:
    """The titles that `items_to_header` wrote."""
    named = zip(header["items"], header["titles"] or (), strict=False)
    return {item: title for item, title in named if title is not None}


def ids_from_header(values: list[Any]) -> Column:
    """The column that `items_to_header` wrote."""
    if values and all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
