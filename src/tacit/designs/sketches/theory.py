"""Formulas, without data: bounds of the number of people and of information, chances of answers.

Source     Banerjee, Hegde, Massoulié: The price of privacy in untrusted recommendation engines
           (2012). The formulas are missing in the text that is public: orders of magnitude follow
           from the surviving arguments. Docstrings say which formulas and constants are derived
           here.
Notation   U people, N items, w rated items of each person, L item clusters with shares beta (L,),
           K classes of people with shares alpha (K,), b (K, L) chances of a like, eta the chance of
           failure, wrong_share the share of labels that may be wrong. theta is the expected number
           of rated items in a sensed set (MaxSense). eps is the epsilon of one person's whole
           report in bounds for any learner, and the epsilon of one bit in formulas about a bit;
           rho = tanh(eps / 2) is the share of the true bit's signal that noise leaves. Success
           means that at most the share wrong_share of the items has a wrong label, in the best
           numbering of the clusters. S0 is the true bit of an answer, S the released one; k and
           l, l' are numbers of classes and clusters. Information is in nats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

Floats = NDArray[np.float64]
ROUNDING = 1e-12
"""Largest relative difference of two values that are taken for equal."""
ROW_ROUNDING = 1e-6
"""Largest difference of two rows of eigenvectors that are taken for equal. Near a double eigenvalue
rows are exact only to about the square root of a float's precision."""
PRECISION = 2.0**-51
"""Rounding error of an eigenvalue of an n x n matrix, divided by n and the largest eigenvalue."""
LN2 = math.log(2)
LARGEST = 600.0
"""Largest epsilon in an exponential; larger ones are replaced by it. e^709 is nearly the largest
float, and at e^600 all bounds are far below one person."""


def truth(eps: float) -> float:
    """Probability that a bit is released unchanged: e^eps / (1 + e^eps).

    `truth(-eps)` is the probability that it is flipped.
    """
    if eps < 0:  # so that no exponential overflows
        return math.exp(eps) / (1 + math.exp(eps))
    return 1 / (1 + math.exp(-eps))


def rho(eps: float) -> float:
    """Factor rho in P(S = 1) = 1 / (e^eps + 1) + rho P(S0 = 1): tanh(eps / 2) (Proposition 2.4)."""
    return math.tanh(eps / 2)


def sharper_information(eps: float) -> float:
    """Upper bound of an eps-private report's information about its person: eps tanh(eps / 2).

    Derived here. It is below the eps nats of Lemma 3.1, and at most eps^2 / 2.
    """
    return eps * math.tanh(eps / 2)


def one_bit_bound(N: int, eta: float, wrong_share: float = 0.0) -> float:
    """Lower bound of the number of people if each rated one item and answers one question.

    Theorem 4.3, for fixed yes/no questions. It is `unknown_bits` times N ln 2, with or without
    noise: an answer has at most 1 / N nats of information about the labels. It does not hold if one
    person answers several questions, or if a question depends on earlier answers. The constant is
    derived here.
    """
    return unknown_bits(N, eta, wrong_share) * N * LN2


def label_information(N: int, w: int, eps: float) -> float:
    """Upper bound of a report's information about the labels: (w / N) sinh^2(eps / 2).

    Derived here from Lemmas 4.1 and 4.5, for any w and eps. It is sharper than Theorem 4.10, which
    has O(w / N) for w = o(N^(1/3)) and eps < ln 2.
    """
    return w / N * math.sinh(min(eps, LARGEST) / 2) ** 2


def unknown_bits(N: int, eta: float, wrong_share: float = 0.0) -> float:
    """Bits about the labels that have to be learned: (1 - eta) (1 - h2(wrong_share)) N - 1, or 0.

    This is for two clusters: the N labels are independent, each 0 or 1 with probability 1/2, and
    wrong_share is below 1/2. h2 is the binary entropy in bits. Appendix A: at most
    2^(N h2(wrong_share)) labelings differ from the true one in at most the share wrong_share of the
    labels.
    """
    share = 1 - float(entr(wrong_share) + entr(1 - wrong_share)) / LN2
    return max(0.0, (1 - eta) * share * N - 1)


def ldp_bound(N: int, eps: float, eta: float, wrong_share: float = 0.0) -> float:
    """Lower bound of the number of people for any learner, also an adaptive one: order N / eps^2.

    Theorem 3.3 with `sharper_information` in place of eps. The constant is derived here.
    """
    return unknown_bits(N, eta, wrong_share) * LN2 / sharper_information(eps)


def scarce_bound(N: int, w: int, eps: float, eta: float, wrong_share: float = 0.0) -> float:
    """Lower bound of the number of people for learners that are not adaptive: order N^2 / w.

    It implies Theorems 4.8 and 4.10 for private learners, at any w and eps. The constant is derived
    here.
    """
    return unknown_bits(N, eta, wrong_share) * LN2 / label_information(N, w, eps)


def adaptive_bound(N: int, w: int, eps: float, eta: float) -> float:
    """Lower bound of the number of people for any learner, also an adaptive one.

    It is (1 - 2 eta)^2 N^2 / (w^2 (e^eps - 1)^2) for eta < 1/2. Not in the paper; for w = 1 it is
    above Theorem 6.1. Each person answers once. Derived here from Duchi, Jordan, Wainwright: Local
    privacy and statistical minimax rates (2013).
    """
    return (max(0.0, 1 - 2 * eta) * N / (w * math.expm1(min(eps, LARGEST)))) ** 2


def pair_rated_chance(N: int, w: int) -> float:
    """Chance c that a person rated both items of a random pair: w(w-1) / (N(N-1))."""
    return w * (w - 1) / (N * (N - 1))


def pair_liked_chances(alpha: Floats, b: Floats) -> Floats:
    """Chance that a random person likes both of two rated items, by their clusters: (L, L).

    The paper's bhat, the sum over classes k of alpha_k b_kl b_kl'.
    """
    chances: Floats = b.T @ (alpha[:, None] * b)
    return chances


def pair_alike_chances(alpha: Floats, b: Floats) -> Floats:
    """Chance that a random person likes both of two rated items, or dislikes both: (L, L).

    Appendix B calls this identical preference.
    """
    return pair_liked_chances(alpha, b) + pair_liked_chances(alpha, 1 - b)


def pair_chances(eps: float, c: float, true_chances: Floats) -> Floats:
    """Chance that the released bit about a pair is 1, by the clusters of the two items: (L, L).

    1 / (e^eps + 1) + rho c true_chances.

    Args:
        eps: Epsilon of one answer.
        c: Chance that the person rated both items: `pair_rated_chance`, or 1 if the device names
            a rated pair.
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
    """(L, L) row l has the entries of the eigenvectors for cluster l. An eigenvector y has
    sum_l beta_l y(l)^2 = 1; if its eigenvalue is 0, its entries are replaced by 0."""

    @property
    def smallest(self) -> float:
        """Smallest absolute eigenvalue; exactly 0 if it is not above the rounding error."""
        sizes = np.abs(self.eigenvalues)
        smallest = float(sizes.min())
        rounding_error = len(sizes) * PRECISION * float(sizes.max())
        return smallest if smallest > rounding_error else 0.0

    @property
    def has_distinct_eigenvalues(self) -> bool:
        """Whether condition 1 holds: the absolute eigenvalues are different, and none is 0."""
        sizes = np.sort(np.abs(self.eigenvalues))
        are_different = np.diff(sizes) > ROUNDING * sizes[-1]
        return bool(self.smallest > 0 and are_different.all())

    @property
    def has_distinct_rows(self) -> bool:
        """Whether condition 2 holds: the rows of any two clusters differ."""
        for cluster in range(len(self.rows)):
            later_rows = self.rows[cluster + 1 :]
            gaps = np.abs(later_rows - self.rows[cluster]).max(axis=1, initial=0)
            if (gaps <= ROW_ROUNDING).any():
                return False
        return True


def pair_spectrum(chances: Floats, beta: Floats) -> PairSpectrum:
    """Compute the eigenvalues and eigenvectors of B = chances diag(beta) (Theorem 3.5).

    B is similar to the symmetric matrix D B D^-1 with D = diag(sqrt(beta)), whose eigenvectors are
    D times those of B.

    Args:
        chances: (L, L) `pair_chances`.
        beta: (L,) shares of the clusters.
    """
    root = np.sqrt(beta)
    values, vectors = np.linalg.eigh(root[:, None] * chances * root[None, :])
    order = np.argsort(-np.abs(values), kind="stable")
    values = values[order]
    is_zero = np.abs(values) <= len(values) * PRECISION * np.abs(values[0])
    rows = vectors[:, order] / root[:, None]
    rows[:, is_zero] = 0.0
    return PairSpectrum(values, rows)


def pairwise_users(N: int, chances: Floats, beta: Floats, eta: float) -> float:
    """People that a method of pairs needs, by the normal approximation; inf if mu is 0.

    Derived here: (N - 1) s ln(N / eta) / mu^2, where s is the mean chance of a 1 and mu the
    smallest absolute eigenvalue of `pair_spectrum`. Its eigenvector has the entry v_j for the
    cluster of item j (`PairSpectrum.rows`). Weigh the counts of all pairs (i, j) of one item i by
    v_j: their sum is approximately normal with mean 2 U mu v_i / (N - 1) and variance
    2 U s / (N (N - 1)).

    Args:
        N: Items.
        chances: (L, L) `pair_chances`.
        beta: (L,) shares of the clusters.
        eta: Chance of failure.
    """
    mu = pair_spectrum(chances, beta).smallest
    if mu == 0:
        return math.inf
    mean_chance = float(beta @ chances @ beta)
    return (N - 1) * mean_chance * math.log(N / eta) / mu**2


def no_hit(w: int, theta: float, beta: Floats, b: Floats) -> Floats:
    """Chance q that a person has no liked item in a sensed set, by their class: (K,).

    (1 - theta bbar_k / w)^w, where theta is the expected number of rated items in the set, and
    bbar_k the chance that class k likes a random rated item.
    """
    q: Floats = (1 - theta * (b @ beta) / w) ** w
    return q


def maxsense_chances(
    N: int, w: int, eps: float, theta: float, alpha: Floats, beta: Floats, b: Floats
) -> Floats:
    """Chance s that the released bit about a set is 1, by the cluster of an item in it: (L,).

    1 / (e^eps + 1) + rho sum_k alpha_k (1 - q_k + w/N q_k b_kl), with q of `no_hit`.

    Args:
        N: Items.
        w: Rated items.
        eps: Epsilon of ONE bit.
        theta: Expected number of rated items in a set.
        alpha: (K,) shares of the classes of people.
        beta: (L,) shares of the clusters.
        b: (K, L) chances of a like.
    """
    q = no_hit(w, theta, beta, b)
    chances: Floats = truth(-eps) + rho(eps) * (alpha @ (1 - q) + w / N * ((alpha * q) @ b))
    return chances


def separation(theta: float, alpha: Floats, beta: Floats, b: Floats) -> float:
    """Return D(theta), the least |sum_k alpha_k e^(-theta bbar_k) (b_kl - b_kl')| of two clusters.

    bbar_k is the chance that class k likes a random rated item. 0 means that MaxSense cannot
    distinguish two clusters, for any number of people; inf that there is one cluster. Equal sums
    may differ in their last digits, so a difference of up to ROUNDING times the largest sum counts
    as 0.
    """
    sums = (alpha * np.exp(-theta * (b @ beta))) @ b
    if len(sums) == 1:
        return math.inf
    least = float(np.diff(np.sort(sums)).min())
    return least if least > ROUNDING * float(sums.max()) else 0.0


def theorem_5_1(
    N: int, w: int, eps: float, theta: float, D: float, eta: float, questions: int = 1
) -> float:
    """Number of people with which MaxSense succeeds with probability 1 - eta; inf if D is 0.

    48 N^2 ln(2 N / eta) / (theta w rho^2 D^2 questions), by Chernoff bounds; the constant is
    derived here. The paper writes eta = N^-d. With several questions (Theorem 5.3) an item is in at
    most one of a person's sets, so a person counts once for each question.

    Args:
        N: Items.
        w: Rated items.
        eps: Epsilon of ONE bit.
        theta: Expected number of rated items in a set.
        D: `separation`.
        eta: Chance of failure.
        questions: Bits of a report.
    """
    strength = theta * w * (rho(eps) * D) ** 2 * questions
    return math.inf if strength == 0 else 48 * N**2 * math.log(2 * N / eta) / strength


def clt_users(
    N: int, w: int, eps: float, theta: float, D: float, s: float, eta: float, questions: int = 1
) -> float:
    """People that MaxSense with normalised scores needs, by the normal approximation.

    Derived here: 8 s (1 - s) N^2 ln(N / eta) / (theta w rho^2 D^2 questions); inf if D is 0.

    Args:
        N: Items.
        w: Rated items.
        eps: Epsilon of ONE bit.
        theta: Expected number of rated items in a set.
        D: `separation`.
        s: Mean chance that a released bit is 1.
        eta: Chance of failure.
        questions: Bits of a report.
    """
    strength = theta * w * (rho(eps) * D) ** 2 * questions
    return math.inf if strength == 0 else 8 * s * (1 - s) * N**2 * math.log(N / eta) / strength


def signal(questions: int, eps: float) -> float:
    """Signal of a report whose questions share eps: questions * tanh^2(eps / (2 questions))."""
    return questions * math.tanh(eps / (2 * questions)) ** 2


def best_questions(eps: float, most: int) -> int:
    """Number of questions with the largest `signal`, from 1 to `most`: about eps / 2.18.

    Derived here: at the optimum x = eps / (2 questions) solves sinh 2x = 4x, so the number is
    eps / 2.177. One question is best up to eps 3.05. With ceil(eps) questions, one reading of
    Theorem 5.3, the signal at eps 2 is .74 of the best.
    """
    optimum = int(eps / 2.177)
    candidates = [q for q in {optimum, optimum + 1, most} if 1 <= q <= most]
    return max(candidates, key=lambda q: signal(q, eps))
