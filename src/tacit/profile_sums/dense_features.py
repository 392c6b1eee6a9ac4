"""Dense public features of items beside the columns of their metadata: vectors made elsewhere.

Nothing of them may come from these people's ratings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.data.ratings import Ratings
from tacit.errors import DataError
from tacit.profile_sums.sums.taste_maps import orient_columns

Floats = NDArray[np.float64]

_MOST_VECTOR_COLUMNS = 12
_LENGTH_PERCENTILE = 80
"""Rows shorter than this percentile of the lengths are divided by it, not by their own length."""


def limit_rows(rows: Floats, counted: NDArray[np.bool_]) -> Floats:
    """Divide each row by its length, or by the 80th percentile of lengths where that is longer.

    Args:
        rows: (items, r) dense features.
        counted: (items,) rows of which the percentile is taken.
    """
    lengths = np.sqrt((rows**2).sum(axis=1))
    shortest_divisor = 0.0
    if counted.any():
        shortest_divisor = float(np.percentile(lengths[counted], _LENGTH_PERCENTILE))
    divisors = np.maximum(lengths, shortest_divisor)
    limited: Floats = rows / np.where(divisors > 0, divisors, 1.0)[:, None]
    return limited


def join_features(columns: sparse.csr_array, blocks: Sequence[Floats]) -> sparse.csr_array:
    """Put dense blocks beside (items, f) columns; all of them divided by sqrt(number of parts).

    Rows then still have L2 norm 1 at most.
    """
    dense = [block for block in blocks if block.shape[1]]
    parts = [sparse.csr_array(block) for block in dense]
    if columns.shape[1]:
        parts = [columns, *parts]
    if not parts:
        return columns
    joined = sparse.csr_array(sparse.hstack(parts, format="csr"))
    return sparse.csr_array(joined / np.sqrt(len(parts)))


def vector_features(catalogue: Ratings, vectors: Mapping[Any, Floats]) -> Floats:
    """Keep the 12 largest directions of public vectors of items.

    Args:
        catalogue: The items; those without a vector get zeros.
        vectors: Item id to (d,) numbers.

    Returns:
        (items, r) rows of length 1 at most.

    Raises:
        DataError: no item has a vector, or a number is not finite.
    """
    ids = catalogue.item_ids.tolist()
    known = [item in vectors for item in ids]
    if not any(known):
        raise DataError(
            "no item of the catalogue has a vector", expected="ids as the ratings have them"
        )
    width = len(next(iter(vectors.values())))
    rows = np.array([vectors.get(item, np.zeros(width)) for item in ids], dtype=np.float64)
    inside = np.array(known)
    if not np.isfinite(rows).all():
        raise DataError("a vector has a number that is not finite")
    rows[inside] -= rows[inside].mean(axis=0)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    kept = min(_MOST_VECTOR_COLUMNS, len(values))
    return limit_rows(orient_columns(left[:, :kept]) * values[:kept], inside)
