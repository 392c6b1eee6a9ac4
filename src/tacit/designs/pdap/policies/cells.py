"""The space of contexts in cells that split, and what each cell has learned: Algorithm 1, phase 3.

A cell of level l has sides of m^-l and splits into m^d children when A m^(p l) contexts have come.
Cells are cut from ONE finest grid, so children lie within their parents to the last bit. They exist
from the first context in them on: m^d of them could never be stored.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ConfigError
from tacit.mechanisms.counter import TreeRun

MOST_SLICES = 1 << 52
"""Slices per dimension at the deepest level, at most: a float tells no more apart."""


class Cell(NamedTuple):
    """A cube of the space of contexts.

    Attributes:
        level: 0 is the whole space.
        place: the slice in each dimension, from 0 on.
    """

    level: int
    place: tuple[int, ...]


class CellStatistics:
    """Counts and means that one cell has learned, by the numbers of the arms.

    Attributes:
        arrivals: M_C, contexts that came.
        counts: N, choices of each arm that were learned from.
        sums: of the rewards of each arm.
        means: of the rewards of each arm; 0 for one that was never tried.
        trained: N1, choices of each neighbour that were not learned from.
        trees: of rewards of forwarded users, one for each video.
    """

    __slots__ = ("arrivals", "counts", "means", "sums", "trained", "trees")

    def __init__(self) -> None:
        self.arrivals = 0
        self.counts: dict[int, int] = defaultdict(int)
        self.sums: dict[int, float] = defaultdict(float)
        self.means: dict[int, float] = defaultdict(float)
        self.trained: dict[int, int] = defaultdict(int)
        self.trees: dict[int, TreeRun] = {}

    def learn(self, arm: int, reward: float) -> None:
        """Count a choice and its reward."""
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.means[arm] = self.sums[arm] / self.counts[arm]

    def best(self, arms: Sequence[int]) -> int:
        """The arm of the largest mean; of equals the least explored, then the first."""
        return min(arms, key=lambda arm: (-self.means[arm], self.counts[arm], arm))


class Partition:
    """The cells of one policy.

    Attributes:
        dimension: d, features of a context.
        slices: m, slices of each side of a cell that splits.
        thresholds: contexts that a cell of each level takes before its children take its place.
    """

    def __init__(self, dimension: int, slices: int, thresholds: Sequence[float]) -> None:
        if slices ** (len(thresholds) - 1) > MOST_SLICES:
            raise ConfigError(f"A side is cut into at most 2**52 slices; got {slices}.")
        self.dimension = dimension
        self.slices = slices
        self.thresholds = thresholds
        self._deepest = len(thresholds) - 1
        self._finest = slices**self._deepest
        self._widths = [slices ** (self._deepest - level) for level in range(len(thresholds))]
        """Slices of the finest grid in one slice of each level."""
        self._cells: dict[Cell, CellStatistics | None] = {}
        """None: it was split."""

    def find(self, context: NDArray[np.float64]) -> tuple[Cell, CellStatistics]:
        """The one cell now in use that holds `context`, created if nobody has been there."""
        for cell in self._walk(context):
            if cell not in self._cells:
                in_use = bool(self.thresholds[cell.level])
                self._cells[cell] = CellStatistics() if in_use else None
            statistics = self._cells[cell]
            if statistics is not None:
                return cell, statistics
        raise AssertionError("a cell of the deepest level never splits")

    def statistics(self, cell: Cell) -> CellStatistics | None:
        """Find what a cell has learned; None if it was split, or never was."""
        return self._cells.get(cell)

    def count_arrival(self, cell: Cell) -> None:
        """Count a context in this cell, and split it if that was the last it takes."""
        statistics = self._cells.get(cell)
        if statistics is not None:
            statistics.arrivals += 1
            if statistics.arrivals >= self.thresholds[cell.level]:
                self._cells[cell] = None

    def _walk(self, context: NDArray[np.float64]) -> Iterator[Cell]:
        """The cells that hold `context`, from the whole cube to the deepest."""
        yield Cell(0, ())
        finest = self._finest
        place = [min(int(feature * finest), finest - 1) for feature in context.tolist()]
        for level in range(1, self._deepest + 1):
            width = self._widths[level]
            yield Cell(level, tuple([slice_number // width for slice_number in place]))

    def __len__(self) -> int:
        """Cells that were visited, split ones included."""
        return len(self._cells)
