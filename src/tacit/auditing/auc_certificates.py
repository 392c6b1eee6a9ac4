"""Certificate against every attacker who sees a release of few symbols, and nothing else.

A release is one of C symbols. With p and q its laws for people with either value of an attribute,
m = (p + q) / 2 and sigma^2 = sum (p - q)^2 / m, every score of the symbol has

    AUC <= 1/2 + sigma / (2 sqrt 3)

because AUC - 1/2 = sum (p - q) (R - 1/2), R the score's mid-rank under m, whose variance under m is
1/12 at most (Cauchy and Schwarz). sigma is bounded from calibration people: n_0 n_1 / (n_0 + n_1)
times the estimate of sigma^2 is Pearson's statistic where n_0 = n_1, and follows a noncentral chi
squared law with C - 1 degrees of freedom and noncentrality n_0 n_1 / (n_0 + n_1) sigma^2, which is
inverted.

What a certificate needs: calibration people are drawn like those whom it is about, each counts
once, and nobody chose the symbols, or what a device does with them, by looking at these people. It
says nothing about an attacker who knows anything else about a person.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError

PEOPLE_PER_SYMBOL = 5
"""Calibration people of the rarer value for each symbol: with fewer, the law is a poor fit."""


@dataclass(frozen=True)
class AucCertificate:
    """Upper bound on the AUC of every attacker who sees one symbol of a person.

    Attributes:
        auc: the bound, at most 1.
        sigma: the bound on sigma, which it comes from.
        confidence: share of calibrations whose bound holds, about.
        symbols: number of symbols, C.
        people: calibration people with the first value, and with the second.
    """

    auc: float
    sigma: float
    confidence: float
    symbols: int
    people: tuple[int, int]

    @property
    def sentence(self) -> str:
        """The certificate in words, with what it rests on."""
        first, second = self.people
        return (
            f"No attacker who sees this release alone has an AUC above {self.auc:.3f}, with "
            f"confidence {self.confidence:.0%}: {self.symbols} symbols, counted on {first:,} and "
            f"{second:,} calibration people. An attacker who knows more about a person is not "
            "covered."
        )


def certify_auc(first: ArrayLike, second: ArrayLike, *, confidence: float = 0.95) -> AucCertificate:
    """Bound the AUC of every attacker who sees one symbol, from counts on calibration people.

    Args:
        first: Shape (C,): how many people with the first value released each symbol, zeros for
            symbols that nobody released. C is fixed before anybody is counted.
        second: The same of people with the second value. Of several values, take each one against
            all others.
        confidence: Share of calibrations whose bound is to hold.

    Raises:
        ConfigError: Counts that are none, fewer than 5 C people with the rarer value, or a
            confidence out of bounds.
    """
    counts = _check_counts(first, second)
    if not 0.5 <= confidence < 1:
        raise ConfigError(f"A confidence is from 0.5 to below 1, such as 0.95; got {confidence}.")
    symbols = counts.shape[1]
    people = counts.sum(axis=1)
    if people.min() < PEOPLE_PER_SYMBOL * symbols:
        raise ConfigError(
            f"{symbols} symbols need {PEOPLE_PER_SYMBOL * symbols:,} calibration people or more "
            f"with either value; got {people[0]:,} and {people[1]:,}. Count more people, or "
            "release fewer symbols."
        )
    weight = float(people[0] * people[1] / people.sum())
    statistic = weight * estimate_sigma_squared(counts)
    noncentrality = invert_noncentral_chi_squared(statistic, symbols - 1, 1 - confidence)
    sigma = math.sqrt(noncentrality / weight)
    area = min(1.0, largest_auc(sigma))
    return AucCertificate(area, sigma, confidence, symbols, (int(people[0]), int(people[1])))


def largest_auc(sigma: float) -> float:
    """1/2 + sigma / (2 sqrt 3): what no score of the symbol exceeds."""
    return 0.5 + sigma / (2 * math.sqrt(3))


def estimate_sigma_squared(counts: NDArray[np.int64]) -> float:
    """Estimate sum (p - q)^2 / m from (2, C) counts; a symbol that nobody released adds 0."""
    laws = counts / counts.sum(axis=1, keepdims=True)
    middle = laws.mean(axis=0)
    released = middle > 0
    gaps = (laws[0] - laws[1])[released]
    return float((gaps**2 / middle[released]).sum())


def invert_noncentral_chi_squared(statistic: float, degrees: int, chance: float) -> float:
    """Find the noncentrality at which so small a statistic has this chance; 0 if none has less.

    Args:
        statistic: As measured, 0 or more.
        degrees: Degrees of freedom.
        chance: Of a statistic up to the measured one, between 0 and 1.
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
    """(2, C) counts; ConfigError for what is none."""
    found = [np.asarray(each) for each in (first, second)]
    shapes = {each.shape for each in found}
    whole = all(each.dtype.kind in "iu" for each in found)
    if not whole or len(shapes) > 1 or found[0].ndim != 1 or len(found[0]) < 2:
        raise ConfigError(
            "Give whole counts of two symbols or more, one list for each value and of one length; "
            f"got shapes {found[0].shape} and {found[1].shape}."
        )
    counts = np.stack(found).astype(np.int64)
    if counts.min() < 0:
        raise ConfigError(f"A count is 0 or more; got {counts.min()}.")
    return counts
