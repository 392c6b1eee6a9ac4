"""The settings of a learner with joint privacy. Every field is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

from tacit.designs.pdap.policies.joint.estimates import Estimates
from tacit.designs.pdap.policies.joint.sums import SumNoise
from tacit.designs.pdap.policies.partition import slices_for
from tacit.errors import ConfigError
from tacit.mechanisms.grid import check_epsilon, check_whole

Ending = Literal["stop", "renew"]


@dataclass(frozen=True, kw_only=True)
class JointSetting:
    """epsilon: of one visit of a user, whether an own video or a neighbour is chosen.

    videos, neighbours, dimension, horizon: as in `Setting`.
    neighbour_range: lowest and highest reward that a neighbour sends, see `answer_range`.
    slices: per dimension of the grid; None: by the rule of `partition.py`.
    first: arrivals in the first epoch; growth: how much longer the next one is; 1 for equal ones.
    beliefs: see `estimates.py`.
    at_horizon: "stop" learning and go on choosing by what is known, or "renew": a new period with
    fresh noise; a visit is in one period only.
    """

    videos: int
    neighbours: int
    dimension: int
    horizon: int
    epsilon: float
    neighbour_range: tuple[float, float] = (0.0, 1.0)
    slices: int | None = None
    first: int | None = None
    growth: float = 1.5
    beliefs: Estimates = field(default_factory=Estimates)
    at_horizon: Ending = "stop"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("horizon", self.horizon, least=2, most=1 << 40)
        check_whole("first", self.first_epoch, least=1)
        if not (math.isfinite(self.growth) and self.growth >= 1):
            raise ConfigError(f"growth is a finite number, at least 1; got {self.growth}.")
        low, high = self.neighbour_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigError(f"neighbour_range is a lower and a higher number; got {low}, {high}.")
        if self.at_horizon not in get_args(Ending):
            raise ConfigError(f"at_horizon is one of {', '.join(get_args(Ending))}.")

    @property
    def grid_slices(self) -> int:
        if self.slices is not None:
            return self.slices
        return slices_for(self.horizon, self.dimension, self.videos + self.neighbours)

    @property
    def first_epoch(self) -> int:
        """A twohundredth of the horizon, unless given."""
        return max(1, self.horizon // 200) if self.first is None else self.first

    @property
    def noise(self) -> SumNoise:
        return SumNoise(self.epsilon)
