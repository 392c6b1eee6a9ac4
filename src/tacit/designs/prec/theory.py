"""Formulas of p-REC: its parameters, conditions on its sizes, bounds of its loss and its epsilon.

They read no data.

Source     Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
           (2015). The paper gives orders of magnitude. Docstrings say which constants were found by
           following its proofs line by line.
Notation   m objects a round, T rounds, at most n voters, at least P peers of the client. The client
           likes several objects in at most D rounds, and a peer casts at most R votes on objects
           that the client dislikes. r = T / (R + 1). A voter begins with the credits creditD = 2D
           and creditR = 2R + 1, together c = 2D + 2R + 1. A recommendation is drawn uniformly with
           the chance gamma, else in proportion to phi(x), where x is an object's share of the votes
           (`output_distribution.py`). Loss is the number of disliked recommendations of one client.
           Values named eps are nats of what one client sees, for adding or removing one voter with
           all their votes. Survivors are the voters who still count for the client.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from tacit.errors import ConfigError

_PIECE_LENGTH = 0.01
"""Length of the pieces into which `kappa` cuts the range of d. The pieces of the range of x have
this length divided by lambda."""
_PIECES = 4000
"""Number of pieces in `kappa`."""
_MOST_STEPS = 100_000
"""Largest number of rounds of a chain that `eps_chain` computes one by one. Only settings with
thousands of objects or hundreds of credits have longer chains."""
_KULLBACK = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
"""Constant of Theorem 15, from its proof, 0.1308: the relative entropy of a coin with chance 3/4 to
a fair one."""


def check_sizes(m: int, T: int, D: int, R: int, n: int, P: int) -> None:
    """Check that the algorithm and its proofs allow these sizes.

    Raises:
        ConfigError: A size is not a whole number in its range, or sizes do not fit each other.
    """
    sizes = (
        ("objects", m, 2),
        ("rounds", T, 1),
        ("diversity", D, 0),
        ("radius", R, 0),
        ("voters", n, 1),
        ("peers", P, 1),
    )
    for name, value, low in sizes:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= 2**40:
            raise ConfigError(f"{name} is a whole number from {low} to 2^40; got {value!r}.")
    check_round_sizes(m, T, D, R)
    check_peers(m, n, P)


def check_round_sizes(m: int, T: int, D: int, R: int) -> None:
    """Check the conditions that the proofs put on m, T, D and R, which are whole numbers.

    Raises:
        ConfigError: A condition does not hold.
    """
    r = ratio(T, R)
    if T**2 < 8 * (R + 1) ** 2:
        raise ConfigError(
            f"There are too few rounds for radius {R}: rounds / (radius + 1) is {r:.3g} and has to "
            "be at least 2.83, or the proof's limit on what one vote does to all weights together "
            "fails (Lemma 13). Take more rounds or a smaller radius."
        )
    if (m + 1) * (R + 1) >= 3 * T:
        raise ConfigError(
            f"{m} objects a round are too many for {T} rounds and radius {R}: the share of uniform "
            f"rounds would be {m / (3 * r - 1):.3g}, and it has to stay below 1. Take fewer than "
            f"{3 * r - 1:.6g} objects, that is 3 * rounds / (radius + 1) - 1, or more rounds."
        )
    if D > T:
        raise ConfigError(f"diversity counts rounds: it is at most {T}; got {D}.")


def check_peers(m: int, n: int, P: int) -> None:
    """Check the number of peers against objects and voters.

    Raises:
        ConfigError: There are too few peers, or more than voters.
    """
    if fewest_peers(m) > P:
        raise ConfigError(
            f"{m} objects need more peers than {P}: one vote among fewer than {fewest_peers(m)} "
            "survivors can do more than the proof allows for (Lemmas 13 and 14). Take at least 6 "
            "peers for each object."
        )
    if n < P:
        raise ConfigError(
            f"There cannot be more peers than voters: peers is {P}, voters {n}. Take more voters."
        )


def fewest_peers(m: int) -> int:
    """Smallest number of peers that the proofs allow, 6m (Lemmas 13 and 14)."""
    return 6 * m


def ratio(T: int, R: int) -> float:
    """Ratio r = T / (R + 1), whose logarithm is in most formulas."""
    return T / (R + 1)


def exact_gamma(m: int, T: int, R: int) -> Fraction:
    """Chance gamma that a recommendation is drawn uniformly: m / (3r - 1), as a fraction."""
    return Fraction(m * (R + 1), 3 * T - (R + 1))


def gamma(m: int, T: int, R: int) -> float:
    """Chance that a recommendation is drawn uniformly, as a float (`exact_gamma`)."""
    return float(exact_gamma(m, T, R))


def lam(m: int, T: int, R: int) -> float:
    """Rate lambda at which phi grows with an object's share of the votes: 2m ln r."""
    return 2 * m * math.log(ratio(T, R))


def rho(m: int) -> float:
    """Share rho of the votes up to which phi is 0: 1 / (2m)."""
    return 1 / (2 * m)


def credit(D: int, R: int) -> int:
    """Credit c of a voter at the start, creditD + creditR: 2D + 2R + 1."""
    return 2 * D + 2 * R + 1


def promised_credit(D: int, R: int, P: int) -> int:
    """Credit that P peers keep to the end, if the promise holds: P (D + R + 1) (Theorem 17)."""
    return P * (D + R + 1)


def gated_credit(D: int, R: int, P: int) -> int:
    """Least credit of all voters together at which a gate may be open: P c."""
    return P * credit(D, R)


def loss_bound(m: int, T: int, R: int, n: int, P: int) -> float:
    """Upper bound of the expected loss, for every D (Theorems 10 and 16).

    It is the sum of `_charged_loss` and of the loss of uniform draws: the expected number of
    uniform draws is gamma T, and at most the share (m - 1) / m of them is disliked. The constants
    follow from the proofs.
    """
    uniform_rounds_loss = exact_gamma(m, T, R) * T * Fraction(m - 1, m)
    return _charged_loss(m, R, n, P) + float(uniform_rounds_loss)


def likely_loss_bound(m: int, T: int, R: int, n: int, P: int, delta: float) -> float:
    """Number that the loss exceeds with a chance of at most delta.

    It is the sum of `_charged_loss` and a bound on the number of uniform draws. By Bernstein's
    inequality this bound is mean + sqrt(2 mean ln(1 / delta)) + 2/3 ln(1 / delta), with
    mean = gamma T. The constants follow from the proofs.
    """
    mean = gamma(m, T, R) * T
    log_inverse = math.log(1 / delta)
    uniform_rounds = mean + math.sqrt(2 * mean * log_inverse) + 2 / 3 * log_inverse
    return _charged_loss(m, R, n, P) + uniform_rounds


def _charged_loss(m: int, R: int, n: int, P: int) -> float:
    """Upper bound of the loss in rounds whose draw is not uniform.

    Each disliked recommendation of such a round takes at least the share rho / (2R + 1) of all
    creditR, which falls from (2R + 1) n to no less than (R + 1) P.
    """
    return 2 * m * (2 * R + 1) * math.log((2 * R + 1) * n / ((R + 1) * P))


def loss_lower_bound(m: int, T: int, R: int, n: int, P: int) -> float:
    """Lower bound of the expected loss of any algorithm, private or not (Theorem 6).

    It is max((1 - 1/m) R, k (m - 1) / 2). Here k is how often n voters can be divided into m camps
    until a camp has P of them: the largest k for which P m^k <= n and k (m - 1) <= T, since each
    division takes m - 1 rounds.
    """
    divisions = 0
    while P * m ** (divisions + 1) <= n and (m - 1) * (divisions + 1) <= T:
        divisions += 1
    return max((1 - 1 / m) * R, (m - 1) * divisions / 2)


def eps_at_credit(m: int, T: int, D: int, R: int, least_credit: int) -> float:
    """Upper bound of eps by Theorems 11 and 17: 9 m lambda c^2 / least_credit.

    The constants are the proof's.

    Args:
        m: Objects.
        T: Rounds.
        D: Diversity.
        R: Radius.
        least_credit: Credit that all voters together have at least, in every round.
    """
    return 9 * m * lam(m, T, R) * credit(D, R) ** 2 / least_credit


def eps_tight(m: int, T: int, D: int, R: int, P: int) -> float:
    """Upper bound of eps by Theorems 11 and 17 under the promise: 9 m lambda c^2 / (P (D + R + 1)).

    The constants are the proof's. For D = R = 0 this is 18 m^2 ln T / P, as in the paper.
    """
    return eps_at_credit(m, T, D, R, promised_credit(D, R, P))


def eps_gated(m: int, T: int, D: int, R: int, P: int) -> float:
    """Upper bound of eps by Theorem 17 under a gate: 9 m lambda c / P = 18 m^2 c ln r / P.

    The gate keeps the credit of all voters together at P c or more. The constants are the proof's.
    """
    return eps_at_credit(m, T, D, R, gated_credit(D, R, P))


def eps_paper(m: int, T: int, D: int, R: int, P: int) -> float:
    """Upper bound of eps under the promise in the paper's simpler form: 18 m lambda c / P.

    It follows from `eps_tight` by D + R + 1 >= c / 2, and is at most twice as large. For D = R = 0
    it is exactly twice as large; there the paper has `eps_tight` itself.
    """
    return 18 * m * lam(m, T, R) * credit(D, R) / P


def leak(m: int, T: int, R: int, W: int) -> float:
    """Upper bound of one round's privacy loss with W >= 2 survivors (Lemma 12, sharper).

    W includes the voter whose presence is in question. The bound is kappa lambda ln(W / (W - 1)),
    with `kappa` from 1.05 to 1.2 for many rounds, where the paper has 3 lambda / W. It follows from
    the lemma's proof. ln(W / (W - 1)) is computed as -log1p(-1 / W): for a large W, the rounded
    quotient W / (W - 1) is so close to 1 that its logarithm has only a few correct digits.
    """
    return kappa(m, T, R) * lam(m, T, R) * -math.log1p(-1 / W)


@lru_cache
def kappa(m: int, T: int, R: int) -> float:
    """Upper bound of a round's |change of log-probability|, in units of lambda ln(W / (W - 1)).

    W is the number of survivors, as in `leak`.
    docs/prec-theory.md derives the bound and defines h, q, d, x, psi and S. Three expressions are
    maximised, of one variable each, d or x:

      part_of_q     (1 + d / lambda) q (1 - q) / (h + q),  q at most 1 / (1 + e^d)
      part_up       (1 - x) / (h S + psi),  S = psi(x) + (m - 1) psi((1 - x) / (m - 1))
      part_down     x / (h S + psi)

    They give kappa = max(part_of_q + part_up, 1 + part_down + 1 / (m (r - 1))): the first is for a
    rise of the log-probability, the second for a fall. 1 / (m (r - 1)) is at least 1 / S.

    The ranges of d and x are cut into short pieces. On each piece an expression is bounded by
    evaluating each of its terms at that end of the piece which makes the expression larger.
    """
    r = ratio(T, R)
    lambda_ = lam(m, T, R)
    h = float(Fraction(R + 1, 3 * T - (m + 1) * (R + 1)))  # 1 / (3 r - 1 - m)
    # Where q (1 - q) / (h + q) is largest: sqrt(h^2 + h) - h, without a difference
    q_of_maximum = h / (math.sqrt(h * h + h) + h)
    part_of_q = 1.0
    part_up = 0.0
    part_down = 0.0
    # Beyond the last piece part_of_q is below 1, and the other two are below e^-39.
    for piece in range(_PIECES):
        d = piece * _PIECE_LENGTH
        d_end = (piece + 1) * _PIECE_LENGTH
        q = min(q_of_maximum, 1 / (1 + math.exp(d)))
        part_of_q = max(part_of_q, (1 + d_end / lambda_) * q * (1 - q) / (h + q))
        x = rho(m) + d / lambda_
        x_end = rho(m) + d_end / lambda_
        psi = math.expm1(d)
        psi_others = math.expm1(lambda_ * ((1 - x_end) / (m - 1) - rho(m)))  # a lower bound
        reciprocal = 1 / (h * (psi + (m - 1) * psi_others) + psi)  # 1 / (h S + psi)
        part_up = max(part_up, (1 - x) * reciprocal)
        part_down = max(part_down, x_end * reciprocal)
    upwards = part_of_q + part_up
    downwards = 1 + part_down + 1 / (m * (r - 1))
    return max(upwards, downwards) * (1 + 1e-9)  # for rounding, here and in sums of leaks


def eps_chain(
    m: int, T: int, D: int, R: int, n: int, least_credit: int, fewest_survivors: int
) -> float:
    """Upper bound of eps, by the proofs of Theorems 11 and 17 with voters in whole numbers.

    It is about a quarter of `eps_tight` for D = R = 0, and less than a quarter for larger D or R.

    A round with W survivors costs at most `leak`. It costs something only if there is an object
    whose voters then lose credit, and whose share of the votes is above rho with or without the
    additional voter. If v survivors vote for it, this means 2mv > W, or 2mv > W - 1 if the
    additional voter votes for another object. So v >= W / (2m), where Lemma 14 has W / (3m): at
    least W / (2m) voters lose credit. With C credits left, W >= C / c, rounded up.

    The worst chain of such rounds ends with C = `least_credit` and is computed backwards: the C
    before each round is the smallest one that can leave the C after it (`_credit_before`). A larger
    C leaks less. And if C grows by 1, W / (2m) grows by at most 1, so a larger C before a round
    never leaves a smaller C after it: no other chain has more rounds.

    Args:
        m: Objects.
        T: Rounds.
        D: Diversity.
        R: Radius.
        n: The most voters at the start.
        least_credit: Credit that all voters together have at least, in every round:
            `promised_credit` under the promise, `gated_credit` with a gate.
        fewest_survivors: Least number of survivors in every round, 2 or more. It is P, both under
            the promise and with a gate.
    """
    c = credit(D, R)
    credit_left = least_credit
    rounds = 0
    total = 0.0
    while credit_left <= c * n and rounds < T:
        if rounds == _MOST_STEPS:
            return total + eps_at_credit(m, T, D, R, credit_left)  # the theorem for earlier rounds
        total += leak(m, T, R, _survivors(credit_left, c, fewest_survivors))
        rounds += 1
        credit_left = _credit_before(credit_left, 2 * m, c, fewest_survivors)
    return total


def _survivors(credit_left: int, c: int, fewest_survivors: int) -> int:
    """Larger of `fewest_survivors` and the fewest voters who can hold this credit, c each."""
    return max(divide_up(credit_left, c), fewest_survivors)


def divide_up(number: int, divisor: int) -> int:
    """Divide two whole numbers and round up."""
    return -(-number // divisor)


def _credit_before(credit_after: int, parts: int, c: int, fewest_survivors: int) -> int:
    """Smallest credit of all voters before a round that leaves `credit_after`.

    In the round, the share 1 / `parts` of the survivors, rounded up, loses one credit each. The
    credit before the round is found by iteration from below to a fixed point.
    """
    credit_before = credit_after
    while True:
        charged = divide_up(_survivors(credit_before, c, fewest_survivors), parts)
        if credit_after + charged == credit_before:
            return credit_before
        credit_before = credit_after + charged


def eps_lower_8(T: int, n: int, P: int, L: float) -> float:
    """Lower bound of eps of any algorithm with expected loss L: ln(T / (2L)) / P (Lemma 8).

    It is 0 if the formula is below 0, and for n < 2P or L = 0, where the lemma says nothing.
    """
    if n < 2 * P or L <= 0:
        return 0.0
    return max(0.0, math.log(T / (2 * L)) / P)


def eps_lower_15(T: int, D: int, R: int, n: int, P: int, L: float) -> float:
    """Lower bound of eps of any algorithm with expected loss L (Theorem 15).

    With S = min(D + R, T) and k = _KULLBACK it is

        k / (2P) min(S / 4 - 1, (T / 2 - 32 (L + 1)) / 4 - 1)

    but 0 if this is below 0, and for n < 2P or S < 6 ln T, where the theorem says nothing. The
    constants follow from its proof.
    """
    S = min(D + R, T)
    if n < 2 * P or 6 * math.log(T) > S:
        return 0.0
    differing_rounds = min(S / 4 - 1, (T / 2 - 32 * (L + 1)) / 4 - 1)
    return max(0.0, _KULLBACK / (2 * P) * differing_rounds)


def uniform_loss(m: int, T: int) -> float:
    """Upper bound of the expected loss of uniform recommendations, (1 - 1/m) T; eps is 0."""
    return (1 - 1 / m) * T


def eps_lower_bound(m: int, T: int, D: int, R: int, n: int, P: int) -> float:
    """Lower bound of eps of any algorithm that keeps `loss_bound`; 0 where nothing is known."""
    L = loss_bound(m, T, R, n, P)
    return max(eps_lower_8(T, n, P, L), eps_lower_15(T, D, R, n, P, L))
