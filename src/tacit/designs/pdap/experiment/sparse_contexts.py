"""Contexts with many sparse features, streamed in batches and reduced to a few dense ones.

The paper's contexts have 13,900 features. A dense array of 200,000 contexts would take 22 GB. So
they are generated in batches, each a sparse matrix. Only the reduced form (n, d) of all batches is
stored.

World      Each feature is a tag. Each person belongs to one of `COMMUNITIES` communities of unequal
           size, and draws `TAGS` tags on average, perhaps the same tag more than once. Each
           community ranks all tags; a tag is drawn with a probability proportional to 1 / rank.
Reduction  Principal components of the centred rows, by subspace iteration over the stream, then
           each component's rank among the fitted people: a number in [0, 1].
Privacy    The reduction depends on the people on whom it is fitted, and nothing protects them.
           They are other people than those whose visits are simulated.
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

COMMUNITIES = 50
"""Number of communities."""
TAGS = 30
"""Mean number of draws of a tag for each person, at least 1."""
BATCH_ROWS = 2000
"""Largest number of people of a batch."""
FITTED_PEOPLE = 20_000
"""Number of people on whom the reduction is fitted."""
SUBSPACE_PASSES = 4
"""Passes over the stream in which the subspace is multiplied by the covariance."""
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
        count: number of people in all batches together.
        features: number of tags, the columns of each batch.
        seed: determines the communities and their rankings of tags.
        people_seed: determines, together with `seed`, which people are drawn.

    Yields:
        Sparse matrices (rows, features), in which each row has the Euclidean length 1.
    """
    community_generator = np.random.default_rng([seed, _STREAM_OF_COMMUNITIES])
    permutations = [community_generator.permutation(features) for _ in range(COMMUNITIES)]
    ranked_tags = np.stack(permutations)  # (COMMUNITIES, features)
    sizes = 1 / np.arange(1, COMMUNITIES + 1)  # relative sizes of the communities
    rank_weights = 1 / np.arange(1, features + 1)
    cumulative_chances = np.cumsum(rank_weights / rank_weights.sum())  # (features,)
    for number, start in enumerate(range(0, count, BATCH_ROWS)):
        generator = np.random.default_rng([seed, _STREAM_OF_PEOPLE, people_seed, number])
        rows = min(BATCH_ROWS, count - start)
        communities = generator.choice(COMMUNITIES, size=rows, p=sizes / sizes.sum())
        tag_counts = 1 + generator.poisson(TAGS - 1, size=rows)
        # One entry for each draw of a tag: the person's row, the tag's rank and the tag's column.
        person_rows = np.repeat(np.arange(rows), tag_counts)
        ranks = cumulative_chances.searchsorted(generator.random(len(person_rows)))
        # Rounding may leave the last of the cumulative chances below 1.
        ranks = np.minimum(ranks, features - 1)
        columns = ranked_tags[communities[person_rows], ranks]
        ones = np.ones(len(person_rows))
        # Entries of the same row and column are added up.
        batch = sparse.csr_matrix((ones, (person_rows, columns)), (rows, features))
        lengths = np.sqrt(batch.multiply(batch).sum(axis=1))
        yield sparse.csr_matrix(batch.multiply(1 / lengths))


class Reduction:
    """Maps sparse rows to `dimensions` numbers in [0, 1], as the module's docstring says."""

    def __init__(self, stream: Stream, features: int, dimensions: int, *, seed: int) -> None:
        """Fit the reduction on a stream that can be read several times.

        Args:
            stream: starts the stream of sparse batches anew, with the same batches each time.
            features: number of columns of a batch.
            dimensions: d, number of components of the result, at most `features`.
            seed: seed of the random subspace that the iteration starts from.
        """
        columns = min(dimensions + SPARE_COMPONENTS, features)
        subspace = np.random.default_rng([seed, _STREAM_OF_SUBSPACE]).normal(
            size=(features, columns)
        )
        people = 0
        column_sums = np.zeros(features)
        for batch in stream():
            people += batch.shape[0]
            column_sums += np.asarray(batch.sum(axis=0)).ravel()
        self._mean = column_sums / people  # (features,)

        for _ in range(SUBSPACE_PASSES):
            basis, _ = np.linalg.qr(subspace)
            subspace = self._times_covariance(stream, basis, people)
        # B' C B is the covariance C within the subspace of basis B. Its eigenvectors with the
        # largest eigenvalues are taken; eigh sorts eigenvalues in ascending order.
        covariance_in_subspace = basis.T @ subspace
        symmetric = (covariance_in_subspace + covariance_in_subspace.T) / 2
        _, vectors = np.linalg.eigh(symmetric)
        largest_first = vectors[:, ::-1]
        self._components = basis @ largest_first[:, :dimensions]  # (features, d)

        projected = np.concatenate([self._project(batch) for batch in stream()])
        self._sorted_components = np.sort(projected, axis=0)  # (people, d), each column sorted

    def reduce(self, batches: Iterator[Any]) -> Floats:
        """Map all rows of a stream, which is read once, to (n, d) numbers in [0, 1]."""
        return np.concatenate([self._rank_shares(self._project(batch)) for batch in batches])

    def _times_covariance(self, stream: Stream, basis: Floats, people: int) -> Floats:
        """Multiply the covariance C = X' X / people - mean mean' by a basis (features, columns).

        X (people, features) are all rows of the stream. C (features, features) is never stored.

        Args:
            stream: starts the stream of batches.
            basis: (features, columns).
            people: number of rows of the stream.

        Returns:
            (features, columns) the product.
        """
        product = np.zeros_like(basis)
        for batch in stream():
            product += batch.T @ (batch @ basis)
        return product / people - np.outer(self._mean, self._mean @ basis)

    def _project(self, batch: Any) -> Floats:
        """Compute the principal components (rows, d) of a batch's centred rows."""
        return np.asarray(batch @ self._components - self._mean @ self._components)

    def _rank_shares(self, projected: Floats) -> Floats:
        """Replace components (rows, d) by the share of the fitted people with a smaller one."""
        shares = np.empty_like(projected)
        for component in range(projected.shape[1]):
            sorted_values = self._sorted_components[:, component]
            smaller = sorted_values.searchsorted(projected[:, component])
            shares[:, component] = smaller / len(sorted_values)
        return shares


def reduced_contexts(count: int, features: int, dimensions: int, *, seed: int) -> Floats:
    """Generate contexts (count, dimensions) in [0, 1] of people with sparse features.

    The reduction is fitted on FITTED_PEOPLE other people of the same communities.
    """

    def fitted_people() -> Iterator[Any]:
        return sparse_batches(FITTED_PEOPLE, features, seed=seed, people_seed=0)

    reduction = Reduction(fitted_people, features, dimensions, seed=seed)
    return reduction.reduce(sparse_batches(count, features, seed=seed, people_seed=1))
