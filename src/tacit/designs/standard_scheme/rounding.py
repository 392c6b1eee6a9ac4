"""Rounding: from an obfuscated level to a whole one of the scale.

Source      the patent's "Rounding", whose two printed chances are swapped; here the mean is right.
Runs at     the person's own device.

Standard library only.
"""

from __future__ import annotations

from tacit.designs.standard_scheme.dice import Draw
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO


def highest_level(n_levels: int) -> int:
    """Compute the highest whole level of a scale with so many levels, 0 for a continuous one."""
    return n_levels - 1 if n_levels else CONTINUOUS_LEVELS


def round_level(level: int, n_levels: int, draw: Draw) -> int:
    """Draw a whole level with the given mean, clipped to the scale; in and out in micro-levels.

    Between k and k + 1 it is k + 1 with chance level - k.
    """
    whole, micros = divmod(level, MICRO)
    whole += draw(MICRO) < micros
    return min(max(whole, 0), highest_level(n_levels)) * MICRO
