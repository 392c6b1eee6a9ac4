"""Closed formulas of X-Map. Pure: no data, no randomness.

Source     the X-Map technical report, Theorems 1 to 4.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.zcdp import epsilon_of_rho as epsilon_of

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

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


def largest_change(r_i: Floats, r_j: Floats, people: Mask | None = None) -> float:
    """Compute the most by which leaving out one person really changes the similarity.

    Args:
        r_i: (people,) centred stars of one item, NaN = unrated.
        r_j: (people,) of the other.
        people: (people,) who may be left out; None: anyone.
    """
    s = similarity(r_i, r_j)
    places = range(len(r_i)) if people is None else np.flatnonzero(people)
    without = [similarity(np.delete(r_i, x), np.delete(r_j, x)) for x in places]
    return max((abs(s - other) for other in without), default=0.0)


def uncut_truncation(
    k: int, sensitivity: float, epsilon: float, length: int, rho: float = RHO
) -> float:
    """Second operand of the minimum in w: 4 k SS / epsilon' ln(k (|v| - k) / rho).

    Args:
        k: Number of neighbours.
        sensitivity: SS, the largest over all candidates.
        epsilon: epsilon', the budget of one list of neighbours.
        length: |v|.
        rho: Chance with which PNSA may miss its bound.

    Returns:
        The operand; infinity where |v| is at most k and the logarithm does not exist.
    """
    if length <= k:
        return math.inf
    return 4 * k * sensitivity / epsilon * math.log(k * (length - k) / rho)


def truncation(
    kth: float, k: int, sensitivity: float, epsilon: float, length: int, rho: float = RHO
) -> float:
    """Width w of Theorems 3 and 4: min(Sim_k, 4 k SS / epsilon' ln(k (|v| - k) / rho)).

    Args:
        kth: Sim_k, the k-th largest similarity. Where it is below 0, w is Sim_k, as printed.
        k: Number of neighbours.
        sensitivity: SS, the largest over all candidates.
        epsilon: epsilon', the budget of one list of neighbours.
        length: |v|.
        rho: Chance with which PNSA may miss its bound.
    """
    return min(kth, uncut_truncation(k, sensitivity, epsilon, length, rho))


def kth_largest(similarities: Floats, k: int) -> float:
    """Sim_k: the k-th largest similarity, or the least of fewer than k."""
    place = len(similarities) - min(k, len(similarities))
    return float(np.partition(similarities, place)[place])


def neighbour_exponents(
    similarities: Floats,
    sensitivities: Floats,
    k: int,
    epsilon: float,
    length: int,
    rho: float = RHO,
) -> Floats:
    """PNSA: epsilon' max(Sim, Sim_k - w) / (4 k SS), the logarithm of a candidate's weight.

    Args:
        similarities: (n,) Sim of each candidate.
        sensitivities: (n,) SS of each candidate; raised to 1e-6.
        k: Number of neighbours.
        epsilon: epsilon', the budget of one list of neighbours.
        length: |v| of w.
        rho: Chance with which PNSA may miss its bound.

    Returns:
        (n,) exponents.
    """
    sensitivities = np.maximum(sensitivities, FLOOR)
    kth = kth_largest(similarities, k)
    w = truncation(kth, k, float(sensitivities.max()), epsilon, length, rho)
    exponents: Floats = epsilon * np.maximum(similarities, kth - w) / (4 * k * sensitivities)
    return exponents


# Neighbours that are drawn one after the other, in proportion to weights and without repetition,
# come in the order in which independent exponential clocks of these rates ring. So a chance about
# the first k of them is an integral over the time at which one clock rings.
_TIMES = 4000
"""Points of the integral: its error is below the largest step of the distribution, some 1/200."""


def chance_of_any(exponents: Floats, marked: Mask, k: int) -> float:
    """Compute the chance that any marked candidate is among k drawn by PNSA.

    Args:
        exponents: (n,) logarithms of the candidates' weights.
        marked: (n,) the candidates in question.
        k: How many are drawn, without repetition.
    """
    if not marked.any():
        return 0.0
    if (~marked).sum() < k:
        return 1.0
    weights = np.exp(exponents - exponents.max())
    first = float(weights[marked].sum())
    if first == 0:
        return 0.0
    times = _times_around(first)
    rung = -np.expm1(-first * times)  # the first marked clock rings by then
    enough = 1 - _chance_of_fewer(weights[~marked], times, k)
    return 1 - _integrate(enough, rung)


def chance_of_a_gap(exponents: Floats, marked: Mask, k: int) -> float:
    """Compute the chance that not all marked candidates are among k drawn by PNSA.

    Args:
        exponents: (n,) logarithms of the candidates' weights.
        marked: (n,) the candidates in question.
        k: How many are drawn, without repetition.
    """
    if not marked.any() or len(marked) <= k:
        return 0.0
    if marked.sum() > k:
        return 1.0
    weights = np.exp(exponents - exponents.max())
    slowest = float(weights[marked].min())
    if slowest == 0:
        return 1.0
    times = _times_around(slowest)
    rung = np.prod(-np.expm1(-np.outer(weights[marked], times)), axis=0)  # all marked, by then
    others = k - int(marked.sum())
    return 1 - _integrate(_chance_of_fewer(weights[~marked], times, others + 1), rung)


def _times_around(rate: float) -> Floats:
    """Choose (times,) at which to integrate, close together where a clock of this rate rings."""
    shares = np.linspace(0, 1, _TIMES // 2, endpoint=False)
    times = np.concatenate([-np.log1p(-shares), np.geomspace(1e-9, 60, _TIMES // 2)])
    return np.unique(times) / rate


def _chance_of_fewer(rates: Floats, times: Floats, count: int) -> Floats:
    """(times,) chance that fewer than `count` of the clocks ring by each time."""
    exactly = np.zeros((count, len(times)))
    exactly[0] = 1.0
    for rate in rates:
        ringing = -np.expm1(-rate * times)
        exactly[1:] += (exactly[:-1] - exactly[1:]) * ringing
        exactly[0] *= 1 - ringing
    fewer: Floats = exactly.sum(axis=0)
    return fewer


def _integrate(values: Floats, distribution: Floats) -> float:
    """Integrate values over a distribution function, both at the same times, by trapezoids."""
    steps = np.diff(distribution, prepend=0.0, append=1.0)
    means = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
    return min(1.0, max(0.0, float(steps @ means)))
