"""DUP: vendors that learn together on a grid that stays as it was cut at the start.

Source   the paper's reference [31], as it describes it: T^(1 / (3 alpha + d)) slices per dimension.
"""

from __future__ import annotations

import math

from tacit.designs.pdap.adaptive import Learner, Visits
from tacit.designs.pdap.control import Setting, UniformCells
from tacit.designs.pdap.forwarded_users import ForwardedUsers, GuestVisits
from tacit.designs.pdap.partition import FixedPartition
from tacit.designs.pdap.policy import Arms


class Dup(Learner):
    """DAP with equal cells and control functions that do not know a level."""

    name = "dup"

    def __init__(self, setting: Setting) -> None:
        super().__init__(
            Arms(setting.videos, setting.neighbours),
            FixedPartition(
                setting.dimension, Visits, slices=slices(setting), most_cells=setting.most_cells
            ),
            UniformCells(setting),
        )


def guests(setting: Setting) -> ForwardedUsers:
    """Serves others' users as DUP does: on the same grid, with DUP's control function."""
    grid = FixedPartition(
        setting.dimension, GuestVisits, slices=slices(setting), most_cells=setting.most_cells
    )
    return ForwardedUsers(setting, epsilon=math.inf, controls=UniformCells(setting), partition=grid)


def slices(setting: Setting) -> int:
    """m_T: per dimension, from the horizon."""
    exact = setting.horizon ** (1 / (3 * setting.smoothness + setting.dimension))
    return math.ceil(float(exact) - 1e-9)  # 32^(1/5) is 2, whatever a float makes of it
