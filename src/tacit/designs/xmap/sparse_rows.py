"""Lists of numbered neighbours as a sparse matrix."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine import Numbers

Floats = NDArray[np.float64]


def sparse_from_lists(items: Numbers, values: Floats, *, width: int) -> sparse.csr_array:
    """Make a sparse matrix whose row i holds the values of list i.

    Args:
        items: (rows, k) column numbers; -1 where a list is shorter.
        values: (rows, k) values of these columns.
        width: Number of columns.

    Returns:
        (rows, width) CSR with sorted indices.
    """
    is_entry = items >= 0
    offsets = np.concatenate([[0], np.cumsum(is_entry.sum(axis=1))])
    entries = (values[is_entry], items[is_entry], offsets)
    matrix = sparse.csr_array(entries, shape=(len(items), width))
    matrix.sort_indices()
    return matrix
