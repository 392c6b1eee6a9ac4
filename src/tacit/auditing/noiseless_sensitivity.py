"""What a change of the input really moves under the noise, found by running the shipped code.

Rule     A mechanism that adds noise and then only adds up releases  M noise + f(input). Its noise
         is replaced by zeros and by one 1 at a time, which shows M; two inputs without noise show
         by how much each noise's centre moves. The loss follows from the moves and the scales asked
         for, with nothing taken from the mechanism's own account of itself, such as a tree's number
         of levels.
Exact    because the noise has every integer in its support and M can be undone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.auditing.sampler_spy import Asked, tapped
from tacit.errors import ConfigError

Run = Callable[[NDArray[np.float64]], ArrayLike]
"""One release of one input, its noise from the samplers that can be tapped."""

_ROUNDING = 1e-6  # of the least squares, in steps of a noise that is a whole number


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
        """Each noise plus its centre's move, from releases (n, ...); gives (n, noises)."""
        rows = np.asarray(releases, dtype=np.float64).reshape(len(releases), -1)
        return np.asarray(np.rint((rows - self.origin) @ self.unmask.T))


def moves(run: Run, a: NDArray[np.float64], b: NDArray[np.float64]) -> Moves:
    """Run both inputs without noise, and one of them with a 1 in each noise."""
    with tapped() as heard:
        at_a = _flat(run(a))
    sampler, scales = _asked(heard)
    with tapped() as heard:
        at_b = _flat(run(b))
    alike = (sampler, scales.tolist()) == (_asked(heard)[0], _asked(heard)[1].tolist())
    if not (alike and len(scales) and at_a.shape == at_b.shape):
        return _unexplained(sampler, scales, at_b)
    matrix = np.stack([with_one(run, b, place) - at_b for place in range(len(scales))], axis=1)
    if np.linalg.matrix_rank(matrix) < len(scales):
        return _unexplained(sampler, scales, at_b)
    unmask = np.asarray(np.linalg.pinv(matrix), dtype=np.float64)
    shift = at_a - at_b
    found = unmask @ shift
    steps = np.rint(found)
    rest = np.abs(matrix @ steps - shift).max(initial=0.0)
    bare = bool(rest > _ROUNDING * np.abs(matrix).max())
    return Moves(steps.astype(np.int64), scales, sampler, unmask, at_b, bare)


def _unexplained(sampler: str, scales: NDArray[np.float64], at_b: NDArray[np.float64]) -> Moves:
    nothing = np.zeros((len(scales), at_b.size))
    return Moves(np.zeros(len(scales), dtype=np.int64), scales, sampler, nothing, at_b, True)


def laplace_loss(moved: Moves) -> float:
    """Nats: every move over its scale, added up; infinite if something moves without noise."""
    if moved.bare:
        return math.inf
    return float((np.abs(moved.steps) / moved.scales).sum())


def _asked(heard: list[Asked]) -> tuple[str, NDArray[np.float64]]:
    """The sampler, "" if none was asked, and the scale of each noise."""
    kinds = {asked.sampler for asked in heard}
    if len(kinds) > 1 or "noisy_max" in kinds:
        raise ConfigError("Moves are known of mechanisms that add one kind of noise.")
    scales = [np.full(asked.values.size, asked.scale) for asked in heard]
    return kinds.pop() if kinds else "", np.concatenate([*scales, np.empty(0)])


def with_one(
    run: Run, data: NDArray[np.float64], place: int, noise: int = 1
) -> NDArray[np.float64]:
    """The release of `data` if noise number `place` is `noise` and all others are 0."""
    drawn = 0

    def answer(asked: Asked) -> NDArray[np.int64]:
        nonlocal drawn
        here = np.arange(drawn, drawn + asked.values.size) == place
        drawn += asked.values.size
        return np.asarray(asked.values + noise * here.reshape(asked.values.shape))

    with tapped(answer):
        return _flat(run(data))


def _flat(release: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(release, dtype=np.float64).ravel()
