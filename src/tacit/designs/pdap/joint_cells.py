"""Cells that split where many came, as far as anybody can know: by sums that were released already.

Rule     At the end of an epoch a cell of level l is split in 2^d, all at once, if the noisy visits
         of all epochs so far are at least FIRST per arm and 4^l: half the side, four times the
         visits, so that a mean is known as well as it varies within its cell.
Privacy  Splits follow from released sums alone and cost nothing on their own. A visit is in the one
         release of its epoch, in the cell that its context had then: epsilon, as on a fixed grid.
Bounded  No cell is finer than a grid of `MOST_CELLS` would be.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.joint_grid import MOST_CELLS, Grid
from tacit.designs.pdap.partition import Cell

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
