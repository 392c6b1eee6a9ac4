"""Files with public vectors of items, with ids, or with text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tacit.errors import ConfigError, DataError

Floats = NDArray[np.float64]


def read_vectors(path: Path) -> dict[Any, Floats]:
    """Read vectors by the ids of items.

    Args:
        path: A Parquet file with a column 'item' and either columns of numbers or one column of
            lists of numbers; or NAME.npy, an array (items, d), beside NAME.ids.txt with one id a
            line.

    Returns:
        Item id to its vector (d,).

    Raises:
        ConfigError: The name ends in neither .parquet nor .npy.
        DataError: A file cannot be read, or holds no such table.
    """
    if path.suffix not in (".npy", ".parquet"):
        raise ConfigError(f"Vectors are a .parquet or .npy file; got {path.name}.")
    if path.suffix == ".npy":
        ids = read_ids(path.with_suffix(".ids.txt"))
        table = _read_or_refuse(path, np.load)
    else:
        frame = _read_or_refuse(path, pl.read_parquet)
        if "item" not in frame.columns:
            expected = "a column 'item' with the ids of the items"
            raise DataError("no column 'item'", path=str(path), expected=expected)
        ids = [as_id(value) for value in frame["item"].to_list()]
        numbers = frame.drop("item")
        has_lists = len(numbers.columns) == 1 and numbers.dtypes[0].is_nested()
        table = _stack_lists(numbers.to_series(), path) if has_lists else numbers.to_numpy()
    if table.ndim != 2 or len(ids) != len(table) or table.dtype.kind not in "fiu":
        raise DataError(
            "vectors are no table of numbers with an id for each row",
            path=str(path),
            found=f"{table.dtype} of shape {table.shape}, {len(ids)} ids",
        )
    return dict(zip(ids, table.astype(np.float64), strict=True))


def _stack_lists(column: pl.Series, path: Path) -> NDArray[Any]:
    """Return lists of equal length as the rows of a table.

    Raises:
        DataError: The lists have different lengths, or one is missing.
    """
    lists = column.to_list()
    lengths = sorted({-1 if cells is None else len(cells) for cells in lists})
    if len(lengths) > 1 or lengths == [-1]:
        raise DataError(
            "vectors have different lengths",
            path=str(path),
            found="a missing vector" if lengths[0] < 0 else f"from {lengths[0]} to {lengths[-1]}",
            expected="as many numbers for each item",
        )
    return np.array(lists)


def read_ids(path: Path) -> list[Any]:
    """Read ids from a text file with one id a line, perhaps in double quotes.

    Raises:
        DataError: The file cannot be read.
    """
    lines = [line.strip().strip('"') for line in read_text(path).splitlines()]
    return [as_id(line) for line in lines if line]


def read_text(path: Path) -> str:
    """Read a text file in UTF-8; DataError if it cannot be read."""
    text: str = _read_or_refuse(path, lambda path: path.read_text(encoding="utf-8-sig"))
    return text


def as_id(value: Any) -> Any:
    """Turn a value into an integer if its text is digits without a leading zero, else into a text.

    A single 0 becomes an integer.
    """
    text = str(value)
    is_whole_number = text.isascii() and text.isdecimal() and str(int(text)) == text
    return int(text) if is_whole_number else text


def _read_or_refuse(path: Path, read: Any) -> Any:
    """Return `read(path)`; raise DataError if the file cannot be read."""
    try:
        return read(path)
    except (OSError, EOFError, ValueError, pl.exceptions.PolarsError) as error:
        raise DataError("this file cannot be read", path=str(path), found=str(error)) from None
