"""Visits that wait for an answer.

Answers  Each visit is learned once, or never: it is charged for entering the sums once.
Memory   A byte for each of the last `VISITS_REMEMBERED` visits. An answer that comes after as many
         more visits is not learned: by then a first one and a second one cannot be distinguished.
Privacy  Numbers of visits are public time. Whether a visit was answered decides whether that answer
         is learned, and nothing else.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import PrivacyError

VISITS_REMEMBERED = 1 << 16
"""An answer to a visit that is longer ago than so many visits is not learned."""


class WaitingVisits:
    """Whether each of the last visits waits. Visits are numbered from 0, by `arrivals`."""

    def __init__(self) -> None:
        self._waits = np.zeros(VISITS_REMEMBERED, dtype=np.bool_)

    def export_state(self) -> NDArray[np.bool_]:
        """(VISITS_REMEMBERED,) whether a visit waits, by its number modulo that; a copy."""
        return self._waits.copy()

    def resume(self, waiting: NDArray[np.bool_]) -> None:
        """Go on from what `export_state` was."""
        self._waits = waiting.copy()

    def begin_one(self, number: int) -> None:
        """Let this visit wait for its answer."""
        self._waits[number % VISITS_REMEMBERED] = True

    def end_one(self, number: int | None, arrivals: int) -> bool:
        """Take the answer of a visit.

        Args:
            number: of the visit.
            arrivals: visits so far.

        Returns:
            Whether the answer is learned; False if it comes too late.

        Raises:
            PrivacyError: It was answered before, or is no visit of this learner.
        """
        if number is None or not 0 <= number < arrivals:
            raise PrivacyError(
                "This choice belongs to no visit of this learner. Answer a choice that this "
                "learner's select returned, and tell settle which visit it replaces. Nothing was "
                "learned."
            )
        if number < arrivals - VISITS_REMEMBERED:
            return False
        if not self._waits[number % VISITS_REMEMBERED]:
            raise PrivacyError(
                "This visit was answered already: learned again, it would be charged twice. "
                "Nothing was learned."
            )
        self._waits[number % VISITS_REMEMBERED] = False
        return True
