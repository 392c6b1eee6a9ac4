"""Visits that wait for an answer: the reward with which they are learned.

Answers  Each visit is learned at most once, because epsilon is charged for entering the sums once.
Memory   One byte for each of the last `VISITS_REMEMBERED` visits. An answer to an earlier visit is
         not learned, because nobody knows any more whether it is the visit's first answer.
Privacy  Numbers of visits are public. Whether a visit was answered decides one thing only: whether
         an answer to the same visit is learned.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.errors import PrivacyError

VISITS_REMEMBERED = 1 << 16
"""Answers to visits before the last VISITS_REMEMBERED ones are not learned."""


class WaitingVisits:
    """Remembers which of the last visits wait for an answer. Visits are numbered from 0."""

    def __init__(self) -> None:
        self._waits = np.zeros(VISITS_REMEMBERED, dtype=np.bool_)
        """Whether visit i waits, at position i modulo VISITS_REMEMBERED."""

    def export_state(self) -> NDArray[np.bool_]:
        """Copy the state: (VISITS_REMEMBERED,) booleans.

        Whether visit i waits is at position i modulo VISITS_REMEMBERED.
        """
        return self._waits.copy()

    def resume(self, waiting: NDArray[np.bool_]) -> None:
        """Restore the state that `export_state` returned."""
        self._waits = waiting.copy()

    def start_waiting(self, number: int) -> None:
        """Note that the visit of this number waits for its answer."""
        self._waits[number % VISITS_REMEMBERED] = True

    def accept_answer(self, number: int | None, arrivals: int) -> bool:
        """Note that a visit is answered, and decide whether its answer is learned.

        Args:
            number: of the visit; None for a choice that is no visit.
            arrivals: visits of the learner so far.

        Returns:
            Whether the answer is learned; False if it comes too late.

        Raises:
            PrivacyError: The visit was answered before, or is not a visit of this learner.
        """
        if number is None or not 0 <= number < arrivals:
            raise PrivacyError(
                "This choice is not a visit of this learner. Answer a choice that this learner's "
                "select returned, and tell choose_again which visit it replaces. This answer was "
                "not learned."
            )
        if number < arrivals - VISITS_REMEMBERED:
            return False
        if not self._waits[number % VISITS_REMEMBERED]:
            raise PrivacyError(
                "This visit was answered already: learned again, it would cost epsilon twice. "
                "This answer was not learned."
            )
        self._waits[number % VISITS_REMEMBERED] = False
        return True
