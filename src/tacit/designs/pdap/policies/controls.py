"""Control functions: how often an arm is tried in a cell before its mean is trusted.

l is the level of the cell, t the round, and Gamma a bound of a neighbour's noise. `Setting` names
the paper's m, alpha, d, K and T.

paper   here                as printed
G1      explore_own         m^(2 alpha l) ln T
K G3    train_neighbour     m^(2 alpha l) ln t: each of a neighbour's K videos is tried
                            m^(2 alpha l) ln t / K times
G3      explore_forwarded   m^(2 alpha l) ln t / K
G2      explore_neighbour   m^(2 alpha l) ln t + (Gamma / 4) m^(alpha l)

Deviation  G3 is m^(2 alpha l) ln t here, so training is K times as long as printed, and each of
           the neighbour's videos is tried m^(2 alpha l) ln t times. With the printed ln t / K, two
           means are in the wrong order with a chance of t^(-2/K), whose sum over t is infinite
           for K > 1.
DUP        has other functions, which do not depend on the level: see `controls_of_a_grid`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tacit.designs.pdap import theory
from tacit.designs.pdap.settings import Setting

Control = Callable[[int, int], float]
"""Maps (level of the cell, round t >= 1) to the number of visits for which an arm is tried."""


@dataclass(frozen=True)
class Controls:
    """The control functions of one policy.

    Attributes:
        explore_own: G1, for exploring each own video.
        explore_forwarded: G3, for exploring each own video with forwarded users; in CAP with own
            users.
        train_neighbour: K G3, for training each neighbour; its reward is then not learned.
        explore_neighbour: G2, for exploring each neighbour; its reward is learned.
    """

    explore_own: Control
    explore_forwarded: Control
    train_neighbour: Control
    explore_neighbour: Control


def controls_by_level(setting: Setting, gamma: float = 0.0, *, geometric: bool = False) -> Controls:
    """Make DAP's control functions, which depend on the level of the cell.

    Args:
        setting: the vendor's setting.
        gamma: Gamma, a bound of a neighbour's noise; see `theory.neighbour_exploration`.
        geometric: whether gamma is divided by m^(alpha l) in cells of level l, as in GP-DAP.
    """
    m = setting.slices
    alpha = setting.smoothness

    def explore(level: int, t: int) -> float:
        return theory.exploration(m, alpha, level, math.log(t))

    def explore_neighbour(level: int, t: int) -> float:
        gamma_of_cell = gamma / m ** (alpha * level) if geometric else gamma
        return theory.neighbour_exploration(m, alpha, level, math.log(t), gamma_of_cell)

    def explore_own(level: int, _: int) -> float:
        return explore(level, setting.horizon)

    def train(level: int, t: int) -> float:
        return setting.videos * explore(level, t)

    return Controls(
        explore_own=explore_own,
        explore_forwarded=explore,
        train_neighbour=train,
        explore_neighbour=explore_neighbour,
    )


def controls_of_a_grid(setting: Setting) -> Controls:
    """Make DUP's control functions, which do not depend on a level.

    Each video and neighbour is explored D1 = t^(2 alpha / (3 alpha + d)) ln t times. A neighbour is
    trained K D1 times, so that each of its K videos can be tried D1 times.
    """
    power = 2 * setting.smoothness / (3 * setting.smoothness + setting.dimension)

    def explore(_level: int, t: int) -> float:
        return float(t**power) * math.log(t)

    def train(level: int, t: int) -> float:
        return setting.videos * explore(level, t)

    return Controls(
        explore_own=explore,
        explore_forwarded=explore,
        train_neighbour=train,
        explore_neighbour=explore,
    )
