"""Planted bugs, all of them: those that samples give away, and here those found by other tools.

An exact computation, a look inside, or the shipped code with one method overridden. Every function
takes `bug`: True for the fault, False for its repair. Unless said otherwise the claim is epsilon 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.accounting import concentrated
from tacit.auditing import bench
from tacit.auditing.bench import Pair
from tacit.auditing.bugs import Bug, Contradicted, Described, Enumerated, OnTheBench, Watched
from tacit.auditing.faults import SAMPLED, F, plant
from tacit.auditing.rules import Answered, Branch, Chosen, Noised, Private, Public
from tacit.auditing.sampler_spy import Asked, Tape, as_shipped, tapped
from tacit.auditing.shipped_noise import DELTA, gaussian_pair, laplace_pair, smooth_pair
from tacit.auditing.shipped_streams import gate_pair
from tacit.mechanisms.cosine import SmoothCosineRelease, turns
from tacit.mechanisms.noise import GaussianRelease, LaplaceRelease
from tacit.mechanisms.running import GateRun, ThresholdGate, TreeCounter

_INSIDE: list[Bug] = []
_SCORES = tuple(bench.within(1, 4))


def _enumerated(
    name: str, pairs: tuple[Any, ...], epsilon: float, described: Described | None = None
) -> Callable[[F], F]:
    """distribution(input, bug) of all outcomes, on pairs of inputs."""
    return plant(_INSIDE, Enumerated, name, pairs, epsilon, described=described)


def _on_the_bench(name: str, epsilon: float = 1.0) -> Callable[[F], F]:
    return plant(_INSIDE, OnTheBench, name, epsilon)


def _watched(
    name: str, *pairs: tuple[Any, Any], described: Described | None = None
) -> Callable[[F], F]:
    return plant(_INSIDE, Watched, name, pairs, described=described)


class _TreeWithoutALevel(TreeCounter):
    @property
    def scale(self) -> float:
        return (self.levels - 1) * self.bound / self.epsilon


class _GateWithHalfTheThresholdNoise(ThresholdGate):
    @property
    def threshold_scale(self) -> float:
        return super().threshold_scale / 2


class _GateForMonotonicCounts(ThresholdGate):
    @property
    def count_scale(self) -> float:
        return super().count_scale / 2


class _RunWithoutCountNoise(GateRun):
    def stops_at(self, count: int) -> bool:
        return self.stopped or self._stops_at(int(count), 0)


class _GateWithAnExactStream(ThresholdGate):
    def start(self) -> GateRun:
        return _RunWithoutCountNoise(self)


class _LaplaceWithoutRounding(LaplaceRelease):
    @property
    def _distance(self) -> int:
        return self.grid.distance(self.sensitivity)


class _GaussianWithoutRounding(GaussianRelease):
    @property
    def _distance(self) -> float:
        return self.sensitivity / self.resolution


class _LocalSensitivity(SmoothCosineRelease):
    def rung(self, pair: NDArray[np.int64]) -> int:
        move = min(float(turns(pair, self.bound, 1)[0]), 2.0) * self.halves
        return int(np.searchsorted(self.reaches, math.ceil(move) + 1))


@_on_the_bench("tree counter with log2 T levels")
def tree_with_log_levels(bug: bool) -> Pair:
    """The shipped counter, charged for log2(T) levels where T = 2 steps touch two nodes."""
    counter = (_TreeWithoutALevel if bug else TreeCounter)(1.0, horizon=2)
    return laplace_pair("first of two steps", counter, [1, 0], [0, 0], distance=2, share=100)


@_on_the_bench("threshold gate with half the noise on the threshold")
def gate_with_half_the_threshold_noise(bug: bool) -> Pair:
    """The shipped gate; the threshold's noise hides that all counts before the stop moved."""
    return _gate((_GateWithHalfTheThresholdNoise if bug else ThresholdGate)(1.0, 1))


@_on_the_bench("threshold gate with half the noise on counts")
def gate_with_half_the_count_noise(bug: bool) -> Pair:
    """The shipped gate; the counts' noise is that of monotonic counts, and these are not."""
    return _gate((_GateForMonotonicCounts if bug else ThresholdGate)(1.0, 1))


@_on_the_bench("threshold gate whose stream has no noise on counts")
def gate_with_an_exact_stream(bug: bool) -> Pair:
    """The shipped gate; right in one call, and without noise on counts that come one by one."""
    gate = (_GateWithAnExactStream if bug else ThresholdGate)(1.0, 1)
    return gate_pair("stream", gate, [1, 1, 0], [0, 0, 1], stream=True)


@_on_the_bench("rounding of several numbers left out, Laplace")
def laplace_without_rounding(bug: bool) -> Pair:
    """Three numbers that hardly change, and each is rounded to the next step."""
    release = (_LaplaceWithoutRounding if bug else LaplaceRelease)(1.0, 0.3, -8, 8, 1.0, 3)
    return laplace_pair(
        "three round down", release, [0.9] * 3, [1.0] * 3, distance=3, share=1, at_once=True
    )


@_on_the_bench(
    "rounding of several numbers left out, Gaussian",
    concentrated.epsilon_of_rho(0.5, DELTA),  # what noise of once the sensitivity claims
)
def gaussian_without_rounding(bug: bool) -> Pair:
    release = (_GaussianWithoutRounding if bug else GaussianRelease)(1.0, 0.5, -8, 8, 1.0, 4)
    return gaussian_pair("four round down", release, [0.75] * 4, [1.0] * 4, share=1, at_once=True)


@_on_the_bench("local instead of smooth sensitivity")
def local_for_smooth_sensitivity(bug: bool) -> Pair:
    """The shipped cosine; its noise fits these ratings, and is far less than its neighbours'."""
    release = (_LocalSensitivity if bug else SmoothCosineRelease)(1.0, 1e-6, bound=1, halves=1_000)
    return smooth_pair("two alike, then a third", release, np.ones((2, 2), dtype=np.int64), [1, 1])


@plant(_INSIDE, Contradicted, "sampler that draws 0.9 of the scale it is asked for", epsilon=4.0)
def sampler_of_90_percent(bug: bool) -> Pair:
    """The mechanism asks for the right noise. Half of its sensitivity is used up on this pair, so
    that the loss stays below the claim."""
    release = LaplaceRelease(4.0, 2.0, -8, 8, 1.0)
    pair = laplace_pair("one of two steps", release, [1], [0], distance=2, share=1, at_once=True)
    return replace(pair, call=_with_less_noise(pair.call)) if bug else pair


def _with_less_noise(call: Callable[[NDArray[Any], Any], ArrayLike]) -> Callable[..., ArrayLike]:
    def drawn(asked: Asked) -> NDArray[np.int64]:
        return as_shipped(replace(asked, scale=0.9 * asked.scale))

    def called(data: NDArray[Any], source: Any) -> ArrayLike:
        with tapped(drawn):
            return call(data, source)

    return called


def _gate(gate: ThresholdGate) -> Pair:
    return gate_pair("ten up, the last down", gate, [1] * 10 + [0], [0] * 10 + [1])


@_enumerated(
    "bit probability off by one",
    ((0, 1),),
    math.log(3),
    lambda bug: Answered(Fraction(193 if bug else 192, 256)),
)
def bit_off_by_one(bit: int, bug: bool) -> dict[Hashable, Fraction]:
    """`<=` for `<`: one more face of the die keeps the bit. Claimed: ln 3."""
    kept = Fraction(193 if bug else 192, 256)
    return {bit: kept, 1 - bit: 1 - kept}


@_enumerated(
    "selection without the factor 2",
    _SCORES,
    2 * math.log(2),
    lambda bug: Chosen(1, math.log(4 if bug else 2)),
)
def selection_without_the_2(scores: tuple[int, ...], bug: bool) -> dict[Hashable, Fraction]:
    """Each score may move, and so does the sum of weights. Claimed: 2 ln 2."""
    weights = [(4 if bug else 2) ** score for score in scores]
    return {place: Fraction(weight, sum(weights)) for place, weight in enumerate(weights)}


@_enumerated(
    "selection that always returns the top",
    _SCORES,
    2 * math.log(2),
    lambda bug: Private() if bug else Chosen(1, math.log(2)),
)
def always_the_top_item(scores: tuple[int, ...], bug: bool) -> dict[Hashable, Fraction]:
    """A "private" mode that draws nothing. Claimed: 2 ln 2."""
    if bug:
        return {scores.index(max(scores)): Fraction(1)}
    return selection_without_the_2(scores, False)


@_watched(
    "error text depends on the data",
    ([1.0, 5.0], [2.0, 5.0]),
    ([1.0, 9.0], [2.0, 9.0]),
    ([-1.0, 2.0], [-1.0, 3.0]),
)
def error_tells_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    if not all(0 <= rating <= 5 for rating in ratings):
        raise ValueError(f"not a rating in {ratings}" if bug else "not a rating from 0 to 5")
    return sum(ratings) + tape.noise(5.0, 1)


@_watched(
    "scale taken from the data",
    ([1.0, 2.0], [1.0, 5.0]),
    ([1.0, 5.0, 3.0], [1.0, 5.0, 4.0]),
    ([4.0], [0.0]),
    described=lambda bug: Noised(5, 5, scale_is_public=not bug),
)
def scale_from_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    scale = max(ratings) - min(ratings) if bug else 5.0
    return sum(ratings) + tape.noise(scale, 1)


@_watched(
    "no noise where the count is zero",
    ([3, 0], [3, 1]),
    ([2, 2], [2, 3]),
    ([0, 0], [1, 0]),
    described=lambda bug: Branch(Private(), Noised(1, 2), Public(0)) if bug else Noised(1, 2),
)
def no_noise_on_zero(cells: list[int], tape: Tape, bug: bool) -> object:
    """Empty cells are left out of a table, and with them their noise."""
    return [cell + tape.noise(2.0, 1) for cell in cells if cell or not bug]


BUGS: tuple[Bug, ...] = (*SAMPLED, *_INSIDE)
"""Every planted bug with the pair of inputs on which its tool has to find it."""
