"""An attack on a private attribute: learn from people who disclosed it, then score the others.

And what an attacker looks at: releases of some people, and what is public about items and method.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import DataError, NotFittedError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int64]

PSEUDO_RATINGS = 5
"""Ratings at the global mean that are added to each item before its mean is computed."""


class AttributeAttack(Protocol):
    """Guesses a two-valued attribute from ratings.

    ratings: (n_users, n_items) CSR float64 in stars. A stored entry is a rating, also where it is
    0; an attack on the plain item vector cannot tell such an entry from an unrated item, and says
    so.
    """

    @property
    def name(self) -> str:
        """Name in `tacit.auditing.attacks.ATTACKS`."""

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Learn from (n_users,) labels 0 and 1, at least two people of each; else `DataError`."""

    def score(self, ratings: sparse.csr_array) -> Floats:
        """(n_users,) finite scores, higher = more likely 1; `NotFittedError` before `fit`."""


class Attacker(Protocol):
    """Guesses a two-valued attribute from what is seen of people."""

    @property
    def name(self) -> str:
        """Name in the registry."""

    @property
    def reads_epochs(self) -> bool:
        """Whether the view with epoch labels says more to this attacker than the union."""

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from (people,) labels 0 and 1, at least two people of each; else `DataError`."""

    def score(self, seen: Releases) -> Floats:
        """(people,) finite scores, higher = more likely 1; `NotFittedError` before `fit`."""


class Learner:
    """Base of this package's attackers: it refuses unusable ratings and labels (`DataError`)."""

    name: str
    _n_items: int | None = None

    def _check_training(self, ratings: sparse.csr_array, labels: Labels) -> Labels:
        """Check ratings and labels to learn from, and return the labels as int64."""
        _check(ratings)
        classes = np.asarray(labels)
        if classes.shape != (ratings.shape[0],):
            raise DataError(
                "the attack needs one label per person",
                found=classes.shape,
                expected=f"{ratings.shape[0]} labels",
            )
        if not np.isin(classes, (0, 1)).all():
            raise DataError("an attack's labels are 0 or 1", found=np.unique(classes)[:5].tolist())
        if min(np.sum(classes == 0), np.sum(classes == 1)) < 2:
            raise DataError(
                "the attack has too few people to learn from",
                expected="at least two of each value of the attribute",
            )
        self._n_items = ratings.shape[1]
        return classes.astype(np.int64)

    def _check_scored(self, ratings: sparse.csr_array) -> None:
        """Refuse ratings before `_learn`, and ratings of other items than it saw."""
        if self._n_items is None:
            raise NotFittedError(
                f"The attack '{self.name}' has learned nothing yet: call fit first."
            )
        _check(ratings)
        if ratings.shape[1] != self._n_items:
            raise DataError(
                "the attack was trained on another list of items",
                found=ratings.shape[1],
                expected=f"{self._n_items} items",
            )


def _check(ratings: sparse.csr_array) -> None:
    """Raise DataError unless this is a CSR matrix of finite numbers."""
    if getattr(ratings, "format", None) != "csr":
        raise DataError("an attack reads a sparse CSR matrix of ratings", found=type(ratings))
    if not np.isfinite(ratings.data).all():
        raise DataError("a rating is not a finite number")


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """Public knowledge of items and method. A design without tables has one table of zeros."""

    popularity: Floats
    """(items,) how many people rated the item, roughly."""
    offsets: Floats
    """(tables, items) stars: what the method takes out for label 1 less that for label 0."""
    log_keep: Floats
    """(tables, items) log of the chance to be shown under label 1 over that under label 0."""
    genres: Floats
    """(items, genres) 0 or 1; no column where genres are unknown."""
    years: Floats
    """(items,) year of each item; NaN where unknown."""

    @classmethod
    def of_unknown_items(cls, n_items: int) -> PublicKnowledge:
        """Return the public knowledge where nothing is known of any item."""
        zeros = np.zeros((1, n_items))
        unknown = np.full(n_items, np.nan)
        return cls(np.ones(n_items), zeros, zeros, np.zeros((n_items, 0)), unknown)


@dataclass(frozen=True, eq=False)
class Releases:
    """Releases of some people, as one attacker sees them."""

    ratings: sparse.csr_array
    """(people, items) CSR of released stars; a stored entry is a shown item."""
    public: PublicKnowledge
    """Public knowledge of items and method."""
    table: Ints
    """(people,) which of the public tables made each person's release."""
    epochs: sparse.csr_array | None = None
    """(people, items) CSR of the same pattern: 1 + number of the epoch in which the item was first
    shown; None in the view `union`, which has the last set only."""

    @classmethod
    def from_ratings(
        cls,
        ratings: sparse.csr_array,
        public: PublicKnowledge | None = None,
        epochs: sparse.csr_array | None = None,
    ) -> Releases:
        """Return releases (people, items) that were all made with the first public table."""
        if public is None:
            public = PublicKnowledge.of_unknown_items(ratings.shape[1])
        table = np.zeros(ratings.shape[0], dtype=np.int64)
        return cls(ratings, public, table, epochs)

    @property
    def rows(self) -> Ints:
        """(shown,) person of each entry."""
        return np.repeat(np.arange(self.ratings.shape[0]), np.diff(self.ratings.indptr))

    def union(self) -> Releases:
        """Return these releases without epoch labels."""
        return replace(self, epochs=None)


def stack_releases(parts: Sequence[Releases]) -> Releases:
    """Join the releases of several groups of people.

    Raises:
        DataError: The public knowledge differs, or only some parts carry epoch labels.
    """
    first = parts[0]
    if any(part.public is not first.public for part in parts):
        raise DataError("releases under different public knowledge cannot be stacked")
    labelled = [part.epochs for part in parts if part.epochs is not None]
    if labelled and len(labelled) != len(parts):
        raise DataError("either all releases carry epoch labels, or none does")
    return Releases(
        _stack_rows([part.ratings for part in parts]),
        first.public,
        np.concatenate([part.table for part in parts]),
        _stack_rows(labelled) if labelled else None,
    )


def _stack_rows(parts: Sequence[sparse.csr_array]) -> sparse.csr_array:
    """Put the rows of the matrices one below the other."""
    return sparse.csr_array(sparse.vstack(parts, format="csr"))


def replace_data(pattern: sparse.csr_array, data: Floats) -> sparse.csr_array:
    """Make a matrix with other values at the same stored places."""
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def item_means(ratings: sparse.csr_array) -> Floats:
    """Compute (items,) damped means; an item that nobody rated has the global mean."""
    n_items = ratings.shape[1]
    overall = float(ratings.data.mean()) if ratings.nnz else 0.0
    counts = np.bincount(ratings.indices, minlength=n_items)
    sums = np.bincount(ratings.indices, ratings.data, minlength=n_items)
    means: Floats = (sums + PSEUDO_RATINGS * overall) / (counts + PSEUDO_RATINGS)
    return means
