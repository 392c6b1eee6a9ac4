"""Lists of item-based NX-Map: liked items vote for items that the same people rated.

This is an addition to the paper, which makes no lists and predicts stars (docs/xmap.md). The table
of votes has no noise, so models with privacy do not use it.
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
from tacit.engine import Engine, Numbers, Table, find_nearest

Floats = NDArray[np.float64]
VOTERS_OF_AN_ITEM = 200
"""Largest number of items that vote for one target item."""
_TIE_WEIGHT = 1e-6
"""Weight of popularity in a score. It is so small that it only orders items whose votes are equal
or differ by less than this."""


@dataclass(frozen=True, eq=False)
class VotingTable:
    """Items that vote for each target item, with their weights."""

    companions: Numbers
    """(n_target, k) numbers of the items that vote for each target item; -1 if there are fewer."""
    weights: Floats
    """(n_target, k) weights of their votes: cosines of the two items' sets of raters; 0 where
    `companions` has -1."""
    popularity: Floats
    """(n_target,) the item's share of all ratings in the target domain."""
    width: int
    """Number of items of the model."""

    @cached_property
    def votes_of(self) -> sparse.csr_array:
        """(n_items, n_target) CSR: row i holds the weights of item i's votes for target items."""
        by_target = sparse_from_lists(self.companions, self.weights, width=self.width)
        return by_target.T.tocsr()

    def count_votes(self, likes: sparse.csr_array) -> Floats:
        """Sum the votes of the items that people like.

        Args:
            likes: (people, items) CSR with a 1 for each liked item.

        Returns:
            (people, n_target) scores.
        """
        votes = np.asarray((likes @ self.votes_of).toarray(), dtype=np.float64)
        return votes + _TIE_WEIGHT * self.popularity


def mark_rated(stars: sparse.csr_array, _: Floats | None = None) -> Table:
    """Make a table with a 1 for each rating, whatever its stars, in which every rating is a like.

    The second argument stands for people's mean stars, as in `center_stars`, and has no effect.
    """
    ones = sparse.csr_array((np.ones(stars.nnz), stars.indices, stars.indptr), stars.shape)
    return Table(ones, np.ones(stars.nnz, dtype=np.bool_))


def make_voting_table(
    table: Table, raters: NDArray[np.int64], targets: Numbers, voters: Numbers, engine: Engine
) -> VotingTable:
    """Find the items that vote for each target item: the items whose raters are most like its own.

    Args:
        table: Marks of who rated what (`mark_rated`).
        raters: (items,) number of people who rated each item.
        targets: Numbers of the target domain's items.
        voters: Numbers of the items that can vote.
        engine: Computes cosines.
    """
    k = min(VOTERS_OF_AN_ITEM, max(1, len(voters)))
    find = partial(find_neighbours, engine=engine, k=k, counts=False)
    (neighbours,) = find_nearest(table, [(targets, voters)], find, k)
    counts = raters[targets]
    popularity = counts / max(1, int(counts.sum()))
    n_items = table.values.shape[1]
    return VotingTable(neighbours.neighbours, neighbours.similarities, popularity, n_items)


def mark_likes(stars: sparse.csr_array) -> sparse.csr_array:
    """Mark ratings of at least the person's mean: (people, items) CSR, 1 for these, else 0.

    These are the likes that vote; `center_stars` compares a rating with the item's mean.
    """
    means = mean_stars_of_people(stars)
    likes = (stars.data >= means[person_of_each_rating(stars)]).astype(np.float64)
    return sparse.csr_array((likes, stars.indices, stars.indptr), stars.shape)
