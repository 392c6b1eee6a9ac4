"""Discrete Laplace noise of one scale for one running mechanism, a number at a time.

One call of OpenDP costs as much as a dozen draws in it, so noise is drawn in blocks. They grow, so
that a short life does not pay for a long one. What is drawn ahead is noise alone: it depends on no
value, is handed out once, and lives and dies with its owner.
"""

from __future__ import annotations

import numpy as np

from tacit.mechanisms import samplers
from tacit.mechanisms.running import Running

LARGEST_BLOCK = 256
_GROWTH = 4


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
