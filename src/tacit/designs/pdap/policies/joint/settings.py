"""The settings of a learner with joint privacy. Every field is public."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from tacit.designs.pdap.policies.joint.estimates import Estimates, Index
from tacit.designs.pdap.policies.joint.sums import Floats, NodeNoise, Observation, Pair, Seen
from tacit.designs.pdap.policies.partition import slices_for
from tacit.errors import ConfigError
from tacit.mechanisms.grid import check_epsilon, check_whole

Release = Literal["epochs", "tree"]
Ending = Literal["stop", "renew"]
Partition = Literal["grid", "noisy"]
_OPTIONS = {
    "partition": Partition,
    "release": Release,
    "pair": Pair,
    "index": Index,
    "at_horizon": Ending,
}


@dataclass(frozen=True, eq=False)
class PublicData:
    """Visits that are public: (cells, arms) sums of rewards and numbers of visits."""

    likes: Floats
    visits: Floats

    def seen(self, cells: int, arms: int) -> Seen:
        """As a release without noise. ConfigError unless they are of so many cells and arms."""
        for table in (self.likes, self.visits):
            if np.shape(table) != (cells, arms) or not np.isfinite(table).all():
                raise ConfigError(f"Public data are tables of {cells} cells x {arms} arms, finite.")
        return Observation(self.likes, self.visits, 0.0, 0.0, 0.0), self.visits


@dataclass(frozen=True, kw_only=True)
class JointSetting:
    """epsilon, delta: of one visit of a user, whether an own video or a neighbour is chosen.

    videos, neighbours, dimension, horizon: as in `Setting`.
    neighbour_range: lowest and highest reward that a neighbour sends, see `answer_range`.
    partition: "grid", fixed beforehand, or "noisy", whose cells split by what was released, see
    `partition.py`; for the latter sums are released in epochs, and there are no public data.
    slices: per dimension of a grid; None: by the rule of `partition.py`.
    release: "epochs" or "tree", see `sums.py`. first: arrivals in the first epoch; growth:
    how much longer the next one is; 1 for equal ones. A tree is read at the ends of epochs, which
    are ends of its steps as well. tree_steps: of all of them; None: each arrival is one.
    pair, index, beliefs: see `sums.py` and `estimates.py`.
    shrink_counts: whether counts are combined with what the policy's chances let expect.
    public: visits known to everybody, on this grid. at_horizon: "stop" learning and go on choosing
    by what is known, or "renew": a new period with fresh noise; a visit is in one period only.
    """

    videos: int
    neighbours: int
    dimension: int
    horizon: int
    epsilon: float
    delta: float = 0.0
    neighbour_range: tuple[float, float] = (0.0, 1.0)
    partition: Partition = "grid"
    slices: int | None = None
    release: Release = "epochs"
    first: int | None = None
    growth: float = 1.5
    tree_steps: int | None = None
    pair: Pair = "likes and dislikes"
    index: Index = "thompson"
    beliefs: Estimates = field(default_factory=Estimates)
    shrink_counts: bool = True
    public: PublicData | None = None
    at_horizon: Ending = "stop"

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        check_whole("horizon", self.horizon, least=2, most=1 << 40)
        check_whole("first", self.first_epoch, least=1)
        if self.tree_steps is not None:
            check_whole("tree_steps", self.tree_steps, least=1)
        if not 0 <= self.delta < 1:
            raise ConfigError(f"delta is a chance below 1, 0 for none; got {self.delta}.")
        if not (math.isfinite(self.growth) and self.growth >= 1):
            raise ConfigError(f"growth is a finite number, at least 1; got {self.growth}.")
        low, high = self.neighbour_range
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ConfigError(f"neighbour_range is a lower and a higher number; got {low}, {high}.")
        for name, options in _OPTIONS.items():
            if getattr(self, name) not in get_args(options):
                raise ConfigError(f"{name} is one of {', '.join(get_args(options))}.")
        plain = self.slices is None and self.public is None and self.release == "epochs"
        if self.partition == "noisy" and not plain:
            raise ConfigError(
                "With partition='noisy' sums are released in epochs, and neither slices nor public "
                "data are given: both belong to a grid."
            )

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
    def nodes(self) -> int:
        """In how many released parts a visit is, at most."""
        if self.release == "epochs":
            return 1
        return (-(-self.horizon // self.tree_step)).bit_length()

    @property
    def tree_step(self) -> int:
        """Arrivals in one step of a tree."""
        return 1 if self.tree_steps is None else -(-self.horizon // self.tree_steps)

    @property
    def noise(self) -> NodeNoise:
        return NodeNoise(self.epsilon, self.delta, self.nodes, self.pair)
