"""Ridge regressions: of people on item profiles, of people and items in turns, of items on items.

`solve`   regresses each person's ratings on item profiles, for all people at once. For a person
          with rated items S and ratings y the solution is
              p = argmin_p  sum_{i in S} (y_i - <v_i, p>)^2 + penalty |p|^2
                = (V_S' V_S + penalty I)^{-1} V_S' y.
          Source: the patent application of the standard scheme, where the penalty is 0.1. It is
          also half a sweep of `alternating_ridge`, and the posterior mean of p under a normal
          prior.
`fitted_values`   computes <v_i, p_u> of every rating.
`alternating_ridge`   factorises a matrix of ratings: factors of people and items are solved for in
          turns.
          Source: Zhou, Wilkinson, Schreiber, Pan: Large-scale parallel collaborative filtering for
          the Netflix prize (2008).
`item_weights`   regresses each item on all others, in closed form: with X the (people, items)
          values and P = (X'X + penalty I)^-1, the weights are B = -P / diag(P), with diagonal 0.
          `gram` computes X'X.
          Source: Steck: Embarrassingly shallow autoencoders for sparse data (WWW 2019).
          Cost: one dense array of n_items^2 float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import ConfigError

Floats = NDArray[np.float64]
_ITEMS_PER_BLOCK = 1_000
"""Number of columns of X'X that are computed at once."""
_PENALTY_STEP = 1.25
"""Factor by which a penalty is raised while X'X + penalty I is not positive definite, which
rounding can cause."""
_INITIAL_SPREAD = 0.1
"""Standard deviation of the initial factors of items."""
LANES = 4
"""Number of doubles in a vector register; widths of kernels are multiples of it."""


def solve(ratings: sparse.csr_array, factors: Floats, penalty: float | Floats) -> Floats:
    """Regress each person's ratings on the factors of the rated items.

    Args:
        ratings: (people, items) CSR.
        factors: (items, d) profiles of items.
        penalty: Above 0; one for all people, or (people,) one for each.

    Returns:
        (people, d) solutions; zeros for a person without ratings.

    Raises:
        ConfigError: A penalty is not a finite number above 0, or the numbers of items differ.
    """
    people = ratings.shape[0]
    items, width = factors.shape
    penalties = np.broadcast_to(np.asarray(penalty, dtype=float), (people,))
    if not (np.isfinite(penalties) & (penalties > 0)).all():
        raise ConfigError("A ridge penalty is a finite number above 0.")
    if ratings.shape[1] != items:
        raise ConfigError(
            f"Ratings of {ratings.shape[1]} items need as many item profiles; got {items}."
        )
    # Added columns of zeros get coefficients of 0, and the width becomes a multiple of LANES.
    padded = np.pad(factors, ((0, 0), (0, -width % LANES)))
    solutions = np.empty((people, padded.shape[1]))
    compile_kernel(padded.shape[1])(
        ratings.indptr.astype(np.int64, copy=False),
        ratings.indices.astype(np.int32, copy=False),
        ratings.data.astype(np.float64, copy=False),
        np.ascontiguousarray(padded, dtype=np.float64),
        np.ascontiguousarray(penalties),
        solutions,
    )
    return np.ascontiguousarray(solutions[:, :width])


@cache
def compile_kernel(width: int) -> Callable[..., None]:
    """Compile the kernel of `solve` for one number of factors, which is a multiple of LANES.

    Four ratings and two rows of the Gram matrix are handled at a time, so that most operands stay
    in registers, and little more than the lower triangle is filled. The width is a constant of the
    compiled code, so that the inner loops are unrolled, which is 1.2 times as fast
    (`benchmarks/ridge.py`).

    Returns:
        A function of (indptr, indices, values, factors, penalties, out): the arrays of the CSR
        matrix of ratings, (items, width) profiles, (people,) penalties, and (people, width)
        solutions, which it fills.
    """
    import numba

    @numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
    def solve_rows(
        indptr: Any, indices: Any, values: Any, factors: Any, penalties: Any, out: Any
    ) -> None:
        """Fill out (people, width) with the solution of each row's regression."""
        gram = np.empty((width, width))
        right = np.empty(width)
        inverse = np.empty(width)
        for row in range(len(indptr) - 1):
            start, end = indptr[row], indptr[row + 1]
            gram[:, :] = 0.0
            right[:] = 0.0
            # gram = sum_t v_t v_t' and right = sum_t y_t v_t over the ratings t of the row: first
            # four ratings and two rows of `gram` (p for row a, q for row a + 1) at a time, then the
            # remaining ratings one by one.
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
            # The Cholesky factor replaces the lower triangle of the Gram matrix; `inverse` holds
            # the reciprocals of its diagonal. Then the two triangular systems are solved.
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
    """Compute the fitted value <v_i, p_u> of every rating, (ratings,) in the order of the CSR.

    Args:
        ratings: (people, items) CSR.
        solutions: (people, d) p_u.
        factors: (items, d) v_i.
    """
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
    """Find factors of people and items whose inner products approximate the ratings.

    Args:
        ratings: (people, items) CSR float64 of centred ratings.
        factors: Number of factors, at least 1.
        penalty: Above 0.
        sweeps: How often the factors of people and then of items are solved for, at least once.
            Those of people are solved for once more at the end.
        seed: Seed of the initial factors of items.
        per_rating: Whether the penalty of a person or item is multiplied by the number of its
            ratings, as in gradient descent over ratings.

    Returns:
        (people, factors) and (items, factors); zeros for a person or an item without ratings.

    Raises:
        ConfigError: `factors` or `sweeps` is below 1, or the penalty is not a finite number above
            0.
    """
    if factors < 1 or sweeps < 1:
        raise ConfigError(f"Factors and sweeps are at least 1; got {factors} and {sweeps}.")
    shape = (ratings.shape[1], factors)
    items = np.random.default_rng(seed).normal(0.0, _INITIAL_SPREAD, size=shape)
    by_item = sparse.csr_array(ratings.T.tocsr())
    user_penalty: float | Floats = penalty
    item_penalty: float | Floats = penalty
    if per_rating:
        user_penalty = penalty * np.maximum(np.diff(ratings.indptr), 1)
        item_penalty = penalty * np.maximum(np.diff(by_item.indptr), 1)
    for _ in range(sweeps):
        users = solve(ratings, items, user_penalty)
        items = solve(by_item, users, item_penalty)
    return solve(ratings, items, user_penalty), items


def gram(values: sparse.csr_array) -> Floats:
    """Compute X'X (items, items), in Fortran order, for values X (people, items)."""
    columns = sparse.csc_array(values, dtype=float)
    rows = sparse.csr_array(columns.T)
    products = np.empty((columns.shape[1],) * 2, order="F")
    for start in range(0, columns.shape[1], _ITEMS_PER_BLOCK):
        block = slice(start, start + _ITEMS_PER_BLOCK)
        products[:, block] = (rows @ columns[:, block]).toarray()
    return products


def item_weights(products: Floats, penalty: float) -> Floats:
    """Compute the weights B = -P / diag(P) of the module's docstring from X'X.

    Each column of P is divided by its entry on the diagonal.

    Because of rounding, X'X may not be positive semidefinite. The penalty is then raised until
    X'X + penalty I is positive definite.

    Args:
        products: (items, items) X'X in Fortran order; overwritten.
        penalty: Above 0.

    Returns:
        (items, items) B, in the memory of `products`.
    """
    from scipy.linalg import lapack  # imported here, since it is slow

    size = len(products)
    if size == 0:
        return products
    diagonal = np.diag(products).copy()
    has_failed = True
    while has_failed:
        products[np.diag_indices(size)] = diagonal + penalty
        _, has_failed = lapack.dpotrf(products, lower=True, clean=False, overwrite_a=True)
        if has_failed:
            _copy_lower_triangle(products.T)  # restores the lower triangle from the upper one
            penalty *= _PENALTY_STEP
    inverse, singular = lapack.dpotri(products, lower=True, overwrite_c=True)
    assert singular == 0
    _copy_lower_triangle(inverse)
    inverse /= -np.diag(inverse).copy()
    inverse[np.diag_indices(size)] = 0.0
    weights: Floats = inverse
    return weights


def _copy_lower_triangle(square: Floats) -> None:
    """Copy the entries below the diagonal to above it, so that the matrix becomes symmetric."""
    for item in range(len(square)):
        square[item, item + 1 :] = square[item + 1 :, item]
