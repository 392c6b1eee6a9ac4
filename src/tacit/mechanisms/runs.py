"""Runs of mechanisms that answer a series of questions, and noise for them, drawn in blocks.

A run cannot be copied, because it was charged once. It draws its discrete Laplace noise in blocks,
because one call of the sampler takes as long as 600 draws. The first blocks are small, so that a
short run draws few numbers that it never uses. Noise that is drawn in advance does not depend on
the data, is used once, and is never stored.
"""

from __future__ import annotations

import os
import threading
from typing import NoReturn

import numpy as np

from tacit.errors import PrivacyError
from tacit.mechanisms import samplers

LARGEST_BLOCK = 256
"""Largest number of draws in a block of noise."""
_GROWTH = 4
"""A block is this many times as large as the one before, up to `LARGEST_BLOCK`."""


class MechanismRun:
    """A run that stays in the process that started it, and cannot be copied or pickled.

    Two copies would release more than was charged, and with the same noise. Each step of a subclass
    first calls `_check_process` and then takes `_lock`: a fork may have copied the lock while it
    was held, so taking it first could wait forever.
    """

    def __init__(self) -> None:
        """Begin the run in this process."""
        self._process = os.getpid()
        self._lock = threading.Lock()

    def _check_process(self) -> None:
        """Raise PrivacyError in another process than the one that started the run."""
        if os.getpid() != self._process:
            raise PrivacyError(
                f"This {type(self).__name__} belongs to another process. Start a new one here, "
                "and charge for it."
            )

    def __reduce__(self) -> NoReturn:
        raise PrivacyError(
            f"A {type(self).__name__} cannot be copied or pickled: two of them would release more "
            "than was charged."
        )


class LaplaceBlocks(MechanismRun):
    """Discrete Laplace noise, drawn in blocks of 1, 4, 16, 64 and then 256 numbers.

    A block is smaller if fewer numbers are still needed. Each number is used once.
    """

    def __init__(self, scale: float) -> None:
        """Prepare noise of a scale above 0, in steps."""
        super().__init__()
        self.scale = scale
        self._next_size = 1
        self._unused: list[int] = []

    def next_noise(self, most_needed: int = LARGEST_BLOCK) -> int:
        """Return the next draw.

        Args:
            most_needed: The most draws that the caller will still need, this one included.

        Raises:
            PrivacyError: Another process prepared this noise.
        """
        self._check_process()
        with self._lock:
            if not self._unused:
                size = min(self._next_size, most_needed)
                self._unused = laplace_noise(size, self.scale)[::-1]
                self._next_size = min(_GROWTH * self._next_size, LARGEST_BLOCK)
            return self._unused.pop()


def laplace_noise(count: int, scale: float) -> list[int]:
    """Draw `count` numbers of discrete Laplace noise; zeros if the scale is 0."""
    noise = np.zeros(count, dtype=np.int64)
    if scale > 0:
        noise = samplers.discrete_laplace(noise, scale)
    values: list[int] = noise.tolist()
    return values
