"""Items, titles and arrays as model files keep them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings
from tacit.data.tables.names import is_named

Arrays = Mapping[str, NDArray[Any]]
Titles = Mapping[Any, str]
"""Item id to a name people know; only for showing."""


def titles_of(ratings: Ratings) -> Titles:
    """Titles from public item metadata, of the items that have one."""
    metadata = ratings.public_metadata
    names = [name for name in metadata if is_named("title", name)]
    if not names:
        return {}
    column = metadata["title" if "title" in names else names[0]]
    pairs = zip(ratings.item_ids.tolist(), column.tolist(), strict=True)
    return {item: str(title) for item, title in pairs if title is not None}


def items_to_header(ids: Column, titles: Titles) -> dict[str, Any]:
    """Ids and titles as JSON values; integers stay integers."""
    items = list(ids.tolist())
    return {"items": items, "titles": [titles.get(item) for item in items] if titles else None}


def titles_from_header(header: Mapping[str, Any]) -> Titles:
    """Read the titles that `items_to_header` wrote."""
    pairs = zip(header["items"], header["titles"] or (), strict=False)
    return {item: title for item, title in pairs if title is not None}


def ids_from_header(values: list[Any]) -> Column:
    """Read the column of ids that `items_to_header` wrote."""
    if values and all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def read_array(arrays: Arrays, name: str, *shape: int | None) -> NDArray[Any]:
    """Read one array of a file.

    Args:
        arrays: All arrays of the file.
        name: Name of the array.
        *shape: Its extents; None: any.

    Raises:
        ValueError: it has another shape.
    """
    array = arrays[name]
    extents = zip(array.shape, shape, strict=False)
    fits = all(expected in (None, extent) for extent, expected in extents)
    if array.ndim != len(shape) or not fits:
        raise ValueError(f"'{name}' does not fit the list of items")
    return array


def read_floats(arrays: Arrays, name: str, *shape: int | None) -> NDArray[np.float64]:
    """Read one array of finite float64 numbers, as `read_array` does; ValueError for others."""
    array = read_array(arrays, name, *shape)
    if array.dtype != np.float64 or not np.isfinite(array).all():
        raise ValueError(f"'{name}' does not hold finite numbers alone")
    return array
