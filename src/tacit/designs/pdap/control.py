"""The paper's setting, cells that split, and how often an arm is tried in one: Algorithm 1.

Source  Zhou, Zhou, Wu, Jin (2015), section V: a cell of level l has side m^-l and splits into m^d
        children when A m^(p l) contexts have come. DUP's cells stay as they are.
Memory  Children exist from the first context in them on: m^d of them could never be stored. With
        `most_cells`, the cell not visited for longest is forgotten first, and starts anew when
        a visit occurs: at most `most_cells` are stored, whatever d and however many contexts.

Control functions, below which an arm is tried in a cell before what was learned decides:

paper   here       printed
G1      own        m^(2 alpha l) ln T
K G3    trained    m^(2 alpha l) ln t: each of a neighbour's K videos is tried ln t / K times
G3      served     m^(2 alpha l) ln t / K
G2      neighbour  m^(2 alpha l) ln t + (Gamma / 4) m^(alpha l)

training="sound" tries each of the neighbour's videos m^(2 alpha l) ln t times, and trains K times
as long: with ln t / K the chance of a wrong order is t^(-2/K), which no sum over t survives.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap import theory
from tacit.designs.pdap.policy import FINEST, Cell, Slices
from tacit.errors import ConfigError
from tacit.mechanisms.samplers import check_whole

S = TypeVar("S")
Training = Literal["sound", "printed"]


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a vendor and its world look like; the same for all policies that are compared.

    videos: K, its own; each neighbour is taken to have as many. neighbours: M - 1, arms to forward
    to. dimension: d. horizon: T, contexts of its own users that are expected.
    slices, smoothness, lipschitz, growth: m, alpha, L, p; growth None: 3 alpha, which balances the
    paper's bound. split_after: A; None: twice what all phases need in the whole cube, so that
    something is left to exploit before a cell splits.
    inherit: children start with their parent's counts, not at zero. deepest, most_cells: see
    `AdaptivePartition`.
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
    training: Training = "sound"
    inherit: bool = False
    deepest: int = 20
    most_cells: int | None = None

    def __post_init__(self) -> None:
        check_whole("videos", self.videos, least=1)
        check_whole("neighbours", self.neighbours, least=0)
        check_whole("dimension", self.dimension, least=1)
        check_whole("horizon", self.horizon, least=2)
        for name in ("smoothness", "lipschitz"):
            number = getattr(self, name)
            if not (math.isfinite(number) and number > 0):
                raise ConfigError(f"{name} is a finite number above 0; got {number}.")
        if self.training not in ("sound", "printed"):
            raise ConfigError(f"training is 'sound' or 'printed'; got {self.training!r}.")

    @property
    def p(self) -> float:
        return 3 * self.smoothness if self.growth is None else self.growth

    @property
    def first_split(self) -> float:
        """A: contexts in the whole cube before it splits."""
        if self.split_after is not None:
            return self.split_after
        phases = Adaptive(self)
        of_neighbours = phases.trained(0, self.horizon) + phases.neighbour(0, self.horizon)
        own = self.videos * phases.own(0, self.horizon)
        return 2 * math.ceil(own + self.neighbours * of_neighbours)

    def exploration(self, level: int, t: int) -> float:
        """m^(2 alpha l) ln t."""
        return theory.exploration(self.slices, self.smoothness, level, math.log(t))


def regret_bound(setting: Setting, visits: int) -> float:
    """Theorem 3 without noise, for one vendor's own users after so many visits."""
    return theory.theorem_3(
        visits,
        A=setting.first_split,
        K=setting.videos,
        M=setting.neighbours + 1,
        d=setting.dimension,
        m=setting.slices,
        p=setting.p,
        al=setting.smoothness,
        L=setting.lipschitz,
        printed=setting.training == "printed",
    )


class Controls:
    """Visits below which an arm is tried, in a cell of this level at round t >= 1."""

    def own(self, level: int, t: int) -> float:
        """Of each own video."""
        raise NotImplementedError

    def trained(self, level: int, t: int) -> float:
        """Of each neighbour, without learning from the reward."""
        return 0.0

    def neighbour(self, level: int, t: int) -> float:
        """Of each neighbour, learning from the reward."""
        return 0.0

    def served(self, level: int, t: int) -> float:
        """Of each own video, for contexts that neighbours forward."""
        return self.own(level, t)


@dataclass(frozen=True)
class Adaptive(Controls):
    """Those of DAP. noise: Gamma, what a neighbour's noise costs in visits; 0 without noise.

    geometric: Gamma shrinks as m^(alpha l), as the noise of GP-DAP does.
    """

    setting: Setting
    noise: float = 0.0
    geometric: bool = False

    def own(self, level: int, t: int) -> float:
        return self.setting.exploration(level, self.setting.horizon)

    def trained(self, level: int, t: int) -> float:
        return self.setting.videos * self.served(level, t)

    def neighbour(self, level: int, t: int) -> float:
        s = self.setting
        shrunk = self.noise / s.slices ** (s.smoothness * level) if self.geometric else self.noise
        return theory.neighbour_exploration(s.slices, s.smoothness, level, math.log(t), shrunk)

    def served(self, level: int, t: int) -> float:
        s = self.setting
        if s.training == "printed":
            return theory.training(s.slices, s.smoothness, level, math.log(t), s.videos)
        return s.exploration(level, t)


@dataclass(frozen=True)
class Alone(Controls):
    """Those of CAP: own videos, with ln t where G1 has ln T."""

    setting: Setting

    def own(self, level: int, t: int) -> float:
        return self.setting.exploration(level, t)


@dataclass(frozen=True)
class UniformCells(Controls):
    """Those of DUP, whose cells have no level: D1 = t^(2 alpha / (3 alpha + d)) ln t and K D1.

    K D1 visits train a neighbour, so that each of its K videos can be tried D1 times.
    """

    setting: Setting

    def own(self, level: int, t: int) -> float:
        s = self.setting
        return float(t ** (2 * s.smoothness / (3 * s.smoothness + s.dimension))) * math.log(t)

    def trained(self, level: int, t: int) -> float:
        return self.setting.videos * self.own(level, t)

    def neighbour(self, level: int, t: int) -> float:
        return self.own(level, t)


@dataclass(frozen=True)
class ForGuests(Controls):
    """Those of a vendor that serves others' users: own videos are tried `served` times."""

    home: Controls

    def own(self, level: int, t: int) -> float:
        return self.home.served(level, t)


@dataclass(frozen=True)
class Scaled(Controls):
    """Those of `controls`, times `by`: below 1 less is explored than the regret bounds ask for."""

    controls: Controls
    by: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.by) and self.by > 0):
            raise ConfigError(f"Control functions are scaled by a number above 0; got {self.by}.")

    def own(self, level: int, t: int) -> float:
        return self.by * self.controls.own(level, t)

    def trained(self, level: int, t: int) -> float:
        return self.by * self.controls.trained(level, t)

    def neighbour(self, level: int, t: int) -> float:
        return self.by * self.controls.neighbour(level, t)

    def served(self, level: int, t: int) -> float:
        return self.by * self.controls.served(level, t)


def thresholds(split_after: float, slices: int, growth: float, deepest: int) -> list[float]:
    """Of each level up to `deepest`, split_after * slices^(growth l) contexts; inf at the last."""
    if not (split_after >= 1 and growth > 0 and math.isfinite(growth)):
        raise ConfigError(
            "A cell splits after split_after >= 1 contexts, and growth is a finite number "
            f"above 0; got {split_after} and {growth}."
        )
    powers = (growth * level for level in range(deepest))
    exact = (split_after * slices**n if n * math.log2(slices) < 1000 else math.inf for n in powers)
    return [*exact, math.inf]


@dataclass(slots=True)
class _Node(Generic[S]):
    """What is stored of a cell: its state, or after a split only that it was split."""

    state: S
    arrivals: int = 0
    children: bool = False


class AdaptivePartition(Generic[S]):
    """Splits a cell of level l once split_after * slices^(growth l) contexts have come to it.

    make: the state of a new cell, from its parent's state if `inherit`, else from None.
    split_after: A; growth: p; slices: m. deepest: a cell of this level never splits.
    """

    def __init__(
        self,
        dimension: int,
        make: Callable[[S | None], S],
        *,
        split_after: float,
        slices: int = 2,
        growth: float = 3.0,
        deepest: int = 20,
        inherit: bool = False,
        most_cells: int | None = None,
    ) -> None:
        if most_cells is not None and most_cells < 1:
            raise ConfigError(f"most_cells is at least 1, or None for no limit; got {most_cells}.")
        self.dimension = dimension
        self._slices = Slices(dimension, slices, deepest)
        self._make = make
        self._inherit = inherit
        self._most = most_cells
        self._nodes: OrderedDict[Cell, _Node[S]] = OrderedDict()
        """The first is the first to be forgotten."""
        self.thresholds = thresholds(split_after, slices, growth, deepest)

    def find(self, context: NDArray[np.float64]) -> tuple[Cell, S]:
        """The one cell now in use that holds `context`, created if nobody has been there."""
        parent: S | None = None
        for cell in self._slices.walk(context):
            node = self._touched(cell, parent)
            if not node.children:
                return cell, node.state
            if self._inherit:
                parent = node.state
        raise AssertionError("a cell of the deepest level never splits")

    def _touched(self, cell: Cell, parent: S | None) -> _Node[S]:
        """Now the last to be forgotten; made if it is not there."""
        node = self._nodes.get(cell)
        if node is None:
            node = self._nodes[cell] = _Node(self._make(parent))
            if self._most is not None and len(self._nodes) > self._most:
                self._nodes.popitem(last=False)
        elif self._most is not None:
            self._nodes.move_to_end(cell)
        return node

    def state(self, cell: Cell) -> S | None:
        """None if the cell was split or forgotten, or never was."""
        node = self._nodes.get(cell)
        return None if node is None or node.children else node.state

    def arrived(self, cell: Cell) -> bool:
        """Count a context in this cell, and split it if that was the last it takes: True."""
        node = self._nodes.get(cell)
        if node is None or node.children:
            return False
        node.arrivals += 1
        node.children = node.arrivals >= self.thresholds[cell.level]
        if node.children and not self._inherit:
            del node.state  # nobody asks for it again
        return node.children

    def cells(self) -> Iterator[tuple[Cell, int, S]]:
        """Cells in use with at least one visit, with their contexts and states."""
        for cell, node in self._nodes.items():
            if not node.children:
                yield cell, node.arrivals, node.state

    def __len__(self) -> int:
        """Cells stored, split ones included: never above `most_cells`."""
        return len(self._nodes)


class FixedPartition(AdaptivePartition[S]):
    """`slices` slices in each dimension from the start; independent of all data. One level."""

    def __init__(
        self,
        dimension: int,
        make: Callable[[S | None], S],
        *,
        slices: int,
        most_cells: int | None = None,
    ) -> None:
        if not 1 <= slices <= FINEST:
            raise ConfigError(f"slices is a whole number from 1 to 2**52; got {slices}.")
        cut, deepest = max(2, slices), 1 if slices > 1 else 0
        super().__init__(
            dimension, make, split_after=1, slices=cut, deepest=deepest, most_cells=most_cells
        )

    def find(self, context: NDArray[np.float64]) -> tuple[Cell, S]:
        """The cell that holds `context`, created if nobody has been there."""
        *_, cell = self._slices.walk(context)
        return cell, self._touched(cell, None).state
