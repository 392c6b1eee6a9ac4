"""A certificate against all attackers who see one released symbol of a person, and no more.

A release is one of C symbols. Let p and q be its distributions for people with the first and the
second value of an attribute, m = (p + q) / 2 and sigma^2 = sum (p - q)^2 / m. An attacker scores
people by their symbol. Every score has

    AUC <= 1/2 + sigma / (2 sqrt 3)

because AUC - 1/2 = sum (p - q) (R - 1/2), where R is the score's mid-rank under m, whose variance
under m is at most 1/12 (Cauchy-Schwarz). sigma is bounded from counts on n_0 and n_1 calibration
people with the first and the second value. The estimate of sigma^2, times n_0 n_1 / (n_0 + n_1), is
approximately noncentral chi-squared, with C - 1 degrees of freedom and noncentrality
n_0 n_1 / (n_0 + n_1) sigma^2. (If n_0 = n_1, it is Pearson's statistic.) Inverting this
distribution function gives the bound.

A certificate assumes that calibration people are drawn like the people that it is about, that each
is counted once, and that neither the symbols nor the way in which a device releases them were
chosen by looking at these people. It does not cover an attacker who knows more about a person than
the symbol.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError

PEOPLE_PER_SYMBOL = 5
"""Fewest calibration people with the rarer value, for each symbol. With fewer, the chi-squared
distribution is a poor approximation."""


@dataclass(frozen=True)
class AucCertificate:
    """An upper bound on the AUC of all attackers who see one symbol of a person.

    Attributes:
        auc: The bound, at most 1.
        sigma: The bound on sigma from which it is computed.
        confidence: Least chance, over the draw of calibration people, that the bound holds; it is
            approximate.
        symbols: Number of symbols, C.
        people: Numbers of calibration people with the first value, and with the second.
    """

    auc: float
    sigma: float
    confidence: float
    symbols: int
    people: tuple[int, int]

    @property
    def sentence(self) -> str:
        """The certificate in words, with the counts that it is based on."""
        first, second = self.people
        auc_rounded_up = math.ceil(self.auc * 1000) / 1000
        return (
            f"No attacker who sees this release alone has an AUC above {auc_rounded_up:.3f}, with "
            f"confidence {100 * self.confidence:.6g}%: {self.symbols} symbols, counted on "
            f"{first:,} and {second:,} calibration people. An attacker who knows more about a "
            "person is not covered."
        )


def certify_auc(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> AucCertificate:
    """Bound the AUC of all attackers who see one symbol, from counts on calibration people.

    Args:
        first: (C,) number of people with the first value who released each symbol; 0 for a symbol
            that nobody released. C must be fixed before anybody is counted.
        second: (C,) the same for people with the second value. For an attribute of several values,
            count one value against all others.
        confidence: Least chance, over the draw of calibration people, that the bound is to hold.

    Raises:
        ConfigError: The counts are not valid, there are fewer than 5 C people with the rarer value,
            or the confidence is out of range.
    """
    counts = _check_counts(first, second)
    if not 0.5 <= confidence < 1:
        raise ConfigError(f"A confidence is from 0.5 to below 1, such as 0.95; got {confidence}.")
    symbols = counts.shape[1]
    people = counts.sum(axis=1)
    if people.min() < PEOPLE_PER_SYMBOL * symbols:
        raise ConfigError(
            f"{symbols} symbols need {PEOPLE_PER_SYMBOL * symbols:,} calibration people or more "
            f"with each value; got {people[0]:,} and {people[1]:,}. Count more people, or "
            "release fewer symbols."
        )
    # n_0 n_1 / (n_0 + n_1), by which the module's formula multiplies sigma^2
    weight = float(people[0] * people[1] / people.sum())
    statistic = weight * estimate_sigma_squared(counts)
    noncentrality = invert_noncentral_chi_squared(statistic, symbols - 1, 1 - confidence)
    sigma = math.sqrt(noncentrality / weight)
    auc = min(1.0, largest_auc(sigma))
    return AucCertificate(auc, sigma, confidence, symbols, (int(people[0]), int(people[1])))


def largest_auc(sigma: float) -> float:
    """Return 1/2 + sigma / (2 sqrt 3), a bound on the AUC of every score of released symbols."""
    return 0.5 + sigma / (2 * math.sqrt(3))


def estimate_sigma_squared(counts: NDArray[np.int64]) -> float:
    """Estimate sum (p - q)^2 / m from (2, C) counts; a symbol that nobody released adds 0."""
    p, q = counts / counts.sum(axis=1, keepdims=True)
    m = (p + q) / 2
    is_released = m > 0
    squares = (p - q)[is_released] ** 2 / m[is_released]
    return float(squares.sum())


def invert_noncentral_chi_squared(statistic: float, degrees: int, chance: float) -> float:
    """Find the noncentrality at which P(statistic <= the measured one) is `chance`.

    Args:
        statistic: The measured statistic, 0 or more.
        degrees: Degrees of freedom.
        chance: Between 0 and 1.

    Returns:
        The noncentrality; 0 if the probability is at most `chance` even without noncentrality.
    """
    from scipy.optimize import brentq
    from scipy.special import chndtr

    def excess(noncentrality: float) -> float:
        return float(chndtr(statistic, degrees, noncentrality)) - chance

    if excess(0.0) <= 0:
        return 0.0
    upper = 1.0
    while excess(upper) > 0:
        upper *= 2
    return float(brentq(excess, 0.0, upper, xtol=1e-9))


def _check_counts(first: ArrayLike, second: ArrayLike) -> NDArray[np.int64]:
    """Return the counts as one array (2, C).

    Raises:
        ConfigError: They are not two lists of the same length, at least 2, or an entry is not an
            integer of 0 or more.
    """
    arrays = [np.asarray(first), np.asarray(second)]
    is_whole = all(array.dtype.kind in "iu" for array in arrays)
    is_same_shape = arrays[0].shape == arrays[1].shape
    if not is_whole or not is_same_shape or arrays[0].ndim != 1 or len(arrays[0]) < 2:
        raise ConfigError(
            "Give whole counts of two symbols or more, in one list for each value, both lists of "
            f"the same length; got shapes {arrays[0].shape} and {arrays[1].shape}, of type "
            f"{arrays[0].dtype} and {arrays[1].dtype}."
        )
    counts = np.stack(arrays).astype(np.int64)
    if counts.min() < 0:
        raise ConfigError(f"A count is 0 or more; got {counts.min()}.")
    return counts
