"""Closed formulas of the sketches: how many people are needed, at least and at most. No data.

Source     Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
           (2012). The public text has lost its formulas: orders follow from the surviving
           arguments, constants are derived here (marked *).
Notation   U people, N items, w rated items each, L item clusters with shares beta (L,), K classes
           of people with shares alpha (K,), b (K, L) chances of a like, eta the chance of failure,
           eps the loss of one person's whole report, rho = tanh(eps / 2) the signal left in a bit.
           Success means that every item's label is right, up to names. Information is in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

Floats = NDArray[np.float64]
ROUNDING = 1e-12
ROW_ROUNDING = 1e-6
"""Rows of eigenvectors are exact to about the square root of a float's precision near a double
eigenvalue."""
PRECISION = 2.0**-51
"""Precision of an eigenvalue, relative to the largest one."""
LN2 = math.log(2)
LARGEST = 600.0
"""Largest epsilon in an exponential: floats end near 709, and bounds are far below one person."""


def truth(eps: float) -> float:
    """Chance that a bit is released as it is: e^eps / (1 + e^eps)."""
    if eps < 0:  # e^-eps would not fit for large ones
        return math.exp(eps) / (1 + math.exp(eps))
    return 1 / (1 + math.exp(-eps))


def rho(eps: float) -> float:
    """Proposition 2.4: P(S = 1) = 1 / (e^eps + 1) + rho P(S0 = 1), with rho = tanh(eps / 2)."""
    return math.tanh(eps / 2)


def sharper_information(eps: float) -> float:
    """* Most information of a report under eps-local privacy about its person: eps tanh(eps / 2).

    Below the eps nats of Lemma 3.1, and at most eps^2 / 2.
    """
    return eps * math.tanh(eps / 2)


def one_bit_bound(N: int, eta: float, wrong: float = 0.0) -> float:
    """* Theorem 4.3: fewest people who rated one item each and answer one fixed yes/no question.

    [(1 - eta) N - 1] N ln 2, whatever the noise: an answer tells at most 1 / N nats about the
    labels. Not for several questions to one person, nor for questions that depend on answers.
    """
    return unknown_bits(N, eta, wrong) * N * LN2


def label_information(N: int, w: int, eps: float) -> float:
    """* About the labels, Lemmas 4.1 and 4.5: (w / N) sinh^2(eps / 2) for any w and eps.

    Sharper than Theorem 4.10, which has O(w / N) for w = o(N^(1/3)) and eps < ln 2.
    """
    return w / N * math.sinh(min(eps, LARGEST) / 2) ** 2


def unknown_bits(N: int, eta: float, wrong: float = 0.0) -> float:
    """Bits that have to be learned: (1 - eta) (1 - h2(wrong)) N - 1, at least 0.

    Appendix A: labels with a share `wrong` of mistakes, at most, are no more than 2^(N h2(wrong)),
    with h2 the binary entropy in bits.
    """
    left = 1 - float(entr(wrong) + entr(1 - wrong)) / LN2
    return max(0.0, (1 - eta) * left * N - 1)


def ldp_bound(N: int, eps: float, eta: float, wrong: float = 0.0) -> float:
    """* Fewest people for any learner, adaptive ones too: order N / eps^2.

    Theorem 3.3, which has eps in the place of the information, sharpened.
    """
    return unknown_bits(N, eta, wrong) * LN2 / sharper_information(eps)


def scarce_bound(N: int, w: int, eps: float, eta: float, wrong: float = 0.0) -> float:
    """* Fewest people for learners that are not adaptive: order N^2 / w.

    Implies Theorems 4.8 and 4.10 for private learners, at any w and eps.
    """
    return unknown_bits(N, eta, wrong) * LN2 / label_information(N, w, eps)


def adaptive_bound(N: int, w: int, eps: float, eta: float) -> float:
    """* Fewest people for adaptive learners: (1 - 2 eta)^2 N^2 / (w^2 (e^eps - 1)^2).

    Not in the paper; beyond Theorem 6.1 for w = 1. Each person answers once; from Duchi, Jordan,
    Wainwright: Local privacy and statistical minimax rates (2013). eta below 1/2.
    """
    return (max(0.0, 1 - 2 * eta) * N / (w * math.expm1(min(eps, LARGEST)))) ** 2


def pair_rated_chance(N: int, w: int) -> float:
    """c: chance that a random pair of items lies in a random set of w: w(w-1) / (N(N-1))."""
    return w * (w - 1) / (N * (N - 1))


def pair_liked_chances(alpha: Floats, b: Floats) -> Floats:
    """(L, L) bhat: chance that one random person likes an item of each of two clusters."""
    product: Floats = b.T @ (alpha[:, None] * b)
    return product


def pair_alike_chances(alpha: Floats, b: Floats) -> Floats:
    """(L, L) chance that one random person likes both items of two clusters, or dislikes both.

    Appendix B's words for the chance of a class of pairs: identical preference.
    """
    return pair_liked_chances(alpha, b) + pair_liked_chances(alpha, 1 - b)


def pair_chances(eps: float, c: float, true_chances: Floats) -> Floats:
    """(L, L) P(S = 1 | clusters of the two items), with the offset of the privacy noise.

    Args:
        eps: Loss of one answer.
        c: Chance that the person rated both items, `pair_rated_chance`; 1 where rated pairs are
            asked.
        true_chances: (L, L) chance of a true yes for two rated items: `pair_liked_chances` or
            `pair_alike_chances`.
    """
    return truth(-eps) + rho(eps) * c * true_chances


@dataclass(frozen=True, eq=False)
class PairSpectrum:
    """Eigenvalues and eigenvectors of Theorem 3.5's matrix, and its two conditions."""

    eigenvalues: Floats
    """(L,) eigenvalues of B = P(S = 1 | l, l') beta_l', the largest absolute value first."""
    rows: Floats
    """(L, L) row l has the entries of the eigenvectors for cluster l; those of eigenvalues that are
    0 are left out as 0. Vectors y have sum_l beta_l y(l)^2 = 1."""

    @property
    def smallest(self) -> float:
        """The smallest absolute eigenvalue; exactly 0 where rounding cannot tell it from 0."""
        sizes = np.abs(self.eigenvalues)
        least = float(sizes.min())
        return least if least > len(sizes) * PRECISION * float(sizes.max()) else 0.0

    @property
    def has_distinct_eigenvalues(self) -> bool:
        """Condition 1: the absolute eigenvalues are different, and none is 0."""
        sizes = np.sort(np.abs(self.eigenvalues))
        apart = np.diff(sizes) > ROUNDING * sizes[-1]
        return bool(self.smallest > 0 and apart.all())

    @property
    def has_distinct_rows(self) -> bool:
        """Condition 2: no two clusters have the same row."""
        same_rows = 0
        for cluster in range(len(self.rows)):
            gaps = np.abs(self.rows[cluster + 1 :] - self.rows[cluster]).max(axis=1, initial=0)
            same_rows += int((gaps <= ROW_ROUNDING).sum())
        return same_rows == 0


def pair_spectrum(chances: Floats, beta: Floats) -> PairSpectrum:
    """Eigenvalues of `pair_chances` times diag(beta), as Theorem 3.5 looks at them."""
    root = np.sqrt(beta)
    values, vectors = np.linalg.eigh(root[:, None] * chances * root[None, :])
    order = np.argsort(-np.abs(values), kind="stable")
    values = values[order]
    is_zero = np.abs(values) <= len(values) * PRECISION * np.abs(values[0])
    rows = vectors[:, order] / root[:, None]
    rows[:, is_zero] = 0.0
    return PairSpectrum(values, rows)


def pairwise_users(N: int, chances: Floats, beta: Floats, eta: float) -> float:
    """* People that a method of pairs needs, by the normal approximation; inf if degenerate.

    (N - 1) s ln(N / eta) / mu^2: s is the mean chance of a 1 and mu the smallest absolute
    eigenvalue of `pair_spectrum`. The sum along an eigenvector of an item's row of counts is normal
    with mean 2 U mu v_i / (N - 1) and variance 2 U s / (N (N - 1)).

    Args:
        N: Items.
        chances: (L, L) `pair_chances`.
        beta: (L,) shares of the clusters.
        eta: Chance of failure.
    """
    mu = pair_spectrum(chances, beta).smallest
    if mu == 0:
        return math.inf
    share = float(beta @ chances @ beta)
    return (N - 1) * share * math.log(N / eta) / mu**2


def no_hit(w: int, theta: float, beta: Floats, b: Floats) -> Floats:
    """(K,) q: chance that a person of each class has no liked item in a sensed set."""
    q: Floats = (1 - theta * (b @ beta) / w) ** w
    return q


def maxsense_chances(
    N: int, w: int, eps: float, theta: float, alpha: Floats, beta: Floats, b: Floats
) -> Floats:
    """(L,) s: chance of a 1 from those asked about an item, by the item's cluster."""
    q = no_hit(w, theta, beta, b)
    chances: Floats = truth(-eps) + rho(eps) * (alpha @ (1 - q) + w / N * ((alpha * q) @ b))
    return chances


def separation(theta: float, alpha: Floats, beta: Floats, b: Floats) -> float:
    """D(theta): least over two clusters of |sum_k alpha_k e^(-theta bbar_k) (b_kl - b_kl')|.

    0 means that MaxSense cannot distinguish two clusters, for any number of people. Equal sums may
    differ in their last digits, so a difference up to ROUNDING of the largest is 0.
    """
    means = (alpha * np.exp(-theta * (b @ beta))) @ b
    if len(means) == 1:
        return math.inf
    least = float(np.diff(np.sort(means)).min())
    return least if least > ROUNDING * float(means.max()) else 0.0


def theorem_5_1(
    N: int, w: int, eps: float, theta: float, D: float, eta: float, questions: int = 1
) -> float:
    """* People that are enough for MaxSense, by Chernoff, with chance 1 - eta. inf if D is 0.

    48 N^2 ln(2 N / eta) / (theta w rho^2 D^2); eta = N^-d in the paper's words. eps is the loss of
    ONE bit. With several questions (Theorem 5.3) an item lies in at most one of a person's sets, so
    that people count once for each question.
    """
    strength = theta * w * (rho(eps) * D) ** 2 * questions
    return math.inf if strength == 0 else 48 * N**2 * math.log(2 * N / eta) / strength


def clt_users(
    N: int, w: int, eps: float, theta: float, D: float, s: float, eta: float, questions: int = 1
) -> float:
    """* People that MaxSense with normalised scores needs, by the normal approximation.

    8 s (1 - s) N^2 ln(N / eta) / (theta w rho^2 D^2), over the number of questions. eps is the loss
    of ONE bit, s the chance of a 1.
    """
    strength = theta * w * (rho(eps) * D) ** 2 * questions
    return math.inf if strength == 0 else 8 * s * (1 - s) * N**2 * math.log(N / eta) / strength


def signal(questions: int, eps: float) -> float:
    """Signal of a report whose questions share eps: questions * tanh^2(eps / 2 questions)."""
    return questions * math.tanh(eps / (2 * questions)) ** 2


def best_questions(eps: float, most: int) -> int:
    """* The number of questions that makes `signal` largest: about eps / 2.18 (sinh 2x = 4x).

    One question up to eps 3.05; the reading ceil(eps) of Theorem 5.3 gets .74 of it at eps 2.
    """
    optimum = int(eps / 2.177)
    allowed = (q for q in {optimum, optimum + 1, most} if 1 <= q <= most)
    return max(allowed, key=lambda q: signal(q, eps))
