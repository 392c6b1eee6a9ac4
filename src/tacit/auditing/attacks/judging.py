"""How well an attack does: AUC, its distance from a coin flip, and the permuted control."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from tacit.auditing.attacks.base import Floats, Labels
from tacit.errors import DataError


def auc(labels: Labels, scores: Floats) -> float:
    """Chance that a random 1 scores above a random 0, a tie counting half.

    The rank statistic of Mann and Whitney, exact. Undefined where all labels agree: `DataError`.
    """
    ones = np.asarray(labels) == 1
    values = np.asarray(scores, dtype=np.float64)
    if ones.shape != values.shape or ones.ndim != 1:
        raise DataError("labels and scores differ in length", found=(ones.shape, values.shape))
    if not (finite := np.isfinite(values)).all():
        raise DataError("a score is not a finite number", row=int(np.argmin(finite)) + 1)
    n_ones = int(ones.sum())
    n_zeros = len(ones) - n_ones
    if n_ones == 0 or n_zeros == 0:
        raise DataError("an AUC needs people of both labels", found=(n_zeros, n_ones))
    ranks = rankdata(values)
    return float((ranks[ones].sum() - n_ones * (n_ones + 1) / 2) / (n_ones * n_zeros))


def distance(area: float) -> float:
    """How far an AUC lies from a coin flip: 0.35 leaks as much as 0.65, the guess inverted."""
    return abs(area - 0.5)


def permuted(labels: NDArray[np.generic], seed: int) -> NDArray[np.generic]:
    """The same labels dealt out at random: the control on which every attack must end near 0.5."""
    return np.random.default_rng(seed).permutation(labels)
