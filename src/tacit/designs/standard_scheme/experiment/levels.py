"""Distance of an attacker's AUC from 0.5, the AUC of guessing, in two decimals."""

from __future__ import annotations

NEAR = 0.06
"""An AUC this close to 0.5 counts as near guessing."""


def shown_distance(area: float) -> float:
    """Round an AUC to two decimals, as the verdict prints it; return its distance from 0.5."""
    return round(abs(round(area, 2) - 0.5), 2)
