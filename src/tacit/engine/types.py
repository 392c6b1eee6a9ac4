"""Data of an engine: ratings, lists of neighbours, and edges between layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
"""int32 array of whole numbers: numbers of items, places or counts."""


@dataclass(frozen=True, eq=False)
class Table:
    """Centred ratings of people for items."""

    values: sparse.csr_array
    """(people, items) CSR float64, sorted indices; a stored zero is a rating at the mean."""
    likes: NDArray[np.bool_]
    """(ratings,) in the order of `values.data`: whether the rating is a like. The caller decides
    which ratings are likes, such as those of at least the item's mean."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest items of each of n items, the nearest first.

    If an item has fewer than k neighbours, its further entries are -1 in `neighbours`, and 0 in the
    three arrays after it.
    """

    items: Numbers
    """(n,) numbers of the items whose neighbours are listed."""
    neighbours: Numbers
    """(n, k) numbers of their neighbours."""
    similarities: Floats
    """(n, k) similarities, as `Engine.neighbours` defines them."""
    co_counts: Numbers
    """(n, k) numbers of people who rated both items; 0 if they were not counted."""
    agreements: Numbers
    """(n, k) numbers of people who liked both or disliked both; 0 if they were not counted."""


Find = Callable[[Table, Numbers, Numbers], Neighbours]
"""A function (table, items, candidates) that finds the neighbours of each of `items` among the
`candidates`. The similarity of two items must depend on their two columns alone. The function is
called on the machines that hold the ratings."""
Pairs = Sequence[tuple[Numbers, Numbers]]
"""Pairs (items, candidates) of item sets: neighbours are found for each of `items`, among the
`candidates`."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Edges from the items of one layer to those of the next, in CSR form."""

    offsets: NDArray[np.int64]
    """(items of this layer + 1,) where each item's edges begin, then the number of edges."""
    targets: Numbers
    """(edges,) the position in the next layer that each edge leads to, from 0 (not the number of
    the item at that position)."""
    similarities: Floats
    """(edges,) S of `Engine.paths`."""
    agreements: Floats
    """(edges,) a of `Engine.paths`, above 0."""
    shares: Floats
    """(edges,) F of `Engine.paths`, in (0, 1]."""
    width: int
    """Number of items of the next layer."""
