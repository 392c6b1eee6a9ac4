"""Interception of the samplers of a mechanism, and audits that are based on it.

Calls    A mechanism runs as it is shipped, and only its randomness is replaced. So scales, numbers
         of draws and the values to which noise is added are read from the running code, and not
         from its documentation. The samplers are replaced for the whole process, so only one
         thread may do this at a time.
Grey box The same randomness is replayed on two neighbouring inputs. The sequence of draws, each
         with its sampler, number and scale, must be the same for both, and so must the class and
         the text of an error. An exact sampler draws a word anew if it is too large; how often this
         happens depends on the sampler's bound and is not compared, so the tape returns only words
         that no sampler rejects.
Moves    A mechanism that adds noise, and afterwards only adds up, releases  M noise + f(input).
         M is found by releases in which one noise is 1 and all others are 0. Releases of both
         inputs without noise show by how much the centre of each noise moves. The loss follows from
         these moves and the scales. It is exact, because the noise can be any integer and M has a
         left inverse.
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
"""The samplers of noise that tacit ships, by name."""
T = TypeVar("T")
SEEDS = (0, 1, 2, 3, 4)
"""Seeds of the tapes on which two inputs are compared."""
_ROUNDING = 1e-6
"""Largest residual that counts as rounding when moves are found by least squares, as a share of the
largest entry of M."""


@dataclass(frozen=True)
class SamplerCall:
    """One call of a sampler."""

    sampler: Sampler
    """Name of the sampler."""
    values: NDArray[np.int64]
    """The values to which noise is added."""
    scale: float
    """Scale of the noise; sigma of Gaussian noise."""


Answer = Callable[[SamplerCall], NDArray[np.int64]]
"""Returns the values of a call with noise; same shape."""


def draw_as_shipped(call: SamplerCall) -> NDArray[np.int64]:
    """Answer a call with the shipped sampler's noise, also inside `intercept_samplers`."""
    return _SHIPPED[call.sampler](call.values, call.scale)


@contextmanager
def intercept_samplers(answer: Answer = lambda call: call.values) -> Iterator[list[SamplerCall]]:
    """Replace all samplers of noise by `answer` while the `with` block runs.

    The default of `answer` adds no noise.

    Yields:
        The list of calls, which grows as they are made.
    """
    calls: list[SamplerCall] = []

    def replacement_for(
        sampler: Sampler,
    ) -> Callable[[NDArray[np.int64], float], NDArray[np.int64]]:
        """Return the function that replaces a sampler: it records the call and answers it."""

        def draw(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            call = SamplerCall(sampler, np.asarray(values), scale)
            calls.append(call)
            return answer(call)

        return draw

    def next_noise(blocks: LaplaceBlocks, _most_needed: int = 1) -> int:
        """Replace `LaplaceBlocks.next_noise`: record the draw as a call for one value of 0."""
        call = SamplerCall("discrete_laplace", np.zeros(1, dtype=np.int64), blocks.scale)
        calls.append(call)
        return int(answer(call)[0])

    replacements: list[tuple[object, str, Any]] = [
        (samplers, sampler, replacement_for(sampler)) for sampler in _SHIPPED
    ]
    replacements.append((LaplaceBlocks, "next_noise", next_noise))
    originals = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]
    for owner, name, replacement in replacements:
        setattr(owner, name, replacement)
    try:
        yield calls
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


class BulkNoise:
    """Noise of the shipped samplers, drawn in bulk.

    One call of a sampler has a fixed cost, as much as that of hundreds of draws.

    Args:
        size: Number of draws in one call of a sampler; more if a single answer needs more.
    """

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._noise: dict[tuple[str, float], tuple[NDArray[np.int64], int]] = {}
        """For each sampler and scale, the drawn noise and how much of it was used."""

    def answer(self, call: SamplerCall) -> NDArray[np.int64]:
        """Answer a call with noise that was not used before."""
        key = (call.sampler, call.scale)
        count = call.values.size
        noise, used = self._noise.get(key, (np.empty(0, dtype=np.int64), 0))
        if used + count > len(noise):
            zeros = np.zeros(max(self._size, count), dtype=np.int64)
            noise = _SHIPPED[call.sampler](zeros, call.scale)
            used = 0
        self._noise[key] = (noise, used + count)
        return call.values + noise[used : used + count].reshape(call.values.shape)


class Tape:
    """A seeded source of random words and of noise, which records a description of each draw.

    Args:
        seed: Seed of the source. Two tapes with the same seed give the same words and noise.
    """

    is_private = False

    def __init__(self, seed: int = 0) -> None:
        with simulation():
            self._source = replay(seed)
        self.record: list[str] = []
        """Descriptions of all draws, in order."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Draw (count,) uniform words of 63 bits, which no sampler rejects as too large."""
        self.record.append(f"{count} words")
        return self._draw(count) >> np.uint64(1)

    def noise(self, scale: float, count: int) -> NDArray[np.float64]:
        """Draw (count,) floats of Laplace noise, for mechanisms that are only simulated."""
        self.record.append(f"{count} times noise of scale {scale:g}")
        return self._noise(scale, count)

    def answer(self, call: SamplerCall) -> NDArray[np.int64]:
        """Answer a call with rounded Laplace noise of its scale, whatever the sampler."""
        self.record.append(f"{call.values.size} times {call.sampler} of scale {call.scale!r}")
        noise = np.rint(self._noise(call.scale, call.values.size)).reshape(call.values.shape)
        return call.values + noise.astype(np.int64)

    def _noise(self, scale: float, count: int) -> NDArray[np.float64]:
        """Draw (count,) numbers of Laplace noise by inversion of the distribution function."""
        uniform = (self._draw(count) >> np.uint64(11)).astype(np.float64) / 2**53 - 0.5
        return np.asarray(-scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform) + 2**-54))

    def _draw(self, count: int) -> NDArray[np.uint64]:
        """Draw (count,) uniform words of 64 bits."""
        with simulation():
            return self._source.words(count)


def differences(
    release: Callable[[T, Tape], object], a: T, b: T, *, seeds: Sequence[int] = SEEDS
) -> list[str]:
    """Return the differences between two neighbouring inputs in draws and errors of a release.

    Args:
        release: Makes one release with a tape as its randomness.
        a: The first input.
        b: The second input.
        seeds: Seeds of the tapes that are tried.

    Returns:
        Each difference once, in words. Errors differ if their classes or their messages do.
    """
    sentences: dict[str, None] = {}  # its keys, in order and each once
    for seed in seeds:
        draws_a, error_a = _observe(release, a, seed)
        draws_b, error_b = _observe(release, b, seed)
        if draws_a != draws_b:
            sentences[f"the draws: {draws_a} against {draws_b}"] = None
        if error_a != error_b:
            sentences[f"the error: {error_a} against {error_b}"] = None
    return list(sentences)


def _observe(release: Callable[[T, Tape], object], data: T, seed: int) -> tuple[str, str]:
    """Make one release, and return its draws and its error in words; "none" for none."""
    tape = Tape(seed)
    error_text = "none"
    with intercept_samplers(tape.answer):
        try:
            release(data, tape)
        except Exception as error:
            error_text = f"{type(error).__name__}: {error}"
    return ", ".join(tape.record) or "none", error_text


Run = Callable[[NDArray[np.float64]], ArrayLike]
"""Makes one release of one input, with noise from samplers that can be intercepted."""


@dataclass(frozen=True)
class Moves:
    """The moves of the centres of all noises from the second input to the first."""

    steps: NDArray[np.int64]
    """(noises,) the moves. They mean nothing if `is_unprotected`."""
    scales: NDArray[np.float64]
    """(noises,) scale of each noise."""
    sampler: str
    """Name of the sampler; "" if none was called."""
    to_noises: NDArray[np.float64]
    """(noises, numbers) left inverse of M: maps a release minus `origin` to the noises. It is M
    transposed, of no use, if M has no left inverse."""
    origin: NDArray[np.float64]
    """(numbers,) the release of the second input without noise."""
    is_unprotected: bool
    """Whether moves leave a difference between the inputs unexplained: no noise is drawn, some
    number of the release moves although no noise covers it, the two inputs are given different
    noise, or M has no left inverse."""

    def noises(self, releases: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (n, noises) noises of (n, ...) releases, relative to the second input.

        In releases of the first input, each noise includes the move of its centre.
        """
        rows = np.asarray(releases, dtype=np.float64).reshape(len(releases), -1)
        return np.asarray(np.rint((rows - self.origin) @ self.to_noises.T))


def measure_moves(run: Run, a: NDArray[np.float64], b: NDArray[np.float64]) -> Moves:
    """Find by how much the centre of each noise moves between two inputs.

    Both inputs are released with all noise set to 0. If the two releases call the same sampler for
    the same number of noises at the same scales, the second input is also released with each noise
    set to 1 in turn.

    Args:
        run: Makes one release.
        a: The first input.
        b: The second input.

    Raises:
        ConfigError: The mechanism adds more than one kind of noise.
    """
    with intercept_samplers() as calls:
        release_a = _row_of_numbers(run(a))
    sampler, scales = _noise_scales(calls)
    with intercept_samplers() as calls:
        release_b = _row_of_numbers(run(b))
    sampler_b, scales_b = _noise_scales(calls)
    is_same_noise = sampler == sampler_b and np.array_equal(scales, scales_b)
    count = len(scales)
    matrix = np.zeros((release_b.size, count))  # M; stays 0 if the inputs cannot be compared
    if is_same_noise and release_a.shape == release_b.shape:
        for number in range(count):
            matrix[:, number] = release_with_one_noise(run, b, number) - release_b
    if count == 0 or np.linalg.matrix_rank(matrix) < count:
        no_steps = np.zeros(count, dtype=np.int64)
        return Moves(no_steps, scales, sampler, matrix.T, release_b, is_unprotected=True)
    to_noises = np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
    shift = release_a - release_b
    steps = np.rint(to_noises @ shift)
    residual = np.abs(matrix @ steps - shift).max(initial=0.0)
    is_unprotected = bool(residual > _ROUNDING * np.abs(matrix).max())
    return Moves(steps.astype(np.int64), scales, sampler, to_noises, release_b, is_unprotected)


def laplace_loss(moves: Moves) -> float:
    """Return the loss of Laplace noise, sum of |move| / scale in nats; infinite if unprotected."""
    if moves.is_unprotected:
        return math.inf
    return float((np.abs(moves.steps) / moves.scales).sum())


def _noise_scales(calls: list[SamplerCall]) -> tuple[str, NDArray[np.float64]]:
    """Return the name of the sampler, and the (noises,) scale of each noise that was drawn.

    The name is "" if no sampler was called.

    Raises:
        ConfigError: More than one kind of sampler was called.
    """
    if not calls:
        return "", np.empty(0)
    if len({call.sampler for call in calls}) > 1:
        raise ConfigError("Moves can be found only for a mechanism that adds one kind of noise.")
    scales = [np.full(call.values.size, call.scale) for call in calls]
    return calls[0].sampler, np.concatenate(scales)


def release_with_one_noise(
    run: Run, data: NDArray[np.float64], number: int, noise: int = 1
) -> NDArray[np.float64]:
    """Return the release of `data` if noise number `number` is `noise` and all others are 0."""
    noises_so_far = 0

    def answer(call: SamplerCall) -> NDArray[np.int64]:
        """Answer a call: add `noise` as the noise of this number, and 0 as all other noise."""
        nonlocal noises_so_far
        numbers = np.arange(noises_so_far, noises_so_far + call.values.size)
        noises_so_far += call.values.size
        noises = np.where(numbers == number, noise, 0)
        return np.asarray(call.values + noises.reshape(call.values.shape))

    with intercept_samplers(answer):
        return _row_of_numbers(run(data))


def _row_of_numbers(release: ArrayLike) -> NDArray[np.float64]:
    """Return the numbers of a release as one row of floats."""
    return np.asarray(release, dtype=np.float64).ravel()
