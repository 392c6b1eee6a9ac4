"""Interfaces of attacks on a private attribute, and the data that attackers read.

An attacker learns from people who disclosed the attribute, then scores others. It reads the
releases of these people (`Releases`), and what is public about items and about the method that
releases ratings (`PublicKnowledge`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import DataError, NotFittedError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Labels = NDArray[np.int64]

PSEUDO_RATINGS = 5
"""Ratings at the global mean that are added to each item before its mean is computed."""


class AttributeAttack(Protocol):
    """Guesses a two-valued attribute from ratings.

    Ratings are (n_users, n_items) CSR float64 in stars. Each stored entry is a rating, even if its
    value is 0. An attack that reads the plain item vector, with zeros for unrated items, cannot
    tell a rating of 0 from an unrated item.
    """

    @property
    def name(self) -> str:
        """Name in `tacit.auditing.attacks.ATTACKS`."""

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Learn from ratings and (n_users,) labels of 0 and 1.

        Raises:
            DataError: Ratings or labels are not valid, or fewer than two people have one of the
                labels.
        """

    def score(self, ratings: sparse.csr_array) -> Floats:
        """Return (n_users,) finite scores; a higher score means that label 1 is more likely.

        Raises:
            NotFittedError: `fit` was not called.
            DataError: The ratings are not valid, or have another number of items than in `fit`.
        """


class Attacker(Protocol):
    """Guesses a two-valued attribute from the releases that the attacker has seen."""

    @property
    def name(self) -> str:
        """Name by which a `Panel` knows the attacker."""

    @property
    def reads_epochs(self) -> bool:
        """Whether epoch labels change this attacker's scores."""

    def fit(self, seen: Releases, labels: Labels) -> Self:
        """Learn from releases and (people,) labels of 0 and 1.

        Raises:
            DataError: Ratings or labels are not valid, or fewer than two people have one of the
                labels.
        """

    def score(self, seen: Releases) -> Floats:
        """Return (people,) finite scores; a higher score means that label 1 is more likely.

        Raises:
            NotFittedError: `fit` was not called.
            DataError: The ratings are not valid, or have another number of items than in `fit`.
        """


class Learner:
    """Base class of attackers: checks that ratings and labels are valid before they are used."""

    name: str
    _n_items: int | None = None
    """Number of items in training; None before `fit`."""

    def _check_training(self, ratings: sparse.csr_array, labels: Labels) -> Labels:
        """Check training ratings and labels; store the number of items and return int64 labels.

        Raises:
            DataError: The ratings are no CSR matrix of finite numbers, or the labels are not 0 or 1
                for each person, with at least two people of each.
        """
        _check_ratings(ratings)
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
        """Check ratings to score.

        Raises:
            NotFittedError: `fit` was not called.
            DataError: The ratings are no CSR matrix of finite numbers, or have another number of
                items than those in training.
        """
        if self._n_items is None:
            raise NotFittedError(
                f"The attack '{self.name}' has learned nothing yet: call fit first."
            )
        _check_ratings(ratings)
        if ratings.shape[1] != self._n_items:
            raise DataError(
                "the attack was trained on another list of items",
                found=ratings.shape[1],
                expected=f"{self._n_items} items",
            )


def _check_ratings(ratings: sparse.csr_array) -> None:
    """Raise DataError unless the ratings are a CSR matrix of finite numbers."""
    if getattr(ratings, "format", None) != "csr":
        raise DataError("an attack reads a sparse CSR matrix of ratings", found=type(ratings))
    if not np.isfinite(ratings.data).all():
        raise DataError("a rating is not a finite number")


@dataclass(frozen=True, eq=False)
class PublicKnowledge:
    """Public knowledge of items and of the method that releases ratings.

    A method publishes tables of offsets and of chances to show an item. A design without tables
    has one table of zeros.
    """

    popularity: Floats
    """(items,) approximate number of people who rated each item."""
    offsets: Floats
    """(tables, items) stars: the offset that is subtracted under label 1, minus that of label 0."""
    log_keep: Floats
    """(tables, items) ln(chance to show the item under label 1 / chance under label 0)."""
    genres: Floats
    """(items, genres) 1 if the item has the genre, else 0; (items, 0) if genres are unknown."""
    years: Floats
    """(items,) year of each item; NaN where unknown."""

    @classmethod
    def of_unknown_items(cls, n_items: int) -> PublicKnowledge:
        """Return the same public knowledge for all items: popularity 1, no genres, no years."""
        zeros = np.zeros((1, n_items))
        unknown = np.full(n_items, np.nan)
        return cls(np.ones(n_items), zeros, zeros, np.zeros((n_items, 0)), unknown)


@dataclass(frozen=True, eq=False)
class Releases:
    """Releases of some people, as one attacker sees them."""

    ratings: sparse.csr_array
    """(people, items) CSR of released stars; each stored entry is a shown item."""
    public: PublicKnowledge
    """Public knowledge of items and of the method."""
    table: Ints
    """(people,) row of `public.offsets` and `public.log_keep` behind each person's release."""
    epochs: sparse.csr_array | None = None
    """(people, items) CSR with the stored places of `ratings`: 1 + number of the epoch in which
    the item was first shown. None if the attacker sees only the union of the epochs."""

    @classmethod
    def from_ratings(
        cls,
        ratings: sparse.csr_array,
        public: PublicKnowledge | None = None,
        epochs: sparse.csr_array | None = None,
    ) -> Releases:
        """Return the releases of people whose ratings were all released with public table 0.

        Args:
            ratings: (people, items) CSR of released stars.
            public: Public knowledge; None: nothing is known of the items.
            epochs: Epoch labels, as in `Releases.epochs`; None: none are seen.
        """
        if public is None:
            public = PublicKnowledge.of_unknown_items(ratings.shape[1])
        table = np.zeros(ratings.shape[0], dtype=np.int64)
        return cls(ratings, public, table, epochs)

    @property
    def rows(self) -> Ints:
        """(shown,) row number of the person behind each stored entry of `ratings`."""
        return np.repeat(np.arange(self.ratings.shape[0]), np.diff(self.ratings.indptr))

    def union(self) -> Releases:
        """Return these releases without epoch labels."""
        return replace(self, epochs=None)


def stack_releases(parts: Sequence[Releases]) -> Releases:
    """Join the releases of several groups of people, one group below the other.

    Args:
        parts: At least one group, all over the same items.

    Raises:
        DataError: The parts have different `public` objects, or only some carry epoch labels.
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
    """Return a matrix with the stored places of `pattern` and the values of `data`."""
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def item_means(ratings: sparse.csr_array) -> Floats:
    """Compute (items,) mean stars, with `PSEUDO_RATINGS` at the global mean added to each item.

    An item without ratings gets the global mean; without any ratings all means are 0.
    """
    n_items = ratings.shape[1]
    global_mean = float(ratings.data.mean()) if ratings.nnz else 0.0
    counts = np.bincount(ratings.indices, minlength=n_items)
    sums = np.bincount(ratings.indices, ratings.data, minlength=n_items)
    means: Floats = (sums + PSEUDO_RATINGS * global_mean) / (counts + PSEUDO_RATINGS)
    return means


def limit_threads() -> AbstractContextManager[Any]:
    """Return a context in which NumPy, SciPy and scikit-learn use one thread.

    The attackers' vectors are short: on a busy machine several threads mostly wait for each other.
    """
    limited: AbstractContextManager[Any] = _find_thread_pools().limit(limits=1)
    return limited


@cache
def _find_thread_pools() -> ThreadpoolController:
    """Find the thread pools of NumPy, SciPy and scikit-learn, once: it takes milliseconds."""
    import sklearn.ensemble  # noqa: F401 (loads all pools; one that is loaded later is not found)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
