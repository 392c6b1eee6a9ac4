"""Checks of a history: numbers that are too large to hold."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.errors import DataError
from tacit.recommenders.inputs import checked_history, checked_times


@pytest.mark.parametrize("value", [10**400, -(10**400), np.complex128(1), True, np.nan, "4"])
@pytest.mark.parametrize("others", [{}, {1: 4.0}, {1: np.float32(4)}])
def test_stars_that_no_float_holds_are_refused(value: object, others: dict[int, float]) -> None:
    """The error names the item; other numbers stay as they are."""
    with pytest.raises(DataError, match="item 7 in the history is not a finite number"):
        checked_history({**others, 7: value})
    assert checked_history({**others, 7: 5}) == {**others, 7: 5}


@pytest.mark.parametrize("time", [2**63, -(2**63) - 1, 10**400])
def test_times_beyond_64_bits_are_refused(time: int) -> None:
    """The error names the item."""
    with pytest.raises(DataError, match="the time of item 7 in the history"):
        checked_times({7: time}, {7: 4.0})
    assert checked_times({7: 2**63 - 1}, {7: 4.0}) == {7: 2**63 - 1}
