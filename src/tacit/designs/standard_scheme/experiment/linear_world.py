"""A small world that follows the patent's equation (1), and whose outcomes are all enumerated.

Equation (1) is r_i = <v_i, x> + x0 v_i0 + z_i, where z_i is noise.

All its numbers are sums of powers of two: floats hold released ratings exactly, and the laws of two
releases can be compared without a tolerance. A law is a probability distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Law = dict[tuple[float, ...], float]
"""Chance of each released vector, by the vector."""

NOISE = {-1.0: 0.25, 0.0: 0.5, 1.0: 0.25}
"""Values of z and their chances: mean 0, variance 1/2."""
NOISE_SD = 0.5**0.5


@dataclass(frozen=True)
class LinearWorld:
    """Items and a person of equation (1)."""

    profiles: Floats
    """(items, d) profiles v_i."""
    gaps: Floats
    """(items,) offsets v_i0."""
    taste: Floats
    """(d,) the person x."""

    def outcomes(self, attribute: int) -> list[tuple[Floats, float]]:
        """List every (items,) vector of ratings that x0 = `attribute` can give, with its chance."""
        mean = self.profiles @ self.taste + attribute * self.gaps
        outcomes = []
        for noise in product(NOISE, repeat=len(self.gaps)):
            chance = 1.0
            for value in noise:
                chance *= NOISE[value]
            outcomes.append((mean + np.array(noise), chance))
        return outcomes

    def law(self, attribute: int, release: Callable[[Floats, int], Floats]) -> Law:
        """Compute the law of `release(ratings, attribute)` for a person with this attribute."""
        law: Law = {}
        for ratings, chance in self.outcomes(attribute):
            released = tuple(release(ratings, attribute).tolist())
            law[released] = law.get(released, 0.0) + chance
        return law

    def obfuscate(self, ratings: Floats, attribute: int) -> Floats:
        """Release ratings as the standard scheme does: r_i - x0 v_i0."""
        return ratings - attribute * self.gaps

    def risk(self, attribute: int, release: Callable[[Floats, int], Floats]) -> float:
        """Compute the exact mean squared error of estimating x from a release by least squares."""
        estimator = np.linalg.inv(self.profiles.T @ self.profiles) @ self.profiles.T
        risk = 0.0
        for ratings, chance in self.outcomes(attribute):
            error = estimator @ release(ratings, attribute) - self.taste
            risk += chance * float(error @ error)
        return risk


SMALL_WORLD = LinearWorld(
    profiles=np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]]),
    gaps=np.array([0.5, 0.25, -0.25, 0.125]),
    taste=np.array([0.5, -0.25]),
)
SQUARE_WORLD = LinearWorld(
    profiles=np.array([[1.0, 0.0], [0.5, 1.0]]),
    gaps=np.array([0.5, -0.25]),
    taste=np.array([0.5, -0.25]),
)
"""As many items as dimensions, as in Lemma 2."""


def show_true_ratings(ratings: Floats, attribute: int) -> Floats:
    """Release the ratings as they are, whatever the attribute."""
    del attribute
    return ratings


def total_variation(first: Law, second: Law) -> float:
    """Compute the total variation distance of two laws.

    It is half the sum of |difference| of the chances: 0 for equal laws, 1 for disjoint ones.
    """
    difference = 0.0
    for outcome in first.keys() | second.keys():
        difference += abs(first.get(outcome, 0.0) - second.get(outcome, 0.0))
    return difference / 2


def shifted_law(world: LinearWorld, mean: Floats, attribute: int) -> Law:
    """Compute Lemma 2's Z_x0(s): the law of the release if the expected ratings are s.

    Args:
        world: The world, with the gaps and the noise.
        mean: (items,) s.
        attribute: x0 of the person.
    """
    law: Law = {}
    for ratings, chance in world.outcomes(attribute):
        noise = ratings - world.profiles @ world.taste - attribute * world.gaps
        released = tuple(world.obfuscate(mean + noise, attribute).tolist())
        law[released] = law.get(released, 0.0) + chance
    return law


def wrapped_law(world: LinearWorld, attribute: int, assumed_gap: float, period: float) -> Law:
    """Compute the law of a release that is private whichever of two gaps is the true one.

    The release is item 0's rating minus x0 times the assumed gap, modulo the period.

    Args:
        world: The world, with the true gaps.
        attribute: x0 of the person.
        assumed_gap: The one of the two gaps that is subtracted.
        period: Twice the difference of the two gaps, xi in the paper.
    """

    def release(ratings: Floats, own_attribute: int) -> Floats:
        return np.mod(ratings[:1] - own_attribute * assumed_gap, period)

    return world.law(attribute, release)
