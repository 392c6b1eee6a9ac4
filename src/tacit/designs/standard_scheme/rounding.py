"""Rounding: from an obfuscated level to a whole level of the scale.

Source      the patent's "Rounding". The two chances that it prints are swapped; here the mean of
            the rounded level is the level itself.
Runs at     the person's own device.

Standard library only.
"""

from __future__ import annotations

from tacit.designs.standard_scheme.dice import Draw
from tacit.designs.standard_scheme.messages import CONTINUOUS_LEVELS, MICRO


def highest_level(n_levels: int) -> int:
    """Compute the highest level of a scale.

    Args:
        n_levels: Number of whole levels; 0 for a continuous scale.
    """
    return n_levels - 1 if n_levels else CONTINUOUS_LEVELS


def round_level(level: int, n_levels: int, draw: Draw) -> int:
    """Round a level at random to one of the two whole levels around it, then clip it to the scale.

    A level between k and k + 1 becomes k + 1 with chance level - k, and k otherwise, so that the
    mean of the rounded level, before it is clipped, is the level.

    Args:
        level: Micro-levels.
        n_levels: Number of whole levels of the scale; 0 for a continuous scale.
        draw: Uniform integers below a bound.

    Returns:
        Micro-levels, a multiple of MICRO.
    """
    whole_level, fraction = divmod(level, MICRO)
    if draw(MICRO) < fraction:
        whole_level += 1
    return min(max(whole_level, 0), highest_level(n_levels)) * MICRO
