"""Contexts with many sparse features, streamed in batches and reduced to a few dense ones.

The paper's contexts have 13,900 features. A dense array of 200,000 contexts would take 22 GB. So
they are generated in batches, each a sparse matrix, of which only the reduced form is stored:
(n, d) with d of at most 4.

World      Each person belongs to one of `GROUPS` communities of unequal size, and has `TAGS` tags
           on average. Each community ranks all tags, and a person's tags are drawn with
           probabilities proportional to 1 / rank in their community.
Reduction  Principal components of the centred rows, by subspace iteration over the stream, then
           each component's rank among the fitted people: a number in [0, 1].
Privacy    The reduction depends on the people that it is fitted on, and nothing protects them.
           These are not the people whose visits are simulated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Stream = Callable[[], Iterator[Any]]
"""Starts a stream of sparse batches (rows, features), typed Any because scipy has no types."""

GROUPS = 50
"""Communities."""
TAGS = 30
"""Mean number of tags of a person."""
BATCH_ROWS = 2000
FITTED_PEOPLE = 20_000
"""People that the reduction is fitted on."""
SUBSPACE_PASSES = 4
SPARE_COMPONENTS = 8
"""Columns of the subspace in addition to the components, so that it converges in few passes."""
_STREAM_OF_COMMUNITIES = 0
"""Second word of the seed that ranks the tags of communities."""
_STREAM_OF_PEOPLE = 1
"""Second word of the seed that draws people."""
_STREAM_OF_SUBSPACE = 2
"""Second word of the seed of the subspace that the iteration starts from."""


def sparse_batches(count: int, features: int, *, seed: int, people_seed: int) -> Iterator[Any]:
    """Generate `count` people in batches of at most `BATCH_ROWS`.

    Args:
        count: people in all.
        features: columns of each batch.
        seed: determines the communities and their rankings of tags.
        people_seed: determines, together with `seed`, which people are drawn.

    Yields:
        Sparse rows of length 1 (Euclidean), (rows, features).
    """
    community_generator = np.random.default_rng([seed, _STREAM_OF_COMMUNITIES])
    permutations = [community_generator.permutation(features) for _ in range(GROUPS)]
    ranked_tags = np.stack(permutations)  # (GROUPS, features)
    sizes = 1 / np.arange(1, GROUPS + 1)
    rank_weights = 1 / np.arange(1, features + 1)
    cumulative_chances = np.cumsum(rank_weights / rank_weights.sum())
    for number, start in enumerate(range(0, count, BATCH_ROWS)):
        generator = np.random.default_rng([seed, _STREAM_OF_PEOPLE, people_seed, number])
        rows = min(BATCH_ROWS, count - start)
        communities = generator.choice(GROUPS, size=rows, p=sizes / sizes.sum())
        tag_counts = 1 + generator.poisson(TAGS - 1, size=rows)
        # One entry for each tag of each person: the person's row, the tag's rank and its column.
        row = np.repeat(np.arange(rows), tag_counts)
        rank = cumulative_chances.searchsorted(generator.random(len(row)))
        rank = np.minimum(rank, features - 1)
        column = ranked_tags[communities[row], rank]
        batch = sparse.csr_matrix((np.ones(len(row)), (row, column)), (rows, features))
        lengths = np.sqrt(batch.multiply(batch).sum(axis=1))
        yield sparse.csr_matrix(batch.multiply(1 / lengths))


class Reduction:
    """Maps sparse rows to `dimensions` numbers in [0, 1], as the module's docstring says."""

    def __init__(self, stream: Stream, features: int, dimensions: int, *, seed: int) -> None:
        """Fit the reduction on a stream that can be read several times.

        Args:
            stream: starts the stream of sparse batches, the same each time.
            features: columns of a batch.
            dimensions: d, components of the result, at most `features`.
            seed: of the random subspace that the iteration starts from.
        """
        columns = min(dimensions + SPARE_COMPONENTS, features)
        subspace = np.random.default_rng([seed, _STREAM_OF_SUBSPACE]).normal(
            size=(features, columns)
        )
        people = 0
        total = np.zeros(features)
        for batch in stream():
            people += batch.shape[0]
            total += np.asarray(batch.sum(axis=0)).ravel()
        self._mean = total / people

        for _ in range(SUBSPACE_PASSES):
            basis, _ = np.linalg.qr(subspace)
            subspace = self._times_covariance(stream, basis, people)
        # B' C B is the covariance C within the subspace of basis B. Of its eigenvectors, those with
        # the largest eigenvalues are taken; eigh sorts eigenvalues in ascending order.
        covariance_in_subspace = basis.T @ subspace
        symmetric = (covariance_in_subspace + covariance_in_subspace.T) / 2
        _, vectors = np.linalg.eigh(symmetric)
        largest_first = vectors[:, ::-1]
        self._components = basis @ largest_first[:, :dimensions]  # (features, d)

        fitted = np.concatenate([self._project(batch) for batch in stream()])
        self._sorted = np.sort(fitted, axis=0)  # (people, d), each column sorted

    def reduce(self, batches: Iterator[Any]) -> Floats:
        """Map all rows of a stream, which is read once, to (n, d) numbers in [0, 1]."""
        return np.concatenate([self._ranks(self._project(batch)) for batch in batches])

    def _times_covariance(self, stream: Stream, basis: Floats, people: int) -> Floats:
        """Compute C basis (features, columns), with C = X' X / people - mean mean'.

        The covariance C (features, features) itself is never stored.
        """
        product = np.zeros_like(basis)
        for batch in stream():
            product += batch.T @ (batch @ basis)
        return product / people - np.outer(self._mean, self._mean @ basis)

    def _project(self, batch: Any) -> Floats:
        """Compute the principal components (rows, d) of a batch's centred rows."""
        return np.asarray(batch @ self._components - self._mean @ self._components)

    def _ranks(self, projected: Floats) -> Floats:
        """Replace components (rows, d) by the share of the fitted people with a smaller one."""
        ranks = np.empty_like(projected)
        for component in range(projected.shape[1]):
            below = self._sorted[:, component].searchsorted(projected[:, component])
            ranks[:, component] = below / len(self._sorted)
        return ranks


def reduced_contexts(count: int, features: int, dimensions: int, *, seed: int) -> Floats:
    """Generate contexts (count, dimensions) in [0, 1] of people with sparse features.

    The reduction is fitted on FITTED_PEOPLE other people of the same communities.
    """

    def fitted_people() -> Iterator[Any]:
        return sparse_batches(FITTED_PEOPLE, features, seed=seed, people_seed=0)

    reduction = Reduction(fitted_people, features, dimensions, seed=seed)
    return reduction.reduce(sparse_batches(count, features, seed=seed, people_seed=1))
