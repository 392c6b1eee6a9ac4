"""A grid that no visitor can influence, and the rule that chooses how fine it is.

Rule     As many slices per dimension as leave a (cell, arm) `PER_CELL` visits on average over the
         horizon, and no more than `MOST_CELLS` cells; but `FEWEST` slices at least while these make
         no more than `FEW` cells, which learn from one another. Horizon, arms and dimension are
         public.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from tacit.designs.pdap.partition import Cell, Slices
from tacit.errors import ConfigError, DataError

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
