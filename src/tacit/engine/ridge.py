"""Ridge regression of every person's ratings on item profiles, all people at once.

For each row u with rated items S and ratings y the solution is
    p_u = argmin_p  sum_{i in S} (y_i - <v_i, p>)^2 + penalty |p|^2
        = (V_S' V_S + penalty I)^{-1} V_S' y.
Source   the patent's estimator (ridge 0.1), which is also one half-step of matrix factorisation
         and the posterior mean that linear discriminant analysis needs: one kernel for the three.

Matrix factorisation of explicit ratings by alternating ridge regressions.

Source   Zhou, Wilkinson, Schreiber, Pan: Large-scale parallel collaborative filtering for the
         Netflix prize (2008).

Item-item weights in closed form: one ridge regression of each item on all others.

Source   Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019): with X the
         (people, items) weights and P = (X'X + penalty I)^-1, B = -P / diag(P), diagonal 0.
Cost     one dense array of n_items^2 float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import lapack

from tacit.errors import ConfigError

Floats = NDArray[np.float64]
_BLOCK = 1_000
LANES = 4
"""Doubles in one vector register: the width handed to `kernel` is a multiple of this."""


def solve(ratings: sparse.csr_array, factors: Floats, penalty: float | Floats) -> Floats:
    """(n_users, d) ridge solutions of a (n_users, n_items) CSR on (n_items, d) factors.

    penalty: above 0, one for all or (n_users,) one each.
    """
    people, (items, width) = ratings.shape[0], factors.shape
    penalties = np.broadcast_to(np.asarray(penalty, dtype=float), (people,))
    if not (np.isfinite(penalties) & (penalties > 0)).all():
        raise ConfigError("A ridge penalty is a finite number above 0.")
    if ratings.shape[1] != items:
        raise ConfigError(
            f"Ratings of {ratings.shape[1]} items need as many item profiles; got {items}."
        )
    # Columns of zeros have coefficients of 0, and let the kernel work in whole lanes.
    padded = np.pad(factors, ((0, 0), (0, -width % LANES)))
    solutions = np.empty((people, padded.shape[1]))
    kernel(padded.shape[1])(
        ratings.indptr.astype(np.int64, copy=False),
        ratings.indices.astype(np.int32, copy=False),
        ratings.data.astype(np.float64, copy=False),
        np.ascontiguousarray(padded, dtype=np.float64),
        np.ascontiguousarray(penalties),
        solutions,
    )
    return np.ascontiguousarray(solutions[:, :width])


@cache
def kernel(width: int) -> Callable[..., None]:
    """Compile for one width; call with (indptr, indices, values, factors, penalties, out).

    Four ratings and two rows of the Gram matrix are taken at a time, so that most operands stay in
    registers, and only the lower triangle is filled. The width is a constant of the compiled code:
    the inner loops unroll completely, 1.2 times as fast (`benchmarks/ridge.py`).
    """
    import numba

    @numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
    def solve_rows(
        indptr: Any, indices: Any, values: Any, factors: Any, penalties: Any, out: Any
    ) -> None:
        gram = np.empty((width, width))
        right = np.empty(width)
        inverse = np.empty(width)
        for row in range(len(indptr) - 1):
            start, end = indptr[row], indptr[row + 1]
            gram[:, :] = 0.0
            right[:] = 0.0
            t = start
            while t + 4 <= end:
                v0, v1 = factors[indices[t]], factors[indices[t + 1]]
                v2, v3 = factors[indices[t + 2]], factors[indices[t + 3]]
                y0, y1, y2, y3 = values[t], values[t + 1], values[t + 2], values[t + 3]
                for a in range(0, width, 2):
                    p0, p1, p2, p3 = v0[a], v1[a], v2[a], v3[a]
                    q0, q1, q2, q3 = v0[a + 1], v1[a + 1], v2[a + 1], v3[a + 1]
                    right[a] += p0 * y0 + p1 * y1 + p2 * y2 + p3 * y3
                    right[a + 1] += q0 * y0 + q1 * y1 + q2 * y2 + q3 * y3
                    for c in range((a // 4 + 1) * 4):
                        gram[a, c] += p0 * v0[c] + p1 * v1[c] + p2 * v2[c] + p3 * v3[c]
                        gram[a + 1, c] += q0 * v0[c] + q1 * v1[c] + q2 * v2[c] + q3 * v3[c]
                t += 4
            while t < end:
                v0, y0 = factors[indices[t]], values[t]
                for a in range(width):
                    right[a] += v0[a] * y0
                    for c in range(a + 1):
                        gram[a, c] += v0[a] * v0[c]
                t += 1
            for a in range(width):
                gram[a, a] += penalties[row]
            # Cholesky factor in the lower triangle, then the two triangular solves in place.
            for a in range(width):
                for c in range(a):
                    s = gram[a, c]
                    for e in range(c):
                        s -= gram[a, e] * gram[c, e]
                    gram[a, c] = s * inverse[c]
                s = gram[a, a]
                for e in range(a):
                    s -= gram[a, e] * gram[a, e]
                gram[a, a] = math.sqrt(s)
                inverse[a] = 1.0 / gram[a, a]
            for a in range(width):
                s = right[a]
                for e in range(a):
                    s -= gram[a, e] * right[e]
                right[a] = s * inverse[a]
            for a in range(width - 1, -1, -1):
                x = right[a] * inverse[a]
                out[row, a] = x
                for e in range(a):
                    right[e] -= gram[a, e] * x

    compiled: Callable[..., None] = solve_rows
    return compiled


def fitted_values(ratings: sparse.csr_array, solutions: Floats, factors: Floats) -> Floats:
    """<v_i, p_u> at every stored entry of the CSR, in its order."""
    rows = np.repeat(np.arange(ratings.shape[0]), np.diff(ratings.indptr))
    products: Floats = np.einsum("nd,nd->n", solutions[rows], factors[ratings.indices])
    return products


def alternating_ridge(
    ratings: sparse.csr_array,
    *,
    factors: int,
    penalty: float,
    sweeps: int,
    seed: int,
    per_rating: bool = False,
) -> tuple[Floats, Floats]:
    """(n_users, factors) and (n_items, factors) with <u, v> near the stored entries.

    ratings: CSR float64, centred by the caller. penalty: squared units of the ratings, > 0.
    per_rating: the penalty is paid once for each entry of a row or column, as gradient descent over
    ratings pays it. The seed only places the start; a row or column without entries gets zeros.
    """
    if factors < 1 or sweeps < 1:
        raise ConfigError(f"Factors and sweeps are at least 1; got {factors} and {sweeps}.")
    items = np.random.default_rng(seed).normal(0.0, 0.1, size=(ratings.shape[1], factors))
    by_item = sparse.csr_array(ratings.T.tocsr())
    for_users, for_items = (
        penalty * np.maximum(np.diff(matrix.indptr), 1) if per_rating else penalty
        for matrix in (ratings, by_item)
    )
    for _ in range(sweeps):
        users = solve(ratings, items, for_users)
        items = solve(by_item, users, for_items)
    return solve(ratings, items, for_users), items


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
