"""What is released about items, and what one person's own ratings make of it.

Sees       released numbers about items, and ONE person's ratings for their own list.
Model      stars = mean_i + b + <q_i, x> + error, error of variance `variances[i]`, which holds what
           is not known about the item too; b and x are normal with variances `mildness` and 1. A
           person's b and x are their means given their ratings (Bayesian linear regression).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
_BLOCK = 4096  # people at once


@dataclass(frozen=True, eq=False)
class ItemModel:
    """Released arrays, one entry per item of the public catalogue.

    means: stars. factors: (items, d) stars per unit of taste. variances: of a rating around what
    the factors say, uncertainty about the item included. counts: noisy numbers of ratings, above 0.
    mildness: variance of how mildly people judge. scale: lowest and highest stars.
    """

    means: Floats
    factors: Floats
    variances: Floats
    counts: Floats
    mildness: float
    scale: tuple[float, float]

    def __post_init__(self) -> None:
        items = len(self.means)
        shapes = (self.factors.shape[:1], self.variances.shape, self.counts.shape)
        if self.factors.ndim != 2 or any(shape != (items,) for shape in shapes):
            raise DataError("the arrays of an item model are of different numbers of items")
        for name in ("means", "factors", "variances", "counts", "mildness", "scale"):
            if not np.isfinite(getattr(self, name)).all():
                raise DataError(f"the {name} of an item model are not all finite numbers")
        for name in ("variances", "counts", "mildness"):
            if not np.greater(getattr(self, name), 0).all():
                raise DataError(f"the {name} of an item model are not all above 0")
        if not self.scale[0] < self.scale[1]:
            raise DataError("an item model's lowest stars lie below its highest", found=self.scale)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """All of it, to be saved; public or released, so saving spends nothing."""
        return {
            "means": self.means,
            "factors": self.factors,
            "variances": self.variances,
            "counts": self.counts,
            "constants": np.array([self.mildness, *self.scale]),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> ItemModel:
        """The inverse of `arrays`."""
        mildness, low, high = map(float, arrays["constants"])
        return cls(
            arrays["means"],
            arrays["factors"],
            arrays["variances"],
            arrays["counts"],
            mildness,
            (low, high),
        )

    def predict(self, numbers: NDArray[Any], stars: Floats) -> Floats:
        """(items,) expected stars of every item, within the scale, for a person who gave `stars`
        to the items `numbers`; without ratings, the means."""
        row = _row(numbers, stars, len(self.means))
        predicted: Floats = self.predict_many(row)[0]
        return predicted

    def predict_many(self, ratings: sparse.csr_array) -> Floats:
        """(people, items) for (people, items) own ratings; each row depends on itself alone."""
        mild_and_tastes = self.persons(ratings)[0]
        return np.clip(mild_and_tastes @ self.loadings.T + self.means, *self.scale)

    def ranking(self, numbers: NDArray[Any], stars: Floats) -> Floats:
        """(items,) what lists are ranked by: see `ranking_many`."""
        scores: Floats = self.ranking_many(_row(numbers, stars, len(self.means)))[0]
        return scores

    def ranking_many(self, ratings: sparse.csr_array) -> Floats:
        """(people, items): log of (noisy number of ratings) times the chance of the upper quarter
        of the scale: what a person will both come across and like. Stars alone would rank items
        first that hardly anybody knows."""
        from scipy.special import log_ndtr

        expected = self.persons(ratings)[0] @ self.loadings.T + self.means
        low, high = self.scale
        liked = low + 0.7 * (high - low)
        return np.asarray(log_ndtr((expected - liked) / np.sqrt(self.variances))) + np.log(
            self.counts
        )

    def similar(self, number: int) -> Floats:
        """(items,) cosine of the released factors with those of one item, itself included; 0 where
        nothing is known. It is computed from released numbers and costs nothing."""
        lengths = np.linalg.norm(self.factors, axis=1)
        safe = np.where(lengths > 0, lengths, 1)
        cosines: Floats = (self.factors @ self.factors[number]) / (safe * safe[number])
        return cosines

    @cached_property
    def loadings(self) -> Floats:
        """(items, 1 + d): 1 for the person's mildness, then the factors."""
        return np.hstack([np.ones((len(self.means), 1)), self.factors])

    def persons(self, ratings: sparse.csr_array) -> tuple[Floats, Floats]:
        """(people, 1 + d) posterior means and (people, 1 + d, 1 + d) covariances of mildness and
        tastes, each person's from their own row. ratings: CSR, a stored zero is a rating."""
        if ratings.shape[0] == 1:
            return self._person(ratings.indices, ratings.data)
        used, places = np.unique(ratings.indices, return_inverse=True)
        loadings = self.loadings[used]  # of one person few items: the others add nothing
        own = sparse.csr_array(
            (ratings.data - self.means[ratings.indices], places, ratings.indptr),
            shape=(ratings.shape[0], len(used)),
        )
        width = loadings.shape[1]
        above, beside = np.triu_indices(width)
        weighted = loadings / self.variances[used, None]
        products = weighted[:, above] * loadings[:, beside]
        prior = np.diag([1 / self.mildness] + [1.0] * (width - 1))
        means = np.empty((ratings.shape[0], width))
        covariances = np.empty((ratings.shape[0], width, width))
        for start in range(0, ratings.shape[0], _BLOCK):
            part = slice(start, start + _BLOCK)
            offsets = own[part]
            given = sparse.csr_array(
                (np.ones(offsets.nnz), offsets.indices, offsets.indptr), offsets.shape
            )
            precision = np.empty((offsets.shape[0], width, width))
            precision[:, above, beside] = precision[:, beside, above] = given @ products
            covariances[part] = np.linalg.inv(precision + prior)
            means[part] = np.einsum("pij,pj->pi", covariances[part], offsets @ weighted)
        return means, covariances

    def _person(self, numbers: NDArray[Any], stars: Floats) -> tuple[Floats, Floats]:
        """`persons` for one, who waits for their list: the same sums without sparse matrices."""
        loadings = self.loadings[numbers]
        weighted = loadings / self.variances[numbers, None]
        prior = np.diag([1 / self.mildness] + [1.0] * (loadings.shape[1] - 1))
        covariance = np.linalg.inv(weighted.T @ loadings + prior)
        mean = covariance @ ((stars - self.means[numbers]) @ weighted)
        return mean[None], covariance[None]


def _row(numbers: NDArray[Any], stars: Floats, items: int) -> sparse.csr_array:
    own = np.asarray(numbers, dtype=np.int64)
    given = np.asarray(stars, dtype=np.float64)
    if own.shape != given.shape or own.ndim != 1:
        raise DataError("a person's items and stars are of different numbers")
    if len(own) and not (own.min() >= 0 and own.max() < items):
        raise DataError("an item number is not in the catalogue", expected=f"0 to {items - 1}")
    if not np.isfinite(given).all():
        raise DataError("a rating is not a finite number")
    order = np.argsort(own, kind="stable")
    return sparse.csr_array((given[order], own[order], np.array([0, len(own)])), shape=(1, items))
