"""DUP: own videos and neighbours, on a grid of cells that is fixed from the start.

Source  Tekin, van der Schaar: Distributed online big data classification using context information
        (Allerton 2013), reference [31] of the P-DAP paper. Symbols as in theory.py.
"""

from __future__ import annotations

import math

from tacit.designs.pdap.policies.cells import Partition
from tacit.designs.pdap.policies.controls import controls_of_a_grid
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.settings import Setting


class Dup(Dap):
    """DAP with equal cells that never split. Its control functions do not depend on a level."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(
            setting, controls=controls_of_a_grid(setting), partition=uniform_partition(setting)
        )


def uniform_partition(setting: Setting) -> Partition:
    """Make a fixed grid of ceil(T^(1 / (3 alpha + d))) slices per dimension.

    The partition skips level 0, and never splits the cells of level 1.
    """
    exact = setting.horizon ** (1 / (3 * setting.smoothness + setting.dimension))
    # Without the subtraction, rounding could turn 32^(1/5) = 2 into 3 slices.
    slices = math.ceil(float(exact) - 1e-9)
    return Partition(setting.dimension, slices, [0, math.inf])
