"""One life of a mechanism that answers step by step, and its noise, drawn in blocks.

A run exists once, because it was charged once. A call of the sampler costs as much as 600 draws
in it, so a run draws its discrete Laplace noise in blocks. They grow, so that a short life does not
pay for a long one. Noise that is drawn ahead depends on no value, is handed out once, and lives and
dies with its owner.
"""

from __future__ import annotations

import os
import threading
from typing import NoReturn

import numpy as np

from tacit.errors import PrivacyError
from tacit.mechanisms import samplers

LARGEST_BLOCK = 256
"""Draws of the largest block of noise."""
_GROWTH = 4
"""Factor by which a block is larger than the one before."""


class MechanismRun:
    """An object that stays in the process that started it, and cannot be copied or saved.

    Steps are taken under `_lock`, one at a time, after `_check_process`: a fork may have copied the
    lock while another thread held it. Two copies would release more than was charged, with noise
    that the one shares with the other.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()

    def _check_process(self) -> None:
        if os.getpid() != self._process:
            raise PrivacyError(
                f"This {type(self).__name__} belongs to another process. Start a new one here, "
                "and charge for it."
            )

    def __reduce__(self) -> NoReturn:
        raise PrivacyError(
            f"A {type(self).__name__} cannot be copied or saved: two of them would release more "
            "than was charged."
        )


class LaplaceBlocks(MechanismRun):
    """Blocks of 1, 4, 16, 64 and then 256 draws; none of them is ever handed out twice."""

    def __init__(self, scale: float) -> None:
        """Prepare noise of a scale above 0, in steps."""
        super().__init__()
        self.scale = scale
        self._block = 1
        self._left: list[int] = []

    def next_noise(self, needed: int = LARGEST_BLOCK) -> int:
        """Return the next draw.

        Args:
            needed: The most draws that will be asked for from now on, this one included.
        """
        self._check_process()
        with self._lock:
            if not self._left:
                size = min(self._block, needed)
                self._left = laplace_noise(size, self.scale)[::-1]
                self._block = min(_GROWTH * self._block, LARGEST_BLOCK)
            return self._left.pop()


def laplace_noise(count: int, scale: float) -> list[int]:
    """Draw `count` times discrete Laplace noise; zeros if the scale is 0."""
    noise = np.zeros(count, dtype=np.int64)
    if scale > 0:
        noise = samplers.discrete_laplace(noise, scale)
    values: list[int] = noise.tolist()
    return values
