"""Pairs for mechanisms that answer one step at a time, in one call and as streams."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.auditing import bench
from tacit.auditing.bench import Pair, Subject
from tacit.auditing.rules import FirstPast
from tacit.auditing.sampler_spy import tapped, with_one
from tacit.auditing.shipped_noise import laplace_pair
from tacit.mechanisms.running import ThresholdGate, TreeCounter

Steps = list[int]


def one_by_one(counter: TreeCounter) -> Callable[[NDArray[Any]], ArrayLike]:
    """The counter as a stream."""

    def totals(values: NDArray[Any]) -> ArrayLike:
        run = counter.start()
        return [run.add(value) for value in values]

    return totals


def first_stop(gate: ThresholdGate) -> Callable[[NDArray[Any]], int]:
    """The gate as a stream: how many counts pass."""

    def passed(counts: NDArray[Any]) -> int:
        run = gate.start()
        stops = (place for place, count in enumerate(counts) if run.stops_at(count))
        return next(stops, len(counts))

    return passed


def tree_counter(epsilon: float) -> Subject:
    def pair(
        name: str,
        a: Steps,
        b: Steps,
        bound: int = 1,
        share: int = 1_000,
        stream: bool = False,
        untapped: bool = False,
    ) -> Pair:
        counter = TreeCounter(epsilon, horizon=len(a), bound=bound)
        return laplace_pair(
            name,
            one_by_one(counter) if stream else counter,
            a,
            b,
            distance=counter.levels * bound,
            share=share,
            untapped=untapped,
        )

    # Steps 5 and 6 end the nodes that move; their noise is of the second block and of the third.
    blocks = [0, 0, 0, 0, 3, 0, 0], [0] * 7
    pairs = (
        pair("first of two steps", [1, 0], [0, 0], share=100),
        pair("only step", [1], [0]),
        pair("first of seven, bound 3", [3, 1, 2, 0, 3, 0, 1], [0, 1, 2, 0, 3, 0, 1], bound=3),
        pair("fifth of eight", [1, 1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1, 1]),
        pair("clamped, bound 2", [0, 100, 0], [0, -5, 0], bound=2),
        pair("stream of two", [1, 0], [0, 0], share=200, stream=True),
        pair("stream of four", [1, 0, 1, 0], [0, 0, 1, 0], stream=True),
        pair("as it runs", [0, 5], [0, 0], bound=5, share=2_000, stream=True, untapped=True),
        pair("blocks as it runs", *blocks, bound=3, share=4_000, stream=True, untapped=True),
    )
    return Subject("tree-counter", "step", "its value within the bound", epsilon, pairs)


def threshold_gate(epsilon: float) -> Subject:
    def pair(
        name: str,
        a: Steps,
        b: Steps,
        *,
        threshold: int = 1,
        share: int = 4_000,
        stream: bool = False,
        untapped: bool = False,
        far: bool = False,
        **settings: Any,
    ) -> Pair:
        gate = ThresholdGate(epsilon, threshold, **settings)
        return gate_pair(
            name, gate, a, b, share=share, stream=stream, untapped=untapped, watched=far
        )

    up, down = [1] * 10 + [0], [0] * 10 + [1]
    blocks = [1] * 6 + [0], [0] * 6 + [1]  # the seventh count's noise is of the third block
    pairs = (
        pair("three up, the last down", [1, 1, 1, 0], [0, 0, 0, 1], share=100),
        pair("ten up, the last down", up, down),
        pair(
            "stops below", [-one for one in up], [-one for one in down], threshold=-1, stops="below"
        ),
        pair("monotonic", [0, 1, 0, 1, 0], [1, 2, 1, 2, 1], threshold=2, monotonic=True),
        pair("monotonic, the last unmoved", up, [0] * 11, monotonic=True),
        pair("sensitivity 3", [3, 3, 3, 0], [0, 0, 0, 3], threshold=3, sensitivity=3),
        pair("ties at the threshold", [1, 1, 1], [1, 0, 2]),
        pair("stream", [1, 1, 0], [0, 0, 1], share=40, stream=True),
        pair("stream far off", [0, 1], [1, 0], threshold=60, stream=True, far=True),
        pair("as it runs", [1, 0], [0, 1], share=2_000, stream=True, untapped=True),
        pair("blocks as it runs", *blocks, threshold=9, share=4_000, stream=True, untapped=True),
    )
    return Subject("threshold-gate", "counts", "each within the sensitivity", epsilon, pairs)


def gate_pair(
    name: str,
    gate: ThresholdGate,
    a: Steps,
    b: Steps,
    *,
    share: int = 1_000,
    stream: bool = False,
    untapped: bool = False,
    watched: bool = False,
) -> Pair:
    """The exact loss is that of the scales the running gate asks for, in one call or as a stream.

    watched: of a stream, whether its draws are compared: only where neither input stops it, for a
    gate that is shut draws no more.
    """
    call: Callable[[NDArray[Any]], int] = first_stop(gate) if stream else gate
    threshold_scale, count_scale = gate_scales(call, gate, len(a))
    sign = 1 if gate.stops == "above" else -1
    stopping = [
        bench.gate(
            [sign * count for count in counts], sign * gate.threshold, threshold_scale, count_scale
        )
        if threshold_scale and count_scale
        else {}
        for counts in (a, b)
    ]
    return Pair(
        name,
        lambda counts, _: call(counts),
        np.array(a),
        np.array(b),
        bench.loss(*stopping) if all(stopping) else math.inf,
        (stopping[0], stopping[1]),
        share=share,
        rule=FirstPast(gate.sensitivity, threshold_scale, count_scale, gate.monotonic),
        untapped=untapped,
        silent=stream and not watched,
    )


def gate_scales(
    call: Callable[[NDArray[Any]], int], gate: ThresholdGate, length: int
) -> tuple[float, float]:
    """Of the noise on the threshold and of that on every count; 0 where one of them is missing.

    All counts are one short of the threshold, so that without noise the gate never stops, and 1 in
    one noise stops it where that noise belongs: at its count, or at once.
    """
    short = np.full(length, gate.threshold - (1 if gate.stops == "above" else -1))
    with tapped() as heard:
        passed = call(short)
    scales = [asked.scale for asked in heard for _ in range(asked.values.size)]
    one_each = (
        passed == length
        and len(scales) == 1 + length
        and len(set(scales[1:])) == 1
        and all(asked.sampler == "discrete_laplace" for asked in heard)
        and with_one(call, short, 0, -1)[0] == 0
        and all(with_one(call, short, place)[0] == place - 1 for place in range(1, 1 + length))
    )
    return (scales[0], scales[1]) if one_each else (0.0, 0.0)
