"""What is added to every released sum, and what one visit costs because of it.

Source   Dwork, Naor, Pitassi, Rothblum (STOC 2010) and Chan, Shi, Song (TISSEC 2011), for trees;
         Bun and Steinke (TCC 2016) with Canonne, Kamath, Steinke (NeurIPS 2020), for a delta.
A visit  adds to one pair of sums, and a sum is released in at most `nodes` parts. A pair is either
         (likes, dislikes): a reward r adds r to the one and 1 - r to the other, L1 and L2 at most
         1, so ONE noise of scale nodes / epsilon serves both; or (visits, likes), L1 2, L2 sqrt(2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import DiscreteGaussian, Event, NonPrivate, ZCDPAccountant, smallest_noise
from tacit.accounting.events import repeat
from tacit.mechanisms import samplers
from tacit.mechanisms.gaussian import MARGIN
from tacit.mechanisms.grid import check_epsilon, check_whole, finite
from tacit.mechanisms.tree import TreeCounter

Pair = Literal["likes and dislikes", "visits and likes"]

GRAIN = 16
"""A reward is rounded to sixteenths: sums and their noise are whole numbers of these."""


@dataclass(frozen=True)
class NodeNoise:
    """Noise of one node, in grains; the same for both sums of a pair, drawn independently.

    epsilon, delta: of one visit, present or absent, in all nodes together. delta 0: Laplace.
    """

    epsilon: float
    delta: float
    nodes: int
    pair: Pair

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("nodes", self.nodes, least=1)

    @property
    def event(self) -> Event:
        """What one visit costs."""
        if math.isinf(self.epsilon):
            return NonPrivate()
        if self.delta == 0:
            return self._laplace.event
        return repeat(DiscreteGaussian(self._multiplier), self.nodes)

    def event_of(self, visits: int) -> Event:
        """What so many visits of one person cost together: all of them may be in one node.

        Laplace noise loses as many times as much; Gaussian noise moves by as many times as much,
        and its rho is that of the square.
        """
        if math.isinf(self.epsilon) or self.delta == 0:
            return repeat(self.event, visits)
        return repeat(DiscreteGaussian(self._multiplier / visits), self.nodes)

    @property
    def variance(self) -> float:
        """Of one node's noise, in squared rewards; never below the exact one."""
        if math.isinf(self.epsilon):
            return 0.0
        scale = self._sigma if self.delta > 0 else self._laplace.scale * math.sqrt(2)
        return (scale / GRAIN) ** 2

    def pairs(self, shares: NDArray[np.float64]) -> NDArray[np.int64]:
        """What visits add to their sums, in grains (..., 2). shares: rewards (...), clamped."""
        liked = np.rint(np.clip(finite(shares), 0.0, 1.0) * GRAIN).astype(np.int64)
        if self.pair == "visits and likes":
            return np.stack([np.full_like(liked, GRAIN), liked], axis=-1)
        return np.stack([liked, GRAIN - liked], axis=-1)

    def draw(self, shape: tuple[int, ...]) -> NDArray[np.int64]:
        nothing = np.zeros(shape, dtype=np.int64)
        if math.isinf(self.epsilon) or nothing.size == 0:
            return nothing
        if self.delta > 0:
            return samplers.discrete_gaussian(nothing, self._sigma)
        return samplers.discrete_laplace(nothing, self._laplace.scale)

    @cached_property
    def _laplace(self) -> TreeCounter:
        """It computes scale and price: `nodes` levels, each moved by a visit's L1 distance."""
        distance = GRAIN if self.pair == "likes and dislikes" else 2 * GRAIN
        return TreeCounter(self.epsilon, horizon=1 << (self.nodes - 1), bound=distance)

    @cached_property
    def _multiplier(self) -> float:
        """sigma / L2 distance."""
        return smallest_noise(
            lambda noise: repeat(DiscreteGaussian(noise), self.nodes),
            epsilon=self.epsilon,
            delta=self.delta,
            accountant=ZCDPAccountant,
        )

    @property
    def _sigma(self) -> float:
        distance = GRAIN if self.pair == "likes and dislikes" else GRAIN * math.sqrt(2)
        return self._multiplier * distance * MARGIN
