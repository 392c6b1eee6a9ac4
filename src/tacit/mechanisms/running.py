"""A mechanism that has begun and remembers: it exists once, because it was charged once.

One call of OpenDP costs as much as a dozen draws in it, so a running mechanism draws its discrete
Laplace noise in blocks. They grow, so that a short life does not pay for a long one. What is drawn
ahead is noise alone: it depends on no value, is handed out once, and lives and dies with its owner.
"""

from __future__ import annotations

import os
import threading
from typing import NoReturn

import numpy as np

from tacit.errors import PrivacyError
from tacit.mechanisms import samplers

LARGEST_BLOCK = 256
_GROWTH = 4


class Running:
    """Stays in the process that started it, and cannot be copied, pickled or saved.

    Steps are taken under `_lock`, one at a time, after `_check_process`: a fork may have copied the
    lock while another thread held it.
    Two copies would release more than was charged, with noise that the one shares with the other.
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


class LaplaceAhead(Running):
    """Blocks of 1, 4, 16, 64 and then 256 draws; none of them is ever handed out twice.

    scale: above 0. Like its owner it stays in its process and cannot be copied or saved: two of it
    would hand out the same noise.
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self._block = 1
        self._left: list[int] = []

    def one(self, needed: int = LARGEST_BLOCK) -> int:
        """The next noise. needed: how many more, this one included, there will be at most."""
        self._check_process()
        with self._lock:
            if not self._left:
                nothing = np.zeros(min(self._block, needed), dtype=np.int64)
                self._left = samplers.discrete_laplace(nothing, self.scale).tolist()[::-1]
                self._block = min(_GROWTH * self._block, LARGEST_BLOCK)
            return self._left.pop()
