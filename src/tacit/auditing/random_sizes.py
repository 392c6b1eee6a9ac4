"""Everything that is released, at sizes and on branches that are drawn at random.

Bench    a mechanism's own bench has a few pairs of neighbours, chosen by hand. A fault that begins
         at the seventeenth entry, or at an item that nobody rated, passes all of them. Here each
         case has a size drawn from small to large, and settings, values and neighbours drawn too.
Exact    no case is sampled. Noise is replaced by answers given beforehand: both neighbours get the
         same ones, some of them far out in the tails. Then every released array must be the same to
         the last bit, or its support depends on the data; and what moved under the noise, over the
         scales asked for, is the loss. A choice's loss is that of the weights it draws with.
Ratio    of a case: its loss over what is claimed; infinite if something is released without noise.
Not      that OpenDP's samplers draw what they are asked for. That the one asked is OpenDP's, with
         the scale asked for, and that nothing is cut from what it answers, `sizes_samplers` checks.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.sampler_spy import Answer, Asked
from tacit.auditing.transcripts import Compared, Fit, Transcript, compared, recorded

Generator = np.random.Generator
Case = Callable[[Generator], float]
_ROUNDING = 1e-6
_FAR = 1 << 44


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
            last = traceback.extract_tb(error.__traceback__)[-1]
            failed = f"{type(error).__name__} in {PurePath(last.filename).name}, {last.lineno}"
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

    def answer(asked: Asked) -> NDArray[np.int64]:
        size = asked.scale * np.exp(generator.uniform(-3, 9, asked.values.shape))
        sign = generator.choice([-1, 1], asked.values.shape)
        noise: NDArray[np.int64] = np.rint(np.minimum(size, _FAR) * sign).astype(np.int64)
        return asked.values + noise

    return answer


def replayed(release: Fit, a: Any, b: Any, noise: Answer | None = None) -> tuple[float, float]:
    """(sum of moves, root of the sum of their squares) in scales; infinite if anything differs."""
    first = recorded(release, a, noise)
    found = compared(release, first, b)
    if found.differences:
        return math.inf, math.inf
    return _sum(first, found), found.mu


def _sum(first: Transcript, found: Compared) -> float:
    moved = zip(first.asked, found.steps, strict=True)
    return float(sum(np.abs(step).sum() / asked.scale for asked, step in moved))
