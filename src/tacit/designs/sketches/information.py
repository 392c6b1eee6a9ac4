"""Exact information in one report, to be compared with the bounds of the paper's lemmas.

Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012), Lemmas 3.1, 4.1, 4.5 and 4.7, Theorem 4.3.
World    That of the lower bounds: two labels, all labelings of N items equally likely; a person
         rated a random set of w items, and likes a rated item if and only if its label is 1. The
         questions are public. Information is in nats.

The released bit S depends on the labels Z only through one number: how many items of its question
have label 1. So I(Z; S) is computed as a sum over this number, without sampling.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr
from scipy.stats import binom

from tacit.designs.sketches import theory

Floats = NDArray[np.float64]
SMALL_SHIFT = 0.01
"""Relative change of a chance below which its divergence is computed as a series."""
LARGEST_SET = 1_000_000
"""Largest number of items in a sensed set for which the sum is computed."""


@dataclass(frozen=True)
class ReportInformation:
    """Information in one report of a method, and the lemmas' upper bounds, in nats.

    The report answers one question, on which all of epsilon is spent. A report of
    `one-bit-question` has no noise.
    """

    method: str
    """The method's name."""
    about_person: float
    """I(X; S), where X is what the person rated and likes."""
    lemma_3_1: float | None
    """Upper bound eps of `about_person`; None without noise."""
    sharper: float | None
    """Upper bound eps tanh(eps / 2) of `about_person`; None without noise."""
    about_labels: float
    """I(Z; S), where Z are the labels of all items."""
    lemma_4_1: float
    """Upper bound of `about_labels`, the right side of Lemma 4.1: a mean over reports and over two
    people who are drawn independently, given that both sent the report. A term of the mean is
    2^k - 1 if they agree on the labels of the k items that both rated, and -1 otherwise."""
    lemma_4_5: float | None
    """Upper bound (w / N) sinh^2(eps / 2) of `about_labels`, which follows for any report; None
    without noise."""
    shifts: tuple[float, float]
    """Smallest and largest sigma in P(X = x | S = s) = P(X = x) (1 + sigma(x, s)), over all bits s
    and all x of positive probability."""
    allowed_shifts: tuple[float, float] | None
    """Bounds of sigma by Lemma 4.5, e^-eps - 1 and e^eps - 1; None without noise."""
    theorem_4_3: float | None = None
    """1 / N, for one noiseless bit about one rated item; None for other reports."""


@dataclass(frozen=True)
class SharedItems:
    """Chance that two people rated no item in common."""

    exact: float
    """C(N - w, w) / C(N, w)."""
    lemma_4_7: float
    """1 - w^2 / N, at least 0. It is near the exact chance if w^2 is small compared with N."""


def maxsense_information(N: int, w: int, eps: float, set_size: int) -> ReportInformation | None:
    """Compute the information of a report of MaxSense, which is one bit about a set.

    Args:
        N: Number of items.
        w: Number of items that a person rated.
        eps: Epsilon of the bit.
        set_size: Number of items in the set.

    Returns:
        The information; None for a set of more than LARGEST_SET items.
    """
    if set_size > LARGEST_SET:
        return None
    items_with_label_1 = np.arange(set_size + 1)
    weights = binom.pmf(items_with_label_1, set_size, 0.5)
    true_chances = 1 - no_rated_chances(N, w, set_size)
    return _private_information("maxsense", N, w, eps, weights, true_chances)


def pair_information(N: int, w: int, eps: float, *, identical: bool = False) -> ReportInformation:
    """Compute the information of a report that is one bit about a random pair.

    Args:
        N: Number of items.
        w: Number of items that a person rated.
        eps: Epsilon of the bit.
        identical: Whether a yes means that both items are rated alike, not that both are liked.
    """
    if identical:
        name = "pairwise-identical"
        labels_yes_chance = 0.5  # that the labels of two items are equal, so that they allow a yes
    else:
        name = "pairwise-preference"
        labels_yes_chance = 0.25  # that both labels are 1
    weights = np.array([1 - labels_yes_chance, labels_yes_chance])
    true_chances = np.array([0.0, theory.pair_rated_chance(N, w)])  # of a yes before noise
    return _private_information(name, N, w, eps, weights, true_chances)


def one_bit_information(N: int) -> ReportInformation:
    """Compute the information of an answer without noise by a person who rated one of N items.

    The question is "did you rate item i, and is its label z?".
    """
    weights = np.array([0.5, 0.5])  # that the label of item i is not z, or is z
    chances = np.array([0.0, 1 / N])  # of a yes in these two cases
    yes_chance = 1 / (2 * N)
    return ReportInformation(
        method="one-bit-question",
        about_person=_entropy(yes_chance),
        lemma_3_1=None,
        sharper=None,
        about_labels=_information(weights, chances),
        lemma_4_1=_chi_square(weights, chances),
        lemma_4_5=None,
        shifts=(-1.0, 1 / yes_chance - 1),
        allowed_shifts=None,
        theorem_4_3=1 / N,
    )


def shared_items(N: int, w: int) -> SharedItems:
    """Compute the chance that two random sets of w of N items have no item in common."""
    exact = float(no_rated_chances(N, w, w)[w])
    return SharedItems(exact, max(0.0, 1 - w * w / N))


def no_rated_chances(N: int, w: int, most: int) -> Floats:
    """Compute the chances that none of k given items is among w random items of N.

    The chance is C(N - k, w) / C(N, w), the product of (N - w - j) / (N - j) over j < k.

    Args:
        N: Number of items.
        w: Number of random items.
        most: Largest k.

    Returns:
        (most + 1,) chances for k = 0 .. most.
    """
    j = np.arange(most)
    factors = np.maximum(N - w - j, 0) / (N - j)
    chances: Floats = np.concatenate([[1.0], np.cumprod(factors)])
    return chances


def _private_information(
    method: str, N: int, w: int, eps: float, weights: Floats, true_chances: Floats
) -> ReportInformation:
    """Compute the information of a bit that is released with epsilon `eps`.

    Args:
        method: Name of the method.
        N: Number of items.
        w: Number of items that a person rated.
        eps: Epsilon of the bit.
        weights: (k,) chance of each case of the labels that the bit depends on.
        true_chances: (k,) chance that the true bit is 1 in each case; the first one is 0.
    """
    flip_chance = theory.truth(-eps)
    rho = theory.rho(eps)
    chances = flip_chance + rho * true_chances
    mean = float(weights @ chances)
    # A history x matters through its true bit: P(S = 1 | X = x) is truth(eps) or flip_chance.
    chances_given_history = [flip_chance]
    if true_chances.any():
        chances_given_history.append(theory.truth(eps))
    # sigma(x, s) = P(S = s | X = x) / P(S = s) - 1
    shifts = [0.0]
    if 0 < mean < 1:
        for chance_of_1 in chances_given_history:
            shifts += [chance_of_1 / mean - 1, (1 - chance_of_1) / (1 - mean) - 1]
    return ReportInformation(
        method=method,
        about_person=_entropy(mean) - _entropy(flip_chance),
        lemma_3_1=eps,
        sharper=theory.sharper_information(eps),
        about_labels=_information(weights, chances),
        lemma_4_1=_chi_square(weights, chances),
        lemma_4_5=theory.label_information(N, w, eps),
        shifts=(min(shifts), max(shifts)),
        allowed_shifts=(math.expm1(-eps), math.expm1(min(eps, theory.LARGEST))),
    )


def _information(weights: Floats, chances: Floats) -> float:
    """Compute the information I(K; S) of a bit S about the case K on which its chance depends.

    Args:
        weights: (k,) chance of each case.
        chances: (k,) chance that S is 1 in each case.
    """
    mean = float(weights @ chances)
    if not 0 < mean < 1:
        return 0.0
    # The weighted divergence of each case's chance from the mean. As a difference of two entropies
    # it would be lost in rounding where it is small.
    shifts = chances - mean
    of_ones = mean * _divergence_term(shifts / mean)
    of_zeros = (1 - mean) * _divergence_term(-shifts / (1 - mean))
    return float(weights @ (of_ones + of_zeros))


def _divergence_term(shifts: Floats) -> Floats:
    """Compute (1 + x) ln(1 + x) - x, which is between 0 and x^2, for x from -1 up.

    Args:
        shifts: (k,) values of x.
    """
    # The series is the sum of (-x)^n / (n (n - 1)) from n = 2 on; at most 0.01^9 of it is left out.
    series = np.zeros_like(shifts)
    for n in range(10, 1, -1):
        series += (-shifts) ** n / (n * (n - 1))
    exact = -entr(1 + shifts) - shifts
    terms: Floats = np.where(np.abs(shifts) < SMALL_SHIFT, series, exact)
    return terms


def _chi_square(weights: Floats, chances: Floats) -> float:
    """Compute the right side of Lemma 4.1: the mean over s of chi^2(P(Z | S = s), uniform).

    For a bit it is variance / (mean (1 - mean)), with the mean and the variance of its chance over
    the cases.

    Args:
        weights: (k,) chance of each case.
        chances: (k,) chance that the bit is 1 in each case.
    """
    mean = float(weights @ chances)
    if not 0 < mean < 1:
        return 0.0
    variance = float(weights @ (chances - mean) ** 2)
    return variance / (mean * (1 - mean))


def _entropy(chance: float) -> float:
    """Return the entropy, in nats, of a bit that is 1 with this chance."""
    return float(entr(chance) + entr(1 - chance))
