"""Planted bugs, of kinds that real libraries and papers have had.

Each decorated function is a bug. It takes `planted`: True for the faulty code, False for the
correct code. Most bugs are in simulations, whose noise is NumPy's and protects nobody; others are
in shipped mechanisms, with one method or property overridden or with a faulty sampler. The claim
is epsilon 1, unless another is stated.
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

Releases = NDArray[Any]
"""n releases, one in each entry or row."""
F = TypeVar("F", bound=Callable[..., Any])

_BUGS: list[Bug] = []
"""The bugs that `_register` has added so far."""
_random = np.random.default_rng()
"""Randomness of the simulations; a real release draws from `randomness.secure()`."""


def _register(
    bug_class: Callable[..., Bug], name: str, *arguments: Any, **options: Any
) -> Callable[[F], F]:
    """Return a decorator that adds its function to the bugs.

    Args:
        bug_class: Called with the name, the function and the further arguments.
        name: The bug in a few words.
        *arguments: Further arguments of the class.
        **options: Further keyword arguments of the class.
    """

    def add_bug(function: F) -> F:
        _BUGS.append(bug_class(name, function, *arguments, **options))
        return function

    return add_bug


_sampled_bug = partial(_register, SampledBug)
_mechanism_bug = partial(_register, MechanismBug)
_enumerated_bug = partial(_register, EnumeratedBug)
_grey_box_bug = partial(_register, GreyBoxBug)


def _repeated_if_faulty(rule: Rule, count: int) -> RuleOf:
    """Return the rules of code that makes `count` releases if it is faulty, and one if not."""
    return lambda planted: Composition((rule,) * (count if planted else 1))


def _noise(shape: int | tuple[int, ...], scale: float) -> NDArray[np.int64]:
    """Draw discrete Laplace noise, as the difference of two geometric numbers."""
    success_chance = -math.expm1(-1 / scale)
    first = _random.geometric(success_chance, shape)
    return np.asarray(first - _random.geometric(success_chance, shape))


@_sampled_bug(
    "noise 5 % too small",
    1,
    0,
    lambda planted: LaplaceNoise(1, 0.95 if planted else 1),
    samples=10**6,
)
def nearly_all_of_the_noise(count: int, n: int, planted: bool) -> Releases:
    """Add noise with 0.95 times the claimed scale."""
    return count + _noise(n, 0.95 if planted else 1.0)


@_sampled_bug(
    "Gaussian sigma 10 % too small",
    1.0,
    0.0,
    epsilon=epsilon_of_mu(1.0, 1e-5),
    delta=1e-5,
    samples=200_000,
)
def sigma_10_percent_too_small(value: float, n: int, planted: bool) -> Releases:
    """Add noise with 0.9 times the claimed sigma."""
    return _random.normal(value, 0.9 if planted else 1.0, n)


@_sampled_bug(
    "sensitivity of add/remove used with replace",
    (1, 0),
    (0, 1),
    lambda planted: LaplaceNoise(2, 1 if planted else 2),
    feature=lambda cells: (cells[:, 0] >= 1) & (cells[:, 1] <= 0),
)
def add_remove_noise_for_replace(cells: tuple[int, int], n: int, planted: bool) -> Releases:
    """Add noise for an L1 distance of 1, though a person who moves changes two cells."""
    return np.array(cells) + _noise((n, 2), 1.0 if planted else 2.0)


@_sampled_bug(
    "float Laplace noise, low digits", 0.0, 1.0, feature=lambda y: np.mod(y * 2.0**53, 1) != 0
)
def float_noise(value: float, n: int, planted: bool) -> Releases:
    """Add noise in floats, whose low digits reveal the value; correct code adds it on a grid."""
    if planted:
        return np.asarray(value + _random.laplace(0, 1, n))
    step = 2.0**-6
    return np.asarray(value + step * _noise(n, 1 / step))


@_sampled_bug("same seed for two answers", 1, 0, feature=lambda pairs: pairs[:, 0] - pairs[:, 1])
def one_seed_for_two_answers(count: int, n: int, planted: bool) -> Releases:
    """Add the same noise to a count and to a second answer.

    The second answer is a count of other people, here 0. The difference of the two answers has no
    noise.
    """
    first_noise = _noise(n, 1.0)
    second_noise = first_noise if planted else _noise(n, 1.0)
    return np.stack([count + first_noise, second_noise], axis=1)


@_sampled_bug(
    "ten retries drawn again",
    1,
    0,
    _repeated_if_faulty(RandomizedResponse(BitRelease(1.0).truth), 10),
    feature=lambda bits: bits.sum(axis=1),
)
def retries_drawn_again(bit: int, n: int, planted: bool) -> Releases:
    """Send ten messages, each drawn anew; correct code sends one message ten times."""
    messages = BitRelease(1.0)(np.full((n, 10 if planted else 1), bit), secure())
    return np.broadcast_to(messages, (n, 10))


@_sampled_bug("k-ary lie may be the truth", 0, 1)
def lie_may_be_the_truth(answer: int, n: int, planted: bool) -> Releases:
    """Draw a lie from all four answers, the true one included; correct code draws from three."""
    honest = _random.random(n) < math.e / (math.e + 3)
    lie = (answer + _random.integers(0 if planted else 1, 4, n)) % 4
    return np.where(honest, answer, lie)


@_sampled_bug(
    "threshold gate that never stops",
    (0, 2) * 30,
    (1, 1) * 30,
    _repeated_if_faulty(AboveThreshold(1, 2.0, 4.0), 30),
    feature=lambda rows: rows[:, 1::2].sum(axis=1) - rows[:, ::2].sum(axis=1),
)
def gate_never_stops(counts: tuple[int, ...], n: int, planted: bool) -> Releases:
    """Say for every count whether it reaches the threshold; correct code stops once one does."""
    noisy_counts = np.array(counts) + _noise((n, len(counts)), 4.0)
    noisy_threshold = 1 + _noise((n, 1), 2.0)
    reaches = np.asarray(noisy_counts >= noisy_threshold)
    is_first = reaches.cumsum(axis=1) == 1
    return reaches if planted else reaches & is_first


@_sampled_bug(
    "item listed only if present",
    True,
    False,
    lambda planted: ExponentialMechanism(1, 0.5, candidates_are_public=not planted),
)
def item_listed_only_if_present(present: bool, n: int, planted: bool) -> Releases:
    """Leave out the sixth candidate unless a person has it; correct code always lists it."""
    weights = np.array([1.0] * 5 + [math.exp(0.5) if present else 1.0])
    if planted and not present:
        weights[5] = 0.0
    return _random.choice(6, size=n, p=weights / weights.sum())


@_sampled_bug(
    "contribution bound missing", 10, 0, lambda planted: LaplaceNoise(10 if planted else 1, 1.0)
)
def contribution_bound_missing(ratings: int, n: int, planted: bool) -> Releases:
    """Count all ratings of a person, with noise for one; correct code counts at most one."""
    return (ratings if planted else min(ratings, 1)) + _noise(n, 1.0)


def _rule_of_nan(planted: bool) -> Rule:
    """Return the rule of `nan_survives`: NaN is released if the value is NaN."""
    noise = LaplaceNoise(5, 5)
    return Branch(PrivateValue(), PublicValue("NaN"), noise) if planted else noise


@_sampled_bug("NaN survives", math.nan, 5.0, _rule_of_nan)
def nan_survives(rating: float, n: int, planted: bool) -> Releases:
    """Clamp a rating, which leaves NaN as it is; correct code first replaces NaN by 0."""
    value = 0.0 if math.isnan(rating) and not planted else rating
    return np.asarray(np.clip(value, 0.0, 5.0) + _noise(n, 5.0))


@_sampled_bug("tails cut", 1, 0, samples=10**6)
def tails_cut(count: int, n: int, planted: bool) -> Releases:
    """Clip the noise to 6 steps from 0, so that some outputs are possible for one input only."""
    noise = _noise(n, 1.0)
    return count + (np.clip(noise, -6, 6) if planted else noise)


_RESPONSE = KaryResponse(1.0, 10_000)
"""The randomized response of `raw_once_in_a_thousand`, with epsilon 1 and 10,000 answers."""
_RESPONSE_RULE = RandomizedResponse(_RESPONSE.truth, 10_000)
"""The rule of this response."""


def _rule_of_raw_value(planted: bool) -> Rule:
    """Return the rule of `raw_once_in_a_thousand`: a die decides whether the value is raw."""
    if planted:
        return Branch(PublicValue("a die"), PrivateValue(), _RESPONSE_RULE)
    return _RESPONSE_RULE


@_sampled_bug(
    "raw value once in 1,000",
    0,
    1,
    _rule_of_raw_value,
    samples=10**6,
)
def raw_once_in_a_thousand(answer: int, n: int, planted: bool) -> Releases:
    """Return the true answer once in a thousand times, instead of a randomized response."""
    responses = _RESPONSE(np.full(n, answer), secure())
    is_raw = _random.random(n) < (0.001 if planted else 0.0)
    return np.where(is_raw, answer, responses)


@_sampled_bug(
    "k similarities charged as one",
    1,
    0,
    lambda planted: Composition((LaplaceNoise(1, 1 if planted else 5),) * 5),
    feature=lambda rows: (rows >= 1).sum(axis=1),
)
def similarities_charged_as_one(similarity: int, n: int, planted: bool) -> Releases:
    """Release a person's similarities to five neighbours, each with noise for only one release."""
    return similarity + _noise((n, 5), 1.0 if planted else 5.0)


def _replace_properties(shipped: Any, planted: bool, **getters: Callable[[Any], Any]) -> Any:
    """Return the shipped class; if `planted`, a subclass of it with other properties."""
    if not planted:
        return shipped
    properties = {name: property(getter) for name, getter in getters.items()}
    return type(shipped.__name__, (shipped,), properties)


@_mechanism_bug("tree counter with log2 T levels")
def tree_with_log_levels(planted: bool) -> Pair:
    """Use the shipped counter with noise for log2(T) levels of nodes, which is one too few."""
    counter_class = _replace_properties(
        TreeCounter, planted, scale=lambda tree: (tree.levels - 1) * tree.bound / tree.epsilon
    )
    counter = counter_class(1.0, horizon=2)
    return laplace_pair(
        "first of two steps", counter, [1, 0], [0, 0], distance=2, sample_divisor=100
    )


@_mechanism_bug("threshold gate with half the noise on the threshold")
def gate_with_half_the_threshold_noise(planted: bool) -> Pair:
    """Use the shipped gate with half the noise on the threshold, which has to hide all counts."""
    gate_class = _replace_properties(
        ThresholdGate, planted, threshold_scale=lambda gate: gate.count_scale / 4
    )
    gate = gate_class(1.0, 1)
    return gate_pair("ten down, the last up", gate, [1] * 10 + [0], [0] * 10 + [1])


class _RunWithoutCountNoise(GateRun):
    """A run of a gate in which no noise is added to counts."""

    def stops_at(self, count: int) -> bool:
        return self.has_stopped or self.compare(int(count), 0)


class _GateWithAnExactStream(ThresholdGate):
    """A gate that is correct if called with all counts, but not in the run that `start` begins."""

    def start(self) -> GateRun:
        return _RunWithoutCountNoise(self)


@_mechanism_bug("threshold gate whose stream has no noise on counts")
def gate_with_an_exact_stream(planted: bool) -> Pair:
    """Use the shipped gate without noise on counts that come one by one."""
    gate = (_GateWithAnExactStream if planted else ThresholdGate)(1.0, 1)
    return gate_pair("stream", gate, [1, 1, 0], [0, 0, 1], stream=True)


@_mechanism_bug("rounding of several numbers left out")
def laplace_without_rounding(planted: bool) -> Pair:
    """Use the shipped release with the distance of one rounded number, though three are rounded."""
    release_class = _replace_properties(
        LaplaceRelease,
        planted,
        _distance=lambda release: release.grid.distance(release.sensitivity),
    )
    release = release_class(1.0, sensitivity=0.3, lower=-8, upper=8, resolution=1.0, changes=3)
    return laplace_pair(
        "three round down",
        release,
        [0.9] * 3,
        [1.0] * 3,
        distance=3,
        sample_divisor=1,
        at_once=True,
    )


@_mechanism_bug("sampler that draws 0.9 of the scale it is asked for", epsilon=4.0, samples=60_000)
def sampler_of_90_percent(planted: bool) -> Pair:
    """Use the shipped release with a sampler that draws less noise than it is asked for.

    The inputs are half the sensitivity apart, so the loss stays below the claim: only the
    comparison with the noise that was asked for can find the bug.
    """
    release = LaplaceRelease(4.0, sensitivity=2.0, lower=-8, upper=8, resolution=1.0)
    pair = laplace_pair(
        "one of two steps", release, [1], [0], distance=2, sample_divisor=1, at_once=True
    )

    def draw_narrowly(call: SamplerCall) -> NDArray[np.int64]:
        return draw_as_shipped(replace(call, scale=0.9 * call.scale))

    def call_with_narrow_noise(data: NDArray[Any], source: Any) -> ArrayLike:
        with intercept_samplers(draw_narrowly):
            return pair.call(data, source)

    return replace(pair, call=call_with_narrow_noise) if planted else pair


def _chance_of_truth(planted: bool) -> Fraction:
    """Return the chance that a bit is released unchanged; with 192 of 256, epsilon is ln 3."""
    return Fraction(193 if planted else 192, 256)


@_enumerated_bug(
    "bit probability off by one",
    ((0, 1),),
    math.log(3),
    lambda planted: RandomizedResponse(_chance_of_truth(planted)),
)
def bit_off_by_one(bit: int, planted: bool) -> dict[int, Fraction]:
    """Keep the bit for 193 of 256 draws: a comparison has `<=` in place of `<`."""
    return {bit: _chance_of_truth(planted), 1 - bit: 1 - _chance_of_truth(planted)}


_SCORE_PAIRS = tuple(exact_losses.neighbouring_scores(1, 4))
"""All neighbouring pairs of four scores of 0 or 1."""


@_enumerated_bug(
    "selection without the factor 2",
    _SCORE_PAIRS,
    2 * math.log(2),
    lambda planted: ExponentialMechanism(1, math.log(4 if planted else 2)),
)
def selection_without_the_2(scores: tuple[int, ...], planted: bool) -> dict[int, Fraction]:
    """Choose with weights e^(epsilon score), where e^(epsilon score / 2) would be right."""
    base = 4 if planted else 2  # e^epsilon and e^(epsilon / 2) of the claim, 2 ln 2
    weights = [base**score for score in scores]
    return {number: Fraction(weight, sum(weights)) for number, weight in enumerate(weights)}


@_grey_box_bug(
    "error text depends on the data",
    (([1.0, 5.0], [2.0, 5.0]), ([1.0, 9.0], [2.0, 9.0]), ([-1.0, 2.0], [-1.0, 3.0])),
)
def error_tells_the_data(ratings: list[float], tape: Tape, planted: bool) -> object:
    """Name the ratings in the message of an error; correct code names only the limits."""
    if not all(0 <= rating <= 5 for rating in ratings):
        raise ValueError(f"not a rating in {ratings}" if planted else "not a rating from 0 to 5")
    return sum(ratings) + tape.noise(5.0, 1)


@_grey_box_bug(
    "scale taken from the data",
    (([1.0, 2.0], [1.0, 5.0]), ([1.0, 5.0, 3.0], [1.0, 5.0, 4.0]), ([4.0], [0.0])),
    lambda planted: LaplaceNoise(5, 5, scale_is_public=not planted),
)
def scale_from_the_data(ratings: list[float], tape: Tape, planted: bool) -> object:
    """Take the scale of the noise from the spread of the ratings."""
    scale = max(ratings) - min(ratings) if planted else 5.0
    return sum(ratings) + tape.noise(scale, 1)


BUGS: tuple[Bug, ...] = tuple(_BUGS)
"""All planted bugs, each with the inputs on which its tool has to find it."""
