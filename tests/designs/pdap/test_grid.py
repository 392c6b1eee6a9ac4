"""The grid of cells: their numbers and their centres."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.designs.pdap.grid import Grid


@pytest.mark.parametrize(
    ("context", "number"),
    [((0.1, 0.1), 0), ((0.1, 0.9), 2), ((0.9, 0.1), 6), ((0.9, 0.5), 7), ((1.0, 1.0), 8)],
)
def test_the_first_feature_counts_most(context, number):
    """Of nine cells in two dimensions, row by row; the upper border belongs to the last cell."""
    assert Grid(2, 3).find_cell(np.array(context)) == number


def test_a_centre_lies_in_the_middle_of_its_cell():
    """Of three slices: a sixth, a half, five sixths; and each centre is in the cell it is of."""
    grid = Grid(2, 3)
    assert grid.centres[0] == pytest.approx([1 / 6, 1 / 6])
    assert grid.centres[5] == pytest.approx([1 / 2, 5 / 6])
    assert [grid.find_cell(centre) for centre in grid.centres] == list(range(9))
