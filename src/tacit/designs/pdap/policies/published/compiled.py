"""DAP and CAP on the compiled kernel: the same choices, far more of them in a second."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.published.control import Adaptive, Controls, Setting
from tacit.designs.pdap.policies.published.own_users import Visits, adaptive
from tacit.engine.bandit import CompiledDap, Rules
from tacit.errors import ConfigError


def compiled(
    setting: Setting, controls: Controls | None = None, *, alone: bool = False
) -> CompiledDap:
    """Chooses as `Dap(setting, controls)` does; `alone`: without the neighbours.

    `Cap(setting)` is `compiled(setting, Alone(setting), alone=True)`. Of the control functions only
    those that are a constant plus a multiple of ln t at each level can be compiled: DUP's are not.
    """
    used = Adaptive(setting) if controls is None else controls
    return CompiledDap(
        Rules(
            dimension=setting.dimension,
            own=setting.videos,
            neighbours=0 if alone else setting.neighbours,
            slices=setting.slices,
            split_after=np.array(adaptive(setting, Visits).thresholds),
            tried=_lines(used.own, setting),
            trained=_lines(used.trained, setting),
            heard=_lines(used.neighbour, setting),
            inherit=setting.inherit,
            most_cells=setting.most_cells,
        )
    )


def _lines(control: Callable[[int, int], float], setting: Setting) -> NDArray[np.float64]:
    """(levels, 2): scale and constant of each level's scale * ln t + constant."""
    far = max(setting.horizon, 3)
    lines = []
    for level in range(setting.deepest + 1):
        constant = control(level, 1)
        scale = (control(level, far) - constant) / math.log(far)
        if not math.isclose(control(level, 2), scale * math.log(2) + constant, rel_tol=1e-9):
            raise ConfigError(
                "Only control functions scale * ln t + constant can be compiled, and these are not."
            )
        lines.append((scale, constant))
    return np.array(lines)
