"""The state of a `Joint`, to be stored between one visit and the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.joint_sums import Floats, Ints, Observation


@dataclass(frozen=True, eq=False)
class JointState:
    """Of one moment. `exact` is private: it is released with noise, once, and by nobody twice.

    sides (arms,): whether an arm is a neighbour, of all that ever were; own, neighbours: arms now.
    next: arrivals at the next release; inf after the last one. released: arrivals at the last one.
    seen: releases, oldest first, each with what was counted of it (cells, arms).
    exact (cells, arms, 2): grains since the last release. means, parts (cells, arms): what is
    believed, and the chances of this epoch. waiting: see `Unanswered`.
    """

    own: tuple[int, ...]
    neighbours: tuple[int, ...]
    sides: tuple[bool, ...]
    arrivals: int
    length: int
    next: float
    planned: bool
    began: int
    released: int
    seen: tuple[tuple[Observation, Floats], ...]
    exact: Ints
    means: Floats
    parts: Ints
    waiting: NDArray[np.bool_]
