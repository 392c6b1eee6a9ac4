"""Features phi of a context: products of Legendre polynomials, with a public bound on their size.

Terms      a context has d features x_j in [0, 1], and u_j = 2 x_j - 1. Its phi has M terms: the
           products of Legendre polynomials P_k(u_j) of total degree up to g, by degree, the
           constant 1 first. M = C(d + g, g).
Bound      c is the mean over the cube of the L1 norm of all terms but the constant. Where a
           context's norm is larger, these terms are scaled down to norm c. So
           |phi|_1 <= B = 1 + c for every context.
Grains     sums are stored as whole numbers of grains; a grain is 2^-20. phi is rounded to grains
           towards zero, so that its norm in grains is at most B_g = ceil(2^20 B).
Points     512 fixed points spread evenly over the cube. How often the public policy chooses each
           arm is estimated at these points.
"""

from __future__ import annotations

import itertools
import math
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.base import check_context
from tacit.errors import ConfigError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

GRAINS = 1 << 20
"""Grains in 1: sums are stored as whole numbers of 1 / GRAINS."""
HIGHEST_DEGREE = 3
"""Largest total degree g of a term."""
MOST_TERMS = 10
"""`largest_degree` chooses degree 2 or 3 only if phi then has at most this many terms."""
POINTS = 512
"""Number of public points of the cube."""
CONTEXT_STEPS = (1 << 16) - 1
"""A stored feature is a whole number from 0 to CONTEXT_STEPS, for 0 to 1."""
_MEAN_ABSOLUTE_LEGENDRE = (1.0, 1 / 2, 2 / (3 * math.sqrt(3)), 13 / 40)
"""The mean of |P_k(u)| over u in [-1, 1], for k = 0 to 3."""
_BUDGET_PER_SUM = 20
"""`largest_degree` chooses degree 1 only if n epsilon >= _BUDGET_PER_SUM K B M, and a higher degree
only if n epsilon is at least twice this product. Its docstring says what n and K are."""


class Features:
    """The map from contexts of d features to phi.

    Attributes:
        dimension: d, number of features of a context.
        degree: g, the largest total degree of a term.
        factor_degrees: (M, d) for each term and each feature j of the context, the degree k of the
            factor P_k(u_j).
        terms: M, the number of terms, the constant included.
        limit: c, the largest L1 norm of all terms but the constant.
    """

    def __init__(self, dimension: int, degree: int) -> None:
        """Prepare the terms whose total degree is at most `degree`.

        Raises:
            ConfigError: The dimension is below 1, or the degree is not 0 to 3.
        """
        if dimension < 1 or not 0 <= degree <= HIGHEST_DEGREE:
            raise ConfigError(
                f"Features have a dimension of at least 1 and a degree of 0 to {HIGHEST_DEGREE}; "
                f"got {dimension} and {degree}."
            )
        self.dimension = dimension
        self.degree = degree
        self.factor_degrees = _degrees_of_factors(dimension, degree)
        self.terms = len(self.factor_degrees)
        self.limit = _mean_norm(self.factor_degrees)
        self._columns = np.arange(dimension)

    @property
    def bound(self) -> float:
        """B, a bound of the L1 norm of phi for every context."""
        return 1.0 + self.limit

    @property
    def bound_in_grains(self) -> int:
        """B_g, a bound of the L1 norm of phi in grains for every context."""
        return math.ceil(GRAINS * self.bound)

    def evaluate(self, contexts: Floats) -> Floats:
        """Compute phi of contexts.

        The result for a context is the same to the last bit, whatever other contexts are in the
        call. So what a visit adds to the sums does not depend on other visits.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            (n, M), the constant first.
        """
        if len(contexts) == 1:
            return np.array([self._evaluate_single(contexts[0].tolist())])
        if self.degree == 0:
            return np.ones((len(contexts), 1))
        centred = 2 * contexts - 1
        if self.degree == 1:
            phi = np.empty((len(centred), self.terms))
            phi[:, 0] = 1.0
            phi[:, 1:] = centred
        else:
            # Term i is the product over features j of P_k(u_j) with k = factor_degrees[i, j].
            # Indexing (degree + 1, n, d) values by (M, d) degrees and (d,) columns gives (M, d, n).
            values = _legendre(centred, self.degree)
            phi = values[self.factor_degrees, :, self._columns].prod(axis=1).T
        # `accumulate` adds from the first term to the last one, as `_evaluate_single` does.
        norms = np.add.accumulate(np.abs(phi[:, 1:]), axis=1)[:, -1]
        if norms.max(initial=0.0) > self.limit:
            phi[:, 1:] *= (self.limit / np.maximum(norms, self.limit))[:, None]
        return phi

    def _evaluate_single(self, context: list[float]) -> list[float]:
        """Compute phi (M,) of a single context (d,). Plain floats are faster here than arrays."""
        phi = [1.0]
        if self.degree == 1:
            phi += [2 * feature - 1 for feature in context]
        else:
            phi += self._products_of_polynomials(context)
        norm = 0.0
        for value in phi[1:]:
            norm += abs(value)
        if norm > self.limit:
            shrink = self.limit / norm
            phi[1:] = [value * shrink for value in phi[1:]]
        return phi

    def _products_of_polynomials(self, context: list[float]) -> list[float]:
        """Compute all terms of a context (d,) but the constant, before they are scaled down."""
        polynomials: list[tuple[float, ...]] = []  # P_0(u_j) to P_3(u_j) for each feature j
        for feature in context:
            # P_1 = u, P_2 = (3 u^2 - 1) / 2, P_3 = (5 u P_2 - 2 u) / 3
            u = 2 * feature - 1
            second = (3 * u * u - 1) / 2
            third = (5 * u * second - 2 * u) / 3
            polynomials.append((1.0, u, second, third))
        products: list[float] = []
        for factors in self._factors:
            product = 1.0
            for feature_number, degree in factors:
                product *= polynomials[feature_number][degree]
            products.append(product)
        return products

    @cached_property
    def _factors(self) -> list[list[tuple[int, int]]]:
        """For each term but the constant, its factors P_k(u_j) as pairs (j, k) with k > 0."""
        return [_nonzero_degrees(row) for row in self.factor_degrees[1:].tolist()]

    @cached_property
    def at_points(self) -> Floats:
        """(POINTS, M) phi at the public points."""
        return self.evaluate(public_points(self.dimension))


def to_grains(phi: Floats) -> Ints:
    """Round phi, of any shape, to whole grains towards zero, so that no norm grows."""
    return np.trunc(GRAINS * phi).astype(np.int64)


def largest_degree(dimension: int, *, horizon: int, epsilon: float, arms: int) -> int:
    """Choose g: the largest degree whose sums are not lost in the noise.

    With more terms M, more sums get noise. Degree 1 requires n epsilon >= 20 K B M, a higher degree
    n epsilon >= 40 K B M and M <= MOST_TERMS.

    Args:
        dimension: d, number of features of a context.
        horizon: n, visits that are expected.
        epsilon: nats of one visit.
        arms: K, number of arms at the start.

    Returns:
        0 to 3. It is 0 if even degree 1 is not possible; phi is then only the constant.
    """
    for degree in range(HIGHEST_DEGREE, 0, -1):
        terms = math.comb(dimension + degree, degree)
        if degree > 1 and terms > MOST_TERMS:
            continue
        bound = 1.0 + _mean_norm(_degrees_of_factors(dimension, degree))
        needed = _BUDGET_PER_SUM * arms * bound * terms
        if degree > 1:
            needed *= 2
        if horizon * epsilon >= needed:
            return degree
    return 0


@lru_cache(maxsize=32)
def public_points(dimension: int) -> Floats:
    """Compute the public points, a sequence that fills the cube evenly (Roberts' R_d sequence).

    Feature j = 1 .. d of point s = 1 .. POINTS is the fractional part of 1/2 + s r^-j, where r > 1
    and r^(d + 1) = r + 1.

    Returns:
        (POINTS, d), read-only.
    """
    root = 1.5
    for _ in range(100):  # solves r = (1 + r)^(1 / (d + 1)); converges in far fewer steps
        root = (1 + root) ** (1 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    points = (0.5 + np.arange(1.0, POINTS + 1)[:, None] * steps) % 1.0
    points.flags.writeable = False
    return points


def to_steps(context: Floats) -> NDArray[np.uint16]:
    """Round a context (d,) to 16-bit whole numbers (d,), as it is stored."""
    return np.rint(np.clip(context, 0.0, 1.0) * CONTEXT_STEPS).astype(np.uint16)


def from_steps(steps: NDArray[np.uint16], dimension: int) -> Floats:
    """Convert a stored context (d,) back to numbers in [0, 1].

    Raises:
        DataError: The context does not have `dimension` numbers.
    """
    return check_context(steps / CONTEXT_STEPS, dimension)


def _legendre(centred: Floats, degree: int) -> Floats:
    """Evaluate P_0 to P_degree at (n, d) numbers in [-1, 1], for a degree of at least 1.

    Returns:
        (degree + 1, n, d).
    """
    values = np.empty((degree + 1, *centred.shape))
    values[0] = 1.0
    values[1] = centred
    for k in range(2, degree + 1):
        # k P_k = (2k - 1) u P_{k-1} - (k - 1) P_{k-2}
        values[k] = ((2 * k - 1) * centred * values[k - 1] - (k - 1) * values[k - 2]) / k
    return values


@lru_cache(maxsize=128)
def _degrees_of_factors(dimension: int, degree: int) -> Ints:
    """List the degrees (M, d) of the factors of all terms, by total degree, then by features."""
    # A term of total degree t is t features with repetition: (0, 0, 2) is P_2(u_0) P_1(u_2).
    features_of_terms: list[tuple[int, ...]] = []
    for total_degree in range(degree + 1):
        features_of_terms += itertools.combinations_with_replacement(range(dimension), total_degree)
    factor_degrees = np.zeros((len(features_of_terms), dimension), dtype=np.int64)
    for number, features_of_term in enumerate(features_of_terms):
        for feature in features_of_term:
            factor_degrees[number, feature] += 1
    return factor_degrees


def _nonzero_degrees(factor_degrees: list[int]) -> list[tuple[int, int]]:
    """List the pairs (feature, degree) of one term, from its degrees (d,), without zeros."""
    return [(feature, degree) for feature, degree in enumerate(factor_degrees) if degree]


def _mean_norm(factor_degrees: Ints) -> float:
    """Compute c: the mean over the cube of the L1 norm of all terms but the constant."""
    # Over the cube, the features u_j are independent: the mean of a |product| is the product of
    # the means.
    mean_absolute_terms = np.array(_MEAN_ABSOLUTE_LEGENDRE)[factor_degrees].prod(axis=1)  # (M,)
    return float(mean_absolute_terms[1:].sum())
