"""What an attacker looks at: releases of some people, and what is public about items and method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Public:
    """What everybody knows. Items are columns; a design without tables has one table of zeros.

    popularity   (items,) how many people rated the item, roughly
    offsets      (tables, items) stars: what the method takes out for label 1 less that for label 0
    log_keep     (tables, items) log of the chance to be shown under label 1 over that under label 0
    genres       (items, genres) 0 or 1; no column where genres are unknown
    years        (items,) NaN where unknown
    """

    popularity: Floats
    offsets: Floats
    log_keep: Floats
    genres: Floats
    years: Floats

    @classmethod
    def nothing(cls, n_items: int) -> Public:
        """No public knowledge about any of the items."""
        zeros = np.zeros((1, n_items))
        unknown = np.full(n_items, np.nan)
        return cls(np.ones(n_items), zeros, zeros, np.zeros((n_items, 0)), unknown)


@dataclass(frozen=True, eq=False)
class Seen:
    """Releases of some people, as one attacker sees them.

    ratings   (people, items) CSR of released stars; a stored entry is a shown item
    table     (people,) which of the public tables made each person's release
    epochs    (people, items) CSR of the same pattern: 1 + number of the epoch in which the item
              was first shown; None in the view `union`, which has the last set only
    """

    ratings: sparse.csr_array
    public: Public
    table: Ints
    epochs: sparse.csr_array | None = None

    @classmethod
    def of(cls, ratings: sparse.csr_array, public: Public | None = None, **how: Any) -> Seen:
        """Releases that were all made with the first public table, if there is any."""
        known = Public.nothing(ratings.shape[1]) if public is None else public
        return cls(ratings, known, np.zeros(ratings.shape[0], dtype=np.int64), **how)

    @property
    def rows(self) -> Ints:
        """(shown,) person of each entry."""
        return np.repeat(np.arange(self.ratings.shape[0]), np.diff(self.ratings.indptr))

    def union(self) -> Seen:
        """The same without epoch labels."""
        return replace(self, epochs=None)


def stacked(parts: Sequence[Seen]) -> Seen:
    """Several people's releases as one. All share one `Public`; else `DataError`."""
    first = parts[0]
    if any(part.public is not first.public for part in parts):
        raise DataError("releases under different public knowledge cannot be stacked")
    labelled = [part.epochs for part in parts if part.epochs is not None]
    if labelled and len(labelled) != len(parts):
        raise DataError("either all releases carry epoch labels, or none does")
    return Seen(
        _below([part.ratings for part in parts]),
        first.public,
        np.concatenate([part.table for part in parts]),
        _below(labelled) if labelled else None,
    )


def _below(parts: Sequence[sparse.csr_array]) -> sparse.csr_array:
    return sparse.csr_array(sparse.vstack(parts, format="csr"))
