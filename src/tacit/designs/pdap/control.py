"""The paper's setting, cells that split, and how often an arm is tried in one: Algorithm 1.

Source  Zhou, Zhou, Wu, Jin (2015), section V: a cell of level l has side m^-l and splits into m^d
        children when A m^(p l) contexts have come. DUP's cells stay as they are.
Cells   are cut from ONE finest grid, so children lie within their parents to the last bit. They
        exist from the first context in them on: m^d of them could never be stored.

Control functions (paper, here, printed): below them an arm is tried in a cell.
G1     own        m^(2 alpha l) ln T
K G3   trained    m^(2 alpha l) ln t: each of a neighbour's K videos is tried ln t / K times
G3     served     m^(2 alpha l) ln t / K
G2     neighbour  m^(2 alpha l) ln t + (Gamma / 4) m^(alpha l)
Here each of the neighbour's videos is tried m^(2 alpha l) ln t times, and training is K times as
long: with ln t / K the chance of a wrong order is t^(-2/K), whose sum over t is infinite.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap import theory
from tacit.errors import ConfigError
from tacit.mechanisms.checks import check_positive, check_whole
from tacit.mechanisms.counter import TreeRun

FINEST = 1 << 52
"""Slices per dimension at the deepest level are at most these: a float tells no more apart."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a vendor and its world look like; the same for all policies that are compared.

    videos: K, its own; each neighbour is taken to have as many. neighbours: M - 1, arms to forward
    to. dimension: d. horizon: T, contexts of its own users that are expected.
    slices, smoothness, lipschitz, growth: m, alpha, L, p; growth None: 3 alpha, which balances the
    paper's bound. split_after: A; None: twice what all phases need in the whole cube, so that
    something is left to exploit before a cell splits. deepest: a cell of this level never splits.
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
        for name in ("videos", "dimension"):
            check_whole(name, getattr(self, name), least=1)
        for name in ("horizon", "slices"):
            check_whole(name, getattr(self, name), least=2)
        for name in ("neighbours", "deepest"):
            check_whole(name, getattr(self, name), least=0)
        for name in ("smoothness", "lipschitz"):
            check_positive(name, getattr(self, name))
        check_positive("growth", self.p)
        check_positive("split_after", self.first_split)

    @property
    def p(self) -> float:
        return 3 * self.smoothness if self.growth is None else self.growth

    @property
    def first_split(self) -> float:
        """A: contexts in the whole cube before it splits."""
        if self.split_after is not None:
            return self.split_after
        phases = adaptive(self)
        of_neighbours = phases.trained(0, self.horizon) + phases.neighbour(0, self.horizon)
        own = self.videos * phases.own(0, self.horizon)
        return 2 * math.ceil(own + self.neighbours * of_neighbours)

    @property
    def thresholds(self) -> list[float]:
        """Of each level up to `deepest`, A m^(p l) contexts; inf at the last, and beyond floats."""
        powers = [self.p * level for level in range(self.deepest)]
        held = [n * math.log2(self.slices) < 1000 for n in powers]
        exact = zip(powers, held, strict=True)
        return [*(self.first_split * self.slices**n if h else math.inf for n, h in exact), math.inf]


Control = Callable[[int, int], float]
"""(level of the cell, round t >= 1) -> visits below which an arm is tried."""


@dataclass(frozen=True)
class Controls:
    """own: of each own video. served: for contexts that neighbours forward, and of CAP. trained,
    neighbour: of each neighbour, without and with learning from the reward."""

    own: Control
    served: Control
    trained: Control
    neighbour: Control


def adaptive(setting: Setting, noise: float = 0.0, *, geometric: bool = False) -> Controls:
    """Those of DAP. noise: Gamma, what a neighbour's noise costs in visits; geometric: it shrinks
    as m^(alpha l), as the noise of GP-DAP does."""
    m, alpha = setting.slices, setting.smoothness

    def tried(level: int, t: int) -> float:
        return theory.exploration(m, alpha, level, math.log(t))

    def heard(level: int, t: int) -> float:
        shrunk = noise / m ** (alpha * level) if geometric else noise
        return theory.neighbour_exploration(m, alpha, level, math.log(t), shrunk)

    return Controls(
        own=lambda level, _: tried(level, setting.horizon),
        served=tried,
        trained=lambda level, t: setting.videos * tried(level, t),
        neighbour=heard,
    )


def uniform_cells(setting: Setting) -> Controls:
    """Those of DUP, whose cells have no level: D1 = t^(2 alpha / (3 alpha + d)) ln t for each
    video, K D1 to train a neighbour, so that each of its K videos can be tried D1 times."""
    power = 2 * setting.smoothness / (3 * setting.smoothness + setting.dimension)

    def tried(_level: int, t: int) -> float:
        return float(t**power) * math.log(t)

    return Controls(tried, tried, lambda level, t: setting.videos * tried(level, t), tried)


class Cell(NamedTuple):
    """level: 0 is the whole cube. place: the slice in each dimension."""

    level: int
    place: tuple[int, ...]


class Visits:
    """What one cell has learned, by the numbers of the arms. An arm never tried has mean 0.
    arrivals: contexts that came. counts: N, choices that were learned from. trained: N1, those of a
    neighbour that were not. trees: of rewards of forwarded users, one for each video."""

    __slots__ = ("arrivals", "counts", "means", "sums", "trained", "trees")

    def __init__(self) -> None:
        self.arrivals = 0
        self.counts: dict[int, int] = defaultdict(int)
        self.sums: dict[int, float] = defaultdict(float)
        self.means: dict[int, float] = defaultdict(float)
        self.trained: dict[int, int] = defaultdict(int)
        self.trees: dict[int, TreeRun] = {}

    def learn(self, arm: int, reward: float) -> None:
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.means[arm] = self.sums[arm] / self.counts[arm]

    def best(self, arms: Sequence[int]) -> int:
        """The arm of the largest mean; of equals the least explored, then the first."""
        return min(arms, key=lambda arm: (-self.means[arm], self.counts[arm], arm))


class Partition:
    """Cells of a cube, from the whole on. A cell of level l takes thresholds[l] contexts, and then
    its children take its place: each side is cut into `slices`."""

    def __init__(self, dimension: int, slices: int, thresholds: Sequence[float]) -> None:
        if slices ** (len(thresholds) - 1) > FINEST:
            raise ConfigError(f"A side is cut into at most 2**52 slices; got {slices}.")
        self.dimension, self.slices, self.thresholds = dimension, slices, thresholds
        self._deepest = len(thresholds) - 1
        self._finest = slices**self._deepest
        self._widths = [slices ** (self._deepest - level) for level in range(len(thresholds))]
        """Slices of the finest grid in one slice of each level."""
        self._cells: dict[Cell, Visits | None] = {}
        """None: it was split."""

    def find(self, context: NDArray[np.float64]) -> tuple[Cell, Visits]:
        """The one cell now in use that holds `context`, created if nobody has been there."""
        for cell in self._walk(context):
            if cell not in self._cells:
                self._cells[cell] = Visits() if self.thresholds[cell.level] else None
            if (visits := self._cells[cell]) is not None:
                return cell, visits
        raise AssertionError("a cell of the deepest level never splits")

    def visits(self, cell: Cell) -> Visits | None:
        """None if the cell was split, or never was."""
        return self._cells.get(cell)

    def arrived(self, cell: Cell) -> None:
        """Count a context in this cell, and split it if that was the last it takes."""
        if (visits := self._cells.get(cell)) is not None:
            visits.arrivals += 1
            if visits.arrivals >= self.thresholds[cell.level]:
                self._cells[cell] = None

    def _walk(self, context: NDArray[np.float64]) -> Iterator[Cell]:
        """The cells that hold `context`, from the whole cube to the deepest."""
        yield Cell(0, ())
        finest = self._finest
        fine = [min(int(feature * finest), finest - 1) for feature in context.tolist()]
        for level in range(1, self._deepest + 1):
            width = self._widths[level]
            yield Cell(level, tuple([place // width for place in fine]))

    def __len__(self) -> int:
        """Cells that were visited, split ones included."""
        return len(self._cells)
