"""Lists of numbered neighbours as a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine import Numbers

Floats = NDArray[np.float64]


def sparse_from_lists(items: Numbers, values: Floats, *, width: int) -> sparse.csr_array:
    """Make a (rows, width) CSR of (rows, k) column numbers, -1 where there is none, and values."""
    there = items >= 0
    offsets = np.concatenate([[0], np.cumsum(there.sum(axis=1))])
    matrix = sparse.csr_array((values[there], items[there], offsets), shape=(len(items), width))
    matrix.sort_indices()
    return matrix
