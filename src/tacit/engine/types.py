"""The inputs and results of an engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
"""Numbers of items."""


@dataclass(frozen=True, eq=False)
class Table:
    """Centred ratings of people for items."""

    values: sparse.csr_array
    """(people, items) CSR float64, sorted indices; a stored zero is a rating at the mean."""
    likes: NDArray[np.bool_]
    """(ratings,) in the order of `values.data`: whether a rating is at least its item's mean."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest items of each item, the nearest first.

    If an item has fewer than k neighbours, its further entries are -1 in `items`, and 0 elsewhere.
    """

    of: Numbers
    """(n,) the items whose neighbours these are."""
    items: Numbers
    """(n, k) numbers of the neighbours."""
    similarities: Floats
    """(n, k) adjusted cosines after significance weighting."""
    co_counts: Numbers
    """(n, k) numbers of people who rated both items; 0 if they were not counted."""
    agreements: Numbers
    """(n, k) numbers of people who liked both or disliked both; 0 if they were not counted."""


Find = Callable[[Table, Numbers, Numbers], Neighbours]
"""A function (table, of, among) that finds the neighbours of each item of `of` among the items of
`among`. The similarity of two items must depend on their two columns alone. The function is called
on the machines that hold the ratings."""
Pairs = Sequence[tuple[Numbers, Numbers]]
"""Pairs (of, among) of item sets: neighbours are found for each item of `of`, among the items of
`among`."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Edges from the items of one layer to those of the next, in CSR form."""

    offsets: NDArray[np.int64]
    """(items of this layer + 1,) where each item's edges begin, then the number of edges."""
    targets: Numbers
    """(edges,) the place in the next layer that each edge leads to, from 0; no item number."""
    similarities: Floats
    """(edges,) S of `Engine.paths`."""
    agreements: Floats
    """(edges,) a of `Engine.paths`, above 0."""
    shares: Floats
    """(edges,) F of `Engine.paths`, in (0, 1]."""
    width: int
    """Number of items of the next layer."""
