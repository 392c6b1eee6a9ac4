"""Everything that is released, at sizes and on branches that are drawn at random.

Bench    a mechanism's own bench has a few pairs of neighbours, chosen by hand. A fault that begins
         at the seventeenth entry, or at an item that nobody rated, passes all of them. Here each
         case has a size drawn from small to large, and settings, values and neighbours drawn too.
Exact    no case is sampled. Noise is replaced by answers given beforehand: both neighbours get the
         same ones, some of them far out in the tails. Then every released array must be the same to
         the last bit, or its support depends on the data; and what moved under the noise, over the
         scales asked for, is the loss. A choice's loss is that of the weights it draws with.
Ratio    of a case: its loss over what is claimed; infinite if something is released without noise.
Not      that OpenDP's samplers draw what they are asked for. Support and tail mass of noise are
         OpenDP's own if the measurement is its Laplace or Gaussian one with the scale asked for,
         and if every answer is handed on as it is. The first is asked of the measurement's own
         privacy map; the second by standing in for it with answers near and far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import error_place
from tacit.auditing.replays import Fit, ReplayComparison, Transcript, compare_replay, record_fit
from tacit.auditing.sampler_spy import Answer, SamplerCall
from tacit.mechanisms import samplers
from tacit.mechanisms.runs import LaplaceBlocks

Generator = np.random.Generator
Case = Callable[[Generator], float]
_ROUNDING = 1e-6
_FAR = 1 << 44

_NEAR = 1e-9
_SCALES_AWAY = (0.0, 1.0, 5.0, 5.9, 6.1, 11.9, 12.1, 40.0, 1e4)


@dataclass(frozen=True)
class Profile:
    """case: draws one case and gives its ratio. cases: how many make an audit."""

    artefact: str
    case: Case
    cases: int


@dataclass(frozen=True)
class Found:
    """worst: the largest ratio. failed: where a case raised an exception, "" if none did."""

    artefact: str
    cases: int
    worst: float
    seconds: float
    seed: int
    failed: str = ""

    @property
    def violation(self) -> bool:
        return bool(self.failed) or not self.worst <= 1 + _ROUNDING


def examine(profile: Profile, *, seed: int, cases: int | None = None) -> Found:
    """Draw cases until one violates the claim, or all were drawn. The seed repeats them."""
    generator, began, worst, failed = np.random.default_rng(seed), time.perf_counter(), 0.0, ""
    drawn = 0
    for _ in range(profile.cases if cases is None else cases):
        drawn += 1
        try:
            worst = max(worst, profile.case(generator))
        except Exception as error:
            failed = error_place(error)
        if failed or worst > 1 + _ROUNDING:
            break
    return Found(profile.artefact, drawn, worst, time.perf_counter() - began, seed, failed)


def whole(generator: Generator, least: int, most: int) -> int:
    """A whole number whose logarithm is uniform: small ones and large ones alike."""
    drawn = math.exp(generator.uniform(math.log(least), math.log(most + 1)))
    return min(max(least, int(drawn)), most)


def number(generator: Generator, least: float, most: float) -> float:
    return math.exp(generator.uniform(math.log(least), math.log(most)))


def far(generator: Generator) -> Answer:
    """Answers that noise may have, among them 13 scales away, and 10^4 of them."""

    def answer(asked: SamplerCall) -> NDArray[np.int64]:
        size = asked.scale * np.exp(generator.uniform(-3, 9, asked.values.shape))
        sign = generator.choice([-1, 1], asked.values.shape)
        noise: NDArray[np.int64] = np.rint(np.minimum(size, _FAR) * sign).astype(np.int64)
        return asked.values + noise

    return answer


def replayed(release: Fit, a: Any, b: Any, noise: Answer | None = None) -> tuple[float, float]:
    """(sum of moves, root of the sum of their squares) in scales; infinite if anything differs."""
    first = record_fit(release, a, noise)
    found = compare_replay(release, first, b)
    if found.differences:
        return math.inf, math.inf
    return _sum(first, found), found.mu


def _sum(first: Transcript, found: ReplayComparison) -> float:
    moved = zip(first.asked, found.steps, strict=True)
    return float(sum(np.abs(step).sum() / asked.scale for asked, step in moved))


Measurement = Callable[[list[int]], list[int]]


@contextmanager
def _standing_in(name: str, measurement: Callable[[float], Measurement]) -> Iterator[None]:
    shipped = getattr(samplers, name)
    setattr(samplers, name, measurement)
    try:
        yield
    finally:
        setattr(samplers, name, shipped)


def laplace_sampler(generator: Generator) -> float:
    scale = number(generator, 1e-2, 1e6)
    stated: Any = samplers._laplace_measurement(scale)
    if not math.isclose(stated.map(1), 1 / scale, rel_tol=_NEAR):
        return math.inf
    return max(
        _handed_on(generator, "_laplace_measurement", scale, samplers.discrete_laplace),
        _handed_on(generator, "_laplace_measurement", scale, _ahead),
    )


def gaussian_sampler(generator: Generator) -> float:
    sigma = number(generator, 0.5, 1e6)
    stated: Any = samplers._gaussian_measurement(sigma)
    if not math.isclose(stated.map(1.0), 0.5 / sigma**2, rel_tol=_NEAR):
        return math.inf
    return _handed_on(generator, "_gaussian_measurement", sigma, samplers.discrete_gaussian)


def _ahead(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """A running mechanism's noise, number by number; added to nothing."""
    ahead = LaplaceBlocks(scale)
    return np.array([ahead.next_noise() for _ in range(values.size)]) + values


def _handed_on(
    generator: Generator,
    name: str,
    scale: float,
    draw: Callable[[NDArray[np.int64], float], NDArray[np.int64]],
) -> float:
    """0 if each answer comes back as it is, infinite if one is cut, rounded, lost or used twice."""
    count = whole(generator, 1, 1_500)
    away = generator.choice(_SCALES_AWAY, count) * scale * generator.choice([-1, 1], count)
    noise = np.rint(away).astype(np.int64) + generator.integers(-3, 4, count)
    left, asked = noise.tolist(), []

    def measurement(given: float) -> Measurement:
        asked.append(given)

        def answer(values: list[int]) -> list[int]:
            given = [left.pop(0) if left else 0 for _ in values]
            return [value + one for value, one in zip(values, given, strict=True)]

        return answer

    values = generator.integers(-1_000, 1_000, count)
    with _standing_in(name, measurement):
        released = draw(values, scale)
    right = set(asked) == {scale} and np.array_equal(released, values + noise)
    return 0.0 if right else math.inf
