"""Ridge regression of every person's ratings on item profiles, all people at once.

For each row u with rated items S and ratings y the solution is
    p_u = argmin_p  sum_{i in S} (y_i - <v_i, p>)^2 + penalty |p|^2
        = (V_S' V_S + penalty I)^{-1} V_S' y.
Source   the patent's estimator (ridge 0.1), which is also one half-step of matrix factorisation
         and the posterior mean that linear discriminant analysis needs: one kernel for the three.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import ConfigError

Floats = NDArray[np.float64]


def solve(ratings: sparse.csr_array, factors: Floats, penalty: float | Floats) -> Floats:
    """(n_users, d) ridge solutions of a (n_users, n_items) CSR on (n_items, d) factors.

    penalty: above 0, one for all or (n_users,) one each.
    """
    from tacit.engine.ridge_compiled import LANES, kernel

    penalties = _penalties(ratings, factors, penalty)
    width = factors.shape[1]
    # Columns of zeros cost nothing in the result (their coefficients are 0) and let the kernel
    # work in whole lanes.
    padded = np.zeros((factors.shape[0], -(-width // LANES) * LANES))
    padded[:, :width] = factors
    solutions = np.empty((ratings.shape[0], padded.shape[1]))
    kernel(padded.shape[1])(
        ratings.indptr.astype(np.int64, copy=False),
        ratings.indices.astype(np.int32, copy=False),
        ratings.data.astype(np.float64, copy=False),
        padded,
        penalties,
        solutions,
    )
    return np.ascontiguousarray(solutions[:, :width])


def solve_reference(ratings: sparse.csr_array, factors: Floats, penalty: float | Floats) -> Floats:
    """The same, one person at a time in plain NumPy: what `solve` must equal."""
    penalties = _penalties(ratings, factors, penalty)
    solutions = np.zeros((ratings.shape[0], factors.shape[1]))
    identity = np.eye(factors.shape[1])
    for row in range(ratings.shape[0]):
        rated = slice(ratings.indptr[row], ratings.indptr[row + 1])
        profile = factors[ratings.indices[rated]]
        solutions[row] = np.linalg.solve(
            profile.T @ profile + penalties[row] * identity, profile.T @ ratings.data[rated]
        )
    return solutions


def fitted(ratings: sparse.csr_array, solutions: Floats, factors: Floats) -> Floats:
    """<v_i, p_u> at every stored entry of the CSR, in its order."""
    rows = np.repeat(np.arange(ratings.shape[0]), np.diff(ratings.indptr))
    products: Floats = np.einsum("nd,nd->n", solutions[rows], factors[ratings.indices])
    return products


def _penalties(ratings: sparse.csr_array, factors: Floats, penalty: float | Floats) -> Floats:
    penalties = np.broadcast_to(np.asarray(penalty, dtype=float), (ratings.shape[0],))
    if not (np.isfinite(penalties) & (penalties > 0)).all():
        raise ConfigError("A ridge penalty is a finite number above 0.")
    if ratings.shape[1] != factors.shape[0]:
        raise ConfigError(
            f"Ratings of {ratings.shape[1]} items need as many item profiles; "
            f"got {factors.shape[0]}."
        )
    return np.ascontiguousarray(penalties)
