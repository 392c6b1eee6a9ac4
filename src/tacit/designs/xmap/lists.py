"""How unseen items are ranked without privacy: by what people rate who rate what they liked.

The paper measures predicted stars and says nothing of lists. A list by predicted stars starts with
items that one person gave five stars. So NX-Map ranks by votes: each item they liked (a rating of
at least their own mean) votes for the target items it is rated together with, by the cosine of the
two items' columns of who rated them. With private neighbours this table is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.recommender import as_matrix
from tacit.engine.base import Engine, Numbers, Table

Floats = NDArray[np.float64]
COMPANIONS = 200
"""Items that can vote for one target item."""
_TIES = 1e-6


@dataclass(frozen=True, eq=False)
class RatedTogether:
    """companions, weights: (n_target, k) item numbers, -1 where fewer, and their cosines.

    popularity: (n_target,) share of all ratings in the target domain; it orders what nothing votes
    for. width: how many items there are.
    """

    companions: Numbers
    weights: Floats
    popularity: Floats
    width: int

    @cached_property
    def matrix(self) -> sparse.csr_array:
        """(n_target, items)."""
        return as_matrix(self.companions, self.weights, width=self.width)

    def scores(self, liked: sparse.csr_array) -> Floats:
        """(people, n_target) from (people, items) with a 1 for each item that is liked."""
        votes = np.asarray((liked @ self.matrix.T).toarray(), dtype=np.float64)
        return votes + _TIES * self.popularity


def rated_together(
    stars: sparse.csr_array, targets: Numbers, among: Numbers, engine: Engine
) -> RatedTogether:
    """Learn from (people, items) stars; `among`: the items that vote."""
    pattern = sparse.csr_array((np.ones(stars.nnz), stars.indices, stars.indptr), stars.shape)
    table = Table(pattern, np.ones(stars.nnz, dtype=np.bool_))
    k = min(COMPANIONS, max(1, len(among)))
    found = engine.neighbours(table, of=targets, among=among, k=k, counts=False)
    counts = np.bincount(stars.indices, minlength=stars.shape[1])[targets]
    return RatedTogether(
        found.items, found.similarities, counts / max(1, int(counts.sum())), stars.shape[1]
    )


def liked(stars: sparse.csr_array) -> sparse.csr_array:
    """(people, items) 1 for each rating of at least the person's mean, 0 for their others."""
    counts = np.diff(stars.indptr)
    people = np.repeat(np.arange(stars.shape[0]), counts)
    sums = np.bincount(people, stars.data, minlength=stars.shape[0])
    means = np.divide(sums, counts, out=np.zeros(len(sums)), where=counts > 0)
    likes = (stars.data >= means[people]).astype(np.float64)
    return sparse.csr_array((likes, stars.indices, stars.indptr), stars.shape)
