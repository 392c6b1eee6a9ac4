"""The grey-box audit: the same randomness replayed on neighbouring data, and a look inside.

What it compares cannot be seen in samples of the output: how many draws were made, with which
noise, and what an error says. Each of them must be the same for both neighbours, because time,
configuration and error texts are released too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.randomness import replay, simulation

T = TypeVar("T")


class Tape:
    """Replayed randomness that keeps a record of what was asked of it. It is a `Source`."""

    private = False

    def __init__(self, seed: int = 0) -> None:
        with simulation():
            self._source = replay(seed)
        self.record: list[str] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        """Uniform 64-bit words."""
        self.record.append(f"{count} words")
        return self._drawn(count)

    def noise(self, scale: float, count: int) -> NDArray[np.float64]:
        """Laplace noise of that scale, for mechanisms that are only simulated."""
        self.record.append(f"{count} times noise of scale {scale:g}")
        uniform = (self._drawn(count) >> np.uint64(11)).astype(np.float64) / 2**53 - 0.5
        return np.asarray(-scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform) + 2**-54))

    def _drawn(self, count: int) -> NDArray[np.uint64]:
        with simulation():
            return self._source.words(count)


def differences(release: Callable[[T, Tape], object], a: T, b: T, *, seed: int = 0) -> list[str]:
    """What tells two neighbouring inputs apart besides the released value; empty if nothing does.

    An exception of `release` is compared by its class and its words.
    """
    seen = [_inside(release, data, seed) for data in (a, b)]
    names = ("the draws", "the error")
    return [
        f"{name}: {first} against {second}"
        for name, first, second in zip(names, *seen, strict=True)
        if first != second
    ]


def _inside(release: Callable[[T, Tape], object], data: T, seed: int) -> tuple[str, str]:
    tape, said = Tape(seed), "none"
    try:
        release(data, tape)
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    return ", ".join(tape.record) or "none", said
