"""The mechanisms of this library on the audit's bench, each through its own public call.

Every mechanism stands on several pairs of neighbouring inputs that take several paths through the
code, such as clamped values, ties and streams. None of them is known to be the worst. Mechanisms
that make one OpenDP call per release get fewer samples.

The pairs of mechanisms that release one of several answers, or several, lie here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.auditing import bench
from tacit.auditing.bench import Call, Pair, Subject
from tacit.auditing.rules import Answered, Chosen, Together
from tacit.auditing.sampler_spy import tapped
from tacit.auditing.shipped_noise import (
    gaussian_release,
    gram_release,
    laplace_release,
    smooth_cosine_release,
    sum_release,
)
from tacit.auditing.shipped_streams import threshold_gate, tree_counter
from tacit.mechanisms.randomized_response import BitRelease, KaryResponse
from tacit.mechanisms.selection import NoisyMax, Selection
from tacit.mechanisms.topk import TopSelection

Scores = list[float]
Laws = list[Mapping[Hashable, bench.Chance]]


def bit_release(epsilon: float) -> Subject:
    release = BitRelease(epsilon)

    def pair(name: str, bits: list[int], place: int, kind: str = "i8", share: int = 10) -> Pair:
        return _response(name, release, release.truth, 2, bits, place, 1 - bits[place], kind, share)

    pairs = (
        pair("one bit", [1], 0, share=1),
        pair("one of five ones", [1, 1, 1, 1, 1], 2),
        pair("last of alternating bits", [0, 1, 0, 1], 3),
        pair("only one set", [0, 0, 1, 0], 2),
        pair("booleans", [1, 0], 0, "?"),
        pair("floats", [1, 0], 1, "f8"),
    )
    return Subject("bit-release", "bit", "0 or 1", epsilon, pairs)


def kary_response(epsilon: float) -> Subject:
    def pair(
        name: str, categories: int, answers: list[int], place: int, other: int, share: int = 10
    ) -> Pair:
        release = KaryResponse(epsilon, categories)
        truth = release.truth
        return _response(name, release, truth, categories, answers, place, other, "i8", share)

    pairs = (
        pair("first two of ten", 10, [0], 0, 1, share=1),
        pair("last two of ten", 10, [9], 0, 8),
        pair("two categories", 2, [0], 0, 1, share=1),
        pair("first and last of three", 3, [0], 0, 2),
        pair("five categories, one of three alike", 5, [3, 3, 3], 1, 4),
        pair("fifty categories", 50, [20], 0, 40),
    )
    return Subject("kary-response", "answer", "any two answers", epsilon, pairs)


def _response(
    name: str,
    release: BitRelease | KaryResponse,
    truth: Any,
    categories: int,
    answers: list[int],
    place: int,
    other: int,
    kind: str,
    share: int,
) -> Pair:
    """Only the answer at `place` differs: `other` in the second input."""
    a = np.array(answers)
    b = a.copy()
    b[place] = other
    one, lie = answers[place], (1 - truth) / (categories - 1)
    return Pair(
        name,
        release,
        a.astype(kind),
        b.astype(kind),
        bench.response(truth, categories),
        ({one: truth, other: lie}, {one: lie, other: truth}),
        feature=lambda rows: rows[:, place],
        share=share,
        at_once=True,
        rule=Answered(truth, categories),
    )


def selection(epsilon: float) -> Subject:
    def laws(choice: Any, a: Scores, b: Scores) -> tuple[Call, Laws, float]:
        return choice, [weights_of(choice, scores) for scores in (a, b)], float(choice.rate)

    return _scored("selection", epsilon, Selection, laws, most=4, share=20)


def noisy_max(epsilon: float) -> Subject:
    def laws(choice: Any, a: Scores, b: Scores) -> tuple[Call, Laws, float]:
        chosen: Laws = []
        for scores in (a, b):
            with tapped() as heard:
                choice(scores)
            (asked,) = heard
            chosen.append(bench.permute_and_flip(1 / asked.scale, asked.values[0].tolist()))
        return lambda scores, _: choice(scores), chosen, 1 / asked.scale

    return _scored("noisy-max", epsilon, NoisyMax, laws, most=150, share=2_000)


def _scored(
    mechanism: str, epsilon: float, kind: Any, laws: Callable[..., Any], *, most: int, share: int
) -> Subject:
    """laws(choice, a, b): how it is called, its exact chances or weights under both, its rate.

    The first pair gets samples / most, the others samples / share.
    """

    def pair(
        name: str,
        a: Scores,
        b: Scores,
        upper: float = 1,
        monotonic: bool = False,
        every: int = share,
    ) -> Pair:
        choice = kind(epsilon, len(a), 1, 0, upper, 1, monotonic)
        call, weights, rate = laws(choice, a, b)
        return Pair(
            name,
            call,
            np.array(a),
            np.array(b),
            bench.loss(*weights),
            (shares_of(weights[0]), shares_of(weights[1])),
            share=every,
            at_once=True,
            rule=Chosen(1, rate, monotonic),
        )

    pairs = (
        pair("ten candidates, one up", [1.0] + [0.0] * 9, [0.0] + [1.0] * 9, every=most),
        pair("two candidates, crossing", [1.0, 0.0], [0.0, 1.0]),
        pair("four candidates, one up", [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]),
        pair("ties", [0.0, 1.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]),
        pair("middle of six", [2.0, 3.0, 4.0, 5.0], [3.0, 2.0, 3.0, 4.0], upper=6),
        pair("clamped", [50.0, 0.0, -9.0], [0.0, 1.0, -9.0]),
        pair("monotonic, all but one up", [0.0] * 10, [0.0] + [1.0] * 9, monotonic=True),
        pair("fifty candidates", [1.0] + [0.0] * 49, [0.0] + [1.0] * 49),
    )
    return Subject(mechanism, "scores", "each within the sensitivity", epsilon, pairs)


def top_selection(epsilon: float) -> Subject:
    def pair(
        name: str, k: int, a: Scores, b: Scores, *, monotonic: bool = False, share: int = 20
    ) -> Pair:
        one = Selection(epsilon / k, len(a), 1, 0, 1, 1, monotonic)
        lists = [bench.peeling(list(weights_of(one, scores).values()), k) for scores in (a, b)]
        places = len(a) ** np.arange(k)
        named: list[dict[Hashable, bench.Chance]] = [
            {_named(chosen, places): chance for chosen, chance in part.items()} for part in lists
        ]
        rule = Together((Chosen(1, float(one.rate), monotonic),) * k)
        return Pair(
            name,
            TopSelection(k, one),
            np.array(a),
            np.array(b),
            bench.loss(*lists),
            (named[0], named[1]),
            feature=lambda chosen: np.asarray(chosen @ places),
            share=share,
            at_once=True,
            rule=rule,
        )

    pairs = (
        pair("two of four, halves crossing", 2, [1, 1, 0, 0], [0, 0, 1, 1], share=4),
        pair("two of ten, one up", 2, [1.0] + [0.0] * 9, [0.0] + [1.0] * 9),
        pair("one of six", 1, [1, 0, 0, 0, 0, 0], [0, 1, 1, 1, 1, 1]),
        pair("three of four", 3, [1, 1, 1, 0], [0, 0, 0, 1]),
        pair("clamped", 2, [9, 0, 0, 0, 0], [0, 1, 1, 1, 1]),
        pair("monotonic", 2, [0, 0, 0, 0, 0], [0, 1, 1, 1, 1], monotonic=True),
    )
    return Subject("top-selection", "scores", "each within the sensitivity", epsilon, pairs)


def weights_of(choice: Selection, scores: Scores) -> dict[Hashable, int]:
    return dict(enumerate(choice.weights(scores).tolist()))


def shares_of(weights: Mapping[Hashable, bench.Chance]) -> dict[Hashable, float]:
    """Weights as chances."""
    whole = sum(weights.values())
    return {candidate: float(weight / whole) for candidate, weight in weights.items()}


def _named(chosen: Hashable, places: NDArray[Any]) -> int:
    """An ordered list as one number."""
    return int(np.array(chosen) @ places)


EPSILONS = (0.5, 1.0, 2.0, 4.0)

BENCH: Mapping[str, tuple[Callable[[], Subject], ...]] = {
    "bit-release": tuple(partial(bit_release, epsilon) for epsilon in EPSILONS),
    "kary-response": tuple(partial(kary_response, epsilon) for epsilon in EPSILONS),
    "laplace": (partial(laplace_release, 1.0),),
    "gaussian": (gaussian_release,),
    "selection": (partial(selection, 1.0),),
    "top-selection": (partial(top_selection, 1.0),),
    "noisy-max": (partial(noisy_max, 1.0),),
    "tree-counter": (partial(tree_counter, 1.0),),
    "threshold-gate": tuple(partial(threshold_gate, epsilon) for epsilon in (1.0, 4.0)),
    "gram": (gram_release,),
    "sums": (sum_release,),
    "smooth-cosine": (
        partial(smooth_cosine_release, 1.0, 1e-6, 1_000),
        partial(smooth_cosine_release, 4.0, 1e-5, 64),
    ),
}
"""Every shipped mechanism that is audited, and with which parameters."""
