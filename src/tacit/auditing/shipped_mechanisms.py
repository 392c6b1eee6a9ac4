"""Audits of the mechanisms of this library, each through its own public call.

Each mechanism has several pairs of neighbouring inputs, which lead through different paths of its
code, such as clamped values, ties and streams. None is known to be the worst pair. The first
pair of a mechanism has many samples, and most others have fewer. Mechanisms that make one release a
call have fewer samples than others. `shipped_noise` makes the audits of `LaplaceRelease`,
`GaussianRelease`, `GramRelease` and `SumRelease`.
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
from tacit.auditing.sampler_spy import intercept_samplers, release_with_one_noise
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
"""The score of each candidate."""
Steps = list[int]
"""Whole numbers that a mechanism on a stream reads in this order."""
_SCORE_ADJACENCY = ("scores", "each within the sensitivity")
"""Unit and adjacency of mechanisms that choose by scores."""


def bit_release(epsilon: float) -> AuditedMechanism:
    """Make the audit of `BitRelease`."""
    pair = partial(_response_pair, BitRelease(epsilon), 2)
    pairs = (
        pair("one bit", [1], 0, 0, sample_divisor=1),
        pair("one of five ones", [1, 1, 1, 1, 1], 2, 0),
        pair("last of alternating bits", [0, 1, 0, 1], 3, 0),
        pair("only one bit is 1", [0, 0, 1, 0], 2, 0),
        pair("booleans", [1, 0], 0, 0, dtype="?"),
        pair("floats", [1, 0], 0, 0, dtype="f8"),
    )
    return AuditedMechanism("bit-release", "bit", "0 or 1", epsilon, pairs)


def kary_response(epsilon: float) -> AuditedMechanism:
    """Make the audit of `KaryResponse`."""

    def pair(
        categories: int,
        name: str,
        answers: list[int],
        index: int,
        other: int,
        sample_divisor: int = 10,
    ) -> Pair:
        """Make a pair of inputs; in the second, answer number `index` is `other`."""
        release = KaryResponse(epsilon, categories)
        return _response_pair(
            release, categories, name, answers, index, other, sample_divisor=sample_divisor
        )

    pairs = (
        pair(10, "first two of ten", [0], 0, 1, sample_divisor=1),
        pair(10, "last two of ten", [9], 0, 8),
        pair(2, "two categories", [0], 0, 1, sample_divisor=1),
        pair(3, "first and last of three", [0], 0, 2),
        pair(5, "five categories, one of three alike", [3, 3, 3], 1, 4),
        pair(50, "fifty categories", [20], 0, 40),
    )
    return AuditedMechanism("kary-response", "answer", "any two answers", epsilon, pairs)


def _response_pair(
    release: BitRelease | KaryResponse,
    categories: int,
    name: str,
    answers: list[int],
    index: int,
    other_answer: int,
    *,
    dtype: str = "i8",
    sample_divisor: int = 10,
) -> Pair:
    """Make a pair of inputs of a randomized response, in which one answer differs.

    Args:
        release: The mechanism.
        categories: Number of possible answers.
        name: Name of the pair.
        answers: True answers of the first input.
        index: Index of the answer that differs.
        other_answer: The answer at this index in the second input.
        dtype: Type of both inputs.
        sample_divisor: As in `Pair`.
    """
    answers_of_second = [*answers[:index], other_answer, *answers[index + 1 :]]
    answer = answers[index]
    truth = release.truth
    lie = (1 - truth) / (categories - 1)  # the chance of each other answer
    chances = {answer: truth, other_answer: lie}, {answer: lie, other_answer: truth}
    return Pair(
        name,
        release,
        np.array(answers, dtype=dtype),
        np.array(answers_of_second, dtype=dtype),
        exact=exact_losses.exact_loss(*chances),
        chances=chances,
        feature=lambda rows: rows[:, index],
        sample_divisor=sample_divisor,
        at_once=True,
        rule=RandomizedResponse(truth, categories),
    )


def selection(epsilon: float) -> AuditedMechanism:
    """Make the audit of `Selection`, the exponential mechanism."""

    def pair(
        name: str,
        a: Scores,
        b: Scores,
        upper: float = 1,
        monotonic: bool = False,
        sample_divisor: int = 20,
    ) -> Pair:
        """Make a pair of scores `a` and `b`, which are clamped to 0 .. `upper`."""
        choice = Selection(
            epsilon,
            candidates=len(a),
            sensitivity=1,
            lower=0,
            upper=upper,
            resolution=1,
            monotonic=monotonic,
        )
        chances_a = dict(enumerate(choice.probabilities(a).tolist()))
        chances_b = dict(enumerate(choice.probabilities(b).tolist()))
        return Pair(
            name,
            choice,
            np.array(a),
            np.array(b),
            exact=exact_losses.exact_loss(weights_of(choice, a), weights_of(choice, b)),
            chances=(chances_a, chances_b),
            sample_divisor=sample_divisor,
            at_once=True,
            rule=ExponentialMechanism(1, float(choice.rate), monotonic),
        )

    pairs = (
        pair("ten candidates, one down", [1.0] + [0.0] * 9, [0.0] + [1.0] * 9, sample_divisor=4),
        pair("two candidates, crossing", [1.0, 0.0], [0.0, 1.0]),
        pair("four candidates, one down", [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]),
        pair("ties", [0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
        pair("scores inside 0 to 6", [2.0, 3.0, 4.0, 5.0], [3.0, 2.0, 3.0, 4.0], upper=6),
        pair("clamped", [50.0, 0.0, -9.0], [0.0, 1.0, -9.0]),
        pair("monotonic, all but one up", [0.0] * 10, [0.0] + [1.0] * 9, monotonic=True),
        pair("fifty candidates", [1.0] + [0.0] * 49, [0.0] + [1.0] * 49),
    )
    return AuditedMechanism("selection", *_SCORE_ADJACENCY, epsilon, pairs)


def _chances_by_list_number(
    lists: Mapping[Any, Any], place_values: NDArray[np.int64]
) -> dict[int, Any]:
    """Return the chance of each list by the list's number, sum of entry * place value.

    Args:
        lists: Chance of each list.
        place_values: (length of a list,) values of its places.
    """
    return {int(np.array(entries) @ place_values): chance for entries, chance in lists.items()}


def top_selection(epsilon: float) -> AuditedMechanism:
    """Make the audit of `TopSelection`, which draws its list by peeling."""

    def pair(
        name: str,
        k: int,
        a: Scores,
        b: Scores,
        *,
        monotonic: bool = False,
        sample_divisor: int = 20,
    ) -> Pair:
        """Make a pair of scores `a` and `b`, of which the k best candidates are selected."""
        choice = Selection(
            epsilon / k,
            candidates=len(a),
            sensitivity=1,
            lower=0,
            upper=1,
            resolution=1,
            monotonic=monotonic,
        )
        lists_a = exact_losses.peeling_distribution(choice.weights(a).tolist(), k)
        lists_b = exact_losses.peeling_distribution(choice.weights(b).tolist(), k)
        place_values = len(a) ** np.arange(k)  # a list becomes one number, written in base len(a)
        rule_of_choice = ExponentialMechanism(1, float(choice.rate), monotonic)
        return Pair(
            name,
            TopSelection(k, choice),
            np.array(a),
            np.array(b),
            exact=exact_losses.exact_loss(lists_a, lists_b),
            chances=(
                _chances_by_list_number(lists_a, place_values),
                _chances_by_list_number(lists_b, place_values),
            ),
            feature=lambda lists: np.asarray(lists @ place_values),
            sample_divisor=sample_divisor,
            at_once=True,
            rule=Composition((rule_of_choice,) * k),
        )

    pairs = (
        pair("two of four, halves crossing", 2, [1, 1, 0, 0], [0, 0, 1, 1], sample_divisor=4),
        pair("two of ten, one down", 2, [1.0] + [0.0] * 9, [0.0] + [1.0] * 9),
        pair("one of six", 1, [1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]),
        pair("three of four", 3, [1, 1, 1, 0], [0, 0, 0, 1]),
        pair("clamped", 2, [9, 0, 0, 0, 0], [0, 1, 1, 1, 1]),
        pair("monotonic", 2, [0, 0, 0, 0, 0], [0, 1, 1, 1, 1], monotonic=True),
    )
    return AuditedMechanism("top-selection", *_SCORE_ADJACENCY, epsilon, pairs)


def weights_of(choice: Selection, scores: Scores) -> dict[int, int]:
    """Return the weight of each candidate, by its number."""
    return dict(enumerate(choice.weights(scores).tolist()))


def tree_counter(epsilon: float) -> AuditedMechanism:
    """Make the audit of `TreeCounter`."""

    def pair(
        name: str,
        a: Steps,
        b: Steps,
        bound: int = 1,
        sample_divisor: int = 1_000,
        stream: bool = False,
        draws_its_own_noise: bool = False,
    ) -> Pair:
        """Make a pair of streams `a` and `b`; with `stream`, values are added one by one."""
        counter = TreeCounter(epsilon, horizon=len(a), bound=bound)
        call = streaming_counter(counter) if stream else counter
        distance = counter.levels * bound
        return laplace_pair(
            name,
            call,
            a,
            b,
            distance=distance,
            sample_divisor=sample_divisor,
            draws_its_own_noise=draws_its_own_noise,
        )

    # Steps 5 and 6 complete the nodes that change; their noise is drawn in the second block of a
    # run and in the third.
    three_blocks = [0, 0, 0, 0, 3, 0, 0], [0] * 7
    stream_pair = partial(pair, stream=True)
    pairs = (
        pair("first of two steps", [1, 0], [0, 0], sample_divisor=100),
        pair("only step", [1], [0]),
        pair("first of seven, bound 3", [3, 1, 2, 0, 3, 0, 1], [0, 1, 2, 0, 3, 0, 1], bound=3),
        pair("fifth of eight", [1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1, 1]),
        pair("clamped, bound 2", [0, 100, 0], [0, -5, 0], bound=2),
        stream_pair("stream of two", [1, 0], [0, 0], sample_divisor=200),
        stream_pair("stream of four", [1, 0, 1, 0], [0, 0, 1, 0]),
        stream_pair(
            "as it runs", [0, 5], [0, 0], bound=5, sample_divisor=2_000, draws_its_own_noise=True
        ),
        stream_pair(
            "blocks as it runs",
            *three_blocks,
            bound=3,
            sample_divisor=4_000,
            draws_its_own_noise=True,
        ),
    )
    return AuditedMechanism("tree-counter", "step", "its value within the bound", epsilon, pairs)


def streaming_counter(counter: TreeCounter) -> Callable[[NDArray[Any]], ArrayLike]:
    """Return a function that adds values one by one to a new run, and returns all its totals."""

    def totals(values: NDArray[Any]) -> ArrayLike:
        run = counter.start()
        return [run.add(value) for value in values]

    return totals


def threshold_gate(epsilon: float) -> AuditedMechanism:
    """Make the audit of `ThresholdGate`."""
    gate = partial(ThresholdGate, epsilon)
    first = [1] * 10 + [0]
    second = [0] * 10 + [1]
    negated = [-count for count in first], [-count for count in second]
    # The noise of the seventh count is drawn in the third block of a run.
    three_blocks = [1] * 6 + [0], [0] * 6 + [1]
    stream_pair = partial(gate_pair, stream=True)
    pairs = (
        gate_pair(
            "three down, the last up", gate(1), [1, 1, 1, 0], [0, 0, 0, 1], sample_divisor=100
        ),
        gate_pair("ten down, the last up", gate(1), first, second),
        gate_pair("stops below", gate(-1, stops="below"), *negated),
        gate_pair("monotonic", gate(2, monotonic=True), [0, 1, 0, 1, 0], [1, 2, 1, 2, 1]),
        gate_pair("monotonic, the last unmoved", gate(1, monotonic=True), first, [0] * 11),
        gate_pair("sensitivity 3", gate(3, sensitivity=3), [3, 3, 3, 0], [0, 0, 0, 3]),
        gate_pair("ties at the threshold", gate(1), [1, 1, 1], [1, 0, 2]),
        stream_pair("stream", gate(1), [1, 1, 0], [0, 0, 1], sample_divisor=40),
        stream_pair("stream far off", gate(60), [0, 1], [1, 0], never_stops=True),
        stream_pair(
            "as it runs", gate(1), [1, 0], [0, 1], sample_divisor=2_000, draws_its_own_noise=True
        ),
        stream_pair("blocks as it runs", gate(9), *three_blocks, draws_its_own_noise=True),
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
    sample_divisor: int = 4_000,
    stream: bool = False,
    draws_its_own_noise: bool = False,
    never_stops: bool = False,
) -> Pair:
    """Make a pair of inputs of a gate, with the exact loss at the scales of the running gate.

    Args:
        name: Name of the pair.
        gate: The gate.
        a: Counts of the first input.
        b: Counts of the second input.
        sample_divisor: As in `Pair`.
        stream: Whether the gate is asked count by count.
        draws_its_own_noise: As in `Pair`.
        never_stops: Whether a stream on these inputs practically never stops. Of streams, only
            such a one must have the same draws on both inputs, because a gate that stops draws no
            more noise.
    """
    call: Callable[[NDArray[Any]], int] = streaming_gate(gate) if stream else gate
    scales = gate_scales(call, gate, len(a))
    sign = 1 if gate.stops == "above" else -1
    chances_a: dict[int, float] = {}
    chances_b: dict[int, float] = {}
    loss = math.inf
    if all(scales):
        threshold = sign * gate.threshold
        counts_a = [sign * count for count in a]
        counts_b = [sign * count for count in b]
        chances_a = exact_losses.gate_distribution(counts_a, threshold, *scales)
        chances_b = exact_losses.gate_distribution(counts_b, threshold, *scales)
        loss = exact_losses.exact_loss(chances_a, chances_b)
    return Pair(
        name,
        lambda counts, _source: call(counts),
        np.array(a),
        np.array(b),
        exact=loss,
        chances=(chances_a, chances_b),
        sample_divisor=sample_divisor,
        rule=AboveThreshold(gate.sensitivity, *scales, gate.monotonic),
        draws_its_own_noise=draws_its_own_noise,
        draws_may_differ=stream and not never_stops,
    )


def streaming_gate(gate: ThresholdGate) -> Callable[[NDArray[Any]], int]:
    """Return a function that asks a new gate count by count, and returns how many it passes."""

    def count_passed(counts: NDArray[Any]) -> int:
        run = gate.start()
        for index, count in enumerate(counts):
            if run.stops_at(count):
                return index
        return len(counts)

    return count_passed


def gate_scales(
    call: Callable[[NDArray[Any]], int], gate: ThresholdGate, length: int
) -> tuple[float, float]:
    """Return the scale of the noise on the threshold, and that of the noise on each count.

    They are read from the running gate, on counts that are one step from stopping it: without
    noise, it passes all of them. Then it is checked that each draw is used for its purpose: noise
    of -1 on the threshold must stop the gate at the first count, and noise of 1 on a count must
    stop it there.

    Args:
        call: Asks a new gate about counts, and returns how many it passes.
        gate: The gate.
        length: Number of counts.

    Returns:
        Both scales; 0 for both if a check fails, or if the draws are not one of discrete Laplace
        noise on the threshold and one on each count.
    """
    one_step = 1 if gate.stops == "above" else -1
    counts = np.full(length, gate.threshold - one_step)
    with intercept_samplers() as calls:
        passed_count = call(counts)
    scales: list[float] = []
    for sampler_call in calls:
        scales += [sampler_call.scale] * sampler_call.values.size
    is_laplace = all(sampler_call.sampler == "discrete_laplace" for sampler_call in calls)
    has_one_noise_each = len(scales) == 1 + length and len(set(scales[1:])) == 1
    if passed_count != length or not is_laplace or not has_one_noise_each:
        return 0.0, 0.0
    if release_with_one_noise(call, counts, 0, -1)[0] != 0:
        return 0.0, 0.0
    for index in range(length):
        if release_with_one_noise(call, counts, 1 + index)[0] != index:
            return 0.0, 0.0
    return scales[0], scales[1]


EPSILONS = (0.5, 1.0, 2.0, 4.0)
"""Epsilons at which randomized responses are audited."""

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
"""For each shipped mechanism by name, functions that make its audits, one for each claim."""
