"""Tables that engines read, and their answers."""

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
    """(ratings,) beside `values.data`: whether the rating is at least its item's mean."""


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The nearest items of each of `of`, best first; entries behind a -1 are 0."""

    of: Numbers
    """(n,) the items whose neighbours these are."""
    items: Numbers
    """(n, k) numbers, -1 where there are fewer than k."""
    similarities: Floats
    """(n, k) adjusted cosines after significance weighting."""
    co_counts: Numbers
    """(n, k) people who rated both; 0 where they were not asked for."""
    agreements: Numbers
    """(n, k) people who liked both or disliked both; 0 where they were not asked for."""


Find = Callable[[Table, Numbers, Numbers], Neighbours]
"""From a table, `of` and `among` to neighbours. The answer for an item depends on the columns of
that item and of each neighbour alone. It is called where the rows are."""
Pairs = Sequence[tuple[Numbers, Numbers]]
"""Items `of` which neighbours are wanted, and items `among` which they are."""


@dataclass(frozen=True, eq=False)
class Stage:
    """Edges from the items of one layer to those of the next, as one CSR structure."""

    offsets: NDArray[np.int64]
    """(items of this layer + 1,) where each item's edges begin."""
    targets: Numbers
    """(edges,) places in the next layer, not item numbers."""
    similarities: Floats
    """(edges,) S."""
    agreements: Floats
    """(edges,) above 0."""
    shares: Floats
    """(edges,) F, in (0, 1]."""
    width: int
    """Items of the next layer."""
