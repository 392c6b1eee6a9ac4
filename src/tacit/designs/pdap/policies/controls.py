"""Control functions: how often an arm is tried in a cell before its mean is trusted.

paper   here        as printed
G1      own         m^(2 alpha l) ln T
K G3    trained     m^(2 alpha l) ln t: each of a neighbour's K videos is tried ln t / K times
G3      served      m^(2 alpha l) ln t / K
G2      neighbour   m^(2 alpha l) ln t + (Gamma / 4) m^(alpha l)

Deviation  in rows K G3 and G3, each of the neighbour's videos is tried m^(2 alpha l) ln t times,
           and training is K times as long: with ln t / K the chance of a wrong order is t^(-2/K),
           whose sum over t is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tacit.designs.pdap import theory
from tacit.designs.pdap.settings import Setting

Control = Callable[[int, int], float]
"""(level of the cell, round t >= 1) -> visits below which an arm is tried."""


@dataclass(frozen=True)
class Controls:
    """The control functions of one policy.

    Attributes:
        own: of each own video.
        served: of each own video for users that neighbours forward, and of CAP.
        trained: of each neighbour, without learning from the reward.
        neighbour: of each neighbour, with learning from the reward.
    """

    own: Control
    served: Control
    trained: Control
    neighbour: Control


def controls_by_level(setting: Setting, gamma: float = 0.0, *, geometric: bool = False) -> Controls:
    """DAP's control functions.

    Args:
        setting: of the vendor.
        gamma: what a neighbour's noise costs in visits, at level 0.
        geometric: whether that cost is divided by m^(alpha l), as for the noise of GP-DAP.
    """
    m, alpha = setting.slices, setting.smoothness

    def explore(level: int, t: int) -> float:
        return theory.exploration(m, alpha, level, math.log(t))

    def explore_neighbour(level: int, t: int) -> float:
        here = gamma / m ** (alpha * level) if geometric else gamma
        return theory.neighbour_exploration(m, alpha, level, math.log(t), here)

    def explore_own(level: int, _: int) -> float:
        return explore(level, setting.horizon)

    def train(level: int, t: int) -> float:
        return setting.videos * explore(level, t)

    return Controls(own=explore_own, served=explore, trained=train, neighbour=explore_neighbour)


def controls_of_a_grid(setting: Setting) -> Controls:
    """DUP's control functions, whose cells have no level.

    D1 = t^(2 alpha / (3 alpha + d)) ln t for each video and neighbour, and K D1 to train a
    neighbour, so that each of its K videos can be tried D1 times.
    """
    power = 2 * setting.smoothness / (3 * setting.smoothness + setting.dimension)

    def explore(_level: int, t: int) -> float:
        return float(t**power) * math.log(t)

    def train(level: int, t: int) -> float:
        return setting.videos * explore(level, t)

    return Controls(own=explore, served=explore, trained=train, neighbour=explore)
