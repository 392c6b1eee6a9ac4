"""Planted bugs, of kinds that real libraries and papers have had.

Every function takes `bug`: True for the fault, False for its repair, so that the page shows the bug
and nothing else. Most are simulations: their noise is NumPy's and protects nobody. Others are
shipped classes with one method overridden. Unless said otherwise the claim is epsilon 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.auditing import exact_losses
from tacit.auditing.bugs import EnumeratedBug, GreyBoxBug, MechanismBug, RuleOf, SampledBug
from tacit.auditing.claims import Bug
from tacit.auditing.gaussian import epsilon_of_mu
from tacit.auditing.pairs import Pair
from tacit.auditing.rules import (
    AboveThreshold,
    Branch,
    Composition,
    ExponentialMechanism,
    LaplaceNoise,
    PrivateValue,
    PublicValue,
    RandomizedResponse,
    Rule,
)
from tacit.auditing.sampler_spy import SamplerCall, Tape, draw_as_shipped, intercept_samplers
from tacit.auditing.shipped_mechanisms import gate_pair
from tacit.auditing.shipped_noise import laplace_pair
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import GateRun, ThresholdGate
from tacit.mechanisms.laplace import LaplaceRelease
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.randomness import secure

Many = NDArray[Any]
F = TypeVar("F", bound=Callable[..., Any])

_BUGS: list[Bug] = []
_random = np.random.default_rng()  # simulations only; a real release draws from randomness.secure()


def _plant(made: Callable[..., Bug], name: str, *given: Any, **how: Any) -> Callable[[F], F]:
    """Add the decorated function to the bugs, as one of the class `made`."""

    def plant(function: F) -> F:
        _BUGS.append(made(name, function, *given, **how))
        return function

    return plant


_sampled = partial(_plant, SampledBug)
_on_the_bench = partial(_plant, MechanismBug)
_enumerated = partial(_plant, EnumeratedBug)
_watched = partial(_plant, GreyBoxBug)


def _several(one: Rule, count: int) -> RuleOf:
    """`count` releases for the price of one; the repair makes one."""
    return lambda bug: Composition((one,) * (count if bug else 1))


def _noise(shape: int | tuple[int, ...], scale: float) -> NDArray[np.int64]:
    """Discrete Laplace noise as the difference of two geometric numbers."""
    stop = -math.expm1(-1 / scale)
    return np.asarray(_random.geometric(stop, shape) - _random.geometric(stop, shape))


@_sampled(
    "noise 5 % too small", 1, 0, lambda bug: LaplaceNoise(1, 0.95 if bug else 1), samples=10**6
)
def nearly_all_of_the_noise(count: int, n: int, bug: bool) -> Many:
    """Add noise of 0.95 of the scale that is claimed."""
    return count + _noise(n, 0.95 if bug else 1.0)


@_sampled(
    "Gaussian sigma 10 % too small",
    1.0,
    0.0,
    epsilon=epsilon_of_mu(1.0, 1e-5),
    delta=1e-5,
    samples=200_000,
)
def sigma_10_percent_too_small(value: float, n: int, bug: bool) -> Many:
    """Add noise of 0.9 of the sigma that is claimed."""
    return _random.normal(value, 0.9 if bug else 1.0, n)


@_sampled(
    "sensitivity of add/remove used with replace",
    (1, 0),
    (0, 1),
    lambda bug: LaplaceNoise(2, 1 if bug else 2),
    feature=lambda cells: (cells[:, 0] >= 1) & (cells[:, 1] <= 0),
)
def add_remove_noise_for_replace(cells: tuple[int, int], n: int, bug: bool) -> Many:
    """A person who moves changes two cells: the L1 distance is 2."""
    return np.array(cells) + _noise((n, 2), 1.0 if bug else 2.0)


@_sampled(
    "float Laplace noise, low digits", 0.0, 1.0, feature=lambda y: np.mod(y * 2.0**53, 1) != 0
)
def float_noise(value: float, n: int, bug: bool) -> Many:
    """The low digits of a float sum tell where it came from; a grid has none."""
    step = 2.0**-6
    return value + (_random.laplace(0, 1, n) if bug else step * _noise(n, 1 / step))


@_sampled("same seed for two answers", 1, 0, feature=lambda two: two[:, 0] - two[:, 1])
def one_seed_for_two_answers(count: int, n: int, bug: bool) -> Many:
    """The second answer is about others, and takes the first one's noise away."""
    first = _noise(n, 1.0)
    second = first if bug else _noise(n, 1.0)
    return np.stack([count + first, second], axis=1)


@_sampled(
    "ten retries drawn again",
    1,
    0,
    _several(RandomizedResponse(BitRelease(1.0).truth), 10),
    feature=lambda bits: bits.sum(axis=1),
)
def retries_drawn_again(bit: int, n: int, bug: bool) -> Many:
    """A message sent ten times; the repair sends the same message ten times."""
    drawn = BitRelease(1.0)(np.full((n, 10 if bug else 1), bit), secure())
    return np.broadcast_to(drawn, (n, 10))


@_sampled("k-ary lie may be the truth", 0, 1)
def lie_may_be_the_truth(answer: int, n: int, bug: bool) -> Many:
    """Let a lie be any of the four answers, also the true one."""
    honest = _random.random(n) < math.e / (math.e + 3)
    lie = (answer + _random.integers(0 if bug else 1, 4, n)) % 4
    return np.where(honest, answer, lie)


@_sampled(
    "threshold gate that never stops",
    (0, 2) * 30,
    (1, 1) * 30,
    _several(AboveThreshold(1, 2.0, 4.0), 30),
    feature=lambda y: y[:, 1::2].sum(axis=1) - y[:, ::2].sum(axis=1),
)
def gate_never_stops(counts: tuple[int, ...], n: int, bug: bool) -> Many:
    """Answers go on after the first alarm, for the price of one; released: the whole row."""
    noisy = np.array(counts) + _noise((n, len(counts)), 4.0)
    fires = np.asarray(noisy >= 1 + _noise((n, 1), 2.0))
    return fires if bug else fires & (fires.cumsum(axis=1) == 1)


@_sampled(
    "item listed only if present",
    True,
    False,
    lambda bug: ExponentialMechanism(1, 0.5, candidates_are_public=not bug),
)
def item_listed_only_if_present(present: bool, n: int, bug: bool) -> Many:
    """A sixth candidate, known from one person; the repair lists it for everybody."""
    chosen = np.array([1.0] * 5 + [math.exp(0.5) if present else 1.0])
    if bug and not present:
        chosen[5] = 0.0
    return _random.choice(6, size=n, p=chosen / chosen.sum())


@_sampled("contribution bound missing", 10, 0, lambda bug: LaplaceNoise(10 if bug else 1, 1.0))
def contribution_bound_missing(ratings: int, n: int, bug: bool) -> Many:
    """The noise is made for one rating per person."""
    return (ratings if bug else min(ratings, 1)) + _noise(n, 1.0)


def _noise_of_nan(bug: bool) -> Rule:
    noise = LaplaceNoise(5, 5)
    return Branch(PrivateValue(), PublicValue("NaN"), noise) if bug else noise


@_sampled("NaN survives", math.nan, 5.0, _noise_of_nan)
def nan_survives(rating: float, n: int, bug: bool) -> Many:
    """A clamp lets NaN through; the repair counts it as 0 before the clamp."""
    value = 0.0 if math.isnan(rating) and not bug else rating
    return np.asarray(np.clip(value, 0.0, 5.0) + _noise(n, 5.0))


@_sampled("tails cut", 1, 0, samples=10**6)
def tails_cut(count: int, n: int, bug: bool) -> Many:
    """Cut the noise at six steps: an output beyond them tells the input."""
    noise = _noise(n, 1.0)
    return count + (np.clip(noise, -6, 6) if bug else noise)


_RESPONSE = KaryResponse(1.0, 10_000)
_ANSWERED = RandomizedResponse(_RESPONSE.truth, 10_000)


@_sampled(
    "raw value once in 1,000",
    0,
    1,
    lambda bug: Branch(PublicValue("a die"), PrivateValue(), _ANSWERED) if bug else _ANSWERED,
    samples=10**6,
)
def raw_once_in_a_thousand(answer: int, n: int, bug: bool) -> Many:
    """Return the answer without noise once in a thousand times."""
    drawn = _RESPONSE(np.full(n, answer), secure())
    raw = _random.random(n) < (0.001 if bug else 0.0)
    return np.where(raw, answer, drawn)


@_sampled(
    "k similarities charged as one",
    1,
    0,
    lambda bug: Composition((LaplaceNoise(1, 1 if bug else 5),) * 5),
    feature=lambda y: (y >= 1).sum(axis=1),
)
def similarities_charged_as_one(similarity: int, n: int, bug: bool) -> Many:
    """Five neighbours' similarities, all about the same person, each with its own noise."""
    return similarity + _noise((n, 5), 1.0 if bug else 5.0)


def _variant(kind: Any, bug: bool, **properties: Callable[[Any], Any]) -> Any:
    """Return the shipped class, or if `bug` one with other properties."""
    faulty = {name: property(made) for name, made in properties.items()}
    return type(kind.__name__, (kind,), faulty) if bug else kind


@_on_the_bench("tree counter with log2 T levels")
def tree_with_log_levels(bug: bool) -> Pair:
    """The shipped counter, charged for log2(T) levels where T = 2 steps touch two nodes."""
    counter = _variant(
        TreeCounter, bug, scale=lambda tree: (tree.levels - 1) * tree.bound / tree.epsilon
    )(1.0, horizon=2)
    return laplace_pair("first of two steps", counter, [1, 0], [0, 0], distance=2, share=100)


@_on_the_bench("threshold gate with half the noise on the threshold")
def gate_with_half_the_threshold_noise(bug: bool) -> Pair:
    """The shipped gate; the threshold's noise hides that all counts before the stop moved."""
    gate = _variant(ThresholdGate, bug, threshold_scale=lambda gate: gate.count_scale / 4)(1.0, 1)
    return gate_pair("ten up, the last down", gate, [1] * 10 + [0], [0] * 10 + [1])


class _RunWithoutCountNoise(GateRun):
    def stops_at(self, count: int) -> bool:
        return self.has_stopped or self.compare(int(count), 0)


class _GateWithAnExactStream(ThresholdGate):
    def start(self) -> GateRun:
        return _RunWithoutCountNoise(self)


@_on_the_bench("threshold gate whose stream has no noise on counts")
def gate_with_an_exact_stream(bug: bool) -> Pair:
    """The shipped gate; right in one call, and without noise on counts that come one by one."""
    gate = (_GateWithAnExactStream if bug else ThresholdGate)(1.0, 1)
    return gate_pair("stream", gate, [1, 1, 0], [0, 0, 1], stream=True)


@_on_the_bench("rounding of several numbers left out")
def laplace_without_rounding(bug: bool) -> Pair:
    """Three numbers that hardly change, and each is rounded to the next step."""
    release = _variant(
        LaplaceRelease, bug, _distance=lambda one: one.grid.distance(one.sensitivity)
    )(1.0, 0.3, -8, 8, 1.0, 3)
    return laplace_pair(
        "three round down", release, [0.9] * 3, [1.0] * 3, distance=3, share=1, at_once=True
    )


@_on_the_bench("sampler that draws 0.9 of the scale it is asked for", epsilon=4.0, samples=60_000)
def sampler_of_90_percent(bug: bool) -> Pair:
    """Ask for the right noise of a sampler that draws too little.

    Half of the sensitivity is used up on this pair, so that the loss stays below the claim.
    """
    release = LaplaceRelease(4.0, 2.0, -8, 8, 1.0)
    pair = laplace_pair("one of two steps", release, [1], [0], distance=2, share=1, at_once=True)

    def draw_narrowly(call: SamplerCall) -> NDArray[np.int64]:
        return draw_as_shipped(replace(call, scale=0.9 * call.scale))

    def call_with_narrow_noise(data: NDArray[Any], source: Any) -> ArrayLike:
        with intercept_samplers(draw_narrowly):
            return pair.call(data, source)

    return replace(pair, call=call_with_narrow_noise) if bug else pair


def _keep_chance(bug: bool) -> Fraction:
    return Fraction(193 if bug else 192, 256)


@_enumerated(
    "bit probability off by one",
    ((0, 1),),
    math.log(3),
    lambda bug: RandomizedResponse(_keep_chance(bug)),
)
def bit_off_by_one(bit: int, bug: bool) -> dict[int, Fraction]:
    """`<=` for `<`: one more face of the die keeps the bit. Claimed: ln 3."""
    return {bit: _keep_chance(bug), 1 - bit: 1 - _keep_chance(bug)}


_SCORES = tuple(exact_losses.neighbouring_scores(1, 4))


@_enumerated(
    "selection without the factor 2",
    _SCORES,
    2 * math.log(2),
    lambda bug: ExponentialMechanism(1, math.log(4 if bug else 2)),
)
def selection_without_the_2(scores: tuple[int, ...], bug: bool) -> dict[int, Fraction]:
    """Each score may move, and so does the sum of weights. Claimed: 2 ln 2."""
    weights = [(4 if bug else 2) ** score for score in scores]
    return {place: Fraction(weight, sum(weights)) for place, weight in enumerate(weights)}


@_watched(
    "error text depends on the data",
    (([1.0, 5.0], [2.0, 5.0]), ([1.0, 9.0], [2.0, 9.0]), ([-1.0, 2.0], [-1.0, 3.0])),
)
def error_tells_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    """Name the ratings in the text of an error."""
    if not all(0 <= rating <= 5 for rating in ratings):
        raise ValueError(f"not a rating in {ratings}" if bug else "not a rating from 0 to 5")
    return sum(ratings) + tape.noise(5.0, 1)


@_watched(
    "scale taken from the data",
    (([1.0, 2.0], [1.0, 5.0]), ([1.0, 5.0, 3.0], [1.0, 5.0, 4.0]), ([4.0], [0.0])),
    lambda bug: LaplaceNoise(5, 5, scale_is_public=not bug),
)
def scale_from_the_data(ratings: list[float], tape: Tape, bug: bool) -> object:
    """Take the scale of the noise from the spread of the ratings."""
    scale = max(ratings) - min(ratings) if bug else 5.0
    return sum(ratings) + tape.noise(scale, 1)


BUGS: tuple[Bug, ...] = tuple(_BUGS)
"""Every planted bug with the pair of inputs on which its tool has to find it."""
