"""The mechanisms of this library on the audit's bench, each through its own public call.

Every mechanism stands on several pairs of neighbouring inputs that take several paths through the
code, such as clamped values, ties and streams. None of them is known to be the worst. Mechanisms
that make one sampler call per release get fewer samples. Pairs of mechanisms that add noise to
numbers lie in `shipped_noise`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.auditing import exact_losses
from tacit.auditing.pairs import AuditedMechanism, Pair
from tacit.auditing.rules import (
    AboveThreshold,
    Composition,
    ExponentialMechanism,
    RandomizedResponse,
)
from tacit.auditing.sampler_spy import intercept_samplers, release_with_one
from tacit.auditing.shipped_noise import (
    gaussian_release,
    gram_release,
    laplace_pair,
    laplace_release,
    sum_release,
)
from tacit.mechanisms.counter import TreeCounter
from tacit.mechanisms.gate import ThresholdGate
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.topk import TopSelection

Scores = list[float]
Steps = list[int]
_IN_SCORES = ("scores", "each within the sensitivity")


def bit_release(epsilon: float) -> AuditedMechanism:
    """Put the release of bits under audit."""
    pair = partial(_response, BitRelease(epsilon), 2)
    pairs = (
        pair("one bit", [1], 0, 0, share=1),
        pair("one of five ones", [1, 1, 1, 1, 1], 2, 0),
        pair("last of alternating bits", [0, 1, 0, 1], 3, 0),
        pair("only one set", [0, 0, 1, 0], 2, 0),
        pair("booleans", [1, 0], 0, 0, kind="?"),
        pair("floats", [1, 0], 0, 0, kind="f8"),
    )
    return AuditedMechanism("bit-release", "bit", "0 or 1", epsilon, pairs)


def kary_response(epsilon: float) -> AuditedMechanism:
    """Put k-ary randomized response under audit."""

    def pair(categories: int, *given: Any, share: int = 10) -> Pair:
        return _response(KaryResponse(epsilon, categories), categories, *given, share=share)

    pairs = (
        pair(10, "first two of ten", [0], 0, 1, share=1),
        pair(10, "last two of ten", [9], 0, 8),
        pair(2, "two categories", [0], 0, 1, share=1),
        pair(3, "first and last of three", [0], 0, 2),
        pair(5, "five categories, one of three alike", [3, 3, 3], 1, 4),
        pair(50, "fifty categories", [20], 0, 40),
    )
    return AuditedMechanism("kary-response", "answer", "any two answers", epsilon, pairs)


def _response(
    release: BitRelease | KaryResponse,
    categories: int,
    name: str,
    answers: list[int],
    place: int,
    other: int,
    *,
    kind: str = "i8",
    share: int = 10,
) -> Pair:
    """Make a pair in which only the answer at `place` differs: `other` in the second input."""
    changed = [*answers[:place], other, *answers[place + 1 :]]
    one = answers[place]
    truth = release.truth
    lie = (1 - truth) / (categories - 1)
    chances = {one: truth, other: lie}, {one: lie, other: truth}
    return Pair(
        name,
        release,
        np.array(answers, dtype=kind),
        np.array(changed, dtype=kind),
        exact_losses.exact_loss(*chances),
        chances,
        feature=lambda rows: rows[:, place],
        share=share,
        at_once=True,
        rule=RandomizedResponse(truth, categories),
    )


def selection(epsilon: float) -> AuditedMechanism:
    """Put the exponential mechanism under audit."""

    def pair(
        name: str, a: Scores, b: Scores, upper: float = 1, monotonic: bool = False, share: int = 20
    ) -> Pair:
        choice = Selection(epsilon, len(a), 1, 0, upper, 1, monotonic)
        weights = [weights_of(choice, scores) for scores in (a, b)]
        first, second = (dict(enumerate(choice.probabilities(each).tolist())) for each in (a, b))
        return Pair(
            name,
            choice,
            np.array(a),
            np.array(b),
            exact_losses.exact_loss(*weights),
            (first, second),
            share=share,
            at_once=True,
            rule=ExponentialMechanism(1, float(choice.rate), monotonic),
        )

    pairs = (
        pair("ten candidates, one up", [1.0] + [0.0] * 9, [0.0] + [1.0] * 9, share=4),
        pair("two candidates, crossing", [1.0, 0.0], [0.0, 1.0]),
        pair("four candidates, one up", [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]),
        pair("ties", [0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
        pair("middle of six", [2.0, 3.0, 4.0, 5.0], [3.0, 2.0, 3.0, 4.0], upper=6),
        pair("clamped", [50.0, 0.0, -9.0], [0.0, 1.0, -9.0]),
        pair("monotonic, all but one up", [0.0] * 10, [0.0] + [1.0] * 9, monotonic=True),
        pair("fifty candidates", [1.0] + [0.0] * 49, [0.0] + [1.0] * 49),
    )
    return AuditedMechanism("selection", *_IN_SCORES, epsilon, pairs)


def _number_lists(lists: Mapping[Any, Any], places: NDArray[np.int64]) -> dict[int, Any]:
    """Return the chance of each list, the list written as one number."""
    return {int(np.array(chosen) @ places): chance for chosen, chance in lists.items()}


def top_selection(epsilon: float) -> AuditedMechanism:
    """Put peeling under audit."""

    def pair(
        name: str, k: int, a: Scores, b: Scores, *, monotonic: bool = False, share: int = 20
    ) -> Pair:
        one = Selection(epsilon / k, len(a), 1, 0, 1, 1, monotonic)
        lists = [
            exact_losses.peeling_distribution(list(weights_of(one, scores).values()), k)
            for scores in (a, b)
        ]
        places = len(a) ** np.arange(k)  # a list as one number
        first = _number_lists(lists[0], places)
        second = _number_lists(lists[1], places)
        return Pair(
            name,
            TopSelection(k, one),
            np.array(a),
            np.array(b),
            exact_losses.exact_loss(*lists),
            (first, second),
            feature=lambda chosen: np.asarray(chosen @ places),
            share=share,
            at_once=True,
            rule=Composition((ExponentialMechanism(1, float(one.rate), monotonic),) * k),
        )

    pairs = (
        pair("two of four, halves crossing", 2, [1, 1, 0, 0], [0, 0, 1, 1], share=4),
        pair("two of ten, one up", 2, [1.0] + [0.0] * 9, [0.0] + [1.0] * 9),
        pair("one of six", 1, [1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]),
        pair("three of four", 3, [1, 1, 1, 0], [0, 0, 0, 1]),
        pair("clamped", 2, [9, 0, 0, 0, 0], [0, 1, 1, 1, 1]),
        pair("monotonic", 2, [0, 0, 0, 0, 0], [0, 1, 1, 1, 1], monotonic=True),
    )
    return AuditedMechanism("top-selection", *_IN_SCORES, epsilon, pairs)


def weights_of(choice: Selection, scores: Scores) -> dict[int, int]:
    """Return the weight of each candidate."""
    return dict(enumerate(choice.weights(scores).tolist()))


def tree_counter(epsilon: float) -> AuditedMechanism:
    """Put the tree counter under audit."""

    def pair(
        name: str,
        a: Steps,
        b: Steps,
        bound: int = 1,
        share: int = 1_000,
        stream: bool = False,
        own_noise: bool = False,
    ) -> Pair:
        counter = TreeCounter(epsilon, horizon=len(a), bound=bound)
        call = count_stream(counter) if stream else counter
        distance = counter.levels * bound
        return laplace_pair(name, call, a, b, distance=distance, share=share, own_noise=own_noise)

    # Steps 5 and 6 end the nodes that move; their noise is of the second block and of the third.
    blocks = [0, 0, 0, 0, 3, 0, 0], [0] * 7
    run = partial(pair, stream=True)
    pairs = (
        pair("first of two steps", [1, 0], [0, 0], share=100),
        pair("only step", [1], [0]),
        pair("first of seven, bound 3", [3, 1, 2, 0, 3, 0, 1], [0, 1, 2, 0, 3, 0, 1], bound=3),
        pair("fifth of eight", [1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1, 1]),
        pair("clamped, bound 2", [0, 100, 0], [0, -5, 0], bound=2),
        run("stream of two", [1, 0], [0, 0], share=200),
        run("stream of four", [1, 0, 1, 0], [0, 0, 1, 0]),
        run("as it runs", [0, 5], [0, 0], bound=5, share=2_000, own_noise=True),
        run("blocks as it runs", *blocks, bound=3, share=4_000, own_noise=True),
    )
    return AuditedMechanism("tree-counter", "step", "its value within the bound", epsilon, pairs)


def count_stream(counter: TreeCounter) -> Callable[[NDArray[Any]], ArrayLike]:
    """Call the counter step by step."""

    def totals(values: NDArray[Any]) -> ArrayLike:
        run = counter.start()
        return [run.add(value) for value in values]

    return totals


def threshold_gate(epsilon: float) -> AuditedMechanism:
    """Put the threshold gate under audit."""
    gate = partial(ThresholdGate, epsilon)
    up, down = [1] * 10 + [0], [0] * 10 + [1]
    below = [-one for one in up], [-one for one in down]
    blocks = [1] * 6 + [0], [0] * 6 + [1]  # the seventh count's noise is of the third block
    run = partial(gate_pair, stream=True)
    pairs = (
        gate_pair("three up, the last down", gate(1), [1, 1, 1, 0], [0, 0, 0, 1], share=100),
        gate_pair("ten up, the last down", gate(1), up, down),
        gate_pair("stops below", gate(-1, stops="below"), *below),
        gate_pair("monotonic", gate(2, monotonic=True), [0, 1, 0, 1, 0], [1, 2, 1, 2, 1]),
        gate_pair("monotonic, the last unmoved", gate(1, monotonic=True), up, [0] * 11),
        gate_pair("sensitivity 3", gate(3, sensitivity=3), [3, 3, 3, 0], [0, 0, 0, 3]),
        gate_pair("ties at the threshold", gate(1), [1, 1, 1], [1, 0, 2]),
        run("stream", gate(1), [1, 1, 0], [0, 0, 1], share=40),
        run("stream far off", gate(60), [0, 1], [1, 0], watched=True),
        run("as it runs", gate(1), [1, 0], [0, 1], share=2_000, own_noise=True),
        run("blocks as it runs", gate(9), *blocks, own_noise=True),
    )
    return AuditedMechanism(
        "threshold-gate", "counts", "each within the sensitivity", epsilon, pairs
    )


def gate_pair(
    name: str,
    gate: ThresholdGate,
    a: Steps,
    b: Steps,
    *,
    share: int = 4_000,
    stream: bool = False,
    own_noise: bool = False,
    watched: bool = False,
) -> Pair:
    """Make a pair whose exact loss is that of the scales the running gate asks for.

    watched: of a stream, whether its draws are compared: only where neither input stops it, for a
    gate that is shut draws no more.
    """
    call: Callable[[NDArray[Any]], int] = first_stop(gate) if stream else gate
    scales = gate_scales(call, gate, len(a))
    sign = 1 if gate.stops == "above" else -1
    first: dict[int, float] = {}
    second: dict[int, float] = {}
    loss = math.inf
    if all(scales):
        threshold = sign * gate.threshold
        first = exact_losses.gate_distribution([sign * count for count in a], threshold, *scales)
        second = exact_losses.gate_distribution([sign * count for count in b], threshold, *scales)
        loss = exact_losses.exact_loss(first, second)
    return Pair(
        name,
        lambda counts, _: call(counts),
        np.array(a),
        np.array(b),
        loss,
        (first, second),
        share=share,
        rule=AboveThreshold(gate.sensitivity, *scales, gate.monotonic),
        own_noise=own_noise,
        silent=stream and not watched,
    )


def first_stop(gate: ThresholdGate) -> Callable[[NDArray[Any]], int]:
    """Ask the gate count by count: how many pass."""

    def count_passed(counts: NDArray[Any]) -> int:
        run = gate.start()
        stops = (place for place, count in enumerate(counts) if run.stops_at(count))
        return next(stops, len(counts))

    return count_passed


def gate_scales(
    call: Callable[[NDArray[Any]], int], gate: ThresholdGate, length: int
) -> tuple[float, float]:
    """Return the scales of the threshold's noise and of every count's; 0 where one is missing.

    All counts are one short of the threshold, so that without noise the gate never stops, and 1 in
    one noise stops it where that noise belongs: at its count, or at once.
    """
    short = np.full(length, gate.threshold - (1 if gate.stops == "above" else -1))
    with intercept_samplers() as calls:
        passed = call(short)
    scales: list[float] = []
    for drawn in calls:
        scales += [drawn.scale] * drawn.values.size
    one_each = (
        passed == length
        and len(scales) == 1 + length
        and len(set(scales[1:])) == 1
        and all(drawn.sampler == "discrete_laplace" for drawn in calls)
        and release_with_one(call, short, 0, -1)[0] == 0
        and all(
            release_with_one(call, short, place)[0] == place - 1 for place in range(1, 1 + length)
        )
    )
    return (scales[0], scales[1]) if one_each else (0.0, 0.0)


EPSILONS = (0.5, 1.0, 2.0, 4.0)

MECHANISMS: Mapping[str, tuple[Callable[[], AuditedMechanism], ...]] = {
    "bit-release": tuple(partial(bit_release, epsilon) for epsilon in EPSILONS),
    "kary-response": tuple(partial(kary_response, epsilon) for epsilon in EPSILONS),
    "laplace": (partial(laplace_release, 1.0),),
    "gaussian": (gaussian_release,),
    "selection": (partial(selection, 1.0),),
    "top-selection": (partial(top_selection, 1.0),),
    "tree-counter": (partial(tree_counter, 1.0),),
    "threshold-gate": tuple(partial(threshold_gate, epsilon) for epsilon in (1.0, 4.0)),
    "gram": (gram_release,),
    "sums": (sum_release,),
}
"""Every shipped mechanism that is audited, and with which parameters."""
