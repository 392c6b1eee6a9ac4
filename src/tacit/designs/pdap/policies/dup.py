"""DUP: vendors together, on a grid that is fixed from the start.

Source  Tekin, van der Schaar: Distributed online big data classification using context information
        (Allerton 2013), reference [31] of the P-DAP paper.
"""

from __future__ import annotations

import math

from tacit.designs.pdap.policies.cells import Partition
from tacit.designs.pdap.policies.controls import controls_of_a_grid
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.settings import Setting


class Dup(Dap):
    """DAP with equal cells, and control functions that do not know a level."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(
            setting, controls=controls_of_a_grid(setting), partition=uniform_partition(setting)
        )


def uniform_partition(setting: Setting) -> Partition:
    """Cut the whole cube from the start, into ceil(T^(1 / (3 alpha + d))) slices per dimension."""
    exact = setting.horizon ** (1 / (3 * setting.smoothness + setting.dimension))
    slices = math.ceil(float(exact) - 1e-9)  # 32^(1/5) is 2, whatever a float makes of it
    return Partition(setting.dimension, slices, [0, math.inf])
