"""Item-item weights in closed form: one ridge regression of each item on all others.

Source   Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019): with X the
         (people, items) weights and P = (X'X + penalty I)^-1, B = -P / diag(P), diagonal 0.
Cost     one dense array of n_items^2 float64.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

Floats = NDArray[np.float64]
_BLOCK = 1_000


def gram(weights: sparse.csr_array) -> Floats:
    """(items, items) X'X in Fortran order, for (people, items) X; made in blocks of columns."""
    columns = sparse.csc_array(weights, dtype=float)
    rows = sparse.csr_array(columns.T)
    products = np.empty((columns.shape[1],) * 2, order="F")
    for start in range(0, columns.shape[1], _BLOCK):
        block = slice(start, start + _BLOCK)
        products[:, block] = (rows @ columns[:, block]).toarray()
    return products


def item_weights(products: Floats, penalty: float) -> Floats:
    """B of X'X, which must be in Fortran order and is overwritten.

    A rounded X'X may not be positive semidefinite: the penalty is raised in steps of a quarter
    until X'X + penalty I is positive definite.
    """
    size = len(products)
    if size == 0:
        return products
    diagonal, failed = np.diag(products).copy(), True
    while failed:
        products[np.diag_indices(size)] = diagonal + penalty
        _, failed = lapack.dpotrf(products, lower=True, clean=False, overwrite_a=True)
        if failed:  # the upper triangle is as it was
            _mirror(products.T)
            penalty *= 1.25
    inverse, singular = lapack.dpotri(products, lower=True, overwrite_c=True)
    assert singular == 0
    _mirror(inverse)
    inverse /= -np.diag(inverse).copy()
    inverse[np.diag_indices(size)] = 0.0
    found: Floats = inverse
    return found


def _mirror(square: Floats) -> None:
    """Write what is below the diagonal above it."""
    for item in range(len(square)):
        square[item, item + 1 :] = square[item + 1 :, item]
