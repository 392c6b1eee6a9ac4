"""Contexts with many sparse features, streamed in batches and reduced to a few dense ones.

The paper's contexts have 13,900 features. As one dense array, 200,000 of them take 22 GB, so none
is ever made: a batch is a sparse matrix, and only its reduced form, (n, d) with d of at most 4, is
kept.

World      Each person belongs to one of `GROUPS` communities, of unequal size, and has about
           `TAGS` tags. A community has favourite tags of its own: the r-th is drawn with a chance
           in proportion to 1 / r.
Reduction  Principal components of the centred rows, by subspace iteration over the stream, then
           each component's rank among the fitted people: a number in [0, 1].
Privacy    The reduction depends on the people that it is fitted on, and nothing protects them.
           They are others than those whose visits are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Stream = Callable[[], Iterator[Any]]
"""Starts a stream of sparse batches; scipy has no types."""

GROUPS = 50
TAGS = 30
BATCH_ROWS = 2000
FITTED_PEOPLE = 20_000
SUBSPACE_PASSES = 4
SPARE_COMPONENTS = 8
"""Columns of the subspace beyond those wanted: with them it settles in few passes."""


def sparse_batches(count: int, features: int, *, seed: int, people: int) -> Iterator[Any]:
    """Generate `count` people in batches of at most `BATCH_ROWS`.

    Args:
        count: people in all.
        features: columns of each batch.
        seed: fixes the communities and their favourite tags.
        people: fixes who is drawn from these communities.

    Yields:
        Sparse rows of length 1 (Euclidean), (rows, features).
    """
    communities = np.random.default_rng([seed, 0])
    favourites = np.stack([communities.permutation(features) for _ in range(GROUPS)])
    sizes = 1 / np.arange(1, GROUPS + 1)
    ranks = 1 / np.arange(1, features + 1)
    upto = np.cumsum(ranks / ranks.sum())
    for number, start in enumerate(range(0, count, BATCH_ROWS)):
        generator = np.random.default_rng([seed, 1, people, number])
        rows = min(BATCH_ROWS, count - start)
        community = generator.choice(GROUPS, size=rows, p=sizes / sizes.sum())
        tags = 1 + generator.poisson(TAGS - 1, size=rows)
        person = np.repeat(np.arange(rows), tags)
        rank = np.minimum(upto.searchsorted(generator.random(len(person))), features - 1)
        column = favourites[community[person], rank]
        batch = sparse.csr_matrix((np.ones(len(person)), (person, column)), (rows, features))
        lengths = np.sqrt(batch.multiply(batch).sum(axis=1))
        yield sparse.csr_matrix(batch.multiply(1 / lengths))


class Reduction:
    """Maps sparse rows to `dimensions` numbers in [0, 1]; see the module."""

    def __init__(self, stream: Stream, features: int, dimensions: int, *, seed: int) -> None:
        """Fit the reduction on a stream that can be read several times.

        Args:
            stream: starts the stream of sparse batches, the same each time.
            features: columns of a batch.
            dimensions: components to keep, at most `features`.
            seed: of the first subspace.
        """
        columns = min(dimensions + SPARE_COMPONENTS, features)
        subspace = np.random.default_rng([seed, 2]).normal(size=(features, columns))
        people = 0
        total = np.zeros(features)
        for batch in stream():
            people += batch.shape[0]
            total += np.asarray(batch.sum(axis=0)).ravel()
        self._mean = total / people

        for _ in range(SUBSPACE_PASSES):
            basis, _ = np.linalg.qr(subspace)
            subspace = self._times_covariance(stream, basis, people)
        # Within the subspace, the eigenvectors of the covariance with the largest eigenvalues.
        small = basis.T @ subspace
        _, vectors = np.linalg.eigh((small + small.T) / 2)
        self._components = basis @ vectors[:, ::-1][:, :dimensions]

        fitted = np.concatenate([self._project(batch) for batch in stream()])
        self._sorted = np.sort(fitted, axis=0)

    def reduce(self, batches: Iterator[Any]) -> Floats:
        """(n, d) numbers in [0, 1] of all rows of a stream, which is read once."""
        return np.concatenate([self._ranks(self._project(batch)) for batch in batches])

    def _times_covariance(self, stream: Stream, basis: Floats, people: int) -> Floats:
        """(features, columns): C basis, C = X' X / people - mean mean', without making C."""
        product = np.zeros_like(basis)
        for batch in stream():
            product += batch.T @ (batch @ basis)
        return product / people - np.outer(self._mean, self._mean @ basis)

    def _project(self, batch: Any) -> Floats:
        return np.asarray(batch @ self._components - self._mean @ self._components)

    def _ranks(self, projected: Floats) -> Floats:
        ranks = np.empty_like(projected)
        for component in range(projected.shape[1]):
            below = self._sorted[:, component].searchsorted(projected[:, component])
            ranks[:, component] = below / len(self._sorted)
        return ranks


def reduced_contexts(count: int, features: int, dimensions: int, *, seed: int) -> Floats:
    """(count, dimensions) contexts in [0, 1] of people with `features` sparse features."""

    def fitted_people() -> Iterator[Any]:
        return sparse_batches(FITTED_PEOPLE, features, seed=seed, people=0)

    reduction = Reduction(fitted_people, features, dimensions, seed=seed)
    return reduction.reduce(sparse_batches(count, features, seed=seed, people=1))
