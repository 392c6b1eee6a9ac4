"""Dense features of items: those of public vectors, and steps that all dense features share.

The caller gives the vectors. They must not be computed from the ratings of the people to whom the
model is fitted.
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
"""Largest number of features that are made of vectors."""
_LENGTH_PERCENTILE = 80
"""Rows shorter than this percentile of the lengths are divided by it, not by their own length."""


def limit_rows(rows: Floats, counted: NDArray[np.bool_]) -> Floats:
    """Divide each row by its L2 norm, or by the 80th percentile of the norms if that is larger.

    Rows then have norm 1 at most; rows of zeros stay.

    Args:
        rows: (items, r) dense features.
        counted: (items,) whether the percentile is computed with the norm of the item's row.
    """
    lengths = np.sqrt((rows**2).sum(axis=1))
    shortest_divisor = 0.0
    if counted.any():
        shortest_divisor = float(np.percentile(lengths[counted], _LENGTH_PERCENTILE))
    divisors = np.maximum(lengths, shortest_divisor)
    limited: Floats = rows / np.where(divisors > 0, divisors, 1.0)[:, None]
    return limited


def join_features(columns: sparse.csr_array, blocks: Sequence[Floats]) -> sparse.csr_array:
    """Put columns of features and blocks of dense features side by side.

    With p the number of parts that have columns, all entries are divided by sqrt(p), so that rows
    of norm 1 at most stay so.

    Args:
        columns: (items, f) rows of norm 1 at most.
        blocks: (items, r) dense features each, in rows of norm 1 at most.

    Returns:
        (items, f + all r) the columns first, then the blocks in their order.
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
    """Make dense features from public vectors of items: at most 12 principal components.

    Args:
        catalogue: The items; an item without a vector gets a row of zeros.
        vectors: Item id to (d,) numbers.

    Returns:
        (items, r) rows of L2 norm 1 at most.

    Raises:
        DataError: No item has a vector, or a number is not finite.
    """
    ids = catalogue.item_ids.tolist()
    has_vector = np.array([item in vectors for item in ids])
    if not has_vector.any():
        raise DataError(
            "no item of the catalogue has a vector", expected="ids as the ratings have them"
        )
    width = len(next(iter(vectors.values())))
    rows = np.array([vectors.get(item, np.zeros(width)) for item in ids], dtype=np.float64)
    if not np.isfinite(rows).all():
        raise DataError("a vector has a number that is not finite")
    rows[has_vector] -= rows[has_vector].mean(axis=0)
    left, values, _ = np.linalg.svd(rows, full_matrices=False)
    columns = min(_MOST_VECTOR_COLUMNS, len(values))
    return limit_rows(orient_columns(left[:, :columns]) * values[:columns], has_vector)
