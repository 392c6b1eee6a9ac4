"""Lists of NX-Map: each item that a person likes votes for the items rated by the same people.

Our choice, for the paper measures predicted stars alone (docs/xmap.md). The table of votes has no
noise, so that with private neighbours it is not used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.designs.xmap.baseliner import (
    find_neighbours,
    mean_stars_of_people,
    person_of_each_rating,
)
from tacit.designs.xmap.sparse_rows import sparse_from_lists
from tacit.engine import Engine, Numbers, Table, nearest

Floats = NDArray[np.float64]
VOTERS_OF_AN_ITEM = 200
"""Items that can vote for one target item."""
_TIE_WEIGHT = 1e-6
"""Weight of popularity: it orders items without votes, and never outweighs a vote."""


@dataclass(frozen=True, eq=False)
class VotingTable:
    """Items that vote for each target item, with their weights."""

    companions: Numbers
    """(n_target, k) numbers of the items that vote for each target item; -1 where fewer."""
    weights: Floats
    """(n_target, k) cosines of the two columns of raters."""
    popularity: Floats
    """(n_target,) share of all ratings in the target domain."""
    width: int
    """Items of the model."""

    @cached_property
    def votes_of(self) -> sparse.csr_array:
        """(items, n_target) what each item votes for, with the weights of its votes."""
        by_target = sparse_from_lists(self.companions, self.weights, width=self.width)
        return by_target.T.tocsr()

    def count_votes(self, likes: sparse.csr_array) -> Floats:
        """(people, n_target) votes from (people, items) with a 1 for each item that is liked."""
        votes = np.asarray((likes @ self.votes_of).toarray(), dtype=np.float64)
        return votes + _TIE_WEIGHT * self.popularity


def mark_rated(stars: sparse.csr_array, _: Floats | None = None) -> Table:
    """Mark who rated what, all ratings alike."""
    ones = sparse.csr_array((np.ones(stars.nnz), stars.indices, stars.indptr), stars.shape)
    return Table(ones, np.ones(stars.nnz, dtype=np.bool_))


def make_voting_table(
    table: Table, raters: NDArray[np.int64], targets: Numbers, voters: Numbers, engine: Engine
) -> VotingTable:
    """Find the items that vote for each target item.

    Args:
        table: Who rated what (`mark_rated`).
        raters: (items,) people who rated each item.
        targets: Numbers of the target domain's items.
        voters: Numbers of the items that vote.
        engine: Computes cosines.
    """
    k = min(VOTERS_OF_AN_ITEM, max(1, len(voters)))
    find = partial(find_neighbours, engine=engine, k=k, counts=False)
    (found,) = nearest(table, [(targets, voters)], find, k)
    counts = raters[targets]
    popularity = counts / max(1, int(counts.sum()))
    return VotingTable(found.items, found.similarities, popularity, table.values.shape[1])


def mark_likes(stars: sparse.csr_array) -> sparse.csr_array:
    """(people, items) 1 for each rating of at least the person's mean, 0 for their others."""
    means = mean_stars_of_people(stars)
    likes = (stars.data >= means[person_of_each_rating(stars)]).astype(np.float64)
    return sparse.csr_array((likes, stars.indices, stars.indptr), stars.shape)
