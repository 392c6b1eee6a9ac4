"""Formulas of X-Map, and exact chances of draws by PNSA: pure functions, without randomness.

Source     the X-Map technical report, Theorems 1 to 4. Its symbols here: Sim, the similarity of a
           candidate; Sim_k, the k-th largest Sim; SS, the sensitivity of one similarity; GS, the
           sensitivity of all similarities; |v|, the number of candidates or of ratings, which the
           report leaves open; w, the width of the cut below Sim_k; epsilon', the nats claimed for
           one list of neighbours. The chances of draws (`chance_of_any`, `chance_of_a_gap`)
           are not in the report.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.zcdp import epsilon_of_rho

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SPREAD = 2.0
"""GS, the global sensitivity: no similarity in [-1, 1] changes by more than 2. No smaller number is
a bound, because a change can be arbitrarily close to 2."""
FLOOR = 1e-6
"""Least value of SS as a divisor: with SS = 0 an exponent would be infinite, with SS below 0 it
would have the wrong sign."""
RHO = 0.1
"""Chance with which PNSA may miss its bound, as in the authors' code."""


def replacement_loss(epsilon: float, candidates: int, change: float = SPREAD) -> float:
    """Exact privacy loss, in nats, of ONE replacement drawn from a fixed list of N candidates.

    It is a + ln[(1 + (N - 1) e^a) / (e^a + N - 1)] with a = epsilon change / (2 GS). This is the
    worst case: the similarity of the drawn candidate rises from -change / 2 to change / 2, and that
    of each other candidate falls from change / 2 to -change / 2.

    Args:
        epsilon: Nats that the paper claims for the replacement.
        candidates: N.
        change: Largest change of a similarity by one person.
    """
    a = epsilon * change / (2 * SPREAD)
    n_others = candidates - 1
    return a + math.log((1 + n_others * math.exp(a)) / (math.exp(a) + n_others))


def concentrated_composition(replacements: int, epsilon: float, delta: float) -> float:
    """Bound of epsilon at delta for n replacements that one person can all change, by zCDP.

    The exponential mechanism has bounded range, so n draws are rho-zCDP with rho = n epsilon^2 / 8.
    This is converted to an epsilon at delta.

    Args:
        replacements: n.
        epsilon: Nats of one replacement.
        delta: Delta of the result.
    """
    return epsilon_of_rho(replacements * epsilon**2 / 8, delta)


def similarity(r_i: Floats, r_j: Floats) -> float:
    """Cosine of two (people,) vectors of centred stars, NaN for unrated; 0 if a norm is 0.

    Each norm is over all raters of its item.
    """
    a = np.nan_to_num(r_i)
    b = np.nan_to_num(r_j)
    norms = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / norms if norms else 0.0


def similarity_sensitivity(r_i: Floats, r_j: Floats) -> float:
    """SS as printed in Theorem 2, which is NOT an upper bound of what one person can change.

    Each person x who rated both items has two terms:

        r_xi r_xj / (|r'_i| |r'_j|)  and  r_i . r_j / (|r'_i| |r'_j|) - r_i . r_j / (|r_i| |r_j|)

    where r' is r without x. SS is the largest term of all people. A person has no terms if |r'_i|
    or |r'_j| is 0. SS is -inf if nobody has terms.

    Args:
        r_i: (people,) centred stars of one item, NaN for unrated.
        r_j: (people,) centred stars of the other item.
    """
    raters_of_both = np.flatnonzero(~(np.isnan(r_i) | np.isnan(r_j)))
    a = np.nan_to_num(r_i)
    b = np.nan_to_num(r_j)
    dot = float(a @ b)
    cosine = similarity(r_i, r_j)
    largest = -math.inf
    for x in raters_of_both:
        norms_without_x = math.sqrt((a @ a - a[x] * a[x]) * (b @ b - b[x] * b[x]))
        if norms_without_x:
            first_term = float(a[x] * b[x]) / norms_without_x
            second_term = dot / norms_without_x - cosine
            largest = max(largest, first_term, second_term)
    return largest


def largest_change(r_i: Floats, r_j: Floats, people: Mask | None = None) -> float:
    """Compute the largest |change| of a similarity when one person is left out.

    Args:
        r_i: (people,) centred stars of one item, NaN for unrated.
        r_j: (people,) centred stars of the other item.
        people: (people,) whether each person may be left out; None if anyone may.
    """
    cosine = similarity(r_i, r_j)
    removable = range(len(r_i)) if people is None else np.flatnonzero(people)
    largest = 0.0
    for x in removable:
        cosine_without_x = similarity(np.delete(r_i, x), np.delete(r_j, x))
        largest = max(largest, abs(cosine - cosine_without_x))
    return largest


def width_before_minimum(
    k: int, sensitivity: float, epsilon: float, length: int, rho: float = RHO
) -> float:
    """Width w of `truncation` before its minimum: 4 k SS / epsilon' ln(k (|v| - k) / rho).

    Args:
        k: Number of neighbours.
        sensitivity: The largest SS of all candidates.
        epsilon: epsilon', the budget of one list of neighbours.
        length: |v|.
        rho: Chance with which PNSA may miss its bound.

    Returns:
        The width; infinity if |v| is at most k, where the logarithm does not exist.
    """
    if length <= k:
        return math.inf
    return 4 * k * sensitivity / epsilon * math.log(k * (length - k) / rho)


def truncation(
    kth: float, k: int, sensitivity: float, epsilon: float, length: int, rho: float = RHO
) -> float:
    """Width w of Theorems 3 and 4: min(Sim_k, (4 k SS / epsilon') ln(k (|v| - k) / rho)).

    Args:
        kth: Sim_k, the k-th largest similarity. If it is below 0, so is w, as printed.
        k: Number of neighbours.
        sensitivity: The largest SS of all candidates.
        epsilon: epsilon', the budget of one list of neighbours.
        length: |v|.
        rho: Chance with which PNSA may miss its bound.
    """
    return min(kth, width_before_minimum(k, sensitivity, epsilon, length, rho))


def kth_largest(similarities: Floats, k: int) -> float:
    """Sim_k: the k-th largest similarity; the smallest one if there are fewer than k."""
    position = len(similarities) - min(k, len(similarities))
    return float(np.partition(similarities, position)[position])


def neighbour_exponents(
    similarities: Floats,
    sensitivities: Floats,
    k: int,
    epsilon: float,
    length: int,
    rho: float = RHO,
) -> Floats:
    """Logarithms of the weights with which PNSA draws: epsilon' max(Sim, Sim_k - w) / (4 k SS).

    Args:
        similarities: (n,) Sim of each candidate.
        sensitivities: (n,) SS of each candidate; smaller ones than FLOOR are taken as FLOOR.
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


# Chances about draws without repetition. Imagine for each candidate a clock that rings after an
# exponential time, at a rate equal to the candidate's weight. The order in which the clocks ring
# has the distribution of candidates drawn one after the other in proportion to their weights. So a
# chance about the first k draws is an integral over the time at which one clock rings.
_TIMES = 4000
"""Number of points of the integral. The integral's error is below the largest step of the
distribution function between two neighbouring points: about 1/200 for one clock, 1/60 for the last
of fifty."""


def chance_of_any(exponents: Floats, marked: Mask, k: int) -> float:
    """Compute the chance that at least one marked candidate is among the k that PNSA draws.

    That is so if the first marked clock rings before k unmarked ones have rung.

    Args:
        exponents: (n,) logarithms of the candidates' weights.
        marked: (n,) whether each candidate is marked.
        k: Number of draws, without repetition.
    """
    if not marked.any():
        return 0.0
    if (~marked).sum() < k:
        return 1.0
    weights = np.exp(exponents - exponents.max())
    rate_of_first = float(weights[marked].sum())  # rate at which the first marked clock rings
    if rate_of_first == 0:
        return 0.0
    times = _times_around(rate_of_first)
    chance_first_rang = -np.expm1(-rate_of_first * times)
    chance_k_others_rang = 1 - _chance_of_fewer(weights[~marked], times, k)
    return 1 - _integrate(chance_k_others_rang, chance_first_rang)


def chance_of_a_gap(exponents: Floats, marked: Mask, k: int) -> float:
    """Compute the chance that not all marked candidates are among the k that PNSA draws.

    All m marked ones are drawn if at most k - m unmarked clocks ring before the last marked clock.

    Args:
        exponents: (n,) logarithms of the candidates' weights.
        marked: (n,) whether each candidate is marked.
        k: Number of draws, without repetition.
    """
    if not marked.any() or len(marked) <= k:
        return 0.0
    if marked.sum() > k:
        return 1.0
    weights = np.exp(exponents - exponents.max())
    smallest_rate = float(weights[marked].min())
    if smallest_rate == 0:
        return 1.0
    times = _times_around(smallest_rate)
    chance_all_marked_rang = np.prod(-np.expm1(-np.outer(weights[marked], times)), axis=0)
    most_others = k - int(marked.sum())
    chance_few_others_rang = _chance_of_fewer(weights[~marked], times, most_others + 1)
    return 1 - _integrate(chance_few_others_rang, chance_all_marked_rang)


def _times_around(rate: float) -> Floats:
    """Choose the points of an integral: (times,), dense where a clock of this rate rings.

    Half of them are quantiles of the time at which the clock rings. The other half are for clocks
    of other rates: they are spaced geometrically, from 1e-9 to 60 mean times of the clock.
    """
    shares = np.linspace(0, 1, _TIMES // 2, endpoint=False)
    quantiles = -np.log1p(-shares)
    geometric = np.geomspace(1e-9, 60, _TIMES // 2)
    return np.unique(np.concatenate([quantiles, geometric])) / rate


def _chance_of_fewer(rates: Floats, times: Floats, count: int) -> Floats:
    """Compute the (times,) chance that fewer than `count` of the clocks have rung by each time.

    Clocks are added one by one. With p the chance that the new clock has rung, the chance P(n) that
    n have rung becomes P(n) (1 - p) + P(n - 1) p.

    Args:
        rates: (clocks,) rate of each clock.
        times: (times,) points in time.
        count: 1 or more.
    """
    chance_of_number = np.zeros((count, len(times)))
    chance_of_number[0] = 1.0
    for rate in rates:
        p = -np.expm1(-rate * times)
        chance_of_number[1:] += (chance_of_number[:-1] - chance_of_number[1:]) * p
        chance_of_number[0] *= 1 - p
    chance_of_fewer: Floats = chance_of_number.sum(axis=0)
    return chance_of_fewer


def _integrate(values: Floats, distribution: Floats) -> float:
    """Compute the mean of values under a distribution, by the trapezoidal rule.

    Args:
        values: (times,) values between 0 and 1.
        distribution: (times,) distribution function at the same times.
    """
    steps = np.diff(distribution, prepend=0.0, append=1.0)
    means = np.concatenate([values[:1], (values[1:] + values[:-1]) / 2, values[-1:]])
    return min(1.0, max(0.0, float(steps @ means)))
