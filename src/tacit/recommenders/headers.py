"""Convert item ids and titles for model files; read and check them, numbers, names and arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.ratings import Column, Ratings, RatingScale
from tacit.data.tables.names import is_named

Arrays = Mapping[str, NDArray[Any]]
"""Arrays of a model file, by name."""
Titles = Mapping[Any, str]
"""Item id to a title, which is only shown and does not affect lists."""


def titles_of(ratings: Ratings) -> Titles:
    """Return item titles from the public item metadata; items without a title are left out."""
    metadata = ratings.public_metadata
    names = [name for name in metadata if is_named("title", name)]
    if not names:
        return {}
    column = metadata["title" if "title" in names else names[0]]
    pairs = zip(ratings.item_ids.tolist(), column.tolist(), strict=True)
    return {item: str(title) for item, title in pairs if title is not None}


def items_to_header(ids: Column, titles: Titles) -> dict[str, Any]:
    """Return the header's entries for ids and titles, as JSON values.

    Args:
        ids: (items,) ids.
        titles: Titles of some of the items.
    """
    items = list(ids.tolist())
    title_of_each_item = [titles.get(item) for item in items]
    return {"items": items, "titles": title_of_each_item if titles else None}


def titles_from_header(header: Mapping[str, Any]) -> dict[Any, str]:
    """Read the titles that `items_to_header` wrote; raise ValueError for anything else."""
    titles = header["titles"]
    if titles is None:
        return {}
    if not (isinstance(titles, list) and len(titles) == len(header["items"])):
        raise ValueError("its titles are no list with an entry for each item")
    if not all(title is None or isinstance(title, str) for title in titles):
        raise ValueError("a title is no text")
    pairs = zip(header["items"], titles, strict=True)
    return {item: title for item, title in pairs if title is not None}


def ids_from_header(values: list[Any]) -> Column:
    """Read the ids that `items_to_header` wrote, as a column (items,).

    Raises:
        ValueError: The value is no list, or its ids are neither all integers nor all texts, or do
            not ascend strictly.
    """
    if not isinstance(values, list):
        raise ValueError("its ids are no list")
    column: Column = np.empty(len(values), dtype=object)
    if values and all(type(value) is int for value in values):
        column = np.array(values, dtype=np.int64)
    elif all(type(value) is str for value in values):
        column[:] = values
    else:
        raise ValueError("its ids are neither all whole numbers nor all texts")
    if (column[1:] <= column[:-1]).any():
        raise ValueError("its ids do not ascend")
    return column


def scale_from_header(values: Any) -> RatingScale:
    """Read a scale of stars: minimum, maximum and step.

    Raises:
        ValueError: The value is not a list of three numbers.
        DataError: The numbers are no scale.
    """
    is_list = isinstance(values, list) and len(values) == 3
    if not (is_list and all(type(value) in (int, float) for value in values)):
        raise ValueError("its scale is not three numbers")
    return RatingScale(*values)


def names_from_header(values: Any) -> tuple[str, ...]:
    """Read a list of names; raise ValueError for anything else."""
    if not (isinstance(values, list) and all(isinstance(value, str) for value in values)):
        raise ValueError("it has something else where names belong")
    return tuple(values)


def number_from_header(value: Any) -> float:
    """Read a finite number; raise ValueError for anything else, such as true or false."""
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("it has something else where a number belongs")
    return float(value)


def count_from_header(value: Any, *, least: int = 0, most: int = 2**63 - 1) -> int:
    """Read a whole number from `least` to `most`; raise ValueError for anything else."""
    if type(value) is not int or not least <= value <= most:
        raise ValueError("it has something else where a whole number belongs")
    return value


def read_array(arrays: Arrays, name: str, *shape: int | None) -> NDArray[Any]:
    """Read one array of a file.

    Args:
        arrays: All arrays of the file.
        name: Name of the array.
        *shape: Length of the array in each dimension; None: any length.

    Raises:
        KeyError: There is no array of this name.
        ValueError: The array has another shape.
    """
    array = arrays[name]
    extents = zip(array.shape, shape, strict=False)
    fits = all(expected in (None, extent) for extent, expected in extents)
    if array.ndim != len(shape) or not fits:
        expected_shape = ", ".join("any" if length is None else str(length) for length in shape)
        raise ValueError(f"'{name}' has the shape {array.shape}, not ({expected_shape})")
    return array


def read_places(arrays: Arrays, name: str, below: int) -> NDArray[np.int64]:
    """Read an array (any length,) of indices from 0 to `below` - 1.

    Raises:
        KeyError: There is no array of this name.
        ValueError: The array has another shape or type, or an index out of this range.
    """
    places = read_array(arrays, name, None)
    is_in_range = not places.size or 0 <= places.min() <= places.max() < below
    if places.dtype.kind not in "iu" or not is_in_range:
        raise ValueError(f"'{name}' has an entry that is no whole number from 0 to {below - 1}")
    return places.astype(np.int64, copy=False)


def read_offsets(arrays: Arrays, name: str, entries: int) -> NDArray[np.int64]:
    """Read the offsets of a CSR or CSC matrix: where each row or column begins, and the end.

    SciPy's own check accepts decreasing offsets if the last one is 0, and then reads outside of the
    arrays.

    Args:
        arrays: All arrays of the file.
        name: Name of the array.
        entries: Number of entries of the matrix.

    Raises:
        KeyError: There is no array of this name.
        ValueError: The offsets are not whole numbers, do not begin with 0, decrease somewhere, or
            do not end with the number of entries.
    """
    offsets = read_places(arrays, name, entries + 1)
    if (
        not offsets.size
        or offsets[0] != 0
        or offsets[-1] != entries
        or (np.diff(offsets) < 0).any()
    ):
        raise ValueError(f"'{name}' does not rise from 0 to {entries}")
    return offsets


def read_floats(
    arrays: Arrays, name: str, *shape: int | None, most: float = 1e100
) -> NDArray[np.float64]:
    """Read one array of finite float64 numbers, as `read_array` does.

    Args:
        arrays: All arrays of the file.
        name: Name of the array.
        *shape: Length of the array in each dimension; None: any length.
        most: Largest absolute value that is accepted. By default it is so small that the product of
            any three numbers is finite.

    Raises:
        KeyError: There is no array of this name.
        ValueError: The array has another shape or type, or a number that is too large or not
            finite.
    """
    return _check_floats(read_array(arrays, name, *shape), name, np.float64, most)


def read_single_floats(arrays: Arrays, name: str, *shape: int | None) -> NDArray[np.float64]:
    """Read one array of finite float32 numbers, as `read_array` does, and return it as float64.

    Raises:
        KeyError: There is no array of this name.
        ValueError: The array has another shape or type, or a number that is not finite.
    """
    array = _check_floats(read_array(arrays, name, *shape), name, np.float32, math.inf)
    return array.astype(np.float64)


def _check_floats(
    array: NDArray[Any], name: str, dtype: type[np.floating[Any]], most: float
) -> NDArray[Any]:
    """Return the array if it has the type, and finite numbers of absolute value `most` at most.

    Raises:
        ValueError: It has another type, or a number that is too large or not finite.
    """
    if array.dtype != dtype:
        raise ValueError(f"'{name}' is of type {array.dtype} and not {np.dtype(dtype)}")
    is_usable = np.isfinite(array) & (np.abs(array) <= most)
    if not is_usable.all():
        raise ValueError(f"'{name}' has a number that is not finite, or is too large")
    return array
