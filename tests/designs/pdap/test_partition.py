"""Cells: they cover the cube once, split when they are due, and need bounded memory."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.designs.pdap.control import AdaptivePartition, FixedPartition
from tacit.designs.pdap.policy import Cell, Slices
from tacit.errors import ConfigError

features = st.floats(0, 1)


def nothing(parent: None) -> None:
    """A state for tests about cells alone."""


def adaptive(dimension: int, **changes) -> AdaptivePartition[None]:
    return AdaptivePartition(dimension, nothing, **{"split_after": 3, **changes})


def visit(partition: AdaptivePartition[None], context: list[float]) -> Cell:
    cell, _ = partition.find(np.array(context))
    partition.arrived(cell)
    return cell


def box(cell: Cell, slices: int) -> list[tuple[float, float]]:
    """Where a cell begins and ends in each dimension."""
    side = slices**-cell.level
    return [(place * side, (place + 1) * side) for place in cell.place]


@pytest.mark.parametrize("growth", [1.0, 2.0])
def test_splits_at_a_times_m_to_the_p_l(growth):
    """Level l takes exactly A m^(p l) contexts: the next one lies in a child."""
    partition = adaptive(1, split_after=3, growth=growth, deepest=3)
    seen = [visit(partition, [0.1]).level for _ in range(200)]
    assert [seen.count(level) for level in range(3)] == [3 * 2 ** (growth * n) for n in range(3)]
    assert seen == sorted(seen)


def test_children_exist_once_somebody_is_in_them():
    """A split in five dimensions has 32 children; two visited ones and their parent are stored."""
    partition = adaptive(5)
    for _ in range(3):
        visit(partition, [0.1] * 5)
    assert len(partition) == 1
    visit(partition, [0.1] * 5)
    visit(partition, [0.9] * 5)
    assert len(partition) == 3


def test_children_start_at_zero_unless_they_inherit():
    """A new cell is made from nothing, or from its parent's state if asked."""
    for inherit, expected in ((False, None), (True, "whole cube")):
        parents = []
        partition = AdaptivePartition(
            1,
            lambda parent, parents=parents: parents.append(parent) or "whole cube",
            split_after=1,
            inherit=inherit,
        )
        visit(partition, [0.5])
        visit(partition, [0.5])
        assert parents == [None, expected]


@given(st.lists(features, min_size=1, max_size=4), st.integers(2, 5), st.integers(0, 6))
def test_child_lies_within_its_parent(context, slices, level):
    """Cutting a cell's slice number by m gives its parent's, for any number of slices."""
    cells = list(Slices(len(context), slices, level).walk(np.array(context)))
    for parent, child in pairwise(cells[1:]):
        assert parent.place == tuple(place // slices for place in child.place)


@given(st.lists(features, min_size=1, max_size=4), st.integers(2, 5), st.integers(1, 6))
def test_cell_contains_its_context(context, slices, level):
    """A context lies in its cell's box, up to the rounding of a float at the box's edge."""
    for cell in list(Slices(len(context), slices, level).walk(np.array(context)))[1:]:
        for feature, (start, end) in zip(context, box(cell, slices), strict=True):
            assert start - 1e-12 <= feature <= end + 1e-12


@given(st.lists(st.tuples(features, features), max_size=80))
def test_cells_in_use_cover_the_cube_once(contexts):
    """Whatever came: any context lies in exactly one cell in use, of those that were visited."""
    partition = adaptive(2, growth=1.0)
    for context in contexts:
        visit(partition, list(context))
    for context in contexts:
        partition.find(np.array(context))
    boxes = [box(cell, 2) if cell.level else [(0, 1), (0, 1)] for cell, _, _ in partition.cells()]
    for context in contexts:
        # a point of the finest grid, away from every edge
        point = [(min(math.floor(x * 2**20), 2**20 - 1) + 0.5) / 2**20 for x in context]
        inside = [
            all(start < x < end for x, (start, end) in zip(point, edges, strict=True))
            for edges in boxes
        ]
        assert inside.count(True) == 1


@given(st.lists(st.tuples(features, features), max_size=60))
def test_arrivals_add_up(contexts):
    """Contexts counted in cells in use are all that came, less those spent on splits."""
    partition = adaptive(2, growth=1.0)
    splits = 0.0
    for context in contexts:
        cell, _ = partition.find(np.array(context))
        if partition.arrived(cell):
            splits += partition.thresholds[cell.level]
    assert sum(arrivals for _, arrivals, _ in partition.cells()) + splits == len(contexts)


def test_deepest_level_never_splits():
    """However many come, a cell of the last level stays."""
    partition = adaptive(1, split_after=1, growth=0.1, deepest=2)
    assert {visit(partition, [0.3]).level for _ in range(50)} == {0, 1, 2}


def test_split_cell_takes_no_more():
    """A late answer finds no state in a cell that was split, and is not counted."""
    partition = adaptive(1, split_after=1)
    cell = visit(partition, [0.3])
    assert partition.state(cell) is None
    assert not partition.arrived(cell)


def test_ten_thousand_features_in_bounded_memory():
    """Every context is in a cell of its own, and no more cells are stored than allowed."""
    partition = adaptive(10_000, split_after=1, most_cells=50)
    contexts = np.random.default_rng(0).random((200, 10_000))
    places = set()
    for context in contexts:
        cell, _ = partition.find(context)
        partition.arrived(cell)
        places.add(cell)
        assert len(partition) <= 50
        assert isinstance(cell.place, bytes) == (cell.level > 0)
    assert len(places) > 150


def test_same_cell_by_digest_for_close_contexts_only():
    """In many dimensions, contexts in the same slices share a cell; one feature further, not."""
    slices = Slices(100, 2, 3)
    one, same, other = np.full(100, 0.3), np.full(100, 0.31), np.full(100, 0.3)
    other[57] = 0.9
    cells = [list(slices.walk(context)) for context in (one, same, other)]
    assert cells[0] == cells[1]
    assert cells[0][0] == cells[2][0]
    assert all(a != b for a, b in zip(cells[0][1:], cells[2][1:], strict=True))


def test_least_recently_visited_is_forgotten_first():
    """With room for three cells, the one nobody came back to starts anew."""
    partition = FixedPartition(1, lambda _: [0], slices=4, most_cells=3)
    for feature in (0.1, 0.3, 0.6, 0.1, 0.9):
        partition.find(np.array([feature]))[1][0] += 1
    assert partition.find(np.array([0.1]))[1] == [2]
    assert partition.find(np.array([0.3]))[1] == [0]


@given(st.lists(features, min_size=1, max_size=3), st.integers(1, 7))
def test_fixed_cells_never_split(context, slices):
    """The same context is in the same cell for ever."""
    partition = FixedPartition(len(context), nothing, slices=slices)
    cells = set()
    for _ in range(20):
        cell, _ = partition.find(np.array(context))
        cells.add(cell)
        assert not partition.arrived(cell)
    assert len(cells) == 1


def test_fixed_cells_are_as_many_as_asked():
    """Three slices in two dimensions are nine cells."""
    partition = FixedPartition(2, nothing, slices=3)
    for context in np.random.default_rng(1).random((500, 2)):
        partition.find(context)
    assert len(partition) == 9


@pytest.mark.parametrize(
    "change",
    [
        {"dimension": 0},
        {"slices": 1},
        {"split_after": 0},
        {"growth": 0.0},
        {"deepest": 60},
        {"most_cells": 0},
    ],
)
def test_nonsense_is_refused(change):
    """A parameter out of range is named before anything is stored."""
    with pytest.raises(ConfigError):
        adaptive(**{"dimension": 2, **change})


def test_half_a_slice_is_refused():
    """A side is cut into a whole number of slices."""
    with pytest.raises(ConfigError, match="whole"):
        Slices(1, 2.5, 3)
