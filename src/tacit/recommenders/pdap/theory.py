"""Closed formulas of the paper, and of what becomes of its claims. Pure: no data, no randomness.

Notation   T rounds, K videos of a vendor, M vendors, d features, m slices of a side at a split,
           l level of a cell, al and L of the Hölder condition, cells split at A m^(p l) contexts.
           Logarithms are natural except the depth of a tree.
Source     Zhou, Zhou, Wu, Jin: Differentially private online learning for cloud-based video
           recommendation with multimedia big data in social networks (2015), numbered as there.
"""

from __future__ import annotations

import math


def exploration(m: float, al: float, level: int, log_rounds: float) -> float:
    """m^(2 al l) ln T: G1 with ln T, what G3 is meant to be with ln t. Visits to each video."""
    return float(m ** (2 * al * level)) * log_rounds


def training(m: float, al: float, level: int, log_rounds: float, K: int) -> float:
    """G3 as printed: the K-th part, though each of a neighbour's K videos has to be learned."""
    return exploration(m, al, level, log_rounds) / K


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
    """
    scales = {
        "tree": levels(T),
        "theorem 5": (M - 1) * levels(T),
        "lemma 5": (M - 1) * math.log2(T),
        "text": K * math.log2(T),
        "line 9": 1,
    }
    return scales[reading] / epsilon


def tree_loss(T: int, scale: float) -> float:
    """Exact loss of one reward in a tree over T of them with Laplace noise of `scale` per node."""
    return levels(T) / scale
