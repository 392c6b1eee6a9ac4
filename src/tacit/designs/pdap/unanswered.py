"""Which visits wait for an answer: each is learned once, or never.

Answers  Each visit is charged for entering the sums once.
Memory   A byte for each of the last `KEPT` visits. An answer that comes after as many more visits
         is not learned: by then a first one and a second one cannot be distinguished.
Privacy  Numbers of visits are public time. Whether a visit was answered decides whether that answer
         is learned, and nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import PrivacyError

KEPT = 1 << 16
"""Visits whose answers may still come."""


class Unanswered:
    """The last visits of one learner, numbered from 0 by its `arrivals`."""

    def __init__(self) -> None:
        self._waits = np.zeros(KEPT, dtype=np.bool_)

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """(KEPT,) whether a visit waits, by its number modulo `KEPT`; a copy."""
        return self._waits.copy()

    def resume(self, waiting: NDArray[np.bool_]) -> None:
        """Go on from a copy that `waiting` gave."""
        self._waits = waiting.copy()

    def begin_one(self, number: int) -> None:
        """Note that this visit waits for its answer."""
        self._waits[number % KEPT] = True

    def end_one(self, number: int | None, arrivals: int) -> bool:
        """Take the answer of a visit.

        Returns:
            Whether it is learned: not if it comes too late.

        Raises:
            PrivacyError: the visit is none of this learner's, or was answered already.
        """
        if number is None or not 0 <= number < arrivals:
            raise PrivacyError(
                "This choice is none of a visit here: only what select gave is answered, to the "
                "learner that gave it, and settle needs to know whose place it takes. Nothing was "
                "learned."
            )
        if number < arrivals - KEPT:
            return False
        if not self._waits[number % KEPT]:
            raise PrivacyError(
                "This visit was answered already: learned again, it would be charged twice. "
                "Nothing was learned."
            )
        self._waits[number % KEPT] = False
        return True
