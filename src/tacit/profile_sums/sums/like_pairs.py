"""Pairs of likes: which popular items are liked together.

They are released in one domain if there are very many people, and take half of the budget mu^2 of
sum 3 (items' tastes). Sum 3 has little noise then, and its lists are limited by what features can
express.

Source     the Gram matrix: Dwork, Talwar, Thakurta, Zhang: Analyze Gauss (STOC 2014).
Sees       likes of the items that are most popular by the release of sum 1 (the head).
Releases   for each pair of items of the head the sum of 1 / m over the people who like both, with
           m the number of the person's likes in the head.
Clips      nothing: a person's m (m - 1) / 2 entries of 1 / m have the norm sqrt((1 - 1 / m) / 2),
           below sqrt(1 / 2) for every m. In whole steps each entry is rounded towards zero.
Makes      vectors of items. The inner product of two, divided by the square root of the number of
           a person's likes, is what a like of one item adds to the score of the other.
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
"""Largest effective population at which pairs of likes are not released."""
PAIRS_SHARE = 0.5
"""Part of sum 3's mu^2 that pairs of likes take."""
MOST_PAIR_ITEMS = 800
"""Largest number of items in the head of pairs."""
PEOPLE_PER_PAIR_ITEM = 25
"""People of the effective population for each item of the head."""
MOST_VECTORS = 40
"""Largest number of entries of an item's vector."""
_LEAST_EDGE = 1e-6
"""Least value of the edge of `find_large_part`: eigenvalues up to it are rounding errors."""
_ROUNDS = 4
"""Number of times that the unknown diagonal is replaced by that of the kept part."""
_NORM = math.sqrt(0.5)
"""Bound of the norm of one person's entries, for every number of likes."""
_STEPS_OF_ONE = 2**20
"""Steps in an entry of 1. A person's largest entry is 1 / 2, with two likes: such entries of
2^44 - 1 people add up to 2^63 - 2^19 steps, which a signed integer of 64 bits holds."""


@dataclass(frozen=True, eq=False)
class PairTable:
    """The release of pairs of likes."""

    items: Ints
    """(head,) target items, ascending."""
    values: Floats
    """(head * (head - 1) / 2,) noisy sums, one for each pair of items: the upper triangle without
    its diagonal, row after row."""
    deviation: float
    """Standard deviation of the noise in each sum."""


@dataclass(frozen=True, eq=False)
class PairVectors:
    """Vectors of items.

    The inner product of two, divided by the square root of the number of a person's likes, is what
    a like of one item adds to the score of the other.
    """

    items: Ints
    """(head,) target items, ascending."""
    vectors: Floats
    """(head, d) P, rounded to 32 bits as in files. d is 1 or more."""
    mean: Floats
    """(d,) P'mu: the row x P of an average person, with mu the shares of likes of the head."""

    def coordinates(self, unit_likes: sparse.csr_array) -> Floats:
        """Return the coordinates (people, d) x P - mu P of people; 0 for a person without likes.

        Args:
            unit_likes: (people, target items) x: rows of likes of norm 1, with no stored zeros.
        """
        has_likes = np.diff(unit_likes.indptr)[:, None] > 0
        sums: Floats = sparse.csr_array(unit_likes[:, self.items]) @ self.vectors
        coordinates: Floats = (sums - self.mean) * has_likes
        return coordinates

    def vectors_of_all(self, items: int) -> Floats:
        """Return the vectors (items, d) of all target items, 0 outside the head.

        Args:
            items: Number of target items.
        """
        vectors = np.zeros((items, self.vectors.shape[1]))
        vectors[self.items] = self.vectors
        return vectors

    def products_with(self, item: int, items: int) -> Floats:
        """Return the inner products (items,) of one item's vector with those of all items.

        They are 0 if the item is not in the head.

        Args:
            item: Index of the target item.
            items: How many target items there are.
        """
        products = np.zeros(items)
        place = np.searchsorted(self.items, item)
        if place < len(self.items) and self.items[place] == item:
            products[self.items] = self.vectors @ self.vectors[place]
        return products


def choose_pair_head(shares: Floats, effective_population: float | None) -> Ints:
    """Choose the head, the most liked items by sum 1; their numbers (head,) ascend.

    With v the effective population it has min(v / 25, 800) items, which is 320 or more whenever
    pairs are released. A catalogue with fewer items has all of them in its head.

    Args:
        shares: (target items,) shares of likes (`sums.counts`) by sum 1.
        effective_population: v; None: without noise, with 800 items.
    """
    size = MOST_PAIR_ITEMS
    if effective_population is not None:
        size = min(round(effective_population / PEOPLE_PER_PAIR_ITEM), MOST_PAIR_ITEMS)
    return choose_head(shares, size)


def pairs_mechanism(head: int, noise_multiplier: float) -> SumRelease:
    """Return the mechanism of the sum of pairs. head: number of items, 2 or more."""
    entries = head * (head - 1) // 2
    return SumRelease(noise_multiplier, entries, norm=_NORM, resolution=1 / _STEPS_OF_ONE)


def weights_by_likes(head: int, *, exact: bool) -> NDArray[Any]:
    """Return what a person with m likes in the head adds to each of their pairs, m = 0 .. head.

    It is 1 / m, and 0 for m = 0. In whole steps it is floor(2^20 / m): the squares of m (m - 1) / 2
    such numbers add up to less than 2^40 / 2, the mechanism's `squared_norm`.

    Args:
        head: Number of items in the head.
        exact: Whether the weights are exact floats, for a sum without noise, or whole steps.

    Returns:
        (head + 1,) weights by m.
    """
    likes = np.arange(1, head + 1)
    weights = 1 / likes if exact else _STEPS_OF_ONE // likes
    return np.concatenate([np.zeros(1, weights.dtype), weights])


def sum_like_pairs(
    people: Profiles, head: Ints, target_items: int, mechanism: SumRelease
) -> NDArray[Any]:
    """Sum everybody's pairs of likes, before noise. Not protected: never release it.

    Args:
        people: Everybody's profile.
        head: (head,) target items, ascending.
        target_items: Number of target items.
        mechanism: Determines whether weights are whole steps.
    """
    from tacit.engine.profile_kernels.like_pairs import add_like_pairs  # numba is only needed here

    total = mechanism.zero_table()
    weights = weights_by_likes(len(head), exact=mechanism.noise_multiplier == 0)
    add_like_pairs(people, places_in_head(head, target_items), weights, total[:, 0])
    return total


def release_like_pairs(
    people: People, head: Ints, target_items: int, noise_multiplier: float
) -> PairTable:
    """Release the sums of all pairs of the head's items.

    Args:
        people: Everybody's profile.
        head: (head,) target items, ascending.
        target_items: Number of target items.
        noise_multiplier: Noise multiplier of the sum; 0: without noise.
    """
    mechanism = pairs_mechanism(len(head), noise_multiplier)
    add = partial(sum_like_pairs, head=head, target_items=target_items, mechanism=mechanism)
    released = mechanism.add_noise(people.total(add))[:, 0]
    return PairTable(head, released, mechanism.deviation)


def make_pair_vectors(table: PairTable, shares: Floats, people: float) -> PairVectors | None:
    """Compute vectors of items from the released pairs: post-processing.

    With mu the shares of likes, negative ones replaced by 0, and U (head, d) and s (d,) the
    eigenvectors and eigenvalues that `find_large_part` finds in the covariance C:

        C_ij = values_ij / people - mu_i mu_j         (head, head), i != j
        h    = `own_like_strengths` of s and the spread of U diag(sqrt(s))
        P    = U diag(sqrt(s h))

    Args:
        table: The release.
        shares: (target items,) released shares of likes (`sums.counts`), some perhaps negative.
        people: Released number of people.

    Returns:
        The vectors; None if no eigenvalue is above the noise, or no share is above 0.
    """
    head = table.items
    positive = np.maximum(shares, 0)
    covariance = -np.outer(positive[head], positive[head])
    upper = np.triu_indices(len(head), 1)
    lower = upper[::-1]
    covariance[upper] += table.values / people
    covariance[lower] = covariance[upper]
    eigenvalues, vectors = find_large_part(covariance, table.deviation / people)
    total = float(positive.sum())
    if not len(eigenvalues) or total <= 0:
        return None
    spread = (positive[head] / total) @ (vectors**2 * eigenvalues)
    like_strengths = own_like_strengths(eigenvalues, spread)
    scaled = vectors * np.sqrt(eigenvalues * like_strengths)
    rounded = scaled.astype(np.float32).astype(np.float64)
    return PairVectors(head, rounded, rounded.T @ positive[head])


def find_large_part(covariance: Floats, deviation: float) -> tuple[Floats, Floats]:
    """Find the eigenvalues above the noise of a symmetric matrix with an unknown diagonal.

    With d the standard deviation of the noise and n the number of rows, eigenvalues above
    2 d sqrt(n) (1 + n^(-2/3)) are kept, the 40 largest at most. The diagonal begins as 0 and is
    replaced by that of the kept part four times. A kept eigenvalue s then shrinks to s - n d^2 / s,
    which is above 0.

    The largest eigenvalue of noise alone lies around 2 d sqrt(n), and spreads by about
    d n^(-1/6) (Tracy, Widom 1996). The margin is twice this spread: noise alone exceeds it in at
    most 1 of 100 draws; 1 of 300 was measured for 200 rows, fewer for other sizes.

    Args:
        covariance: (n, n) symmetric matrix with noise; its diagonal is not used.
        deviation: Standard deviation of the noise in each entry off the diagonal; 0 without noise.

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
