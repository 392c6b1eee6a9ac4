"""Bounds on the regret of one vendor in a setting: Theorem 3, as printed and corrected.

The bound is the sum over levels l of H_l (K [regret of an own video in a cell] + (M - 1) [of a
neighbour] + [of near-optimal arms]). H_l is the largest number of cells that level l can have
(`theory.most_cells`).

Assumed, as in the paper: a neighbour's cell for forwarded users does not split earlier than ours,
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
    """Bound the regret of DAP, P-DAP or GP-DAP at one vendor. Theorem 3, corrected.

    The bound holds for any contexts.

    Args:
        setting: cells, videos and neighbours.
        visits: T, of this vendor's own users.
        epsilon: nats of one draw in the whole cube; inf is DAP.
        gamma: Gamma, a bound of a neighbour's noise; see `theory.neighbour_exploration`.
        geometric: whether epsilon grows and gamma shrinks with the level, as in GP-DAP.

    Returns:
        Expected clicks that are lost. One visit loses at most 1, so a bound above `visits` says
        nothing.
    """
    s = setting
    gap = theory.suboptimal_gap(s.lipschitz, s.dimension, s.smoothness)
    total = 0.0
    visits_left = float(visits)
    for level, cells in enumerate(_most_cells(s, visits)):
        # In GP-DAP, m^(al l) multiplies epsilon and divides gamma.
        growth = float(s.slices ** (s.smoothness * level)) if geometric else 1.0
        own = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(visits))
        neighbour = theory.neighbour_regret(
            s.slices, s.smoothness, level, visits, s.videos, gamma / growth
        )
        near_optimal = theory.near_optimal_regret(
            s.first_split, gap, s.p, s.slices, s.smoothness, level
        )
        visits_of_level = cells * s.first_split * float(s.slices ** (s.p * level))
        draws = min(visits_left, visits_of_level)
        visits_left -= draws
        spread = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
        total += cells * (s.videos * own + s.neighbours * neighbour + near_optimal)
        total += theory.draw_regret(spread, epsilon * growth, s.videos, draws)
    return total


def regret_bound_as_printed(
    setting: Setting, visits: int, *, epsilon: float = math.inf, gamma: float = 0.0
) -> float:
    """Compute the bound of Theorem 3 as printed, for DAP or P-DAP.

    It contains Lemma 3, so it is REFUTED for a finite epsilon; see `theory`. Args and result are
    those of `regret_bound`.
    """
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
        near_optimal = theory.near_optimal_regret(
            s.first_split, gap, s.p, s.slices, s.smoothness, level
        )
        if cells:  # 0 times an infinite bound would be NaN
            total += cells * (s.videos * own + s.neighbours * neighbour + near_optimal)
    return total


def own_video_regret_as_printed(setting: Setting, level: int, visits: int, epsilon: float) -> float:
    """Compute the regret of one own video in one cell that Theorem 2 claims. REFUTED with Lemma 3.

    Lemma 1 plus Lemma 3: m^(2 al l) ln T + pi^2 / 3 + (2 L m^(-al l) / epsilon) (ln K + ln T).
    """
    s = setting
    without_noise = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(visits))
    spread = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
    return without_noise + theory.draw_regret_as_printed(spread, epsilon, s.videos, visits)


def own_video_regret(setting: Setting, level: int, visits: int, epsilon: float) -> float:
    """Bound the regret of one own video in one cell: Lemma 1 plus the loss of `visits` draws.

    Theorem 2, corrected.
    """
    s = setting
    without_noise = theory.suboptimal_regret(s.slices, s.smoothness, level, math.log(visits))
    spread = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
    return without_noise + theory.draw_regret(spread, epsilon, s.videos, visits)


def _most_cells(setting: Setting, visits: int) -> list[int]:
    """Bound the number of cells of each level, from the whole cube on."""
    s = setting
    return theory.most_cells(visits, s.first_split, s.p, s.slices, s.dimension)
