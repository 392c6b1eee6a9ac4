"""What an attack on a private attribute is: learn from people who told, then score the others."""

from __future__ import annotations

from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import DataError, NotFittedError

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


class AttributeAttack(Protocol):
    """Guesses a two-valued attribute from ratings.

    ratings: (n_users, n_items) CSR float64 in stars. A stored entry is a rating, also where it is
    0; an attack on the plain item vector cannot tell such an entry from an unrated item, and says
    so.
    """

    @property
    def name(self) -> str:
        """As in `tacit.auditing.attacks.ATTACKS`."""

    def fit(self, ratings: sparse.csr_array, labels: Labels) -> Self:
        """Learn from (n_users,) labels 0 and 1, at least two people of each; else `DataError`."""

    def score(self, ratings: sparse.csr_array) -> Floats:
        """(n_users,) finite scores, higher = more likely 1; `NotFittedError` before `fit`."""


def check_training(ratings: sparse.csr_array, labels: Labels) -> Labels:
    """The labels as int64, or `DataError` on what no attack can learn from."""
    check_ratings(ratings)
    told = np.asarray(labels)
    if told.shape != (ratings.shape[0],):
        raise DataError(
            "the attack needs one label per person",
            found=told.shape,
            expected=f"{ratings.shape[0]} labels",
        )
    if not np.isin(told, (0, 1)).all():
        raise DataError("an attack's labels are 0 or 1", found=np.unique(told)[:5].tolist())
    if min(np.sum(told == 0), np.sum(told == 1)) < 2:
        raise DataError(
            "the attack has too few people to learn from",
            expected="at least two of each value of the attribute",
        )
    return told.astype(np.int64)


def check_ratings(ratings: sparse.csr_array, n_items: int | None = None) -> None:
    """`DataError` unless these are finite ratings of the items the attack was trained on."""
    if getattr(ratings, "format", None) != "csr":
        raise DataError("an attack reads a sparse CSR matrix of ratings", found=type(ratings))
    if not np.isfinite(ratings.data).all():
        raise DataError("a rating is not a finite number")
    if n_items is not None and ratings.shape[1] != n_items:
        raise DataError(
            "the attack was trained on another list of items",
            found=ratings.shape[1],
            expected=f"{n_items} items",
        )


def not_fitted(name: str) -> NotFittedError:
    """The error of scoring too early."""
    return NotFittedError(f"The attack '{name}' has learned nothing yet: call fit first.")
