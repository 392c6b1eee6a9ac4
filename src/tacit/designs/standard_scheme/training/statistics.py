"""What consenting people's ratings say about each item and each value of the attribute.

Runs at     the recommender, on the ratings of people who agreed to give them with their attribute.
Sees        those ratings and attributes in the clear.
Guarantee   none for the exact statistics; `private` releases a whole set of them with
            epsilon-differential privacy for one consenting person (add or remove).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import ConfigError
from tacit.mechanisms.noise import discrete_laplace
from tacit.randomness import Source, integers_below

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Statistics:
    """Sums over people, kept apart for disjoint parts of them so that estimates can be validated.

    people      (parts, values) how many people
    counts      (parts, values, items) how many ratings
    sums        (parts, values, items) sum of the levels given
    histogram   (parts, values, items, levels) how many of each level, or None on a continuous scale
    """

    people: Floats
    counts: Floats
    sums: Floats
    histogram: Floats | None

    @property
    def raters(self) -> Floats:
        """(items,) how many ratings of each item."""
        total: Floats = self.counts.sum(axis=(0, 1))
        return total


def collect(
    levels: sparse.csr_array,
    labels: Ints,
    parts: Ints,
    *,
    n_values: int,
    n_levels: int,
    n_parts: int,
    weights: Floats | None = None,
    spread: Floats | None = None,
) -> Statistics:
    """Sum up ratings by part, value and item.

    levels    (people, items) CSR of levels, real-valued if something was subtracted already
    labels    (people,) value of the attribute; parts: (people,) which of the n_parts parts
    n_levels  how many whole levels the scale has; 0 for none, which leaves the histogram out
    weights   (ratings,) chance that a rating is shown at all, default 1
    spread    (ratings, n_levels) chances of the level shown, default the level itself
    """
    n_items = levels.shape[1]
    rows = entry_rows(levels)
    cell = (parts[rows] * n_values + labels[rows]) * n_items + levels.indices
    shape = (n_parts, n_values, n_items)
    size = n_parts * n_values * n_items
    weight = np.ones(len(cell)) if weights is None else weights
    histogram = None
    if n_levels:
        if spread is None:
            whole = np.round(levels.data).astype(np.int64).clip(0, n_levels - 1)
            tallied = _tally(cell * n_levels + whole, weight, size * n_levels)
            histogram = tallied.reshape(*shape, n_levels)
        else:
            columns = [_tally(cell, weight * column, size) for column in spread.T]
            histogram = np.stack(columns, axis=-1).reshape(*shape, n_levels)
    return Statistics(
        people=np.bincount(parts * n_values + labels, minlength=n_parts * n_values)
        .reshape(n_parts, n_values)
        .astype(np.float64),
        counts=_tally(cell, weight, size).reshape(shape),
        sums=_tally(cell, weight * levels.data, size).reshape(shape),
        histogram=histogram,
    )


def _tally(cells: Ints, weights: Floats, size: int) -> Floats:
    """(size,) sum of the weights that fall into each cell."""
    return np.bincount(cells, weights, minlength=size).astype(np.float64)


def random_parts(count: int, n_parts: int, source: Source) -> Ints:
    """Which part each of `count` people falls into, independently of their data."""
    return integers_below(source, n_parts, count)


def limit_contributions(levels: sparse.csr_array, most: int, source: Source) -> sparse.csr_array:
    """At most `most` ratings a person, chosen uniformly at random."""
    if most < 1:
        raise ConfigError(f"A person contributes at least one rating; got {most}.")
    return chosen(levels, ranks(levels, integers_below(source, 1 << 62, levels.nnz)) < most)


def private(statistics: Statistics, *, epsilon: float, contributions: int) -> Statistics:
    """The same statistics with noise: epsilon-DP for adding or removing one consenting person.

    One release of all histograms and head counts together. A person stands in one part, changes at
    most `contributions` histogram cells by one and one head count by one, so the L1 sensitivity is
    contributions + 1 and every number gets discrete Laplace noise of scale
    (contributions + 1) / epsilon. Negative counts are set to 0 afterwards (post-processing).
    `statistics` must come from ratings that `limit_contributions` cut to `contributions`.
    """
    if statistics.histogram is None:
        raise ConfigError(
            "A private disclosure needs a scale of whole stars; this one is continuous."
        )
    scale = math.nextafter((contributions + 1) / epsilon, math.inf)  # never a hair too little
    exact = np.concatenate([statistics.people.ravel(), statistics.histogram.ravel()])
    noisy = np.maximum(discrete_laplace(np.round(exact).astype(np.int64), scale), 0).astype(float)
    people = np.maximum(noisy[: statistics.people.size].reshape(statistics.people.shape), 1.0)
    histogram: Floats = noisy[statistics.people.size :].reshape(statistics.histogram.shape)
    levels: Floats = np.arange(histogram.shape[-1]).astype(np.float64)
    return Statistics(
        people=people,
        counts=histogram.sum(axis=-1),
        sums=histogram @ levels,
        histogram=histogram,
    )


def entry_rows(matrix: sparse.csr_array) -> Ints:
    """(entries,) person of each entry."""
    return np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))


def with_data(pattern: sparse.csr_array, data: NDArray[Any]) -> sparse.csr_array:
    """Other numbers in the same places."""
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)


def chosen(matrix: sparse.csr_array, mask: NDArray[np.bool_]) -> sparse.csr_array:
    """The entries of the mask alone."""
    ends = np.concatenate([[0], np.cumsum(mask)])[matrix.indptr].astype(np.int32)
    return sparse.csr_array((matrix.data[mask], matrix.indices[mask], ends), shape=matrix.shape)


def ranks(matrix: sparse.csr_array, keys: NDArray[Any]) -> Ints:
    """(entries,) place of each entry among its person's, from 0, by ascending keys."""
    rows = entry_rows(matrix)
    order = np.lexsort((keys, rows))
    found = np.empty(len(rows), dtype=np.int64)
    found[order] = np.arange(len(rows)) - matrix.indptr[rows[order]]
    return found
