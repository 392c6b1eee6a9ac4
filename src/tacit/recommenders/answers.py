"""Which visits still wait for an answer: each is learned once, or never.

Why      A visit is charged for entering the sums once. Who answers, how often, is up to callers.
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


class Unanswered:
    """Visits are numbered from 0 on, by their learner's `arrivals`."""

    def __init__(self) -> None:
        self._waits = np.zeros(KEPT, dtype=np.bool_)

    @property
    def waiting(self) -> NDArray[np.bool_]:
        """(KEPT,) whether a visit waits, by its number modulo `KEPT`; a copy."""
        return self._waits.copy()

    def resume(self, waiting: NDArray[np.bool_]) -> None:
        """Go on from what `waiting` was."""
        self._waits = waiting.copy()

    def begin(self, first: int, visits: int = 1) -> NDArray[np.int64]:
        """So many visits begin, at most `KEPT`; their numbers."""
        numbers = np.arange(first, first + visits)
        self._waits[numbers % KEPT] = True
        return numbers

    def begin_one(self, number: int) -> None:
        self._waits[number % KEPT] = True

    def end_one(self, number: int | None, arrivals: int) -> bool:
        """Whether its answer is learned: False if it comes too late. PrivacyError: a second one."""
        if number is None or not 0 <= number < arrivals:
            raise _unknown()
        if number < arrivals - KEPT:
            return False
        if not self._waits[number % KEPT]:
            raise _again()
        self._waits[number % KEPT] = False
        return True

    def end(self, numbers: NDArray[np.int64] | None, arrivals: int) -> NDArray[np.bool_]:
        """(n,) the same for many; if one of them is refused, none has been answered."""
        if numbers is None or (numbers.size and not 0 <= numbers.min() <= numbers.max() < arrivals):
            raise _unknown()
        if len(np.unique(numbers)) < len(numbers):
            raise _again()
        kept = numbers >= arrivals - KEPT
        places = numbers[kept] % KEPT
        if not self._waits[places].all():
            raise _again()
        self._waits[places] = False
        return np.asarray(kept)


def _again() -> PrivacyError:
    return PrivacyError(
        "This visit was answered already: learned again, it would be charged twice. Nothing was "
        "learned."
    )


def _unknown() -> PrivacyError:
    return PrivacyError(
        "This choice is none of a visit here: only what select gave is answered, to the learner "
        "that gave it, and settle needs to know whose place it takes. Nothing was learned."
    )
