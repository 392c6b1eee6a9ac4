"""Step 1, the Baseliner: ratings centred by person, and the similarity of items within them.

Source   the X-Map paper. s(i, j) is the adjusted cosine: stars are centred by the person's mean,
         and the norms run over ALL raters of each item. The engine computes it.
Sees     everybody's ratings of both domains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine import Engine, Neighbours, Numbers, Table

Floats = NDArray[np.float64]


class Baseline(NamedTuple):
    """Centred ratings of both domains."""

    table: Table
    """(people, items) stars minus the person's mean."""
    raters: NDArray[np.int64]
    """(items,) people who rated each item."""


def make_baseline(stars: sparse.csr_array) -> Baseline:
    """Centre (people, items) stars, sorted indices; a stored zero is a rating of zero."""
    raters = np.bincount(stars.indices, minlength=stars.shape[1]).astype(np.int64)
    return Baseline(center_stars(stars, mean_stars_of_people(stars)), raters)


def center_stars(stars: sparse.csr_array, means: Floats) -> Table:
    """Subtract each person's mean from their stars.

    A rating is a like if it is at least the item's mean. Columns that are left out of `stars`
    change nothing in the others.

    Args:
        stars: (people, items) CSR.
        means: (people,) what is subtracted.
    """
    deviations = stars.data - np.repeat(means, np.diff(stars.indptr))
    values = sparse.csr_array((deviations, stars.indices, stars.indptr), shape=stars.shape)
    return Table(values, stars.data >= mean_stars_of_items(stars)[stars.indices])


def person_of_each_rating(stars: sparse.csr_array) -> NDArray[np.int64]:
    """(stored,) number of the person whose rating each stored value is."""
    counts = np.diff(stars.indptr)
    people: NDArray[np.int64] = np.repeat(np.arange(len(counts)), counts)
    return people


def mean_stars_of_people(stars: sparse.csr_array) -> Floats:
    """(people,) mean stars; 0 for people without ratings."""
    counts = np.diff(stars.indptr)
    sums = np.bincount(person_of_each_rating(stars), stars.data, minlength=len(counts))
    means: Floats = np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)
    return means


def mean_stars_of_items(stars: sparse.csr_array) -> Floats:
    """(items,) mean stars; the overall mean for items without ratings."""
    counts = np.bincount(stars.indices, minlength=stars.shape[1])
    sums = np.bincount(stars.indices, stars.data, minlength=stars.shape[1])
    overall = float(stars.data.mean()) if stars.data.size else 0.0
    means: Floats = np.divide(sums, counts, out=np.full(len(sums), overall), where=counts > 0)
    return means


def find_neighbours(
    table: Table, of: Numbers, among: Numbers, *, engine: Engine, **options: Any
) -> Neighbours:
    """Find the nearest items `among` some for each item `of` others, where the rows are.

    Args:
        table: Centred ratings, or who rated what.
        of: Items whose neighbours are wanted.
        among: Items that can be neighbours.
        engine: Computes the similarities.
        **options: Further keywords of `Engine.neighbours`: k, significance, counts.
    """
    return engine.neighbours(table, of=of, among=among, **options)
