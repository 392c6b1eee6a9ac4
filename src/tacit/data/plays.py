"""Numbers of plays, purchases or clicks as events: liked from a public number of them on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.data import cells
from tacit.errors import ConfigError, DataError

PLAYS = "a number of 0 or more"


def number_of_plays(text: str) -> float | None:
    """0 or more, None if the text is something else."""
    value = cells.number(text)
    return value if value is not None and value >= 0 else None


def check_least(least_plays: float) -> None:
    """ConfigError unless so many plays can make a like."""
    if not 0 < least_plays < np.inf:
        raise ConfigError(f"The fewest plays that are a like are above 0; got {least_plays}.")


def settle(read: dict[str, Any], least_plays: float) -> dict[str, Any]:
    """Columns with 'rating' in place of 'plays': 1 from `least_plays` on, 0 below.

    A row of no plays is no event, and is left out.
    """
    plays = np.asarray(read.pop("plays"), dtype=np.float64)
    kept = plays > 0
    if not kept.any():
        raise DataError("there is no event", expected="a row with plays above 0")
    columns = {
        role: column if role == "domain" else _rows(column, kept) for role, column in read.items()
    }
    return columns | {"rating": (plays[kept] >= least_plays).astype(np.float64)}


def _rows(column: Any, kept: Any) -> Any:
    if isinstance(column, np.ndarray):
        return column[kept]
    return [value for value, keep in zip(column, kept.tolist(), strict=True) if keep]
