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
from tacit.design import design, model_class, names
from tacit.errors import ModelFileError, TacitError

BASELINES = {
    "popularity": "Popularity",
    "item-mean": "ItemMean",
    "matrix-factorization": "MatrixFactorization",
    "user-average": "UserAverage",
    "user-item-mean": "UserItemMean",
    "item-knn": "ItemKNN",
    "remote-user": "RemoteUser",
    "ease": "EASE",
    "item-item": "ItemItem",
    "als": "ALS",
    "private-popularity": "PrivatePopularity",
    "ridge": "Ridge",
}
"""Name in a model file, and the class. Others are the designs' own; no other class is loaded."""


def load_model(path: str | Path) -> Any:
    """The fitted recommender in a model file. Loading runs no code from the file."""
    header, arrays = container.read(path)
    kind = header.get("recommender")
    reader = model_reader(kind) if isinstance(kind, str) else None
    if reader is None:
        raise ModelFileError(f"{path}: holds a recommender this tacit does not know ({kind!r}).")
    try:
        return reader.from_parts(header, arrays)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, TacitError) as error:
        raise ModelFileError(
            f"{path}: its content cannot be used ({error}). Fit it again."
        ) from None


def model_reader(kind: str) -> Any:
    """The class that reads files of this name; None if there is none."""
    if kind in BASELINES:
        return getattr(import_module("tacit.recommenders.baselines"), BASELINES[kind])
    return model_class(kind)


def model_kinds() -> tuple[str, ...]:
    """Names in model files that can be read."""
    return (*BASELINES, *(kind for name in names() for kind in design(name).models))


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


def finite(
    arrays: Mapping[str, NDArray[Any]], name: str, *shape: int | None
) -> NDArray[np.float64]:
    """The same of finite float64 numbers alone."""
    found = shaped(arrays, name, *shape)
    if found.dtype != np.float64 or not np.isfinite(found).all():
        raise ValueError(f"'{name}' does not hold finite numbers alone")
    return found


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
