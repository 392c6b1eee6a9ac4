"""ExP-DAP, the half of P-DAP for one's own users, and GP-DAP; as published.

Source   Zhou, Zhou, Wu, Jin (2015), Algorithm 1 and section VI.
Privacy  The paper's claim is refuted: see `guarantees.py`. These policies are for reproduction.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from tacit.designs.pdap import theory
from tacit.designs.pdap.adaptive import Dap, Visits
from tacit.designs.pdap.control import Adaptive, Setting
from tacit.errors import ConfigError
from tacit.mechanisms.parameters import check_epsilon
from tacit.mechanisms.selection import Selection
from tacit.mechanisms.weights import draw_rows
from tacit.randomness import Source

Spread = Literal["printed", "one"]


class PDap(Dap):
    """DAP that draws among its own videos by the exponential mechanism once all are explored.

    epsilon: of one draw, as the paper's Algorithm 1 uses it; inf is DAP.
    spread: Delta u. "printed" is L m^(-alpha l); "one" is what means in [0, 1] can differ by.
    gamma: visits that a neighbour's noise costs. None is Lemma 5's, with confidence 1 - sigma.
    """

    name = "p-dap"
    _geometric = False

    def __init__(
        self,
        setting: Setting,
        *,
        epsilon: float,
        randomness: Source,
        spread: Spread = "printed",
        gamma: float | None = None,
        sigma: float = 0.05,
    ) -> None:
        check_epsilon(epsilon)
        if spread not in ("printed", "one"):
            raise ConfigError(f"spread is 'printed' or 'one'; got {spread!r}.")
        if not 0 < sigma < 1:
            raise ConfigError(f"sigma is a chance between 0 and 1; got {sigma}.")
        visits = gamma
        if visits is None:
            vendors = setting.neighbours + 1
            visits = theory.gamma(setting.horizon, vendors, epsilon, sigma)
        super().__init__(setting, Adaptive(setting, visits, geometric=self._geometric))
        self._setting = setting
        self._epsilon = epsilon
        self._source = randomness
        self._spread = spread
        self._selections: dict[tuple[int, int], Selection] = {}

    @property
    def epsilon(self) -> float:
        return self._epsilon

    def epsilon_at(self, level: int) -> float:
        """Of one draw in a cell of this level."""
        s = self._setting
        return theory.epsilon_at(self._epsilon, s.slices, s.smoothness, level, self._geometric)

    def _exploit(
        self, level: int, visits: Visits, own: list[int], neighbours: list[int]
    ) -> tuple[int, float | None]:
        if math.isinf(self._epsilon) or not own:
            return super()._exploit(level, visits, own, neighbours)
        means = [visits.means[arm] for arm in own]
        weights = self.selection(level, len(own)).weights(means)
        place = int(draw_rows(weights[None, :], self._source)[0])
        drawn, total = own[place], int(weights.sum())
        if not neighbours:
            return drawn, int(weights[place]) / total
        theirs = visits.best(neighbours)
        if visits.beats(drawn, theirs):
            return drawn, int(weights[place]) / total
        lost = np.array([visits.beats(theirs, arm) for arm in own])
        return theirs, int(weights[lost].sum()) / total

    def selection(self, level: int, candidates: int) -> Selection:
        """The mechanism of one draw among so many own videos in a cell of this level."""
        known = self._selections.get((level, candidates))
        if known is None:
            s = self._setting
            width = theory.spread(s.lipschitz, s.slices, s.smoothness, level)
            sensitivity = width if self._spread == "printed" else 1.0
            known = Selection(
                self.epsilon_at(level),
                candidates,
                sensitivity=sensitivity,
                lower=0.0,
                upper=1.0,
                resolution=_resolution(sensitivity),
            )
            self._selections[level, candidates] = known
        return known


class GPDap(PDap):
    """P-DAP whose epsilon grows with the level, to epsilon_0 m^(alpha l); Gamma shrinks as much."""

    name = "gp-dap"
    _geometric = True


def _resolution(sensitivity: float) -> float:
    """A power of two, fine enough for the sensitivity to be many steps, from 2^-10 to 2^-18."""
    return 2.0 ** -min(18, max(10, math.ceil(math.log2(64 / sensitivity))))
