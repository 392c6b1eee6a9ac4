"""Cells of the cube [0, 1]^d: boxes that split where contexts are many, or a grid that stays.

Published: `AdaptivePartition` and DUP's `FixedPartition`, each with a state for every cell.

Source   Zhou, Zhou, Wu, Jin (2015), section V: a cell of level l has side m^-l and splits into m^d
         children when A m^(p l) contexts have come.
Cells    A cell of level l is where a context lies when each feature is cut into m^l slices. Slices
         are cut from ONE finest grid, so children lie within their parents to the last bit.
Memory   Children exist from the first context in them on: m^d of them could never be stored. In
         more than 16 dimensions a cell is known by a digest of 16 bytes of its slices. With
         `most_cells`, the cell not visited for longest is forgotten first, and starts anew when
         a visit occurs: at most `most_cells` are stored, whatever d and however many contexts.

Sound: a fixed `Grid`, whose cells are numbered.

Grid     No visitor can influence it: as many slices per dimension as leave a (cell, arm) `PER_CELL`
         visits on average over the horizon, and no more than `MOST_CELLS` cells; but `FEWEST` at
         least while these make no more than `FEW` cells, which learn from one another.
"""

from __future__ import annotations

import hashlib
import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError, DataError

S = TypeVar("S")

FINEST = 1 << 52
"""Slices per dimension at the deepest level are at most these: a float tells no more apart."""
BY_NAME = 16
"""Dimensions up to which a cell is known by its slices, above by their digest."""


class Cell(NamedTuple):
    """level: 0 is the whole cube. place: the slice in each dimension, or a digest of them all."""

    level: int
    place: tuple[int, ...] | bytes


class Slices:
    """Where a context lies at each level. slices: m; deepest: the last level there is."""

    def __init__(self, dimension: int, slices: int, deepest: int) -> None:
        if dimension < 1:
            raise ConfigError(f"A context has at least one feature; got {dimension}.")
        if slices < 2 or slices != int(slices):
            raise ConfigError(f"A split cuts each side into 2 slices or more, whole; got {slices}.")
        if deepest < 0 or slices**deepest > FINEST:
            raise ConfigError(
                f"Levels go from 0 to {int(math.log(FINEST, slices))} with {slices} slices; got "
                f"{deepest}."
            )
        self.dimension = dimension
        self.finest = slices**deepest
        self._widths = [slices ** (deepest - level) for level in range(deepest + 1)]

    def walk(self, context: NDArray[np.float64]) -> Iterator[Cell]:
        """The cells that hold `context`, from the whole cube to the deepest."""
        yield Cell(0, ())
        if self.dimension > BY_NAME:
            yield from self._walk_by_digest(context)
            return
        finest, last = self.finest, self.finest - 1
        fine = [min(int(feature * finest), last) for feature in context.tolist()]
        for level, width in enumerate(self._widths[1:], 1):
            yield Cell(level, tuple([place // width for place in fine]))

    def _walk_by_digest(self, context: NDArray[np.float64]) -> Iterator[Cell]:
        fine = np.minimum((context * self.finest).astype(np.uint64), self.finest - 1)
        for level, width in enumerate(self._widths[1:], 1):
            places = (fine // width).astype("<u8")
            yield Cell(level, hashlib.blake2b(places.tobytes(), digest_size=16).digest())


def thresholds(split_after: float, slices: int, growth: float, deepest: int) -> list[float]:
    """Of each level up to `deepest`, split_after * slices^(growth l) contexts; inf at the last."""
    if not (split_after >= 1 and growth > 0 and math.isfinite(growth)):
        raise ConfigError(
            "A cell splits after split_after >= 1 contexts, and growth is a finite number "
            f"above 0; got {split_after} and {growth}."
        )
    doublings = [growth * level * math.log2(slices) for level in range(deepest)]
    exact = [
        split_after * slices ** (growth * n) if doublings[n] < 1000 else math.inf
        for n in range(deepest)
    ]
    return [*exact, math.inf]


class _Node(Generic[S]):
    """What is stored of a cell: its state, or after a split only that it was split."""

    __slots__ = ("arrivals", "children", "state")

    def __init__(self, state: S) -> None:
        self.state = state
        self.arrivals = 0
        self.children = False


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


MOST_CELLS = 400
PER_CELL = 200
FEWEST = 3
FEW = 27


def slices_for(horizon: int, dimension: int, arms: int) -> int:
    """1 where there are too few visits, and too many dimensions, to tell cells apart."""
    wanted = min(horizon / (PER_CELL * arms), MOST_CELLS)
    slices = FEWEST if FEWEST**dimension <= FEW else 1
    while (slices + 1) ** dimension <= wanted:
        slices += 1
    return slices


class Grid:
    """Cells numbered from 0, and where they lie."""

    def __init__(self, dimension: int, slices: int) -> None:
        if slices < 1 or slices**dimension > MOST_CELLS:
            raise ConfigError(
                f"A grid has 1 to {MOST_CELLS} cells, slices to the power of the dimension; got "
                f"{slices} slices in {dimension} dimensions. Reduce the contexts first."
            )
        self.dimension = dimension
        self.slices = slices
        self._slices = Slices(dimension, max(2, slices), 1 if slices > 1 else 0)
        places = itertools.product(range(slices), repeat=dimension)
        centres = np.array([[(place + 0.5) / slices for place in spot] for spot in places])
        self.centres = centres.reshape(-1, dimension)
        self._numbers = {self.cell(centre): number for number, centre in enumerate(self.centres)}

    def __len__(self) -> int:
        return len(self.centres)

    def cell(self, context: NDArray[np.float64]) -> Cell:
        *_, cell = self._slices.walk(context)
        return cell

    def numbers(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Of the cells of (n, d) contexts; as `number(cell(context))`."""
        if contexts.ndim != 2 or contexts.shape[1] != self.dimension:
            raise DataError("the contexts have another shape", expected=f"(n, {self.dimension})")
        if len(contexts) and not (contexts.min() >= 0 and contexts.max() <= 1):  # NaN as well
            raise DataError("a context is outside the cube", expected="every feature in [0, 1]")
        places = np.minimum((contexts * self.slices).astype(np.int64), self.slices - 1)
        weights = self.slices ** np.arange(self.dimension - 1, -1, -1)
        return np.asarray(places @ weights, dtype=np.int64)

    def number(self, cell: Cell) -> int:
        found = self._numbers.get(cell)
        if found is None:
            raise ConfigError("This choice was made on another grid: its cell is none of this one.")
        return found
