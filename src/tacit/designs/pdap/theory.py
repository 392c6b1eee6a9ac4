"""Closed formulas of the paper, of what becomes of its claims, and of a draw that holds. Pure.

Notation   T rounds, K videos of a vendor, M vendors, d features, m slices of a side at a split,
           l level of a cell, al and L of the Hölder condition, cells split at A m^(p l) contexts.
           Logarithms are natural except the depth of a tree.
Source     Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
           recommendation with multimedia big data in social networks (2015), numbered as there.
"""

from __future__ import annotations

import math

from tacit.accounting.rounding import round_up
from tacit.errors import ConfigError


def exploration(m: float, al: float, level: int, log_rounds: float) -> float:
    """m^(2 al l) ln T: G1 with ln T, what G3 is meant to be with ln t. Visits to each video."""
    return float(m ** (2 * al * level)) * log_rounds


def gamma(T: int, M: int, epsilon: float, sigma: float) -> float:
    """Lemma 5: th log2(T)^2 ln(th T log2(T) / sigma) / epsilon with th = M - 1; 0 at inf."""
    th, depth = M - 1, math.log2(T)
    if th == 0:
        return 0.0
    return th * depth**2 * math.log(th * T * depth / sigma) / epsilon


def neighbour_exploration(
    m: float, al: float, level: int, log_rounds: float, Gamma: float
) -> float:
    """G2: m^(2 al l) ln t + (Gamma / 4) m^(al l), visits to each neighbour with its reward."""
    return exploration(m, al, level, log_rounds) + Gamma / 4 * float(m ** (al * level))


def spread(L: float, m: float, al: float, level: int) -> float:
    """Delta u as printed, L m^(-al l): how much a mean varies within a cell of side m^-l."""
    return L * float(m ** (-al * level))


def epsilon_at(epsilon: float, m: float, al: float, level: int, geometric: bool) -> float:
    """GP-DAP: epsilon_0 m^(al l) in a cell of level l; the same everywhere without `geometric`."""
    return epsilon * float(m ** (al * level)) if geometric else epsilon


def levels(T: int) -> int:
    """Nodes of a binary tree over T rewards that hold one of them: floor(log2 T) + 1."""
    return T.bit_length()


def noise_scale(reading: str, T: int, M: int, K: int, epsilon: float) -> float:
    """Scale of the Laplace noise of one node of a tree over T rewards, as each passage has it.

    tree        (floor(log2 T) + 1) / epsilon: the binary mechanism; a reward enters ONE tree
    theorem 5   the same at epsilon / (M - 1), its budget per tree
    lemma 5     (M - 1) log2(T) / epsilon
    text        K log2(T) / epsilon
    line 9      1 / epsilon, and on rewards, not on nodes
    A vendor without neighbours is taken to have one.
    """
    others = max(1, M - 1)
    scales = {
        "tree": levels(T),
        "theorem 5": others * levels(T),
        "lemma 5": others * math.log2(T),
        "text": K * math.log2(T),
        "line 9": 1,
    }
    return scales[reading] / epsilon


def tree_loss(T: int, scale: float) -> float:
    """Exact loss of one reward in a tree over T of them with Laplace noise of `scale` per node."""
    return levels(T) / scale


def deepest_level(T: float, A: float, p: float, m: float) -> int:
    """Lemma 7, l_max = ceil(log_m(T / A) / p) + 1: no cell is deeper, wherever contexts come."""
    return math.ceil(math.log(T / A, m) / p - 1e-12) + 1


def most_cells(T: float, A: float, p: float, m: float, d: int) -> list[int]:
    """H_l at most, level by level: a cell exists once its parent has had A m^(p (l - 1)) visits."""
    found = [1]
    for level in range(1, deepest_level(max(T, A), A, p, m) + 1):
        split = math.floor(T / (A * float(m ** (p * (level - 1)))))
        found.append(int(min(m ** (d * level), m**d * split)))
    return found


def draw_exponent(epsilon: float, L: float, m: float, al: float, level: int) -> float:
    """a = epsilon / (2 Delta u): what a mean of 1 adds to a weight's logarithm over one of 0."""
    return epsilon / (2 * spread(L, m, al, level))


def selection_loss(a: float, K: int) -> float:
    """Exact loss of ONE draw by the exponential mechanism if all K means can be anything in [0, 1].

    a + ln[(1 + (K - 1) e^a) / (e^a + K - 1)]: one video's mean falls from 1 to 0 and all others
    rise. a = epsilon / 2 with a spread of 1; `draw_exponent` as printed. Never above 2 a.
    """
    rest = (K - 1) * math.exp(-a)
    return a + math.log((math.exp(-a) + K - 1) / (1 + rest))


def mixed_loss(a: float, K: int, explore: float) -> float:
    """The same, rounded up, of a draw that is uniform with the chance `explore`: s.

    Scores may be anything in two cells. The chance of an arm is largest where it alone has score 1
    and smallest where it alone has score 0: the loss is ln(p / q) with
    p = (1 - s) e^a / (e^a + K - 1) + s / K  and  q = (1 - s) / (1 + (K - 1) e^a) + s / K.
    """
    if K < 1 or not 0 <= explore < 1 or a < 0:
        raise ConfigError("A draw has an arm or more, explores with a chance below 1, and a >= 0.")
    if K == 1:
        return 0.0
    lower = math.exp(-a)
    likely = (1 - explore) / (1 + (K - 1) * lower) + explore / K
    unlikely = (1 - explore) * lower / (lower + K - 1) + explore / K
    return round_up(math.log(likely / unlikely), slack=1.0)


def exponent_for(epsilon: float, K: int, explore: float) -> float:
    """The largest a whose `mixed_loss` is at most epsilon, and 30 at most: exploring bounds it."""
    low, high = epsilon / 2, 30.0
    if mixed_loss(high, K, explore) <= epsilon:
        return high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if mixed_loss(middle, K, explore) <= epsilon else (low, middle)
    return low


def least_error(epsilon: float) -> float:
    """Any choice that is epsilon-private in the context that it is made for is wrong this often.

    Two contexts with different best videos: on one of them, the other is shown with a chance of at
    least 1 / (1 + e^epsilon).
    """
    return 1 / (1 + math.exp(epsilon))


def past_reward_loss(epsilon: float, width: float, choices: int) -> float:
    """Exact loss of one past reward in the choices that follow; contexts public, no neighbours.

    Two videos, each shown once; the first's reward is 1 or 0. Then `choices` draws in one cell, all
    later rewards being whatever tells the two cases apart best, the choices included.

    One draw compares means in [0, 1], the first of which moves by 1 / n after n visits. So, with
    a = epsilon / (2 Delta u), a video's log-odds stay in [-a, a] and move by a / n, and its
    log-chance moves most from -a up: at most as from -a to 0, by ln((1 + e^a) / 2). Each choice
    tells that much where the first video is never shown again and the second has rewards of 0.
    """
    a = epsilon / (2 * width)
    return choices * (a + math.log1p(math.exp(-a)) - math.log(2))
