"""Closed formulas of the standard scheme. Pure: no data, no randomness.

Source     the patent, equation (7); the correction is marked *.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def keep_probability(p_own: Floats, p_all: Floats) -> Floats:
    """* Equation (7) with min, where the patent prints max: min(1, min_c p_c / p_own).

    p_own: (n,) for the person's own value; p_all: (values, n) for every value. Then
    P(item shown | value) = min_c p_c for every value. The sound variant multiplies it with a cap
    below 1, the same for every value, which changes nothing about that.
    """
    kept: Floats = np.minimum(1.0, p_all.min(axis=0) / p_own)
    return kept


def quantile_coupling(own: Floats, target: Floats) -> Floats:
    """(..., levels, levels) chances P(released | own star) that turn `own` into `target`.

    own, target: (..., levels) distributions over the stars. The monotone coupling: both are laid on
    [0, 1) as intervals, and a star is released as whatever target interval lies over its own. A
    star of chance 0 is released as itself: nobody gives it.
    """
    high_own, high_target = np.cumsum(own, axis=-1), np.cumsum(target, axis=-1)
    low_own, low_target = high_own - own, high_target - target
    overlap = np.minimum(high_own[..., :, None], high_target[..., None, :]) - np.maximum(
        low_own[..., :, None], low_target[..., None, :]
    )
    overlap = np.maximum(overlap, 0.0)
    mass = overlap.sum(axis=-1, keepdims=True)
    itself = np.broadcast_to(np.eye(own.shape[-1]), overlap.shape)
    return np.where(mass > 0, overlap / np.where(mass > 0, mass, 1.0), itself)
