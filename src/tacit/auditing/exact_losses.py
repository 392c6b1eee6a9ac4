"""Exact losses of mechanisms whose output distributions are known.

Two distributions with different supports have an infinite loss; a branch on private data without
randomness has one.
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
"""Probabilities of outcomes, or weights."""
Floats = NDArray[np.float64]
T = TypeVar("T")


def exact_loss(p: Chances, q: Chances) -> float:
    """Return max |ln(P / Q)| over all outcomes; infinite if one side lacks one of the other.

    Each side is divided by its own sum, so both may be weights.
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
    return sum((Fraction(chance) for chance in chances.values()), Fraction(0))


def exact_log(ratio: Fraction) -> float:
    """Return the natural logarithm of a positive fraction, exact to a float also near 1."""
    off = float(ratio - 1)
    if abs(off) < 0.5:
        return math.log1p(off)
    return math.log(ratio.numerator) - math.log(ratio.denominator)


def largest_loss(distribution: Callable[[T], Chances], pairs: Iterable[tuple[T, T]]) -> float:
    """Return the largest loss over pairs of neighbouring inputs."""
    return max(exact_loss(distribution(a), distribution(b)) for a, b in pairs)


def neighbouring_scores(
    steps: int, candidates: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield all pairs of score vectors in {0, ..., steps} whose entries differ by at most 1."""
    for a in product(range(steps + 1), repeat=candidates):
        for move in product((-1, 0, 1), repeat=candidates):
            b = tuple(score + up for score, up in zip(a, move, strict=True))
            if a < b and min(b) >= 0 and max(b) <= steps:
                yield a, b


def exponential_loss(epsilon: float, candidates: int, spread: float = 1.0) -> float:
    """Return the loss of the exponential mechanism over all neighbours.

    The worst pair: one candidate at the bottom moves up, all others at the top move down. With
    spread 1, a = epsilon / 2 and N candidates: a + ln[(1 + (N - 1) e^a) / (e^a + N - 1)].

    Args:
        epsilon: The claim, in nats.
        candidates: N, their number.
        spread: Largest distance of two scores, in sensitivities.
    """
    rate = epsilon / 2
    rest = candidates - 1
    step = rate * min(spread, 1.0)
    top = rate * spread
    # Both sides of the fraction are divided by e^top, so that nothing overflows.
    others = (math.exp(-top) + rest) / (math.exp(step - top) + rest * math.exp(-step))
    return step + math.log(others)


def peeling_distribution(weights: Sequence[int], k: int) -> dict[Any, Fraction]:
    """Return the chance of every list of k different candidates, drawn by weight one by one."""
    lists: dict[Any, Fraction] = {}
    for chosen in permutations(range(len(weights)), k):
        left = sum(weights)
        chance = Fraction(1)
        for candidate in chosen:
            chance *= Fraction(weights[candidate], left)
            left -= weights[candidate]
        lists[chosen] = chance
    return lists


def gate_distribution(
    counts: Sequence[int], threshold: int, threshold_scale: float, count_scale: float
) -> dict[Any, float]:
    """Return how likely each number of counts passes AboveThreshold before it stops.

    Summed over the threshold's discrete Laplace noise.
    """
    noise, open_chance = laplace_distribution(threshold_scale)
    stops = []
    for count in counts:
        fires = laplace_tail(threshold + noise - count, count_scale)
        stops.append(float((open_chance * fires).sum()))
        open_chance = open_chance * (1 - fires)
    return dict(enumerate([*stops, float(open_chance.sum())]))


def laplace_distribution(scale: float) -> tuple[Floats, Floats]:
    """Return whole steps and the chance of each under discrete Laplace noise.

    The steps reach out to 60 scales, beyond which less than 1e-25 of the noise is left; no noise
    if the scale is 0.

    Returns:
        Steps and chances, both (2 reach + 1,).
    """
    reach = math.ceil(60 * scale)
    steps = np.arange(-reach, reach + 1, dtype=np.float64)
    if scale == 0:
        return steps, np.ones(1)
    return steps, math.tanh(1 / (2 * scale)) * np.exp(-np.abs(steps) / scale)


def laplace_tail(steps: NDArray[Any], scale: float | Floats) -> Floats:
    """Return P(noise >= each step) of discrete Laplace noise; of none if the only scale is 0.

    With q = e^(-1/scale): q^step / (1 + q) above 0, and 1 - q^(1 - step) / (1 + q) at or below it.

    Args:
        steps: Integers of any shape.
        scale: One scale, or one for each step.

    Returns:
        The shape of `steps`.
    """
    if np.ndim(scale) == 0 and scale == 0:
        return np.asarray(steps <= 0, dtype=np.float64)
    q = np.exp(-1 / np.asarray(scale))
    above = np.exp(-np.maximum(steps, 1) / scale) / (1 + q)
    below = 1 - np.exp((np.minimum(steps, 0) - 1) / scale) / (1 + q)
    return np.asarray(np.where(steps > 0, above, below))
