"""Everything that is released, at sizes and on branches that are drawn at random.

Bench    a mechanism's own bench has a few pairs of neighbours, chosen by hand. A fault that begins
         at the seventeenth entry, or at an item that nobody rated, passes all of them. Here each
         case has a size drawn from small to large, and settings, values and neighbours drawn too.
Exact    no case is sampled. Noise is replaced by answers given beforehand: both neighbours get the
         same ones, some of them far out in the tails. Then every released array must be the same to
         the last bit, or its support depends on the data; and what moved under the noise, over the
         scales asked for, is the loss. A choice's loss is that of the weights it draws with.
Ratio    of a case: its loss over what is claimed; infinite if something is released without noise.
Not      that the sampler draws what it is asked for: tests of `blocks` hold that. Support
         and tail mass of noise are its own if it is asked for its Laplace or Gaussian law with the
         scale asked for, and if every answer is handed on as it is. The first is read from the
         law's table; the second is seen by standing in for it with answers near and far.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.claims import error_place
from tacit.auditing.replays import Fit, ReplayComparison, Transcript, compare_replay, record_fit
from tacit.auditing.sampler_spy import Answer, SamplerCall
from tacit.mechanisms import blocks, samplers
from tacit.mechanisms.blocks import block_table
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
    moved = zip(first.calls, found.steps, strict=True)
    return float(sum(np.abs(step).sum() / call.scale for call, step in moved))


@contextmanager
def _standing_in(add_noise: Callable[..., NDArray[np.int64]]) -> Iterator[None]:
    """Replace the sampler that all noise of the package comes from."""
    shipped = blocks.add_noise
    blocks.add_noise = add_noise
    try:
        yield
    finally:
        blocks.add_noise = shipped


def laplace_sampler(generator: Generator, *, count: int | None = None) -> float:
    scale = number(generator, 1e-2, 1e6)
    if block_table("laplace", scale).rate != 1 / Fraction(scale):
        return math.inf
    return max(
        _handed_on(generator, "laplace", scale, samplers.discrete_laplace, count),
        _handed_on(generator, "laplace", scale, _ahead, None),
    )


def gaussian_sampler(generator: Generator, *, count: int | None = None) -> float:
    sigma = number(generator, 0.5, 1e6)
    if block_table("gaussian", sigma).rate != 1 / (2 * Fraction(sigma) ** 2):
        return math.inf
    return _handed_on(generator, "gaussian", sigma, samplers.discrete_gaussian, count)


def _ahead(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
    """A running mechanism's noise, number by number; added to nothing."""
    ahead = LaplaceBlocks(scale)
    return np.array([ahead.next_noise() for _ in range(values.size)]) + values


def _handed_on(
    generator: Generator,
    kind: str,
    scale: float,
    draw: Callable[[NDArray[np.int64], float], NDArray[np.int64]],
    count: int | None,
) -> float:
    """0 if each answer comes back as it is, infinite if one is cut, rounded, lost or used twice."""
    if count is None:
        count = whole(generator, 1, 1_500)
    away = generator.choice(_SCALES_AWAY, count) * scale * generator.choice([-1, 1], count)
    noise = np.rint(away).astype(np.int64) + generator.integers(-3, 4, count)
    left = list(reversed(noise.tolist()))
    asked = []

    def answer(values: NDArray[np.int64], law: str, given: float) -> NDArray[np.int64]:
        asked.append((law, given))
        draws = [left.pop() if left else 0 for _ in range(values.size)]
        return np.asarray(values + np.array(draws, dtype=np.int64).reshape(values.shape))

    values = generator.integers(-1_000, 1_000, count)
    with _standing_in(answer):
        released = draw(values, scale)
    right = set(asked) == {(kind, scale)} and np.array_equal(released, values + noise)
    return 0.0 if right else math.inf
