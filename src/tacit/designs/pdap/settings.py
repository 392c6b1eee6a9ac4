"""The paper's setting of one vendor: every choice that the published policies share."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tacit.designs.pdap import theory
from tacit.mechanisms.checks import check_positive, check_whole

LARGEST_LOGARITHM = 1000
"""Base 2, of A m^(p l): what is larger is no float."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Sizes of a vendor and its world; the same for all policies that are compared.

    Attributes:
        videos: K, its own; each neighbour is taken to have as many.
        neighbours: M - 1, arms to forward to.
        dimension: d, features of a context.
        horizon: T, contexts of its own users that are expected.
        slices: m, slices of each side of a cell that splits.
        smoothness: alpha of the Hölder condition.
        lipschitz: L of the Hölder condition.
        growth: p; None: 3 alpha, which balances the paper's bound.
        split_after: A; None: twice what all phases need in the whole cube, so that something is
            left to exploit before a cell splits.
        deepest: a cell of this level never splits.
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
        """The paper's p: a cell of level l takes A m^(p l) contexts."""
        return 3 * self.smoothness if self.growth is None else self.growth

    @property
    def first_split(self) -> float:
        """The paper's A: contexts in the whole cube before it splits."""
        if self.split_after is not None:
            return self.split_after
        tried = theory.exploration(self.slices, self.smoothness, 0, math.log(self.horizon))
        own = self.videos * tried
        each_neighbour = self.videos * tried + tried
        return 2 * math.ceil(own + self.neighbours * each_neighbour)

    @property
    def thresholds(self) -> list[float]:
        """Contexts that a cell of each level takes before it splits, up to `deepest`.

        A m^(p l); inf at the last level, and beyond floats.
        """
        found: list[float] = []
        for level in range(self.deepest):
            power = self.p * level
            if power * math.log2(self.slices) < LARGEST_LOGARITHM:
                found.append(float(self.first_split * self.slices**power))
            else:
                found.append(math.inf)
        return [*found, math.inf]
