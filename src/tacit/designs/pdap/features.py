"""Features of a context: products of Legendre polynomials, with a public bound on their size.

Features   u = 2 x - 1 of each feature x of a context; phi are the products of Legendre polynomials
           P_k(u_j) of total degree up to g, by degree, the constant 1 first: M = C(d + g, g).
Bound      the part of phi other than the constant is scaled down to L1 norm c where it is longer;
           c is its mean norm over the cube. So |phi|_1 <= B = 1 + c, whatever the context.
Grains     sums are whole numbers of 2^-20. phi is cut to grains towards zero, so that the bound
           holds for the whole numbers, too: at most B_g = ceil(2^20 B).
Points     512 points that fill the cube evenly, the same for everybody: what the public policy does
           in the cube is computed there.
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
"""Sums are whole numbers of 1 / GRAINS."""
HIGHEST_DEGREE = 3
MOST_TERMS = 10
"""Features of degree 2 or 3 are used while there are no more terms than these."""
POINTS = 512
CONTEXT_STEPS = (1 << 16) - 1
"""A stored context has so many steps from 0 to 1."""
_MEAN_SIZES = (1.0, 1 / 2, 2 / (3 * math.sqrt(3)), 13 / 40)
"""The mean of |P_k(u)| over u in [-1, 1], for k = 0 to 3."""
_VISITS_PER_NUMBER = 20
"""n epsilon is at least so many times K B M, twice as many for degrees above 1."""


class Features:
    """The features of contexts of one dimension.

    Attributes:
        dimension: d, features of a context.
        degree: g, the largest total degree.
        exponents: (M, d) degree of each factor of each term.
        terms: M.
        limit: c, the largest L1 norm of all terms but the constant.
    """

    def __init__(self, dimension: int, degree: int) -> None:
        """Prepare the terms of one degree.

        Raises:
            ConfigError: The dimension is below 1, or the degree none of 0 to 3.
        """
        if dimension < 1 or not 0 <= degree <= HIGHEST_DEGREE:
            raise ConfigError(
                f"Features have a dimension of at least 1 and a degree of 0 to {HIGHEST_DEGREE}; "
                f"got {dimension} and {degree}."
            )
        self.dimension = dimension
        self.degree = degree
        self.exponents = _exponents(dimension, degree)
        self.terms = len(self.exponents)
        self.limit = _mean_size(self.exponents)
        self._columns = np.arange(dimension)

    @property
    def bound(self) -> float:
        """B, the largest L1 norm of the features of a context."""
        return 1.0 + self.limit

    @property
    def bound_in_grains(self) -> int:
        """B_g, the largest L1 norm of a context's features in grains."""
        return math.ceil(GRAINS * self.bound)

    def evaluate(self, contexts: Floats) -> Floats:
        """Compute phi of contexts, of each one as if it came alone: to the bit.

        So what a visit adds to the sums does not depend on the visits beside it.

        Args:
            contexts: (n, d) in [0, 1].

        Returns:
            (n, M), the constant first.
        """
        if len(contexts) == 1:
            return np.array([self._evaluate_one(contexts[0].tolist())])
        if self.degree == 0:
            return np.ones((len(contexts), 1))
        centred = 2 * contexts - 1
        if self.degree == 1:
            phi = np.empty((len(centred), self.terms))
            phi[:, 0] = 1.0
            phi[:, 1:] = centred
        else:
            values = _legendre(centred, self.degree)
            phi = values[self.exponents, :, self._columns].prod(axis=1).T
        # `accumulate` adds from the first term to the last one, as `_evaluate_one` does.
        size = np.add.accumulate(np.abs(phi[:, 1:]), axis=1)[:, -1]
        longest = size.max(initial=0.0)
        if longest > self.limit:
            phi[:, 1:] *= (self.limit / np.maximum(size, self.limit))[:, None]
        return phi

    def _evaluate_one(self, context: list[float]) -> list[float]:
        """Compute phi of one context: plain numbers take a fraction of the time of arrays."""
        powers: list[tuple[float, ...]] = []
        for feature in context:
            u = 2 * feature - 1
            second = (3 * u * u - 1) / 2
            powers.append((1.0, u, second, (5 * u * second - 2 * u) / 3))
        phi = [1.0]
        size = 0.0
        for factors in self._factors:
            value = 1.0
            for place, exponent in factors:
                value *= powers[place][exponent]
            phi.append(value)
            size += abs(value)
        if size > self.limit:
            shrink = self.limit / size
            phi[1:] = [value * shrink for value in phi[1:]]
        return phi

    @cached_property
    def _factors(self) -> list[list[tuple[int, int]]]:
        """The features and degrees whose product each term but the constant is."""
        return [_factors_of(row) for row in self.exponents[1:].tolist()]

    @cached_property
    def at_points(self) -> Floats:
        """(POINTS, M) phi at the public points."""
        return self.evaluate(public_points(self.dimension))


def to_grains(phi: Floats) -> Ints:
    """Cut features to whole grains, towards zero, so that no norm grows."""
    return np.trunc(GRAINS * phi).astype(np.int64)


def largest_degree(dimension: int, *, horizon: int, epsilon: float, arms: int) -> int:
    """Choose g: the largest degree whose sums the budget of all expected visits can carry.

    Args:
        dimension: d.
        horizon: n, visits that are expected.
        epsilon: nats of one visit.
        arms: K, at the start.

    Returns:
        0 to 3; 0 if not even degree 1 can be carried.
    """
    for degree in range(HIGHEST_DEGREE, 0, -1):
        terms = math.comb(dimension + degree, degree)
        if degree > 1 and terms > MOST_TERMS:
            continue
        bound = 1.0 + _mean_size(_exponents(dimension, degree))
        needed = _VISITS_PER_NUMBER * arms * bound * terms
        if degree > 1:
            needed *= 2
        if horizon * epsilon >= needed:
            return degree
    return 0


@lru_cache(maxsize=32)
def public_points(dimension: int) -> Floats:
    """The public points: p_s = frac(1/2 + s r^-j), r the root above 1 of r^(d+1) = r + 1.

    Returns:
        (POINTS, d), read-only.
    """
    root = 1.5
    for _ in range(100):
        root = (1 + root) ** (1 / (dimension + 1))
    steps = root ** -np.arange(1.0, dimension + 1)
    points = (0.5 + np.arange(1.0, POINTS + 1)[:, None] * steps) % 1.0
    points.flags.writeable = False
    return points


def to_steps(context: Floats) -> NDArray[np.uint16]:
    """Round a context to the 16-bit steps in which it is stored."""
    return np.rint(np.clip(context, 0.0, 1.0) * CONTEXT_STEPS).astype(np.uint16)


def from_steps(steps: NDArray[np.uint16], dimension: int) -> Floats:
    """Read a stored context back, as (d,) in [0, 1]."""
    return check_context(steps / CONTEXT_STEPS, dimension)


def _legendre(centred: Floats, degree: int) -> Floats:
    """P_0 to P_degree of (n, d) numbers in [-1, 1]: (degree + 1, n, d)."""
    values = np.empty((degree + 1, *centred.shape))
    values[0] = 1.0
    values[1] = centred
    for k in range(2, degree + 1):
        # (k) P_k = (2k - 1) u P_{k-1} - (k - 1) P_{k-2}
        values[k] = ((2 * k - 1) * centred * values[k - 1] - (k - 1) * values[k - 2]) / k
    return values


@lru_cache(maxsize=128)
def _exponents(dimension: int, degree: int) -> Ints:
    """Degrees of all terms (M, d), by their total, then the first features first."""
    terms: list[tuple[int, ...]] = []
    for total in range(degree + 1):
        terms += itertools.combinations_with_replacement(range(dimension), total)
    exponents = np.zeros((len(terms), dimension), dtype=np.int64)
    for number, factors in enumerate(terms):
        for feature in factors:
            exponents[number, feature] += 1
    return exponents


def _factors_of(exponents: list[int]) -> list[tuple[int, int]]:
    """The features of one term that have a degree, each with it."""
    return [(place, exponent) for place, exponent in enumerate(exponents) if exponent]


def _mean_size(exponents: Ints) -> float:
    """c: the mean over the cube of the L1 norm of all terms but the constant."""
    sizes = np.array(_MEAN_SIZES)[exponents].prod(axis=1)
    return float(sizes[1:].sum())
