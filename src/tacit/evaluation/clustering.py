"""How well learned labels agree with true ones, whatever their names."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linear_sum_assignment

from tacit.errors import DataError


def label_accuracy(found: ArrayLike, true: ArrayLike) -> float:
    """Share of items with the right label under the best one-to-one naming of clusters."""
    table = _table(found, true)
    rows, columns = linear_sum_assignment(-table)
    return float(table[rows, columns].sum() / table.sum())


def adjusted_rand(found: ArrayLike, true: ArrayLike) -> float:
    """Hubert and Arabie (1985): 1 for equal partitions, 0 in the mean for unrelated ones."""
    table = _table(found, true)
    pairs, one, other = (
        float((counts * (counts - 1) / 2).sum())
        for counts in (table, table.sum(axis=1), table.sum(axis=0))
    )
    size = float(table.sum())
    by_chance = one * other / (size * (size - 1) / 2) if size > 1 else 0.0
    most = (one + other) / 2
    return 1.0 if most == by_chance else (pairs - by_chance) / (most - by_chance)


def _table(found: ArrayLike, true: ArrayLike) -> NDArray[np.int64]:
    """How many items have each pair of labels."""
    ours, theirs = np.asarray(found), np.asarray(true)
    if ours.ndim != 1 or ours.shape != theirs.shape or ours.size == 0:
        raise DataError("labels to compare are two lists of one length, with an entry or more")
    _, rows = np.unique(ours, return_inverse=True)
    _, columns = np.unique(theirs, return_inverse=True)
    table = np.zeros((rows.max() + 1, columns.max() + 1), dtype=np.int64)
    np.add.at(table, (rows, columns), 1)
    return table
