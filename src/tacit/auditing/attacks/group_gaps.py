"""How differently two groups rate each item, as an outsider would estimate it.

Independent of the recommender's own estimate on purpose: an attacker computes their own.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from tacit.auditing.attacks.base import Floats, Labels

FOLDS = 5
SHRINKAGES = np.geomspace(0.5, 2000.0, 40)
"""Tried strengths of the pull to 0, in effective ratings."""


def group_gaps(ratings: sparse.csr_array, labels: Labels, *, seed: int) -> Floats:
    """(n_items,) mean stars of group 1 minus mean stars of group 0, pulled to 0.

    The raw gap of an item with n0 and n1 ratings is multiplied by n / (n + shrinkage), where
    1/n = 1/n0 + 1/n1; without ratings from both groups it is 0. One shrinkage serves all items: the
    one whose gaps on four fifths of the people come nearest to the raw gaps on the other fifth.
    """
    folds = np.random.default_rng(seed).permutation(len(labels)) % FOLDS
    counts, sums = _by_group_and_fold(ratings, labels, folds)
    loss = np.zeros(len(SHRINKAGES))
    for fold in range(FOLDS):
        rest = np.arange(FOLDS) != fold
        learned, n_learned = _raw(counts[:, rest].sum(1), sums[:, rest].sum(1))
        judged, n_judged = _raw(counts[:, fold], sums[:, fold])
        shrunk = learned * n_learned / (n_learned + SHRINKAGES[:, None])
        loss += (judged - shrunk) ** 2 @ n_judged
    gaps, n = _raw(counts.sum(1), sums.sum(1))
    chosen: Floats = gaps * n / (n + SHRINKAGES[np.argmin(loss)])
    # A gap made of rounding error alone would still rank people.
    largest = np.abs(ratings.data).max(initial=0.0)
    return np.where(np.abs(gaps) > 1e-9 * largest, chosen, 0.0)


def _by_group_and_fold(
    ratings: sparse.csr_array, labels: Labels, folds: Labels
) -> tuple[Floats, Floats]:
    """Numbers and sums of ratings, each (2, FOLDS, n_items)."""
    n_users, n_items = ratings.shape
    cell = labels * FOLDS + folds
    member = sparse.csr_array(
        (np.ones(n_users), (cell, np.arange(n_users))), shape=(2 * FOLDS, n_users)
    )
    rated = sparse.csr_array(
        (np.ones(ratings.nnz), ratings.indices, ratings.indptr), shape=ratings.shape
    )
    shape = (2, FOLDS, n_items)
    return (member @ rated).toarray().reshape(shape), (member @ ratings).toarray().reshape(shape)


def _raw(counts: Floats, sums: Floats) -> tuple[Floats, Floats]:
    """Gap of the means and effective number of ratings per item, both 0 where a group is silent."""
    both = (counts > 0).all(axis=0)
    safe = np.where(both, counts, 1.0)
    means = sums / safe
    return (
        np.where(both, means[1] - means[0], 0.0),
        np.where(both, safe[0] * safe[1] / (safe[0] + safe[1]), 0.0),
    )
