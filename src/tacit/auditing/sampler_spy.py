"""A tap between the mechanisms and OpenDP: what a mechanism asks its samplers for, and an answer.

The mechanism runs as it is shipped, and only the noise is replaced. So scales, numbers of draws
and the values to which noise is added are read from the code that runs, not from what it says of
itself. Of noise that is drawn ahead, heard is each number that a mechanism takes, when it takes it.
Not for several threads at once: the samplers are replaced for the whole process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.mechanisms import samplers
from tacit.mechanisms.noise_ahead import LaplaceAhead

Sampler = Literal["discrete_laplace", "discrete_gaussian", "noisy_max"]
_SAMPLERS: tuple[Sampler, ...] = ("discrete_laplace", "discrete_gaussian", "noisy_max")


@dataclass(frozen=True)
class Asked:
    """One call of a sampler. values: to which noise is added. scale: sigma of a Gaussian."""

    sampler: Sampler
    values: NDArray[np.int64]
    scale: float


_SHIPPED: Mapping[Sampler, Callable[[NDArray[np.int64], float], NDArray[np.int64]]] = {
    sampler: getattr(samplers, sampler) for sampler in _SAMPLERS
}

Answer = Callable[[Asked], NDArray[np.int64]]


def without_noise(asked: Asked) -> NDArray[np.int64]:
    """The values as they are; of a noisy max, the largest."""
    return asked.values.argmax(axis=1) if asked.sampler == "noisy_max" else asked.values


def as_shipped(asked: Asked) -> NDArray[np.int64]:
    """What the shipped sampler answers, also inside a tap."""
    return _SHIPPED[asked.sampler](asked.values, asked.scale)


@contextmanager
def tapped(answer: Answer = without_noise) -> Iterator[list[Asked]]:
    """Inside, every draw of a mechanism comes from `answer` and stands in the list yielded."""
    heard: list[Asked] = []

    def standing_in(sampler: Sampler) -> Callable[[NDArray[np.int64], float], NDArray[np.int64]]:
        def draw(values: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
            heard.append(Asked(sampler, np.asarray(values), scale))
            return answer(heard[-1])

        return draw

    def one(ahead: LaplaceAhead, _: int = 1) -> int:
        heard.append(Asked("discrete_laplace", np.zeros(1, dtype=np.int64), ahead.scale))
        return int(answer(heard[-1])[0])

    stand_ins: dict[tuple[object, str], Any] = {
        (samplers, sampler): standing_in(sampler) for sampler in _SAMPLERS
    }
    stand_ins[LaplaceAhead, "one"] = one
    kept = {place: getattr(*place) for place in stand_ins}
    for place, stand_in in stand_ins.items():
        setattr(*place, stand_in)
    try:
        yield heard
    finally:
        for place, shipped in kept.items():
            setattr(*place, shipped)


class Bulk:
    """Noise of the shipped samplers, drawn many at a time and handed out in order.

    One call of OpenDP costs hundreds of times what one more draw in it costs. A noisy max is not
    drawn in bulk.
    """

    def __init__(self, size: int = 20_000) -> None:
        self._size = size
        self._kept: dict[tuple[str, float], tuple[NDArray[np.int64], int]] = {}

    def answer(self, asked: Asked) -> NDArray[np.int64]:
        if asked.sampler == "noisy_max":
            return as_shipped(asked)
        key, count = (asked.sampler, asked.scale), asked.values.size
        noise, used = self._kept.get(key, (np.empty(0, dtype=np.int64), 0))
        if used + count > len(noise):
            nothing = np.zeros(max(self._size, count), dtype=np.int64)
            noise, used = _SHIPPED[asked.sampler](nothing, asked.scale), 0
        self._kept[key] = (noise, used + count)
        return asked.values + noise[used : used + count].reshape(asked.values.shape)
