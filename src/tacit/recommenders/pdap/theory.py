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
    return th * depth**2 * math.log(th * T * depth / sigma) / epsilon


def neighbour_exploration(
    m: float, al: float, level: int, log_rounds: float, Gamma: float
) -> float:
    """G2: m^(2 al l) ln t + (Gamma / 4) m^(al l), visits to each neighbour with its reward."""
    return exploration(m, al, level, log_rounds) + Gamma / 4 * float(m ** (al * level))
