"""The resolution of a sum, and the rule of its clip as the kernels read it.

Each sum's own file (such as item_tastes.py for sum 3) says what is clipped and to which norm;
engine/profile_kernels/clip.py clips one person's table by the rule. The kernel of a sum calls it:
engine/profile_kernels/item_tastes.py limits tastes to their own norm first.
"""

from __future__ import annotations

import math

from tacit.engine.profile_kernels.types import ClipRule
from tacit.mechanisms.sums import SumRelease


def resolution_for(norm: float) -> float:
    """Size of a step: a power of two, such that `norm` is 4,096 to 8,191 steps."""
    return 2.0 ** (math.floor(math.log2(norm)) - 12)


def clip_rule(mechanism: SumRelease) -> ClipRule:
    """Choose how the kernels clip one person's table for a mechanism; not at all without noise."""
    largest_square = mechanism.squared_norm if mechanism.noise_multiplier else -1
    return ClipRule(mechanism.norm, mechanism.resolution, largest_square)
