"""What a cell of text may hold: numbers and times. None means that it holds neither."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime

import numpy as np
from numpy.typing import NDArray

NUMBER = "a finite number such as 4 or 3.5"
TIME = "seconds since 1970 (whole, or with decimals, which are cut) or an ISO date-time"
LAST_SECOND = 253_402_300_799  # the end of the year 9999: beyond it lie milliseconds, not seconds

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def number(text: str) -> float | None:
    """A finite number in plain ASCII digits; no thousands separators, no decimal comma."""
    if not _NUMBER.fullmatch(text):
        return None
    value = float(text)
    return value if math.isfinite(value) else None


def seconds(text: str) -> int | None:
    """Seconds since 1970, from seconds or from an ISO date or date-time (UTC unless it says)."""
    value = number(text)
    if value is None:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return None
        value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    return int(value) if abs(value) <= LAST_SECOND else None


def plausible(times: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which times lie in the years a date can name."""
    return (times >= -LAST_SECOND) & (times <= LAST_SECOND)
