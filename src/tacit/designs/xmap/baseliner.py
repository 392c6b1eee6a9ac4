"""Step 1, the Baseliner: ratings centred by each person's mean, likes, and similarities of items.

Step 4 uses the same functions for people's profiles in the target domain.

Source   the X-Map paper. The similarity s(i, j) of two items is the adjusted cosine: the cosine of
         their columns of centred stars, where each norm is over ALL raters of the item. It is
         scaled down if few people rated both items. `Engine.neighbours` computes it.
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
    """Centred ratings of both domains, and how many people rated each item."""

    table: Table
    """(people, items) stars minus the person's mean; and for each rating whether it is a like."""
    raters: NDArray[np.int64]
    """(items,) number of people who rated each item."""


def make_baseline(stars: sparse.csr_array) -> Baseline:
    """Centre everybody's stars by each person's mean, mark likes, and count each item's raters.

    Args:
        stars: (people, items) CSR with sorted indices; a stored zero is a rating of zero stars.
    """
    raters = np.bincount(stars.indices, minlength=stars.shape[1]).astype(np.int64)
    return Baseline(center_stars(stars, mean_stars_of_people(stars)), raters)


def center_stars(stars: sparse.csr_array, means: Floats) -> Table:
    """Subtract each person's mean from their stars, and mark likes.

    A rating is a like if it is at least the mean of the item's stars. A column of the result
    depends on `means` and on the same column of `stars` alone, so columns can be centred in several
    parts.

    Args:
        stars: (people, items) CSR with the ratings of everybody for these items.
        means: (people,) means to subtract.
    """
    deviations = stars.data - np.repeat(means, np.diff(stars.indptr))
    values = sparse.csr_array((deviations, stars.indices, stars.indptr), shape=stars.shape)
    return Table(values, stars.data >= mean_stars_of_items(stars)[stars.indices])


def person_of_each_rating(stars: sparse.csr_array) -> NDArray[np.int64]:
    """Return the (stored,) row numbers of a matrix's ratings: a rating's row is its person."""
    counts = np.diff(stars.indptr)
    people: NDArray[np.int64] = np.repeat(np.arange(len(counts)), counts)
    return people


def mean_stars_of_people(stars: sparse.csr_array) -> Floats:
    """Compute (people,) mean stars; 0 for people without ratings."""
    counts = np.diff(stars.indptr)
    sums = np.bincount(person_of_each_rating(stars), stars.data, minlength=len(counts))
    means: Floats = np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)
    return means


def mean_stars_of_items(stars: sparse.csr_array) -> Floats:
    """Compute (items,) mean stars; the overall mean for items without ratings."""
    counts = np.bincount(stars.indices, minlength=stars.shape[1])
    sums = np.bincount(stars.indices, stars.data, minlength=stars.shape[1])
    overall = float(stars.data.mean()) if stars.data.size else 0.0
    means: Floats = np.divide(sums, counts, out=np.full(len(sums), overall), where=counts > 0)
    return means


def find_neighbours(
    table: Table, items: Numbers, candidates: Numbers, *, engine: Engine, **options: Any
) -> Neighbours:
    """Find the k candidates of the largest |similarity| to each item.

    This is `Engine.neighbours` as a function that can be pickled, so that it can be sent to the
    machines that hold the table's rows.

    Args:
        table: Centred ratings, or marks of who rated what (`voting_lists.mark_rated`).
        items: Numbers of the items whose neighbours are searched for.
        candidates: Numbers of the items that can be neighbours.
        engine: Computes the similarities.
        **options: Further keywords of `Engine.neighbours`: k, significance, counts.
    """
    return engine.neighbours(table, items=items, candidates=candidates, **options)
