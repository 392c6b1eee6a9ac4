"""Output distributions of mechanisms by formulas, and the exact losses between two distributions.

The loss is infinite if an outcome is possible under one input only, as after a branch on private
data without randomness.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import permutations, product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Chance = int | float | Fraction
Chances = Mapping[Any, Chance]
"""The probability of each outcome, or weights to which the probabilities are proportional."""
Floats = NDArray[np.float64]
T = TypeVar("T")


def exact_loss(p: Chances, q: Chances) -> float:
    """Return max |ln(P / Q)| over all outcomes; infinite if only P or only Q is 0 for some outcome.

    P and Q are `p` and `q`, each divided by its sum, so both may be weights.
    """
    sum_p = _exact_sum(p)
    sum_q = _exact_sum(q)
    largest = 0.0
    for outcome in {*p, *q}:
        chance_p = Fraction(p.get(outcome, 0)) / sum_p
        chance_q = Fraction(q.get(outcome, 0)) / sum_q
        if chance_p == chance_q:
            continue
        if chance_p == 0 or chance_q == 0:
            return math.inf
        largest = max(largest, abs(exact_log(chance_p / chance_q)))
    return largest


def _exact_sum(chances: Chances) -> Fraction:
    """Return the exact sum of probabilities or weights."""
    return sum((Fraction(chance) for chance in chances.values()), Fraction(0))


def exact_log(ratio: Fraction) -> float:
    """Return the natural logarithm of a positive fraction, accurate also if it is near 1."""
    excess = float(ratio - 1)
    if abs(excess) < 0.5:
        return math.log1p(excess)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def largest_loss(distribution: Callable[[T], Chances], pairs: Iterable[tuple[T, T]]) -> float:
    """Return the largest loss over pairs of neighbouring inputs.

    Args:
        distribution: Returns the output distribution of an input.
        pairs: The pairs; at least one.
    """
    return max(exact_loss(distribution(a), distribution(b)) for a, b in pairs)


def neighbouring_scores(
    steps: int, candidates: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield each unordered pair of different score vectors whose entries differ by at most 1.

    Args:
        steps: Scores are whole numbers from 0 to `steps`.
        candidates: Number of scores in a vector.
    """
    for a in product(range(steps + 1), repeat=candidates):
        for move in product((-1, 0, 1), repeat=candidates):
            b = tuple(score + change for score, change in zip(a, move, strict=True))
            if a < b and min(b) >= 0 and max(b) <= steps:
                yield a, b


def exponential_loss(epsilon: float, candidates: int, spread: float = 1.0) -> float:
    """Return the largest loss of the exponential mechanism over all neighbouring inputs.

    In the worst pair, one candidate with the lowest score moves up by one sensitivity (by `spread`
    if that is less), and all others, with the highest score, move down by as much. With spread 1,
    a = epsilon / 2 and N candidates, the loss is a + ln[(1 + (N - 1) e^a) / (e^a + N - 1)].

    Args:
        epsilon: The claim, in nats.
        candidates: N, the number of candidates.
        spread: Largest difference of two scores, in sensitivities.
    """
    rate = epsilon / 2
    others = candidates - 1
    change = rate * min(spread, 1.0)
    highest = rate * spread
    # The loss is change + ln(sum of weights before / sum of weights after). Both sums are divided
    # by e^highest, so that nothing overflows.
    sum_before = math.exp(-highest) + others
    sum_after = math.exp(change - highest) + others * math.exp(-change)
    return change + math.log(sum_before / sum_after)


def peeling_distribution(weights: Sequence[int], k: int) -> dict[Any, Fraction]:
    """Return the chance of each list of k candidates, drawn by weight without repetition.

    Args:
        weights: Weight of each candidate; at least k of them are above 0.
        k: Length of a list.
    """
    lists: dict[Any, Fraction] = {}
    for candidates in permutations(range(len(weights)), k):
        remaining_weight = sum(weights)
        chance = Fraction(1)
        for candidate in candidates:
            chance *= Fraction(weights[candidate], remaining_weight)
            remaining_weight -= weights[candidate]
        lists[candidates] = chance
    return lists


def gate_distribution(
    counts: Sequence[int], threshold: int, threshold_scale: float, count_scale: float
) -> dict[Any, float]:
    """Return the chance of each number of counts that AboveThreshold passes before it stops.

    The chances are summed over the discrete Laplace noise on the threshold.

    Args:
        counts: The exact counts, in order.
        threshold: The exact threshold.
        threshold_scale: Scale of the noise on the threshold, in steps.
        count_scale: Scale of the noise on each count, in steps.

    Returns:
        Chances of 0, 1, ... passed counts; the last one, of all counts passed, is the chance that
        the mechanism never stops.
    """
    noise, chance_open = laplace_distribution(threshold_scale)
    stop_chances = []
    for count in counts:
        chance_of_stop = laplace_tail(threshold + noise - count, count_scale)
        stop_chances.append(float((chance_open * chance_of_stop).sum()))
        chance_open = chance_open * (1 - chance_of_stop)
    return dict(enumerate([*stop_chances, float(chance_open.sum())]))


def laplace_distribution(scale: float) -> tuple[Floats, Floats]:
    """Return the distribution of discrete Laplace noise, from -60 to 60 scales.

    Beyond that the chance is below 1e-25. If the scale is 0, the noise is 0.

    Returns:
        The whole steps and the chance of each, both (2 ceil(60 scale) + 1,).
    """
    reach = math.ceil(60 * scale)
    steps = np.arange(-reach, reach + 1, dtype=np.float64)
    if scale == 0:
        return steps, np.ones(1)
    return steps, math.tanh(1 / (2 * scale)) * np.exp(-np.abs(steps) / scale)


def laplace_tail(steps: NDArray[Any], scale: float | Floats) -> Floats:
    """Return P(noise >= step) for discrete Laplace noise.

    With q = e^(-1/scale), it is q^step / (1 + q) for a step above 0, and 1 - q^(1 - step) / (1 + q)
    for others.

    Args:
        steps: Integers of any shape.
        scale: One scale, which may be 0 for no noise; or one above 0 for each step.

    Returns:
        A chance for each step; shape of `steps`.
    """
    if np.ndim(scale) == 0 and scale == 0:
        return np.asarray(steps <= 0, dtype=np.float64)
    q = np.exp(-1 / np.asarray(scale))
    chance_if_positive = np.exp(-np.maximum(steps, 1) / scale) / (1 + q)
    chance_if_not = 1 - np.exp((np.minimum(steps, 0) - 1) / scale) / (1 + q)
    return np.asarray(np.where(steps > 0, chance_if_positive, chance_if_not))
