"""How far from guessing an attacker's AUC is, as readers see it."""

from __future__ import annotations

NEAR = 0.06
"""An AUC this close to 0.5 counts as near guessing."""


def shown_distance(area: float) -> float:
    """Return the distance from 0.5 of an AUC that is printed with two decimals."""
    return round(abs(round(area, 2) - 0.5), 2)
