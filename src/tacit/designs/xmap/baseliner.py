"""Box 1, the Baseliner: ratings centred by person, ready for similarities within and across.

Source   Guerraoui, Kermarrec, Lin, Patra: What you might like to read after watching Interstellar
         (PVLDB 2017). Adjusted cosine with denominators over ALL raters of each item; the engine
         computes it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.base import Table

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Baseline:
    """What similarities are computed from.

    table: stars minus the person's mean. item_means: (items,) stars, the overall mean where nobody
    rated. raters: (items,) people who rated each.
    """

    table: Table
    item_means: Floats
    raters: NDArray[np.int64]


def baseline(stars: sparse.csr_array) -> Baseline:
    """Centre (people, items) stars, sorted indices; a stored zero is a rating of zero."""
    counts = np.diff(stars.indptr)
    people = np.repeat(np.arange(stars.shape[0]), counts)
    means = np.divide(
        np.bincount(people, stars.data, minlength=stars.shape[0]),
        counts,
        out=np.zeros(stars.shape[0]),
        where=counts > 0,
    )
    raters = np.bincount(stars.indices, minlength=stars.shape[1]).astype(np.int64)
    item_means = means_of_items(stars)
    centred = sparse.csr_array(
        (stars.data - means[people], stars.indices, stars.indptr), shape=stars.shape
    )
    likes = stars.data >= item_means[stars.indices]
    return Baseline(Table(centred, likes), item_means, raters)


def means_of_items(stars: sparse.csr_array) -> Floats:
    """(items,) mean stars; the overall mean where nobody rated."""
    counts = np.bincount(stars.indices, minlength=stars.shape[1])
    sums = np.bincount(stars.indices, stars.data, minlength=stars.shape[1])
    overall = float(stars.data.mean()) if stars.data.size else 0.0
    means: Floats = np.divide(sums, counts, out=np.full(len(sums), overall), where=counts > 0)
    return means
