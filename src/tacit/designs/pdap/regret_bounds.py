"""Bounds on regret in a setting, as printed and corrected: Theorems 2 and 3.

Symbols as in theory.py. Theorem 2 is about one own video in one cell, Theorem 3 about one vendor.
The bound of Theorem 3 is the sum over levels l of H_l (K R_own + (M - 1) R_neighbour + R_near).
R_own is the regret of an own video in a cell, R_neighbour the regret of a neighbour, and R_near the
regret of all near-optimal arms. H_l is the largest number of cells that level l can have
(`theory.most_cells`). As printed, R_own is the regret of Theorem 2, which has a part for draws. The
corrected bound leaves this part out of R_own, and adds the loss by the draws of all visits once.

Two things are assumed, as in the paper: a neighbour's cell for forwarded users does not split
earlier than the vendor's own cell, and the neighbour's noise stays below Gamma, which happens with
a chance of 1 - sigma.
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
    """Bound the regret of DAP, P-DAP or GP-DAP at one vendor. Theorem 3, corrected.

    The bound holds for any contexts.

    Args:
        setting: cells, videos and neighbours.
        visits: T, number of visits of this vendor's own users.
        epsilon: nats of one draw in the whole cube; inf is DAP.
        gamma: Gamma, a bound on a neighbour's noise; see `theory.neighbour_exploration`.
        geometric: whether epsilon grows and gamma shrinks with the level, as in GP-DAP.

    Returns:
        Expected number of lost clicks. One visit loses at most 1, so a bound above `visits` says
        nothing.
    """
    gap = theory.suboptimal_gap(setting.lipschitz, setting.dimension, setting.smoothness)
    total = 0.0
    visits_left = float(visits)
    for level, cells in enumerate(_most_cells(setting, visits)):
        # In GP-DAP, m^(al l) multiplies epsilon and divides gamma.
        growth = float(setting.slices ** (setting.smoothness * level)) if geometric else 1.0
        own_video = theory.suboptimal_regret(
            setting.slices, setting.smoothness, level, math.log(visits)
        )
        neighbour = theory.neighbour_regret(
            setting.slices, setting.smoothness, level, visits, setting.videos, gamma / growth
        )
        near_optimal = theory.near_optimal_regret(
            setting.first_split, gap, setting.p, setting.slices, setting.smoothness, level
        )
        # Each visit counts as a draw at the first level whose cells still have room for visits: the
        # loss of a draw is largest at level 0.
        visits_of_level = cells * setting.first_split * float(setting.slices ** (setting.p * level))
        draws = min(visits_left, visits_of_level)
        visits_left -= draws
        spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, level)
        total += cells * (
            setting.videos * own_video + setting.neighbours * neighbour + near_optimal
        )
        total += theory.draw_regret(spread, epsilon * growth, setting.videos, draws)
    return total


def regret_bound_as_printed(
    setting: Setting, visits: int, *, epsilon: float = math.inf, gamma: float = 0.0
) -> float:
    """Compute the bound of Theorem 3 as printed, for DAP or P-DAP.

    It contains Lemma 3, so it is REFUTED for a finite epsilon; see `theory`. Args and result are
    those of `regret_bound`.
    """
    gap = theory.suboptimal_gap(setting.lipschitz, setting.dimension, setting.smoothness)
    total = 0.0
    for level, cells in enumerate(_most_cells(setting, visits)):
        own_video = own_video_regret_as_printed(setting, level, visits, epsilon)
        neighbour = 0.0  # without neighbours, 0 times an infinite regret would be NaN
        if setting.neighbours:
            neighbour = theory.neighbour_regret_as_printed(
                "theorem 3",
                setting.slices,
                setting.smoothness,
                level,
                visits,
                setting.videos,
                gamma,
            )
        near_optimal = theory.near_optimal_regret(
            setting.first_split, gap, setting.p, setting.slices, setting.smoothness, level
        )
        if cells:  # 0 times an infinite bound would be NaN
            total += cells * (
                setting.videos * own_video + setting.neighbours * neighbour + near_optimal
            )
    return total


def own_video_regret_as_printed(setting: Setting, level: int, visits: int, epsilon: float) -> float:
    """Compute the regret of one own video in one cell that Theorem 2 claims. REFUTED like Lemma 3.

    It is Lemma 1 plus Lemma 3,
    m^(2 al l) ln T + pi^2 / 3 + (2 L m^(-al l) / epsilon) (ln K + ln T).
    """
    without_noise = theory.suboptimal_regret(
        setting.slices, setting.smoothness, level, math.log(visits)
    )
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, level)
    return without_noise + theory.draw_regret_as_printed(spread, epsilon, setting.videos, visits)


def own_video_regret(setting: Setting, level: int, visits: int, epsilon: float) -> float:
    """Bound the regret of one own video in one cell: Lemma 1 plus the loss of `visits` draws.

    Theorem 2, corrected.
    """
    without_noise = theory.suboptimal_regret(
        setting.slices, setting.smoothness, level, math.log(visits)
    )
    spread = theory.spread(setting.lipschitz, setting.slices, setting.smoothness, level)
    return without_noise + theory.draw_regret(spread, epsilon, setting.videos, visits)


def _most_cells(setting: Setting, visits: int) -> list[int]:
    """Bound the number of cells of each level, beginning with level 0, the whole cube."""
    return theory.most_cells(
        visits, setting.first_split, setting.p, setting.slices, setting.dimension
    )
