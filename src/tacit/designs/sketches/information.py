"""Information of one report, computed exactly, beside the bounds of the paper's lemmas.

Source   Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
         (2012), Lemmas 3.1, 4.1, 4.5 and 4.7, Theorem 4.3.
World    The one of the lower bounds: two labels, all labelings of N items equally likely; a person
         rated a random set of w items, and likes a rated item if and only if its label is 1. The
         questions are public. Information is in nats.

One released bit S depends on the labels Z through one number alone: how many liked items its
question is about. So I(Z; S) is a sum over that number, without sampling.
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
LARGEST_SET = 1_000_000
"""Items of a sensed set up to which the sum is made."""


@dataclass(frozen=True)
class ReportInformation:
    """Information in one report of a method, in nats, beside what the lemmas allow.

    The report is one question with all of epsilon; that of `one-bit-question` has no noise.
    """

    method: str
    """The method's name."""
    about_person: float
    """I(X; S), about what the person rated and likes."""
    lemma_3_1: float | None
    """At most eps; None without noise."""
    sharper: float | None
    """At most eps tanh(eps / 2), for every eps; None without noise."""
    about_labels: float
    """I(Z; S), about the labels of all items."""
    lemma_4_1: float
    """The lemma's right side for this very report: the mean of 2^(shared items) [consistent] - 1
    over two draws of the person given the report."""
    lemma_4_5: float | None
    """(w / N) sinh^2(eps / 2), which follows for any report; None without noise."""
    shifts: tuple[float, float]
    """Least and largest sigma of P(X = x | S = s) = P(X = x) (1 + sigma(x, s))."""
    allowed_shifts: tuple[float, float] | None
    """e^-eps - 1 and e^eps - 1, as Lemma 4.5 has them; None without noise."""
    theorem_4_3: float | None = None
    """1 / N, for one noiseless bit about one rated item; None for other reports."""


@dataclass(frozen=True)
class SharedItems:
    """Chance that two people rated no item in common."""

    exact: float
    """C(N - w, w) / C(N, w)."""
    lemma_4_7: float
    """1 - w^2 / N, near the exact chance where w^2 is small against N; at least 0."""


def maxsense_information(N: int, w: int, eps: float, set_size: int) -> ReportInformation | None:
    """Information of MaxSense's bit about a set of so many items; None for too large a set."""
    if set_size > LARGEST_SET:
        return None
    liked = np.arange(set_size + 1)
    weights = binom.pmf(liked, set_size, 0.5)
    true_chances = 1 - no_rated_chances(N, w, set_size)
    return _private_information("maxsense", N, w, eps, weights, true_chances)


def pair_information(N: int, w: int, eps: float, *, identical: bool = False) -> ReportInformation:
    """Compute the information of the bit about a random pair.

    Args:
        N: Items.
        w: Rated items.
        eps: Loss of the bit.
        identical: Whether a yes means that both items are rated alike, not that both are liked.
    """
    name = "pairwise-identical" if identical else "pairwise-preference"
    yes = 0.5 if identical else 0.25
    true_chances = np.array([0.0, theory.pair_rated_chance(N, w)])
    return _private_information(name, N, w, eps, np.array([1 - yes, yes]), true_chances)


def one_bit_information(N: int) -> ReportInformation:
    """Information of a noiseless answer to "did you rate item i, and is its label z?", w = 1."""
    chances = np.array([0.0, 1 / N])
    weights = np.array([0.5, 0.5])
    chance = 1 / (2 * N)
    return ReportInformation(
        method="one-bit-question",
        about_person=_entropy(chance),
        lemma_3_1=None,
        sharper=None,
        about_labels=_information(weights, chances),
        lemma_4_1=_chi_square(weights, chances),
        lemma_4_5=None,
        shifts=(-1.0, 1 / chance - 1),
        allowed_shifts=None,
        theorem_4_3=1 / N,
    )


def shared_items(N: int, w: int) -> SharedItems:
    """Chance that two random sets of w of N items have no item in common."""
    exact = float(no_rated_chances(N, w, w)[w])
    return SharedItems(exact, max(0.0, 1 - w * w / N))


def no_rated_chances(N: int, w: int, most: int) -> Floats:
    """Compute (most + 1,) chances that w random items of N hold none of 0, 1, ... given ones."""
    given = np.arange(most)
    factors = np.maximum(N - w - given, 0) / (N - given)
    chances: Floats = np.concatenate([[1.0], np.cumprod(factors)])
    return chances


def _private_information(
    method: str, N: int, w: int, eps: float, weights: Floats, true_chances: Floats
) -> ReportInformation:
    """Information of a bit that is released by the eps-DP bit release.

    Args:
        method: Its name.
        N: Items.
        w: Rated items.
        eps: Loss of the bit.
        weights: (k,) chances of what the bit depends on.
        true_chances: (k,) P(S0 = 1) given that.
    """
    lie = theory.truth(-eps)
    rho = theory.rho(eps)
    chances = lie + rho * true_chances
    mean = float(weights @ chances)
    shifts = [0.0]
    if 0 < mean < 1:
        for chance in (theory.truth(eps), lie):
            shifts += [chance / mean - 1, (1 - chance) / (1 - mean) - 1]
    return ReportInformation(
        method=method,
        about_person=_entropy(mean) - _entropy(lie),
        lemma_3_1=eps,
        sharper=theory.sharper_information(eps),
        about_labels=_information(weights, chances),
        lemma_4_1=_chi_square(weights, chances),
        lemma_4_5=theory.label_information(N, w, eps),
        shifts=(min(shifts), max(shifts)),
        allowed_shifts=(math.expm1(-eps), math.expm1(min(eps, theory.LARGEST))),
    )


def _information(weights: Floats, chances: Floats) -> float:
    """I(K; S) of a bit S with chance chances[k] of a 1, K having chance weights[k]."""
    conditional = entr(chances) + entr(1 - chances)
    return max(0.0, _entropy(float(weights @ chances)) - float(weights @ conditional))


def _chi_square(weights: Floats, chances: Floats) -> float:
    """Mean over s of chi^2(P(Z | S = s), uniform): what Lemma 4.1's bracket comes to."""
    mean = float(weights @ chances)
    if not 0 < mean < 1:
        return 0.0
    variance = float(weights @ (chances - mean) ** 2)
    return variance / (mean * (1 - mean))


def _entropy(chance: float) -> float:
    """Entropy of a bit, in nats."""
    return float(entr(chance) + entr(1 - chance))
