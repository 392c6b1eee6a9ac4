"""The calls of a mechanism to its samplers, and what follows from them.

Calls    Mechanisms run as they are shipped, and only the noise is replaced. So scales, numbers of
         draws and the values to which noise is added are read from the code that runs, not from
         what it says of itself. Not for several threads at once: the samplers are replaced for the
         whole process.
Inside   The grey-box audit replays the same randomness on neighbouring data. How many draws were
         made, with which noise, and what an error says must be the same for both. How often an
         exact sampler draws again because a word was too large is not compared: this depends on the
         sampler's bound, and every exact sampler does it. So the tape gives only words that no
         sampler refuses.
Moves    A mechanism that adds noise and then only adds up releases  M noise + f(input). Its noise
         is replaced by zeros and by one 1 at a time, which shows M; two inputs without noise show
         by how much each noise's centre moves. The loss follows from the moves and the scales asked
         for. It is exact because the noise has every integer in its support and M can be undone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.errors import ConfigError
from tacit.mechanisms import samplers
from tacit.mechanisms.runs import LaplaceBlocks
from tacit.randomness import replay, simulation

Sampler = Literal["discrete_laplace", "discrete_gaussian"]
_SHIPPED: Mapping[Sampler, Callable[[NDArray[np.int64], float], NDArray[np.int64]]] = {
    "discrete_laplace": samplers.discrete_laplace,
    "discrete_gaussian": samplers.discrete_gaussian,
}
T = TypeVar("T")
SEEDS = (0, 1, 2, 3, 4)
_ROUNDING = 1e-6  # of the least squares, in steps of a noise that is a whole number


@dataclass(frozen=True)
class SamplerCall:
    """One call of a sampler: the values that get noise, and the scale, sigma of a Gaussian."""

    sampler: Sampler
    values: NDArray[np.int64]
    scale: float


Answer = Callable[[SamplerCall], NDArray[np.int64]]


def draw_as_shipped(call: SamplerCall) -> NDArray[np.int64]:
    """Draw from the shipped sampler, also inside `intercept_samplers`."""
    return _SHIPPED[call.sampler](call.values, call.scale)


@contextmanager
def intercept_samplers(answer: Answer = lambda call: call.values) -> Iterator[list[SamplerCall]]:
    """Let every draw of a mechanism come from `answer` inside the block, by default without noise.

    Yields:
        The calls, as they are made.
    """
    calls: list[SamplerCall] = []

    def stand_in_for(sampler: Sampler) -> Callable[[NDArray[np.int64], float], NDArray[np.int64]]:
        def draw(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            calls.append(SamplerCall(sampler, np.asarray(values), scale))
            return answer(calls[-1])

        return draw

    def draw_next(ahead: LaplaceBlocks, _: int = 1) -> int:
        calls.append(SamplerCall("discrete_laplace", np.zeros(1, dtype=np.int64), ahead.scale))
        return int(answer(calls[-1])[0])

    stand_ins: dict[tuple[object, str], Any] = {
        (samplers, sampler): stand_in_for(sampler) for sampler in _SHIPPED
    }
    stand_ins[LaplaceBlocks, "next_noise"] = draw_next
    kept = {place: getattr(*place) for place in stand_ins}
    for place, stand_in in stand_ins.items():
        setattr(*place, stand_in)
    try:
        yield calls
    finally:
        for place, shipped in kept.items():
            setattr(*place, shipped)


class BulkNoise:
    """Noise of the shipped samplers, drawn many at a time and handed out in order.

    One call of the sampler costs hundreds of times what one more draw in it costs.
    """

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._kept: dict[tuple[str, float], tuple[NDArray[np.int64], int]] = {}

    def answer(self, call: SamplerCall) -> NDArray[np.int64]:
        """Answer one call with noise that was never handed out."""
        key = (call.sampler, call.scale)
        count = call.values.size
        noise, used = self._kept.get(key, (np.empty(0, dtype=np.int64), 0))
        if used + count > len(noise):
            nothing = np.zeros(max(self._size, count), dtype=np.int64)
            noise = _SHIPPED[call.sampler](nothing, call.scale)
            used = 0
        self._kept[key] = (noise, used + count)
        return call.values + noise[used : used + count].reshape(call.values.shape)


class Tape:
    """Replayed randomness that keeps a record of what was asked of it. It is a `Source`."""

    is_private = False

    def __init__(self, seed: int = 0) -> None:
        with simulation():
            self._source = replay(seed)
        self.record: list[str] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw uniform words of 63 bits: below any limit beyond which a sampler draws again."""
        self.record.append(f"{count} words")
        return self._draw(count) >> np.uint64(1)

    def noise(self, scale: float, count: int) -> NDArray[np.float64]:
        """Draw Laplace noise of that scale, for mechanisms that are only simulated."""
        self.record.append(f"{count} times noise of scale {scale:g}")
        return self._noise(scale, count)

    def answer(self, call: SamplerCall) -> NDArray[np.int64]:
        """Answer one call with whole noise of about its size, and record it."""
        self.record.append(f"{call.values.size} times {call.sampler} of scale {call.scale!r}")
        noise = np.rint(self._noise(call.scale, call.values.size)).reshape(call.values.shape)
        return call.values + noise.astype(np.int64)

    def _noise(self, scale: float, count: int) -> NDArray[np.float64]:
        uniform = (self._draw(count) >> np.uint64(11)).astype(np.float64) / 2**53 - 0.5
        return np.asarray(-scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform) + 2**-54))

    def _draw(self, count: int) -> NDArray[np.uint64]:
        with simulation():
            return self._source.words(count)


def differences(
    release: Callable[[T, Tape], object], a: T, b: T, *, seeds: Sequence[int] = SEEDS
) -> list[str]:
    """List what tells two neighbouring inputs apart besides the released value.

    An exception of `release` is compared by its class and its words.
    """
    found: dict[str, None] = {}
    for seed in seeds:
        seen = [_observe(release, data, seed) for data in (a, b)]
        for name, first, second in zip(("the draws", "the error"), *seen, strict=True):
            if first != second:
                found[f"{name}: {first} against {second}"] = None
    return list(found)


def _observe(release: Callable[[T, Tape], object], data: T, seed: int) -> tuple[str, str]:
    tape = Tape(seed)
    said = "none"
    with intercept_samplers(tape.answer):
        try:
            release(data, tape)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
    return ", ".join(tape.record) or "none", said


Run = Callable[[NDArray[np.float64]], ArrayLike]
"""One release of one input, its noise from samplers that can be intercepted."""


@dataclass(frozen=True)
class Moves:
    """steps: how far each noise's centre moves, whole numbers (noises,). scales: (noises,).

    unmask: turns a release, less the noiseless release of the second input, into the noises.
    origin: that noiseless release. bare: whether something moves that no noise covers, the inputs
    ask for different noise, or two noises cover the same thing, so that no move explains the loss.
    """

    steps: NDArray[np.int64]
    scales: NDArray[np.float64]
    sampler: str
    unmask: NDArray[np.float64]
    origin: NDArray[np.float64]
    bare: bool

    def noises(self, releases: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return (n, noises): each noise plus its centre's move, from releases (n, ...)."""
        rows = np.asarray(releases, dtype=np.float64).reshape(len(releases), -1)
        return np.asarray(np.rint((rows - self.origin) @ self.unmask.T))


def moves(run: Run, a: NDArray[np.float64], b: NDArray[np.float64]) -> Moves:
    """Run both inputs (any shape) without noise, and one of them with a 1 in each noise."""
    with intercept_samplers() as calls:
        at_a = _flat(run(a))
    sampler, scales = _noise_scales(calls)
    with intercept_samplers() as calls:
        at_b = _flat(run(b))
    sampler_b, scales_b = _noise_scales(calls)
    count = len(scales)
    matrix = np.zeros((at_b.size, count))  # stays zero, of rank 0, if the inputs cannot be compared
    if sampler == sampler_b and np.array_equal(scales, scales_b) and at_a.shape == at_b.shape:
        for place in range(count):
            matrix[:, place] = release_with_one(run, b, place) - at_b
    if count == 0 or np.linalg.matrix_rank(matrix) < count:
        return Moves(np.zeros(count, dtype=np.int64), scales, sampler, matrix.T, at_b, True)
    unmask = np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
    shift = at_a - at_b
    found = unmask @ shift
    steps = np.rint(found)
    residual = np.abs(matrix @ steps - shift).max(initial=0.0)
    bare = bool(residual > _ROUNDING * np.abs(matrix).max())
    return Moves(steps.astype(np.int64), scales, sampler, unmask, at_b, bare)


def laplace_loss(moved: Moves) -> float:
    """Add up every move over its scale, in nats; infinite if something moves without noise."""
    if moved.bare:
        return math.inf
    return float((np.abs(moved.steps) / moved.scales).sum())


def _noise_scales(calls: list[SamplerCall]) -> tuple[str, NDArray[np.float64]]:
    """List the scale of each noise that was drawn, and name the sampler.

    Returns:
        The sampler's name, "" if none was called, and (noises,) scales.
    """
    if not calls:
        return "", np.empty(0)
    if len({call.sampler for call in calls}) > 1:
        raise ConfigError("Moves can be found only for a mechanism that adds one kind of noise.")
    scales = [np.full(call.values.size, call.scale) for call in calls]
    return calls[0].sampler, np.concatenate(scales)


def release_with_one(
    run: Run, data: NDArray[np.float64], place: int, noise: int = 1
) -> NDArray[np.float64]:
    """Return the release of `data` if noise number `place` is `noise` and all others are 0."""
    drawn = 0

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        nonlocal drawn
        is_the_place = np.arange(drawn, drawn + call.values.size) == place
        drawn += call.values.size
        return np.asarray(call.values + noise * is_the_place.reshape(call.values.shape))

    with intercept_samplers(answer):
        return _flat(run(data))


def _flat(release: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(release, dtype=np.float64).ravel()
