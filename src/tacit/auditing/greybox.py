"""The grey-box audit: the same randomness replayed on neighbouring data, and a look inside.

What it compares cannot be seen in samples of the output: how many draws were made, with which
noise, and what an error says. Each of them must be the same for both neighbours, because time,
configuration and error texts are released too. Shipped mechanisms are watched as they are: their
calls of OpenDP's samplers go to the tape.

Left out: how often an exact sampler draws again because a word was too large. It depends on the
bound, so on the data where the bound does, and no exact sampler can do without; so the tape gives
only words that no sampler of this package refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.auditing.sampler_spy import Asked, tapped
from tacit.randomness import replay, simulation

T = TypeVar("T")

SEEDS = (0, 1, 2, 3, 4)


class Tape:
    """Replayed randomness that keeps a record of what was asked of it. It is a `Source`."""

    private = False

    def __init__(self, seed: int = 0) -> None:
        with simulation():
            self._source = replay(seed)
        self.record: list[str] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        """Uniform words of 63 bits: below any limit beyond which a sampler draws again."""
        self.record.append(f"{count} words")
        return self._drawn(count) >> np.uint64(1)

    def noise(self, scale: float, count: int) -> NDArray[np.float64]:
        """Laplace noise of that scale, for mechanisms that are only simulated."""
        self.record.append(f"{count} times noise of scale {scale:g}")
        return self._noise(scale, count)

    def answer(self, asked: Asked) -> NDArray[np.int64]:
        """In place of one of OpenDP's samplers; whole noise of about its size."""
        self.record.append(f"{asked.values.size} times {asked.sampler} of scale {asked.scale!r}")
        noise = np.rint(self._noise(asked.scale, asked.values.size)).reshape(asked.values.shape)
        noisy = asked.values + noise.astype(np.int64)
        return noisy.argmax(axis=1) if asked.sampler == "noisy_max" else noisy

    def _noise(self, scale: float, count: int) -> NDArray[np.float64]:
        uniform = (self._drawn(count) >> np.uint64(11)).astype(np.float64) / 2**53 - 0.5
        return np.asarray(-scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform) + 2**-54))

    def _drawn(self, count: int) -> NDArray[np.uint64]:
        with simulation():
            return self._source.words(count)


def differences(
    release: Callable[[T, Tape], object], a: T, b: T, *, seeds: Sequence[int] = SEEDS
) -> list[str]:
    """What tells two neighbouring inputs apart besides the released value; empty if nothing does.

    An exception of `release` is compared by its class and its words.
    """
    found: dict[str, None] = {}
    for seed in seeds:
        seen = [_inside(release, data, seed) for data in (a, b)]
        for name, first, second in zip(("the draws", "the error"), *seen, strict=True):
            if first != second:
                found[f"{name}: {first} against {second}"] = None
    return list(found)


def _inside(release: Callable[[T, Tape], object], data: T, seed: int) -> tuple[str, str]:
    tape, said = Tape(seed), "none"
    with tapped(tape.answer):
        try:
            release(data, tape)
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
    return ", ".join(tape.record) or "none", said
