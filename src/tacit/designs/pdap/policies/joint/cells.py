"""Cells of joint privacy: a fixed grid, or cells that split by sums that were released already.

Rule     At the end of an epoch a cell of level l is split in 2^d, all at once, if the noisy visits
         of all epochs so far are at least FIRST per arm and 4^l: half the side, four times the
         visits, so that a mean is known as well as it varies within its cell.
Privacy  Splits follow from released sums alone and cost nothing on their own. A visit is in the one
         release of its epoch, in the cell that its context had then: epsilon, as on a fixed grid.
Bounded  No cell is finer than a grid of `MOST_CELLS` would be.
Grid     No visitor can influence it: as many slices per dimension as leave a (cell, arm) `PER_CELL`
         visits on average over the horizon, and no more than `MOST_CELLS` cells; but `FEWEST` at
         least while these make no more than `FEW` cells, which learn from one another.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.policies.partition import Cell, Slices
from tacit.errors import ConfigError, DataError

FIRST = 1.0


class NoisyCells:
    """As `Grid`, but for `split`; numbers of cells hold until the next one."""

    def __init__(self, dimension: int, arms: int) -> None:
        self.dimension = dimension
        self._arms = arms
        self._deepest = 0
        while 2 ** (dimension * (self._deepest + 1)) <= MOST_CELLS:
            self._deepest += 1
        self._finest = Grid(dimension, 2**self._deepest)
        self._cells = [Cell(0, (0,) * dimension)]
        self._number()

    def __len__(self) -> int:
        return len(self._cells)

    def cell(self, context: NDArray[np.float64]) -> Cell:
        return self._cells[int(self.numbers(context[None, :])[0])]

    def numbers(self, contexts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Of the cells of (n, d) contexts."""
        return np.asarray(self._of_finest[self._finest.numbers(contexts)])

    def number(self, cell: Cell) -> int | None:
        """None of a cell that was split."""
        return self._numbers.get(cell)

    def split(self, visits: NDArray[np.float64]) -> NDArray[np.int64] | None:
        """visits: (cells,) noisy. (new cells,) the cell before that each is in; None: no split."""
        levels = np.array([cell.level for cell in self._cells])
        many = (visits >= FIRST * self._arms * 4.0**levels) & (levels < self._deepest)
        if not many.any():
            return None
        parents, cells = [], []
        for number, (cell, splits) in enumerate(zip(self._cells, many.tolist(), strict=True)):
            new = _children(cell) if splits else [cell]
            cells += new
            parents += [number] * len(new)
        self._cells = cells
        self._number()
        return np.array(parents)

    def _number(self) -> None:
        self._numbers = {cell: number for number, cell in enumerate(self._cells)}
        sides = np.array([0.5**cell.level for cell in self._cells])
        places = np.array([cell.place for cell in self._cells])
        self.centres = (places + 0.5) * sides[:, None]
        inside = np.abs(self._finest.centres[:, None] - self.centres[None]) < sides[:, None] / 2
        self._of_finest = inside.all(axis=2).argmax(axis=1)


def _children(cell: Cell) -> list[Cell]:
    steps = itertools.product(range(2), repeat=len(cell.place))
    return [
        Cell(cell.level + 1, tuple(2 * p + s for p, s in zip(cell.place, step, strict=True)))
        for step in steps
    ]


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
