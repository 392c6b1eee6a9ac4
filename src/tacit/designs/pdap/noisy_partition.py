"""Cells that split by noisy counts, at times that everybody knows.

Why          An exact count reveals whether a visit took place: one visit short of a split, the
next one              changes every choice after it.
Guarantee    epsilon for ALL splits together if one visit is replaced by another, that is, happens
             in another cell; that there was a visit, and when, is public. Each visit is counted
             once, in one cell and one epoch, and every count is released once.
Sensitivity  2: one count falls by 1 and another rises.
Sampler      OpenDP's discrete Laplace on integers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.events import Event
from tacit.designs.pdap.partition import BY_NAME, Cell, Slices, thresholds
from tacit.errors import ConfigError
from tacit.mechanisms.laplace import LaplaceRelease

S = TypeVar("S")


class NoisyPartition(Generic[S]):
    """As `AdaptivePartition`, but looks only after every `epoch` contexts, at noisy counts.

    All children of a cell are counted from its split on, visited or not, for which of them are
    visited is private. No more than `most_cells` are in use: a split beyond that does not happen.
    """

    def __init__(
        self,
        dimension: int,
        make: Callable[[S | None], S],
        *,
        epsilon: float,
        epoch: int,
        split_after: float,
        slices: int = 2,
        growth: float = 3.0,
        deepest: int = 10,
        most_cells: int = 4096,
    ) -> None:
        if epoch < 1:
            raise ConfigError(f"An epoch is at least 1 context; got {epoch}.")
        self._slices = Slices(dimension, slices, deepest)
        if dimension > BY_NAME or dimension * math.log(slices) > math.log(most_cells):
            raise ConfigError(
                f"A split in {dimension} dimensions makes {slices}^{dimension} cells, more than "
                f"most_cells = {most_cells}, or there are more than {BY_NAME}. Reduce the contexts "
                "first."
            )
        self._make = make
        self._cut = slices
        self._most = most_cells
        self._epoch = epoch
        # Counts are whole: rounding to the grid moves none of the two entries that change.
        self._release = LaplaceRelease(epsilon, sensitivity=2, lower=0, upper=epoch, resolution=1)
        self._thresholds = thresholds(split_after, slices, growth, deepest)
        self._counts: dict[Cell, int] = {}  # of this epoch, every cell in use
        self._totals: dict[Cell, float] = {}  # noisy, of all epochs before
        self._states: dict[Cell, S] = {}
        self._come = 0
        self._open(Cell(0, (0,) * dimension))

    @property
    def dimension(self) -> int:
        return self._slices.dimension

    @property
    def event(self) -> Event:
        """What one visit costs, over the whole life."""
        return self._release.event

    def find(self, context: NDArray[np.float64]) -> tuple[Cell, S]:
        """The one cell in use that holds `context`."""
        for cell in self._slices.walk(context):
            named = cell if cell.level else Cell(0, (0,) * self.dimension)
            if named in self._counts:
                if named not in self._states:
                    self._states[named] = self._make(None)
                return named, self._states[named]
        raise AssertionError("cells in use cover the cube")

    def state(self, cell: Cell) -> S | None:
        """None if the cell was split, or nobody was there."""
        return self._states.get(cell)

    def arrived(self, cell: Cell) -> bool:
        """Count a context; True if its cell was among those that split now."""
        if cell in self._counts:
            self._counts[cell] += 1
        self._come += 1
        if self._come % self._epoch:
            return False
        self._end_epoch()
        return cell not in self._counts

    def cells(self) -> Iterator[Cell]:
        """All cells in use."""
        yield from self._counts

    def __len__(self) -> int:
        """Cells in use, never above `most_cells`; what is visited is not told."""
        return len(self._counts)

    def _end_epoch(self) -> None:
        names = list(self._counts)
        noisy = self._release([self._counts[name] for name in names]).tolist()
        for name, count in zip(names, noisy, strict=True):
            self._totals[name] += count
            self._counts[name] = 0
        for name in names:
            if self._totals[name] >= self._thresholds[name.level]:
                self._split(name)

    def _split(self, cell: Cell) -> None:
        if len(self._counts) - 1 + self._cut**self.dimension > self._most:
            return
        for kept in (self._counts, self._totals, self._states):
            kept.pop(cell, None)
        place = cell.place
        assert isinstance(place, tuple), "most_cells leaves no room for digests"
        for step in product(range(self._cut), repeat=self.dimension):
            child = tuple(p * self._cut + s for p, s in zip(place, step, strict=True))
            self._open(Cell(cell.level + 1, child))

    def _open(self, cell: Cell) -> None:
        self._counts[cell] = 0
        self._totals[cell] = 0.0
