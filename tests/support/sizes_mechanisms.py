"""Cases of single mechanisms, of random sizes: noise on numbers, choices, answers, streams."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import exact_losses
from tacit.auditing.output_distributions import distribution
from tacit.auditing.rules import AboveThreshold, upper_bound
from tacit.auditing.sampler_spy import laplace_loss, measure_moves
from tacit.auditing.shipped_mechanisms import gate_scales, streaming_counter, streaming_gate
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import ThresholdGate
from tacit.mechanisms.gaussian import GaussianRelease
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.topk import TopSelection
from tacit.randomness import secure
from tests.support.sizes import Generator, far, number, replayed, whole

_WORD = 1 << 53
_EDGES = 8.0
_MOST_WAYS = 200


class _Given:
    """A source that gives these arrays of words, one for each call."""

    is_private = False

    def __init__(self, *calls: NDArray[np.int64]) -> None:
        self._calls = list(calls)

    def words(self, count: int) -> NDArray[np.uint64]:
        given = self._calls.pop(0)
        if len(given) != count:
            raise ValueError("another number of words was asked for")
        return given.astype(np.uint64)


def answers(generator: Generator, *, categories: int | None = None) -> float:
    """The law of every answer of a k-ary response, all true values at once."""
    epsilon = number(generator, 0.01, 12.0)
    if categories is None:
        categories = whole(generator, 2, 120)
    release = KaryResponse(epsilon, categories)
    true, below = np.arange(categories), int(release.truth * _WORD)

    def outcome(shift: int, word: int) -> NDArray[np.int64]:
        return release(true, _Given(np.full(categories, shift), np.full(categories, word)))

    chances = np.zeros((categories, categories))
    for shift in range(categories - 1):
        for first, last in ((0, below - 1), (below, _WORD - 1)):
            found = outcome(shift, first)
            if not np.array_equal(found, outcome(shift, last)):
                return math.inf  # another chance of the truth than the one stated
            chances[true, found] += (last - first + 1) / (categories - 1) / _WORD
    with np.errstate(divide="ignore", invalid="ignore"):
        loss = float(np.nanmax(np.log(chances.max(axis=0) / chances.min(axis=0))))
    return max(loss / epsilon, _one_by_one(generator, release, categories))


def _one_by_one(generator: Generator, release: Any, categories: int) -> float:
    """0 if each of many answers follows from its own value and its own words, else infinite."""
    count = whole(generator, 1, 600)
    true = generator.integers(0, categories, count)
    if generator.random() < 0.3:
        true[:] = true[0]
    words = generator.integers(0, 1 << 62, (2, count))
    used = [*words] if isinstance(release, KaryResponse) else [words[1]]
    together = release(true, _Given(*used))
    alone = [release(true[[n]], _Given(*(row[[n]] for row in used)))[0] for n in range(count)]
    return 0.0 if np.array_equal(together, np.array(alone)) else math.inf


def bits(generator: Generator, *, count: int | None = None) -> float:
    """Each of many bits is kept or flipped by its own word, against the chance stated."""
    epsilon = number(generator, 0.01, 20.0)
    release = BitRelease(epsilon)
    below = int(release.truth * _WORD)
    if count is None:
        count = whole(generator, 1, 600)
    true = generator.integers(0, 2, count)
    kept = generator.integers(0, 2, count).astype(bool)
    near = generator.integers(0, min(below, _WORD - below), count)
    words = np.where(kept, below - 1 - near, below + near)
    if not np.array_equal(release(true, _Given(words)), np.where(kept, true, 1 - true) == 1):
        return math.inf
    loss = math.log(below / (_WORD - below))
    return max(loss / epsilon, _one_by_one(generator, release, 2))


def _neighbours(
    generator: Generator, count: int, changes: int, distance: float, norm: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two vectors `distance` apart in that norm in `changes` entries; some are 0 or a bound."""
    a = generator.uniform(-_EDGES, _EDGES, count)
    a[generator.random(count) < 0.3] = 0.0
    a[generator.random(count) < 0.1] = _EDGES
    moved = generator.choice(count, changes, replace=False)
    step = generator.normal(size=changes)
    b = a.copy()
    b[moved] += step * distance / float(np.linalg.norm(step, norm)) * (1 - 1e-9)
    return a, b


def _sized(generator: Generator, norm: int, count: int | None) -> tuple[dict[str, Any], Any, Any]:
    if count is None:
        count = whole(generator, 1, 2_000)
    changes = whole(generator, 1, min(count, 40))
    sensitivity = number(generator, 0.1, 8.0)
    resolution = 2.0 ** -int(generator.integers(-1, 12))
    a, b = _neighbours(generator, count, changes, sensitivity, norm)
    settings = {"sensitivity": sensitivity, "lower": -_EDGES, "upper": _EDGES}
    return {**settings, "resolution": resolution, "changes": changes}, a, b


def laplace(generator: Generator, *, count: int | None = None) -> float:
    settings, a, b = _sized(generator, 1, count)
    release = LaplaceRelease(number(generator, 0.05, 8.0), **settings)
    loss, _ = replayed(lambda values: {"values": release(values)}, a, b, far(generator))
    return loss / release.epsilon


def gaussian(generator: Generator, *, count: int | None = None) -> float:
    settings, a, b = _sized(generator, 2, count)
    release = GaussianRelease(number(generator, 0.3, 30.0), **settings)
    _, mu = replayed(lambda values: {"values": release(values)}, a, b, far(generator))
    return mu * release.noise_multiplier


def tree(generator: Generator) -> float:
    """Any step of a life, in one call or one by one."""
    horizon, bound = whole(generator, 1, 40), whole(generator, 1, 9)
    counter = TreeCounter(number(generator, 0.1, 8.0), horizon, bound)
    length = horizon if generator.random() < 0.5 else whole(generator, 1, horizon)
    a = generator.integers(0, bound + 1, length).astype(float)
    b = a.copy()
    moved = 0 if generator.random() < 0.5 else int(generator.integers(length))
    a[moved], b[moved] = generator.choice([0, bound, bound], 2, replace=False)
    call = counter if generator.random() < 0.5 else streaming_counter(counter)
    return laplace_loss(measure_moves(call, a, b)) / counter.epsilon


def gate(generator: Generator) -> float:
    """Noise once on the threshold and afresh on each of many counts, in one call or as a stream."""
    stops: Literal["above", "below"] = "above" if generator.random() < 0.5 else "below"
    made = ThresholdGate(
        number(generator, 0.1, 8.0),
        int(generator.integers(-50, 50)),
        whole(generator, 1, 20),
        bool(generator.random() < 0.5),
        stops,
    )
    call = made if generator.random() < 0.5 else streaming_gate(made)
    threshold_scale, count_scale = gate_scales(call, made, whole(generator, 1, 80))
    if not (threshold_scale and count_scale):
        return math.inf
    rule = AboveThreshold(made.sensitivity, threshold_scale, count_scale, made.monotonic)
    return upper_bound(rule) / made.epsilon


def _scores(
    generator: Generator, count: int, monotonic: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two rows of whole scores from 0 to 20, each at most one apart; the same way if monotonic."""
    a = generator.integers(0, 21, count).astype(float)
    step = generator.integers(0 if monotonic else -1, 2, count)
    if generator.random() < 0.5:
        step = np.where(np.arange(count) == generator.integers(count), 1, 0 if monotonic else -1)
    return a, np.clip(a + step, 0, 20)


def selection(generator: Generator, *, count: int | None = None) -> float:
    """The whole weights that are drawn with."""
    monotonic = bool(generator.random() < 0.5)
    if count is None:
        count = whole(generator, 1, 300)
    made = Selection(number(generator, 0.05, 8.0), count, 1, 0, 20, 1, monotonic)
    a, b = _scores(generator, count, monotonic)
    distributions = [distribution(lambda s=scores: int(made(s, secure()))) for scores in (a, b)]  # type: ignore[misc]
    return exact_losses.exact_loss(*distributions) / made.epsilon


def top_selection(generator: Generator) -> float:
    """Lists of several places, whose law has as many ways as there are lists."""
    k = int(generator.integers(1, 4))
    count = int(generator.integers(k, int(_MOST_WAYS ** (1 / k)) + 1)) if k > 1 else 40
    made = TopSelection(k, Selection(number(generator, 0.05, 4.0), count, 1, 0, 20, 1))
    a, b = _scores(generator, count, False)
    distributions = [
        distribution(lambda s=scores: tuple(made(s, secure()).tolist()))  # type: ignore[misc]
        for scores in (a, b)
    ]
    return exact_losses.exact_loss(*distributions) / made.epsilon
