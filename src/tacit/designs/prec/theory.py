"""Closed formulas of p-REC: what it loses and what it leaks, at most and at least. No data.

Source     Gilbert, Liu, Yu: On differentially private online collaborative recommendation systems
           (2015). The paper gives orders; constants follow from its proofs, line by line
           (marked *).
Notation   m objects a round, T rounds, at most n voters, at least P peers of the client. The client
           likes several objects in at most D rounds, and a peer casts at most R votes on objects
           they dislike. r = T / (R + 1). Loss is the number of disliked recommendations; eps is
           for adding or removing one voter with all their votes, seen by one client.
"""

from __future__ import annotations

import math
from functools import lru_cache

from tacit.errors import ConfigError

_PIECE = 0.01
"""Length of the pieces in `kappa`: of d itself, and of x in units of 1 / lambda."""
_PIECES = 4000
"""Number of pieces in `kappa`."""
_MOST_STEPS = 100_000
"""Rounds of a chain that are computed one by one. Only settings with thousands of objects or
hundreds of credits need more."""
_KULLBACK = 0.75 * math.log(1.5) + 0.25 * math.log(0.5)
"""* Theorem 15's constant, 0.1308: of a coin with chance 3/4 against one with 1/2."""


def check(m: int, T: int, D: int, R: int, n: int, P: int) -> None:
    """ConfigError, with the reason, where the algorithm or its proofs have no meaning."""
    names = ("objects", "rounds", "diversity", "radius", "voters", "peers")
    for name, value, low in zip(names, (m, T, D, R, n, P), (2, 1, 0, 0, 1, 1), strict=True):
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= 2**40:
            raise ConfigError(f"{name} is a whole number from {low} to 2^40; got {value!r}.")
    check_law(m, T, D, R)
    check_peers(m, n, P)


def check_law(m: int, T: int, D: int, R: int) -> None:
    """Check what no number of voters changes; whole numbers are taken for granted."""
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
    """Check the number of peers against objects and voters."""
    if 6 * m > P:
        raise ConfigError(
            f"{m} objects need more peers than {P}: one vote among fewer than {6 * m} survivors "
            "can do more than the proof allows for (Lemmas 13 and 14). Take at least 6 peers for "
            "each object."
        )
    if n < P:
        raise ConfigError(
            f"There cannot be more peers than voters: peers is {P}, voters {n}. Take more voters."
        )


def ratio(T: int, R: int) -> float:
    """Ratio r = T / (R + 1), of which the paper takes logarithms."""
    return T / (R + 1)


def gamma(m: int, T: int, R: int) -> float:
    """Share of a recommendation that is uniform, whatever the votes: m / (3r - 1)."""
    return m / (3 * ratio(T, R) - 1)


def lam(m: int, T: int, R: int) -> float:
    """lambda: how steeply phi grows with an object's share of the votes: 2m ln r."""
    return 2 * m * math.log(ratio(T, R))


def rho(m: int) -> float:
    """The share up to which phi is 0: 1 / 2m."""
    return 1 / (2 * m)


def credit(D: int, R: int) -> int:
    """Credit of a voter at the start, both kinds together: 2D + 2R + 1."""
    return 2 * D + 2 * R + 1


def credit_floor(D: int, R: int, P: int) -> int:
    """Theorem 17: the credit that P peers keep to the end, P (D + R + 1)."""
    return P * (D + R + 1)


def loss_bound(m: int, T: int, R: int, n: int, P: int) -> float:
    """* Theorems 10 and 16: expected loss at most, for every D."""
    return _charged_loss(m, R, n, P) + (m - 1) * (R + 1) * T / (3 * T - R - 1)


def likely_loss_bound(m: int, T: int, R: int, n: int, P: int, delta: float) -> float:
    """* The same but for a chance of delta, by Bernstein's inequality on the uniform rounds."""
    mean, unlikely = gamma(m, T, R) * T, math.log(1 / delta)
    uniform = mean + math.sqrt(2 * mean * unlikely) + 2 / 3 * unlikely
    return _charged_loss(m, R, n, P) + uniform


def _charged_loss(m: int, R: int, n: int, P: int) -> float:
    """Rounds that are not uniform: each loss takes a share of rho / (2R + 1) of all R-credit."""
    return 2 * m * (2 * R + 1) * math.log((2 * R + 1) * n / ((R + 1) * P))


def loss_lower_bound(m: int, T: int, R: int, n: int, P: int) -> float:
    """Theorem 6 and the radius: expected loss at least, for any algorithm, private or not."""
    halvings = 0
    while P * m ** (halvings + 1) <= n and (m - 1) * (halvings + 1) <= T:
        halvings += 1
    return max((1 - 1 / m) * R, (m - 1) * halvings / 2)


def eps_tight(m: int, T: int, D: int, R: int, P: int) -> float:
    """* Theorems 11 and 17 with the proof's constants: 9 m lambda c^2 / (P (D + R + 1)).

    c = 2D + 2R + 1. For D = R = 0: 18 m^2 ln T / P, the paper's own constant.
    """
    return 9 * m * lam(m, T, R) * credit(D, R) ** 2 / credit_floor(D, R, P)


def eps_paper(m: int, T: int, D: int, R: int, P: int) -> float:
    """* The same with (D + R + 1) >= c / 2 put in: 18 m lambda c / P; less than twice as large."""
    return 18 * m * lam(m, T, R) * credit(D, R) / P


def eps_gated(m: int, T: int, D: int, R: int, P: int) -> float:
    """* Theorem 17 under a floor of c P on all credits, c = 2D + 2R + 1: 18 m^2 c ln r / P."""
    return 9 * m * lam(m, T, R) * credit(D, R) / P


def leak(m: int, T: int, R: int, W: int) -> float:
    """* Lemma 12, sharper: what a round with W >= 2 survivors, one of them extra, tells at most.

    kappa lambda ln(W / (W - 1)), with `kappa` from 1.05 to 1.2 for many rounds, where the paper has
    3 lambda / W.
    """
    return kappa(m, T, R) * lam(m, T, R) * math.log(W / (W - 1))


@lru_cache
def kappa(m: int, T: int, R: int) -> float:
    """* Bound how fast the logarithm of a recommendation's probability moves.

    In units of lambda ln(W / (W - 1)). docs/prec-theory.md derives the bound and defines h, q, d, x
    and psi. It leaves three expressions to maximise, of one variable each, d or x:

      part_of_q     (1 + d / lambda) q (1 - q) / (h + q),  q at most 1 / (1 + e^d)
      part_up       (1 - x) / (h S + psi),  S = psi(x) + (m - 1) psi((1 - x) / (m - 1))
      part_down     x / (h S + psi)

    The ranges of d and x are cut into short pieces, and each piece is bounded by its two ends.
    """
    r = ratio(T, R)
    slope = lam(m, T, R)
    h = 1 / (3 * r - 1 - m)
    best_q = math.sqrt(h * h + h) - h  # where q (1 - q) / (h + q) is largest
    part_of_q, part_up, part_down = 1.0, 0.0, 0.0
    # Beyond the last piece part_of_q is below 1, and the other two are below e^-39.
    for piece in range(_PIECES):
        d, d_end = piece * _PIECE, (piece + 1) * _PIECE
        q = min(best_q, 1 / (1 + math.exp(d)))
        part_of_q = max(part_of_q, (1 + d_end / slope) * q * (1 - q) / (h + q))
        x, x_end = rho(m) + d / slope, rho(m) + d_end / slope
        psi = math.expm1(d)
        psi_others = math.expm1(slope * ((1 - x_end) / (m - 1) - rho(m)))  # a lower bound
        rate = 1 / (h * (psi + (m - 1) * psi_others) + psi)
        part_up = max(part_up, (1 - x) * rate)
        part_down = max(part_down, x_end * rate)
    upwards = part_of_q + part_up
    downwards = 1 + part_down + 1 / (m * (r - 1))
    return max(upwards, downwards) * (1 + 1e-9)  # for rounding, here and in sums of leaks


def eps_chain(m: int, T: int, D: int, R: int, n: int, floor: int, weight: int) -> float:
    """* Theorems 11 and 17 with whole voters and `leak`: a third or a fourth of `eps_tight`.

    `floor` is that of the credits of all survivors, `credit_floor` if the promise is kept; `weight`
    is the fewest survivors, at least 2, P if the promise is kept.

    A round with W survivors tells `leak` at most, and it tells something only if some object that
    now costs its voters credit is above rho in one of the two patterns: with c votes, 2mc > W, or
    2mc > W - 1 where the extra vote went elsewhere. So c >= W / 2m, where Lemma 14 has W / 3m.
    With C credits left, W >= C / (2D + 2R + 1), rounded up. The worst chain of such rounds ends at
    the floor on C. Backwards, each C is the smallest that the next one can follow: a larger C
    leaks less, and as C grows by 1 the votes grow by at most 1, so that what it leaves never falls
    and no other chain fits more in.
    """
    c, left, rounds, total = credit(D, R), floor, 0, 0.0
    while left <= c * n and rounds < T:
        if rounds == _MOST_STEPS:  # the theorem's own geometric sum, from here on
            return total + 9 * m * lam(m, T, R) * c**2 / left
        total += leak(m, T, R, max(-(-left // c), weight))
        rounds += 1
        left = _credit_before(left, 2 * m, c, weight)
    return total


def _credit_before(after: int, parts: int, c: int, weight: int) -> int:
    """The smallest C that leaves `after` when a part of its survivors, rounded up, loses credit."""
    left = after
    while True:
        needed = after - (-max(-(-left // c), weight) // parts)
        if needed == left:
            return left
        left = needed


def eps_lower_8(T: int, n: int, P: int, L: float) -> float:
    """Lemma 8: eps at least, for any algorithm with expected loss L: ln(T / 2L) / P; n >= 2P."""
    if n < 2 * P or L <= 0:
        return 0.0
    return max(0.0, math.log(T / (2 * L)) / P)


def eps_lower_15(T: int, D: int, R: int, n: int, P: int, L: float) -> float:
    """Theorem 15, for min(D + R, T) >= 6 ln T: eps at least, for expected loss L. * Constants."""
    S = min(D + R, T)
    if n < 2 * P or 6 * math.log(T) > S:
        return 0.0
    spread = min(S / 4 - 1, (T / 2 - 32 * (L + 1)) / 4 - 1)
    return max(0.0, _KULLBACK / (2 * P) * spread)


def uniform_loss(m: int, T: int) -> float:
    """Expected loss at most of recommendations that look at no vote: (1 - 1/m) T, at epsilon 0."""
    return (1 - 1 / m) * T


def eps_lower_bound(m: int, T: int, D: int, R: int, n: int, P: int) -> float:
    """Lower bound of eps for everybody who keeps `loss_bound`; 0 where nothing is known."""
    L = loss_bound(m, T, R, n, P)
    return max(eps_lower_8(T, n, P, L), eps_lower_15(T, D, R, n, P, L))
