"""A fixed grid of equal cells; a device reports its context as the number of a cell.

The grid does not depend on any visitor, so the choice of cells releases nothing.
"""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import ArrayLike

from tacit.designs.pdap.policies.base import check_context
from tacit.errors import ConfigError

MOST_CELLS = 400
"""Largest number of cells of a grid."""


class Grid:
    """Equal cells of the cube, numbered from 0 in C order: the last feature varies fastest.

    Attributes:
        dimension: d, number of features of a context.
        slices: number of slices of each feature; there are slices^d cells.
        centres: (cells, d) the middle of each cell.
    """

    def __init__(self, dimension: int, slices: int) -> None:
        """Compute the cells; ConfigError if there are none, or more than MOST_CELLS."""
        if dimension < 1 or slices < 1 or slices**dimension > MOST_CELLS:
            raise ConfigError(
                f"A grid has 1 to {MOST_CELLS} cells, slices to the power of the dimension; got "
                f"{slices} slices in {dimension} dimensions. Take fewer slices or features."
            )
        self.dimension = dimension
        self.slices = slices
        slice_numbers = itertools.product(range(slices), repeat=dimension)
        self.centres = (np.array(list(slice_numbers)) + 0.5) / slices

    def __len__(self) -> int:
        return len(self.centres)

    def find_cell(self, context: ArrayLike) -> int:
        """Return the number of the cell that holds a context.

        Raises:
            DataError: The context is not (d,) numbers in [0, 1].
        """
        cell = 0
        for feature in check_context(context, self.dimension).tolist():
            slice_number = min(int(feature * self.slices), self.slices - 1)
            cell = cell * self.slices + slice_number
        return cell

    def check_cell(self, cell: object) -> int:
        """Return the cell of a choice, which must be the number of a cell of this grid.

        Raises:
            ConfigError: The choice has no cell, or a cell of another policy.
        """
        if type(cell) is not int or not 0 <= cell < len(self):
            raise ConfigError("This choice has no cell of this grid: another policy made it.")
        return cell
