"""A partition of the space of contexts into cells that split: Algorithm 1, phase 3.

A cell of level l has sides of length m^-l. In the paper, it splits into m^d children after
A m^(p l) contexts, with A and p of `Setting`; here, after the number of contexts that
`Partition.thresholds` has for level l.
All cells are unions of cells of ONE finest grid, so that children lie exactly within their parents.
A cell is stored from its first context on: to store all m^d children at a split would be too many.
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
"""Largest number of slices of a feature at the deepest level: a float cannot resolve more."""


class Cell(NamedTuple):
    """A cube of the space of contexts.

    Attributes:
        level: 0 is the whole space.
        place: for each feature, the number of the slice that the cell occupies, from 0; empty for
            level 0.
    """

    level: int
    place: tuple[int, ...]


class CellStatistics:
    """Counts and means that one cell has learned, by the numbers of the arms.

    Attributes:
        arrivals: M_C, the number of contexts in the cell that `Partition.count_arrival` counted.
        counts: N, how often each arm was chosen and learned from.
        sums: sum of the rewards of each arm.
        means: mean reward of each arm; 0 for one that was never tried.
        trained: N1, how often each neighbour was chosen to train it; such a reward is not learned.
        trees: for each own video, the noisy running total of the rewards of forwarded users.
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
        """Count a choice of an arm, and include its reward in the arm's mean."""
        self.counts[arm] += 1
        self.sums[arm] += reward
        self.means[arm] = self.sums[arm] / self.counts[arm]

    def best(self, arms: Sequence[int]) -> int:
        """Return the arm with the largest mean; at equal means the least tried, then the first."""
        return min(arms, key=lambda arm: (-self.means[arm], self.counts[arm], arm))


class Partition:
    """The cells of one policy.

    Attributes:
        dimension: d, number of features of a context.
        slices: m, number of slices into which a split cuts each side of a cell.
        thresholds: for each level, the number of contexts after which a cell splits; 0 for a level
            that is skipped, inf for cells that never split. The last one is inf.
    """

    def __init__(self, dimension: int, slices: int, thresholds: Sequence[float]) -> None:
        if slices ** (len(thresholds) - 1) > MOST_SLICES:
            raise ConfigError(
                f"A feature has at most 2**52 slices at the deepest level; {slices} slices at each "
                f"of {len(thresholds) - 1} splits are more."
            )
        self.dimension = dimension
        self.slices = slices
        self.thresholds = thresholds
        self._deepest = len(thresholds) - 1
        self._finest = slices**self._deepest
        """Slices of each feature in the finest grid."""
        self._widths = [slices ** (self._deepest - level) for level in range(len(thresholds))]
        """For each level, how many slices of the finest grid one slice of the level has."""
        self._cells: dict[Cell, CellStatistics | None] = {}
        """All cells so far; None for one that was split, or that is of a skipped level."""

    def find(self, context: NDArray[np.float64]) -> tuple[Cell, CellStatistics]:
        """Find the unsplit cell that holds a context (d,), and create it if it is new."""
        for cell in self._walk(context):
            if cell not in self._cells:
                is_skipped = self.thresholds[cell.level] == 0
                self._cells[cell] = None if is_skipped else CellStatistics()
            statistics = self._cells[cell]
            if statistics is not None:
                return cell, statistics
        raise AssertionError("a cell of the deepest level never splits")

    def statistics(self, cell: Cell) -> CellStatistics | None:
        """Return what a cell has learned; None if it was split, skipped or never visited."""
        return self._cells.get(cell)

    def count_arrival(self, cell: Cell) -> None:
        """Count a context in this cell, and split the cell at its threshold.

        This does nothing if the cell has split already.
        """
        statistics = self._cells.get(cell)
        if statistics is not None:
            statistics.arrivals += 1
            if statistics.arrivals >= self.thresholds[cell.level]:
                self._cells[cell] = None

    def _walk(self, context: NDArray[np.float64]) -> Iterator[Cell]:
        """Yield the cells that hold a context (d,), from the whole cube to the deepest level."""
        yield Cell(0, ())
        finest = self._finest
        finest_place = [min(int(feature * finest), finest - 1) for feature in context.tolist()]
        for level in range(1, self._deepest + 1):
            width = self._widths[level]
            yield Cell(level, tuple([number // width for number in finest_place]))

    def __len__(self) -> int:
        """Return the number of cells created so far, split and skipped ones included."""
        return len(self._cells)
