"""P-DAP for a vendor's own users (ExP-DAP): DAP that draws among its own videos.

Its claim of privacy is refuted, with numbers, on the cards of `published_guarantees`.

Source  Zhou, Zhou, Wu, Jin (2015), Algorithm 1; the mechanism: McSherry and Talwar: Mechanism
        design via differential privacy (FOCS 2007). Symbols as in theory.py.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.designs.pdap import theory
from tacit.designs.pdap.policies.cells import CellStatistics
from tacit.designs.pdap.policies.controls import controls_by_level
from tacit.designs.pdap.policies.dap import Dap
from tacit.designs.pdap.settings import SIGMA, Setting
from tacit.mechanisms.checks import check_epsilon
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source


class PDap(Dap):
    """DAP whose rule 4 draws an own video by the exponential mechanism.

    The mechanism takes Delta u, the sensitivity of a mean, as printed: L m^(-alpha l). The drawn
    video is then compared with the best neighbour, and the arm with the larger mean is chosen.

    Attributes:
        claimed_epsilon: nats of one draw, as claimed in Algorithm 1; inf chooses as DAP does.
        geometric: whether epsilon grows with the level of the cell, as in GP-DAP.
    """

    geometric = False

    def __init__(
        self, setting: Setting, *, epsilon: float, randomness: Source, gamma: float | None = None
    ) -> None:
        """Start with nothing learned.

        Args:
            setting: the vendor's setting.
            epsilon: nats of one draw, as the paper claims; inf chooses the best video instead.
            randomness: source of the draws.
            gamma: Gamma, a bound on a neighbour's noise. Because of it, a neighbour is explored
                for (gamma / 4) m^(alpha l) more visits in a cell of level l. None means the bound
                of Lemma 5, `theory.gamma`.
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
        self, level: int, statistics: CellStatistics, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        """Draw an own video, and choose between it and the best neighbour by their means.

        At equal means the arm that was tried less often is chosen. Without own videos, the best
        neighbour is chosen.

        Args:
            level: level of the cell.
            statistics: what the cell has learned.
            own: own videos that may be chosen.
            neighbours: neighbours that may be chosen.

        Returns:
            The arm, and its probability given the cell.
        """
        if math.isinf(self.claimed_epsilon) or not own:
            return super().best_arm(level, statistics, own, neighbours)
        means = [statistics.means[arm] for arm in own]
        weights = self.selection(level, len(own)).weights(means)
        total_weight = int(weights.sum())
        index = int(draw_rows(weights[None, :], self._source)[0])
        drawn = own[index]
        best_neighbour = statistics.best(neighbours) if neighbours else drawn
        if statistics.best([drawn, best_neighbour]) == drawn:
            return drawn, int(weights[index]) / total_weight
        # The neighbour is chosen whenever a video is drawn that loses against it.
        is_worse = [statistics.best([best_neighbour, arm]) == best_neighbour for arm in own]
        weight_of_worse = int(weights[np.array(is_worse)].sum())
        return best_neighbour, weight_of_worse / total_weight

    def selection(self, level: int, candidates: int) -> Selection:
        """Return the mechanism that draws one of `candidates` videos in a cell of this level."""
        if (level, candidates) not in self._selections:
            setting = self.setting
            m = setting.slices
            alpha = setting.smoothness
            sensitivity = theory.spread(setting.lipschitz, m, alpha, level)
            # Means are rounded to multiples of `resolution`, which is between 2^-18 and 2^-10.
            # Where this range allows it, the sensitivity is at least 64 of these multiples.
            bits = math.ceil(math.log2(64 / sensitivity))
            resolution = 2.0 ** -min(18, max(10, bits))
            self._selections[level, candidates] = Selection(
                theory.epsilon_at(self.claimed_epsilon, m, alpha, level, self.geometric),
                candidates=candidates,
                sensitivity=sensitivity,
                lower=0.0,
                upper=1.0,
                resolution=resolution,
            )
        return self._selections[level, candidates]
