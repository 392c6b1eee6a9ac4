"""What is chosen between two releases: for every cell, the chance of every arm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.joint_sums import Floats
from tacit.randomness import Source

Index = Literal["thompson", "optimistic", "eliminate"]

PARTS = 1 << 10
"""Chances are whole multiples of 1 / PARTS."""


@dataclass(frozen=True, eq=False)
class Choices:
    """Many choices: numbers of cells, arms and their chances, each (n,).

    visits: (n,) their numbers, as in `Choice`.
    """

    cells: NDArray[np.int64]
    arms: NDArray[np.int64]
    chances: Floats
    visits: NDArray[np.int64] | None = None


def plan(
    means: Floats, variances: Floats, allowed: list[int], index: Index, source: Source
) -> NDArray[np.int64]:
    """(cells, arms) in parts that sum to PARTS in each cell; nothing for an arm not allowed.

    "thompson": the share of PARTS draws from what is believed in which the arm was the best.
    "optimistic": all to the arm with the largest mean plus two standard deviations.
    "eliminate": equal shares to all arms that reach, with two deviations, what another is sure of.
    """
    parts = np.zeros(means.shape, dtype=np.int64)
    spread = np.sqrt(variances[:, allowed])
    places = np.array(allowed)
    cells = np.arange(len(means))
    if index == "optimistic":
        best = (means[:, allowed] + 2 * spread).argmax(axis=1)
        parts[cells, places[best]] = PARTS
        return parts
    if index == "eliminate":
        upper, lower = means[:, allowed] + 2 * spread, means[:, allowed] - 2 * spread
        left = upper >= lower.max(axis=1, keepdims=True)
        shares = np.cumsum(left, axis=1) * PARTS // left.sum(axis=1, keepdims=True)
        parts[:, places] = np.diff(shares, axis=1, prepend=0)
        return parts
    # These draws explore; they are no noise that protects anybody.
    normal = np.random.Generator(np.random.Philox(key=source.words(2)))
    for _ in range(PARTS // 64):
        drawn = normal.standard_normal((64, *spread.shape)) * spread + means[:, allowed]
        best = drawn.argmax(axis=2)
        np.add.at(parts, (np.broadcast_to(cells, best.shape), places[best]), 1)
    return parts
