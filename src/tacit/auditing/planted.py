"""Bugs that real libraries and papers have had, planted to see whether the audit finds them.

Every function takes `bug`: True for the fault, False for its repair. Unless said otherwise the
claim is epsilon 1, and the two neighbouring inputs stand in the table at the end.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Hashable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import exact
from tacit.auditing.bugs import Bug, Enumerated, Normal, Sampled, Watched, examine
from tacit.auditing.empirical import itself
from tacit.auditing.greybox import Tape
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.randomness import secure

__all__ = ["BUGS", "examine"]

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


def generator_shared_after_fork(bit: int, n: int, bug: bool) -> Many:
    """Two processes release a bit each. A fork copies memory, so a child's generator is a copy."""
    if bug:
        child = copy.deepcopy(_random)
        flips = [process.random(n) < 1 / (1 + math.e) for process in (_random, child)]
        return np.stack([flips[0] ^ bool(bit), flips[1]], axis=1)
    parent = secure()
    bits = ((bit, parent), (0, copy.deepcopy(parent)))
    return np.stack([BitRelease(1.0)(np.full(n, one), source) for one, source in bits], axis=1)


def half_sigma(value: float, n: int, bug: bool) -> Many:
    return _random.normal(value, 0.5 if bug else 1.0, n)


def sigma_10_percent_too_small(value: float, n: int, bug: bool) -> Many:
    return _random.normal(value, 0.9 if bug else 1.0, n)


def bit_off_by_one(bit: int, bug: bool) -> dict[Hashable, Fraction]:
    """`<=` for `<`: one more face of the die keeps the bit. Claimed: ln 3."""
    return exact.outcomes(lambda dice: bit ^ (dice.below(256) >= (193 if bug else 192)))


def selection_without_the_2(scores: tuple[int, ...], bug: bool) -> dict[Hashable, Fraction]:
    """Each score may move, and so does the sum of weights. Claimed: 2 ln 2."""
    return exact.outcomes(lambda dice: _drawn([(4 if bug else 2) ** s for s in scores], dice))


def always_the_top_item(scores: tuple[int, ...], bug: bool) -> dict[Hashable, Fraction]:
    """A "private" mode that draws nothing. Claimed: 2 ln 2."""
    if bug:
        return exact.outcomes(lambda _: scores.index(max(scores)))
    return selection_without_the_2(scores, False)


def _drawn(weights: list[int], dice: exact.Dice) -> int:
    face = dice.below(sum(weights))
    return next(j for j in range(len(weights)) if face < sum(weights[: j + 1]))


def gate_with_half_the_count_noise(counts: tuple[int, ...], bug: bool) -> dict[Hashable, float]:
    """The counts' noise is that of monotonic counts, and these are not."""
    return exact.gate(counts, 1, 2.0, 2.0 if bug else 4.0)


def error_tells_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    if not all(0 <= rating <= 5 for rating in ratings):
        raise ValueError(f"not a rating in {ratings}" if bug else "not a rating from 0 to 5")
    return sum(ratings) + tape.noise(5.0, 1)


def scale_from_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    scale = max(ratings) - min(ratings) if bug else 5.0
    return sum(ratings) + tape.noise(scale, 1)


def no_noise_on_zero(cells: list[int], tape: Tape, bug: bool) -> object:
    """Empty cells are left out of a table, and with them their noise."""
    return [cell + tape.noise(2.0, 1) for cell in cells if cell or not bug]


_BITS_PAIR = ((0, 1),)
_SCORES = tuple(exact.within(1, 4))
_GATE = (((1,) * 6 + (0,), (0,) * 6 + (1,)),)

BUGS: tuple[Bug, ...] = (
    Sampled("noise 20 % too small", noise_20_percent_too_small, 1, 0),
    Sampled("noise 5 % too small", noise_5_percent_too_small, 1, 0, samples=1_000_000),
    Sampled(
        "sensitivity of add/remove used with replace",
        add_remove_noise_for_replace,
        (1, 0),
        (0, 1),
        features={"moved": lambda cells: (cells[:, 0] >= 1) & (cells[:, 1] <= 0)},
    ),
    Sampled(
        "float Laplace noise, low digits",
        float_noise,
        0.0,
        1.0,
        features={"release": itself, "finer than 2^-53": lambda y: np.mod(y * 2.0**53, 1) != 0},
    ),
    Sampled(
        "same seed for two answers",
        one_seed_for_two_answers,
        1,
        0,
        features={"difference": lambda pair: pair[:, 0] - pair[:, 1]},
    ),
    Sampled(
        "ten retries drawn again",
        retries_drawn_again,
        1,
        0,
        features={"sum": lambda bits: bits.sum(axis=1)},
    ),
    Sampled(
        "local report without memo",
        report_without_memo,
        0,
        1,
        features={"zeros less ones": lambda y: (y == 0).sum(axis=1) - (y == 1).sum(axis=1)},
    ),
    Sampled("k-ary lie may be the truth", lie_may_be_the_truth, 0, 1),
    Enumerated("bit probability off by one", bit_off_by_one, _BITS_PAIR, math.log(3)),
    Sampled("threshold gate without noise on counts", gate_without_count_noise, (0, 1), (1, 0)),
    Enumerated(
        "threshold gate with half the noise on counts", gate_with_half_the_count_noise, _GATE, 1.0
    ),
    Sampled(
        "threshold gate that never stops",
        gate_never_stops,
        (0, 2) * 30,
        (1, 1) * 30,
        features={"odd less even": lambda y: y[:, 1::2].sum(axis=1) - y[:, ::2].sum(axis=1)},
    ),
    Enumerated("selection without the factor 2", selection_without_the_2, _SCORES, 2 * math.log(2)),
    Sampled("item listed only if present", listed_only_if_present, True, False),
    Sampled("clamp missing", clamp_missing, 100.0, 0.0),
    Sampled("contribution bound missing", contribution_bound_missing, 10, 0),
    Sampled("NaN survives", nan_survives, math.nan, 5.0),
    Watched("error text depends on the data", error_tells_the_data, [1.0, 9.0], [2.0, 9.0]),
    Sampled("tails cut", tails_cut, 1, 0, samples=1_000_000),
    Sampled("raw value once in 1,000", raw_once_in_a_thousand, 0, 1, samples=1_000_000),
    Sampled("exact count in a denominator", exact_count_below_the_line, (5.0, 10), (5.0, 11)),
    Normal("Gaussian sigma halved", half_sigma, 1.0, 0.0),
    Normal("Gaussian sigma 10 % too small", sigma_10_percent_too_small, 1.0, 0.0),
    Enumerated(
        "selection that always returns the top", always_the_top_item, _SCORES, 2 * math.log(2)
    ),
    Watched("scale taken from the data", scale_from_the_data, [1.0, 2.0], [1.0, 5.0]),
    Watched("no noise where the count is zero", no_noise_on_zero, [3, 0], [3, 1]),
    Sampled(
        "k similarities charged as one",
        similarities_charged_as_one,
        1,
        0,
        features={"how many": lambda y: (y >= 1).sum(axis=1)},
    ),
    Sampled(
        "generator shared after a fork",
        generator_shared_after_fork,
        1,
        0,
        features={"differ": lambda bits: bits[:, 0] ^ bits[:, 1]},
    ),
    Sampled(
        "tree without a level",
        tree_without_a_level,
        (1, 0),
        (0, 0),
        features={"smaller": lambda totals: totals.min(axis=1)},
    ),
)
"""Every planted bug with the pair of inputs on which its tool has to find it."""
