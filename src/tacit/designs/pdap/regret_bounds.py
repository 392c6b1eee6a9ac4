"""Theorem 3 for a setting: how large the regret of one vendor can be, as printed and corrected.

Sum over levels of H_l (K [own video] + (M - 1) [neighbour] + [near-optimal arms]), where H_l is the
largest number of cells that level l can have (`theory.most_cells`).

Presumed, as in the paper: a neighbour's cell for forwarded users is not split earlier than ours,
and its noise stays below Gamma, which it does with a chance of 1 - sigma.
"""

from __future__ import annotations

import math

from tacit.designs.pdap import theory
from tacit.designs.pdap.settings import Setting


def regret_bound(
    setting: Setting,
    visits: int,
    *,
    epsilon: float = math.inf,
    gamma: float = 0.0,
    geometric: bool = False,
) -> float:
    """Theorem 3, corrected: DAP's, P-DAP's or GP-DAP's regret after so many visits of one vendor.

    Contexts may come from anywhere.

    Args:
        setting: cells, videos and neighbours.
        visits: T, of this vendor's own users.
        epsilon: nats of one draw in the whole cube; inf is DAP.
        gamma: what a neighbour's noise costs in visits, in the whole cube.
        geometric: whether epsilon grows and gamma shrinks with the level, as in GP-DAP.

    Returns:
        A sum of chances of a click. One visit loses at most 1, so a bound above `visits` says
        nothing.
    """
    s = setting
    gap = theory.suboptimal_gap(s.lipschitz, s.dimension, s.smoothness)
    total = 0.0
    left = float(visits)
    for level, cells in enumerate(_most_cells(s, visits)):
        shrink = float(s.slices ** (s.smoothness * level)) if geometric else 1.0
        own = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(visits))
        neighbour = theory.neighbour_regret(
            s.slices, s.smoothness, level, visits, s.videos, gamma / shrink
        )
        near = theory.near_optimal_regret(s.first_split, gap, s.p, s.slices, s.smoothness, level)
        draws = min(left, cells * s.first_split * float(s.slices ** (s.p * level)))
        left -= draws
        spread = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
        total += cells * (s.videos * own + s.neighbours * neighbour + near)
        total += theory.draw_regret(spread, epsilon * shrink, s.videos, draws)
    return total


def regret_bound_as_printed(
    setting: Setting, visits: int, *, epsilon: float = math.inf, gamma: float = 0.0
) -> float:
    """Theorem 3 as printed, with Lemma 3's term. REFUTED for a finite epsilon; see `theory`."""
    s = setting
    gap = theory.suboptimal_gap(s.lipschitz, s.dimension, s.smoothness)
    total = 0.0
    for level, cells in enumerate(_most_cells(s, visits)):
        own = own_video_regret_as_printed(s, level, visits, epsilon)
        neighbour = 0.0
        if s.neighbours:
            neighbour = theory.neighbour_regret_as_printed(
                "theorem 3", s.slices, s.smoothness, level, visits, s.videos, gamma
            )
        near = theory.near_optimal_regret(s.first_split, gap, s.p, s.slices, s.smoothness, level)
        if cells:
            total += cells * (s.videos * own + s.neighbours * neighbour + near)
    return total


def own_video_regret_as_printed(setting: Setting, level: int, visits: int, epsilon: float) -> float:
    """Theorem 2: Lemma 1 plus Lemma 3, regret of one own video in one cell. REFUTED with Lemma 3.

    m^(2 al l) ln T + pi^2 / 3 + (2 L m^(-al l) / epsilon) (ln K + ln T).
    """
    s = setting
    inherent = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(visits))
    spread = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
    return inherent + theory.draw_regret_as_printed(spread, epsilon, s.videos, visits)


def own_video_regret(setting: Setting, level: int, visits: int, epsilon: float) -> float:
    """Theorem 2, corrected: Lemma 1 plus the loss of so many draws."""
    s = setting
    inherent = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(visits))
    spread = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
    return inherent + theory.draw_regret(spread, epsilon, s.videos, visits)


def _most_cells(setting: Setting, visits: int) -> list[int]:
    s = setting
    return theory.most_cells(visits, s.first_split, s.p, s.slices, s.dimension)
