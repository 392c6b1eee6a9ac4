"""Pairs of likes: which popular items are liked together, for half of what sum 3 is charged.

For very many people in one domain. There sum 3 has little noise, and the directions that features
span are the limit of its lists.

Source     the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014).
Sees       likes of the items that are most popular by the release of sum 1.
Releases   for each two items of the head the sum of 1 / m over the people who like both, with m the
           person's likes in the head.
Clips      nothing: a person's m (m - 1) / 2 entries of 1 / m have the norm sqrt((1 - 1 / m) / 2),
           below sqrt(1 / 2) whatever m is; in whole steps each is rounded towards zero.
Makes      vectors of items, by which each of a person's likes speaks for others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.engine.profile_kernels.types import Profiles
from tacit.mechanisms.sums import SumRelease
from tacit.profile_sums.own_likes import own_like_strengths
from tacit.profile_sums.people import People
from tacit.profile_sums.sums.heads import choose_head, places_in_head

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST_WITHOUT_PAIRS = 8000.0
"""Effective population above which pairs of likes are asked for."""
PAIRS_SHARE = 0.5
"""Part of sum 3's mu^2 that pairs of likes take."""
MOST_PAIR_ITEMS = 800
"""Items in a head of pairs at most."""
PEOPLE_PER_PAIR_ITEM = 25
"""Effective population that each item of the head stands for."""
MOST_VECTORS = 40
"""Numbers of an item's vector at most."""
_LEAST_EDGE = 1e-6
"""Eigenvalues at most this large are rounding errors; it counts without noise."""
_ROUNDS = 4
"""How often the diagonal is replaced by that of the large part."""
_NORM = math.sqrt(0.5)
_STEPS_OF_ONE = 2**20
"""Steps of a product of 1. The largest entry of a person is half of that, for two likes: the
entries of 2^44 - 1 people add up to 2^63 - 2^19, which 64 bits hold with their sign."""


@dataclass(frozen=True, eq=False)
class PairTable:
    """The release of pairs of likes."""

    items: Ints
    """(head,) target items, ascending."""
    values: Floats
    """(head * (head - 1) / 2,) noisy sums, one for each pair: those of the first item come first.
    """
    deviation: float
    """Standard deviation of the noise in each."""


@dataclass(frozen=True, eq=False)
class PairVectors:
    """Vectors of items whose inner products say how much one like speaks for another item."""

    items: Ints
    """(head,) target items, ascending."""
    vectors: Floats
    """(head, d) P; numbers of 32 bits, as files hold. d is 1 or more."""
    mean: Floats
    """(d,) P'mu: the sum that an average person has."""

    def coordinates(self, unit_likes: sparse.csr_array) -> Floats:
        """Return (people, d) P'x - P'mu, 0 for a person without likes.

        Args:
            unit_likes: (people, target items) x: likes over their norm, nothing else stored.
        """
        has_likes = np.diff(unit_likes.indptr)[:, None] > 0
        sums: Floats = sparse.csr_array(unit_likes[:, self.items]) @ self.vectors
        coordinates: Floats = (sums - self.mean) * has_likes
        return coordinates

    def vectors_of_all(self, items: int) -> Floats:
        """Return (items, d) vectors of so many target items: 0 outside the head."""
        vectors = np.zeros((items, self.vectors.shape[1]))
        vectors[self.items] = self.vectors
        return vectors

    def products_with(self, item: int, items: int) -> Floats:
        """Return (items,) inner products of one item's vector with those of so many items."""
        products = np.zeros(items)
        place = np.searchsorted(self.items, item)
        if place < len(self.items) and self.items[place] == item:
            products[self.items] = self.vectors @ self.vectors[place]
        return products


def choose_pair_head(shares: Floats, effective_population: float | None) -> Ints:
    """Choose the items whose pairs are asked for, from released values.

    Args:
        shares: (target items,) shares of likes (`sums.counts`) by sum 1.
        effective_population: v: the v / 25 most liked items are chosen, 800 at most, which is 320
            or more where pairs are asked for; None without noise: then 800. A catalogue of fewer
            items has all of them in its head.
    """
    size = MOST_PAIR_ITEMS
    if effective_population is not None:
        size = min(round(effective_population / PEOPLE_PER_PAIR_ITEM), MOST_PAIR_ITEMS)
    return choose_head(shares, size)


def pairs_mechanism(head: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of the sum of pairs of so many items, 2 or more."""
    entries = head * (head - 1) // 2
    return SumRelease(noise_multiplier, entries, norm=_NORM, resolution=1 / _STEPS_OF_ONE)


def weights_by_likes(head: int, *, exact: bool) -> NDArray[Any]:
    """(head + 1,) weight of each pair of a person's likes, by how many they have in the head.

    It is 1 / m for m likes, and 0 for none. In whole steps it is floor(2^20 / m): the squares of
    m (m - 1) / 2 such numbers add up to less than 2^40 / 2, the mechanism's `squared_norm`.

    Args:
        head: Number of items in the head.
        exact: Whether there is no noise: then 1 / m itself, in floats.
    """
    likes = np.arange(1, head + 1)
    weights = 1 / likes if exact else _STEPS_OF_ONE // likes
    return np.concatenate([np.zeros(1, weights.dtype), weights])


def sum_like_pairs(
    people: Profiles, head: Ints, target_items: int, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum everybody's pairs of likes, before noise. Not protected: never release it."""
    from tacit.engine.profile_kernels.like_pairs import add_like_pairs  # numba is only needed here

    total = mechanism.zero_table()
    weights = weights_by_likes(len(head), exact=mechanism.noise_multiplier == 0)
    add_like_pairs(people, places_in_head(head, target_items), weights, total[:, 0])
    return total


def release_like_pairs(
    people: People, head: Ints, target_items: int, noise_multiplier: float
) -> PairTable:
    """Release the pairs of a head's items; a noise multiplier of 0 adds no noise."""
    mechanism = pairs_mechanism(len(head), noise_multiplier)
    add = partial(sum_like_pairs, head=head, target_items=target_items, mechanism=mechanism)
    released = mechanism.add_noise(people.total(add))[:, 0]
    return PairTable(head, released, mechanism.deviation)


def make_pair_vectors(table: PairTable, shares: Floats, people: float) -> PairVectors | None:
    """Make vectors of items from the released pairs: post-processing.

    With C the (head, head) matrix of values / people, less the products of the shares mu, and U, s
    the eigenvectors and values that `large_part` finds above the noise, the vectors are

        P = U diag(sqrt(s h)),  h by `own_like_strengths`, as own likes are served by tastes

    Args:
        table: The release.
        shares: (target items,) released shares of likes (`sums.counts`), some perhaps below 0.
        people: Released number of people.

    Returns:
        The vectors; None where no eigenvalue is above the noise.
    """
    head, positive = table.items, np.maximum(shares, 0)
    covariance = -np.outer(positive[head], positive[head])
    upper = np.triu_indices(len(head), 1)
    covariance[upper] += table.values / people
    covariance[upper[::-1]] = covariance[upper]
    strengths, vectors = find_large_part(covariance, table.deviation / people)
    total = float(positive.sum())
    if not len(strengths) or total <= 0:
        return None
    spread = (positive[head] / total) @ (vectors**2 * strengths)
    served = own_like_strengths(strengths, spread)
    rounded = (vectors * np.sqrt(strengths * served)).astype(np.float32).astype(np.float64)
    return PairVectors(head, rounded, rounded.T @ positive[head])


def find_large_part(covariance: Floats, deviation: float) -> tuple[Floats, Floats]:
    """Find what stands out of the noise in a symmetric matrix whose diagonal is not known.

    With d the deviation and n the rows, eigenvalues above 2 d sqrt(n) (1 + n^(-2/3)) are kept, 40
    at most; the diagonal is replaced by that of the kept part, four times. A kept value s then
    shrinks to s - n d^2 / s, which is above 0.

    The largest eigenvalue of noise alone lies around 2 d sqrt(n), and spreads by about
    d n^(-1/6) (Tracy, Widom 1996). The margin is twice that: noise alone keeps a direction in at
    most 1 of 100 draws; 1 of 300 was measured for 200 rows, fewer for other sizes.

    Args:
        covariance: (n, n) symmetric matrix with noise; its diagonal is not used.
        deviation: Standard deviation of the noise in each entry beside the diagonal.

    Returns:
        (j,) shrunk eigenvalues, and (n, j) their eigenvectors.
    """
    matrix = covariance.copy()
    np.fill_diagonal(matrix, 0)
    rows = len(matrix)
    reach_of_noise = 2 * deviation * math.sqrt(rows) * (1 + rows ** (-2 / 3))
    edge = max(reach_of_noise, _LEAST_EDGE)
    for _ in range(_ROUNDS):
        values, vectors = np.linalg.eigh(matrix)
        kept = np.flatnonzero(values > edge)[-MOST_VECTORS:]
        values, vectors = values[kept], vectors[:, kept]
        np.fill_diagonal(matrix, vectors**2 @ values)
    return values - rows * deviation**2 / values, vectors
