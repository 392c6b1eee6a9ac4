"""Faulty mechanisms that samples give away, each a function with a switch.

Every function takes `bug`: True for the fault, False for its repair. It draws n releases of one
input, with noise for a claim of epsilon 1 unless said otherwise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.forked import in_two_processes
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.randomness import secure

Many = NDArray[Any]

_random = np.random.default_rng()  # simulations only; a real release draws from randomness.secure()


def _noise(shape: int | tuple[int, ...], scale: float) -> NDArray[np.int64]:
    """Discrete Laplace noise as the difference of two geometric numbers."""
    stop = -math.expm1(-1 / scale)
    return np.asarray(_random.geometric(stop, shape) - _random.geometric(stop, shape))


def noise_20_percent_too_small(count: int, n: int, bug: bool) -> Many:
    return count + _noise(n, 0.8 if bug else 1.0)


def noise_5_percent_too_small(count: int, n: int, bug: bool) -> Many:
    return count + _noise(n, 0.95 if bug else 1.0)


def add_remove_noise_for_replace(cells: tuple[int, int], n: int, bug: bool) -> Many:
    """A person who moves changes two cells: the L1 distance is 2."""
    return np.array(cells) + _noise((n, 2), 1.0 if bug else 2.0)


def float_noise(value: float, n: int, bug: bool) -> Many:
    """The low digits of a float sum tell where it came from; a grid has none."""
    step = 2.0**-6
    return value + (_random.laplace(0, 1, n) if bug else step * _noise(n, 1 / step))


def one_seed_for_two_answers(count: int, n: int, bug: bool) -> Many:
    """The second answer is about others, and takes the first one's noise away."""
    first = _noise(n, 1.0)
    second = first if bug else _noise(n, 1.0)
    return np.stack([count + first, second], axis=1)


def retries_drawn_again(bit: int, n: int, bug: bool) -> Many:
    """A message sent ten times; the repair sends the same message ten times."""
    drawn = BitRelease(1.0)(np.full((n, 10 if bug else 1), bit), secure())
    return np.broadcast_to(drawn, (n, 10))


def report_without_memo(answer: int, n: int, bug: bool) -> Many:
    """The same question on ten days; the repair remembers its first answer."""
    drawn = KaryResponse(1.0, 4)(np.full((n, 10 if bug else 1), answer), secure())
    return np.broadcast_to(drawn, (n, 10))


def lie_may_be_the_truth(answer: int, n: int, bug: bool) -> Many:
    honest = _random.random(n) < math.e / (math.e + 3)
    lie = (answer + _random.integers(0 if bug else 1, 4, n)) % 4
    return np.where(honest, answer, lie)


def gate_without_count_noise(counts: tuple[int, ...], n: int, bug: bool) -> Many:
    fires = _gate(counts, n, count_scale=None if bug else 4.0)
    return np.where(fires.any(axis=1), fires.argmax(axis=1), len(counts))


def gate_never_stops(counts: tuple[int, ...], n: int, bug: bool) -> Many:
    """Answers go on after the first alarm, for the price of one; released: the whole row."""
    fires = _gate(counts, n, count_scale=4.0)
    return fires if bug else fires & (fires.cumsum(axis=1) == 1)


def _gate(counts: tuple[int, ...], n: int, count_scale: float | None) -> NDArray[np.bool_]:
    """Whether each count is at or beyond the threshold 1, which has noise of scale 2."""
    noise = 0 if count_scale is None else _noise((n, len(counts)), count_scale)
    return np.asarray(np.array(counts) + noise >= 1 + _noise((n, 1), 2.0))


def listed_only_if_present(present: bool, n: int, bug: bool) -> Many:
    """A sixth candidate, known from one person; the repair lists it for everybody."""
    chosen = np.array([1.0] * 5 + [math.exp(0.5) if present else 1.0])
    if bug and not present:
        chosen[5] = 0.0
    return _random.choice(6, size=n, p=chosen / chosen.sum())


def clamp_missing(rating: float, n: int, bug: bool) -> Many:
    """The noise is made for ratings from 0 to 5."""
    return np.asarray((rating if bug else min(max(rating, 0.0), 5.0)) + _noise(n, 5.0))


def contribution_bound_missing(ratings: int, n: int, bug: bool) -> Many:
    """The noise is made for one rating per person."""
    return (ratings if bug else min(ratings, 1)) + _noise(n, 1.0)


def nan_survives(rating: float, n: int, bug: bool) -> Many:
    """A clamp lets NaN through; the repair counts it as 0 before the clamp."""
    value = 0.0 if math.isnan(rating) and not bug else rating
    return np.asarray(np.clip(value, 0.0, 5.0) + _noise(n, 5.0))


def tails_cut(count: int, n: int, bug: bool) -> Many:
    noise = _noise(n, 1.0)
    return count + (np.clip(noise, -6, 6) if bug else noise)


def raw_once_in_a_thousand(answer: int, n: int, bug: bool) -> Many:
    drawn = KaryResponse(1.0, 10_000)(np.full(n, answer), secure())
    raw = _random.random(n) < (0.001 if bug else 0.0)
    return np.where(raw, answer, drawn)


def exact_count_below_the_line(ratings: tuple[float, int], n: int, bug: bool) -> Many:
    """A mean of ratings from 0 to 1; the repair spends half of epsilon on the count."""
    total, count = ratings
    if bug:
        return np.asarray((total + _noise(n, 1.0)) / count)
    return np.asarray((total + _noise(n, 2.0)) / np.maximum(count + _noise(n, 2.0), 1))


def similarities_charged_as_one(similarity: int, n: int, bug: bool) -> Many:
    """Five neighbours' similarities, all about the same person, each with its own noise."""
    return similarity + _noise((n, 5), 1.0 if bug else 5.0)


def tree_without_a_level(steps: tuple[int, int], n: int, bug: bool) -> Many:
    """log2(2) = 1 level is charged; two nodes hold the first step."""
    return np.cumsum(steps) + _noise((n, 2), 1.0 if bug else 2.0)


def noisy_max_without_the_2(scores: tuple[float, ...], n: int, bug: bool) -> Many:
    """Exponential noise on every score, the largest wins; scores may move apart."""
    noise = _random.exponential(1.0 if bug else 2.0, (n, len(scores)))
    return np.asarray((np.array(scores) + noise).argmax(axis=1))


def generator_shared_after_fork(bit: int, n: int, bug: bool) -> Many:
    """Two processes release a bit each. A fork copies memory, and a generator is memory."""

    def released(one: int) -> Many:
        if bug:
            return (_random.random(n) < 1 / (1 + math.e)) ^ bool(one)
        return BitRelease(1.0)(np.full(n, one), secure())

    return np.stack(in_two_processes(lambda: released(bit), lambda: released(0)), axis=1)


def half_sigma(value: float, n: int, bug: bool) -> Many:
    return _random.normal(value, 0.5 if bug else 1.0, n)


def sigma_10_percent_too_small(value: float, n: int, bug: bool) -> Many:
    return _random.normal(value, 0.9 if bug else 1.0, n)
