"""P-DAP for a vendor's own users (ExP-DAP): DAP that draws among its own videos.

Its claim of privacy is refuted, with numbers, on the cards of `published_guarantees`.

Source  Zhou, Zhou, Wu, Jin (2015), Algorithm 1; the mechanism: McSherry and Talwar: Mechanism
        design via differential privacy (FOCS 2007).
"""

from __future__ import annotations

import math

import numpy as np

from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.cells import CellStatistics
from tacit.designs.pdap.policies.controls import controls_by_level
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.settings import Setting
from tacit.mechanisms.checks import check_epsilon
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

SIGMA = 0.05
"""Lemma 5: the chance that a neighbour's noise is above Gamma. The paper does not give it."""


class PDap(Dap):
    """DAP whose rule 4 draws an own video by the exponential mechanism, with Delta u as printed.

    The drawn video is then compared with the best neighbour, and the larger mean is shown.

    Attributes:
        claimed_epsilon: of one draw, as in Algorithm 1; inf is DAP.
        geometric: whether epsilon grows with the level of the cell, as in GP-DAP.
    """

    geometric = False

    def __init__(
        self, setting: Setting, *, epsilon: float, randomness: Source, gamma: float | None = None
    ) -> None:
        """Start with nothing learned.

        Args:
            setting: of the vendor.
            epsilon: claimed for one draw; inf draws nothing.
            randomness: of the draws.
            gamma: visits that a neighbour's noise costs, in the whole cube; None: Lemma 5's.
        """
        check_epsilon(epsilon)
        if gamma is None:
            gamma = theory.gamma(setting.horizon, setting.neighbours + 1, epsilon, SIGMA)
        controls = controls_by_level(setting, gamma, geometric=self.geometric)
        super().__init__(setting, controls=controls)
        self.claimed_epsilon = epsilon
        self._source = randomness
        self._selections: dict[tuple[int, int], Selection] = {}

    def best_arm(
        self, level: int, learned: CellStatistics, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        """Draw an own video; show it, or the best neighbour where that one's mean is larger.

        Returns:
            The arm, and its chance given the cell.
        """
        if math.isinf(self.claimed_epsilon) or not own:
            return super().best_arm(level, learned, own, neighbours)
        means = [learned.means[arm] for arm in own]
        weights = self.selection(level, len(own)).weights(means)
        total = int(weights.sum())
        place = int(draw_rows(weights[None, :], self._source)[0])
        drawn = own[place]
        best_neighbour = learned.best(neighbours) if neighbours else drawn
        if learned.best([drawn, best_neighbour]) == drawn:
            return drawn, int(weights[place]) / total
        worse = [learned.best([best_neighbour, arm]) == best_neighbour for arm in own]
        return best_neighbour, int(weights[np.array(worse)].sum()) / total

    def selection(self, level: int, candidates: int) -> Selection:
        """The mechanism of one draw among so many own videos in a cell of this level."""
        if (level, candidates) not in self._selections:
            s = self.setting
            sensitivity = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
            # A power of two, fine enough for the sensitivity to be many steps.
            resolution = 2.0 ** -min(18, max(10, math.ceil(math.log2(64 / sensitivity))))
            epsilon = theory.epsilon_at(
                self.claimed_epsilon, s.slices, s.smoothness, level, self.geometric
            )
            self._selections[level, candidates] = Selection(
                epsilon, candidates, sensitivity, 0.0, 1.0, resolution
            )
        return self._selections[level, candidates]
