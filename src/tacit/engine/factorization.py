"""Matrix factorisation of explicit ratings by alternating ridge regressions.

Source   Zhou, Wilkinson, Schreiber, Pan: Large-scale parallel collaborative filtering for the
         Netflix prize (2008).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tacit.engine.ridge import Floats, solve
from tacit.errors import ConfigError


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
