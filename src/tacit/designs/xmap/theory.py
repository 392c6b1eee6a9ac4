"""Closed formulas of X-Map. Pure: no data, no randomness.

Source     the X-Map technical report, Theorems 1 to 4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.zcdp import epsilon_of_rho as epsilon_of

Floats = NDArray[np.float64]

SPREAD = 2.0
"""GS: a similarity in [-1, 1] cannot change by more. Attained in the limit, so there is no less."""
FLOOR = 1e-6
"""Least similarity-based sensitivity: at 0 an exponent is infinite, below 0 its sign is wrong."""
RHO = 0.1
"""Chance with which PNSA may miss its bound, as in the authors' code."""


def replacement_loss(epsilon: float, candidates: int, change: float = SPREAD) -> float:
    """Exact loss of ONE replacement over a fixed list, if similarities move by up to `change`.

    a + ln[(1 + (N - 1) e^a) / (e^a + N - 1)] with a = epsilon change / (2 GS): the image moves up
    and all other candidates down.
    """
    a = epsilon * change / (2 * SPREAD)
    rest = candidates - 1
    return a + math.log((1 + rest * math.exp(a)) / (math.exp(a) + rest))


def concentrated_composition(replacements: int, epsilon: float, delta: float) -> float:
    """Nats of n replacements, all of which one person can move, in zCDP.

    rho = n epsilon^2 / 8, for a choice has a bounded range; then converted.
    """
    return epsilon_of(replacements * epsilon**2 / 8, delta)


def similarity(r_i: Floats, r_j: Floats) -> float:
    """Cosine over all raters of each; NaN = unrated. 0 where a norm is 0."""
    a, b = np.nan_to_num(r_i), np.nan_to_num(r_j)
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norms if norms else 0.0


def similarity_sensitivity(r_i: Floats, r_j: Floats) -> float:
    """SS as printed in Theorem 2: the larger of two maxima over the people x who rated both.

    r_xi r_xj / (|r'_i| |r'_j|)  and  r_i.r_j / (|r'_i| |r'_j|) - r_i.r_j / (|r_i| |r_j|), with x
    left out of a primed norm; a person who leaves a norm of 0 has no terms. -inf where there is no
    such person. NOT an upper bound of what one person can change.
    """
    both = np.flatnonzero(~(np.isnan(r_i) | np.isnan(r_j)))
    a, b = np.nan_to_num(r_i), np.nan_to_num(r_j)
    dot, s = float(a @ b), similarity(r_i, r_j)
    worst = -math.inf
    for x in both:
        norms = math.sqrt((a @ a - a[x] * a[x]) * (b @ b - b[x] * b[x]))
        if norms:
            worst = max(worst, float(a[x] * b[x]) / norms, dot / norms - s)
    return worst


def largest_change(r_i: Floats, r_j: Floats) -> float:
    """What leaving out one person really changes the similarity by, at most."""
    s = similarity(r_i, r_j)
    without = (similarity(np.delete(r_i, x), np.delete(r_j, x)) for x in range(len(r_i)))
    return max((abs(s - other) for other in without), default=0.0)


def truncation(
    kth: float, k: int, sensitivity: float, epsilon: float, candidates: int, rho: float = RHO
) -> float:
    """w of Theorems 3 and 4: min(Sim_k, 4 k SS / epsilon' ln(k (|v| - k) / rho)), not below 0.

    kth: the k-th largest similarity. Where there are no more than k candidates nothing is cut.
    """
    if candidates <= k:
        return max(0.0, kth)
    wide = 4 * k * sensitivity / epsilon * math.log(k * (candidates - k) / rho)
    return max(0.0, min(kth, wide))


def neighbour_exponents(
    similarities: Floats, sensitivities: Floats, k: int, epsilon: float, rho: float = RHO
) -> Floats:
    """(n,) PNSA: epsilon' max(Sim, Sim_k - w) / (4 k SS), what chances are the exponential of.

    sensitivities: (n,) SS, raised to 1e-6.
    """
    sensitivities = np.maximum(sensitivities, FLOOR)
    place = len(similarities) - min(k, len(similarities))
    kth = float(np.partition(similarities, place)[place])
    w = truncation(kth, k, float(sensitivities.max()), epsilon, len(similarities), rho)
    exponents: Floats = epsilon * np.maximum(similarities, kth - w) / (4 * k * sensitivities)
    return exponents
