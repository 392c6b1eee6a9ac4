"""The resolution of a sum, and the rule by which the kernels clip one person's table.

Each sum's own file (such as item_tastes.py for sum 3) says what is clipped and to which norm. The
sum's kernel in engine/profile_kernels makes a person's table and has it clipped by clip.py there.
"""

from __future__ import annotations

import math

from tacit.engine.profile_kernels.types import ClipRule
from tacit.mechanisms.sums import SumRelease


def resolution_for(norm: float) -> float:
    """Return the size of a step, the power of two for which 4,096 <= norm / step < 8,192."""
    return 2.0 ** (math.floor(math.log2(norm)) - 12)


def clip_rule(mechanism: SumRelease) -> ClipRule:
    """Return the rule by which the kernels clip one person's table; without noise they do not."""
    largest_square = mechanism.squared_norm if mechanism.noise_multiplier else -1
    return ClipRule(mechanism.norm, mechanism.resolution, largest_square)
