"""The paper's setting of one vendor: every choice that the published policies share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.designs.pdap import theory
from tacit.mechanisms.checks import check_positive, check_whole

SIGMA = 0.05
"""sigma of Lemma 5, the chance that a neighbour's noise is above Gamma. The paper gives no
value."""
LARGEST_LOGARITHM = 1000
"""Largest log2 of m^(p l) that is computed; above it A m^(p l) might overflow a float."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes of a vendor and its world; the same for all policies that are compared.

    Attributes:
        videos: K, number of own videos; each neighbour is assumed to have K videos, too.
        neighbours: M - 1, number of other vendors; each is one arm, to which users are forwarded.
        dimension: d, number of features of a context.
        horizon: T, the expected number of contexts of the vendor's own users.
        slices: m; a cell that splits is cut into m slices along each feature.
        smoothness: alpha of the Hölder condition.
        lipschitz: L of the Hölder condition.
        growth: p, see the property `p`; None means 3 alpha, which balances the terms of the paper's
            bound.
        split_after: A, see `first_split`; None means twice the visits that exploring and training
            need in the whole cube, so that visits are left to exploit before it splits.
        deepest: the level whose cells never split.
    """

    videos: int
    neighbours: int
    dimension: int
    horizon: int
    slices: int = 2
    smoothness: float = 1.0
    lipschitz: float = 1.0
    growth: float | None = None
    split_after: float | None = None
    deepest: int = 20

    def __post_init__(self) -> None:
        check_whole("videos", self.videos, least=1)
        check_whole("dimension", self.dimension, least=1)
        check_whole("horizon", self.horizon, least=2)
        check_whole("slices", self.slices, least=2)
        check_whole("neighbours", self.neighbours, least=0)
        check_whole("deepest", self.deepest, least=0)
        check_positive("smoothness", self.smoothness)
        check_positive("lipschitz", self.lipschitz)
        check_positive("growth", self.p)
        check_positive("split_after", self.first_split)

    @property
    def p(self) -> float:
        """The paper's p: a cell of level l splits after A m^(p l) contexts."""
        return 3 * self.smoothness if self.growth is None else self.growth

    @property
    def first_split(self) -> float:
        """The paper's A: contexts in the whole cube before it splits.

        By default 2 ceil(K N + (M - 1) (K N + N)), where N = ln T is the number of visits for which
        an arm is tried in the whole cube: each of K own videos is explored N times; each neighbour
        is trained K N times, N for each of its videos, and explored N times.
        """
        if self.split_after is not None:
            return self.split_after
        tries = theory.exploration(self.slices, self.smoothness, 0, math.log(self.horizon))
        visits_for_own = self.videos * tries
        visits_per_neighbour = self.videos * tries + tries
        return 2 * math.ceil(visits_for_own + self.neighbours * visits_per_neighbour)

    @property
    def thresholds(self) -> list[float]:
        """Contexts after which a cell of level l splits, A m^(p l), for l = 0 .. `deepest`.

        The number is inf for the deepest level, whose cells never split, and where a float would
        overflow.
        """
        thresholds: list[float] = []
        for level in range(self.deepest):
            power = self.p * level
            if power * math.log2(self.slices) < LARGEST_LOGARITHM:
                thresholds.append(float(self.first_split * self.slices**power))
            else:
                thresholds.append(math.inf)
        return [*thresholds, math.inf]
