"""Model files by name: which recommender wrote one, and reading it back."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tacit import container
from tacit.data.ratings import Column
from tacit.errors import ModelFileError

KINDS = {
    "standard-scheme": ("tacit.recommenders.standard_scheme", "StandardScheme"),
    "popularity": ("tacit.recommenders.baselines", "Popularity"),
    "item-mean": ("tacit.recommenders.baselines", "ItemMean"),
    "matrix-factorization": ("tacit.recommenders.baselines", "MatrixFactorization"),
}
"""Recommender name in a model file: where its class lives. Only these are ever loaded."""


def load_model(path: str | Path) -> Any:
    """The fitted recommender in a model file. Loading runs no code from the file."""
    header, arrays = container.read(path)
    kind = header.get("recommender") if isinstance(header, dict) else None
    if kind not in KINDS:
        raise ModelFileError(f"{path}: holds a recommender this tacit does not know ({kind!r}).")
    module, name = KINDS[kind]
    try:
        return getattr(import_module(module), name).from_parts(header, arrays)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ModelFileError(
            f"{path}: its content is incomplete ({error}). Fit it again."
        ) from None


def ids_to_header(ids: Column) -> list[Any]:
    """Ids as JSON values; integers stay integers."""
    return list(ids.tolist())


def ids_from_header(values: list[Any]) -> Column:
    """The column that `ids_to_header` wrote."""
    if values and all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
